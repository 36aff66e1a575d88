//! The derived rows of one stream, as columns: each table is written with one statement.

use std::collections::BTreeMap;

use neap_core::base::ids::TurnNo;
use neap_core::session::project::ExchangeRow;
use neap_store::backend::event_row::body_checksum;
use neap_store::backend::scope_column::{UNDONE_PREFIX, scope_name};

use crate::db_error::DbError;
use crate::sql::{params, to_sql};
use crate::tx::{Statement, Tx};

#[derive(Default)]
pub(crate) struct EffortBatch<'a> {
    texts: Vec<i64>,
    ids: Vec<&'a str>,
    bodies: Vec<&'a [u8]>,
    sums: Vec<i64>,
}

impl<'a> EffortBatch<'a> {
    pub(crate) fn push(&mut self, text: i64, id: &'a str, body: &'a str) {
        self.texts.push(text);
        self.ids.push(id);
        self.bodies.push(body.as_bytes());
        self.sums.push(body_checksum(body).into());
    }

    pub(crate) fn put(&'a self, tenant: &'a &'a str, stream: &'a i64) -> Option<Statement<'a>> {
        let sql = "INSERT INTO neap.efforts(tenant, stream, text, id, body, sum)
            SELECT $1, $2, * FROM unnest($3::bigint[], $4::text[], $5::bytea[], $6::bigint[])
            ON CONFLICT (tenant, text) DO UPDATE SET body = EXCLUDED.body, sum = EXCLUDED.sum";
        let params = params![tenant, stream, &self.texts, &self.ids, &self.bodies, &self.sums];
        (!self.texts.is_empty()).then_some(Statement(sql, params))
    }
}

/// The last turn of each lane, by scope.
pub(crate) type Lanes = BTreeMap<String, Vec<i64>>;

/// The lanes of these scopes. A lane may be empty, if its turns were taken back.
pub(crate) async fn lanes(tx: &Tx, stream: i64, scopes: &[&str]) -> Result<Lanes, DbError> {
    let sql = "SELECT q.scope, (SELECT max(turn) FROM neap.exchanges x
          WHERE x.tenant = $1 AND x.stream = $2 AND x.scope = q.scope AND x.lane = l.lane)
        FROM unnest($3::text[]) q(scope)
        CROSS JOIN LATERAL generate_series(0, (SELECT coalesce(max(x.lane), -1) FROM neap.exchanges x
          WHERE x.tenant = $1 AND x.stream = $2 AND x.scope = q.scope)) l(lane)
        ORDER BY q.scope, l.lane";
    let scopes = scopes.to_vec();
    let mut lanes = Lanes::new();
    for row in tx.query(sql, params![&tx.tenant(), &stream, &scopes]).await? {
        let last: Option<i64> = row.try_get(1)?;
        lanes.entry(row.try_get(0)?).or_default().push(last.unwrap_or(i64::MIN));
    }
    Ok(lanes)
}

#[derive(Default)]
pub(crate) struct ExchangeBatch<'a> {
    scopes: Vec<&'a str>,
    lanes: Vec<i64>,
    turns: Vec<i64>,
    firsts: Vec<i64>,
    lasts: Vec<i64>,
    times: Vec<i64>,
    tokens: Vec<i64>,
}

impl<'a> ExchangeBatch<'a> {
    /// Adds an exchange to its log; those that ended earlier must already be there. Lanes keep turns ascending
    /// although they may end in any order: it goes into the first lane whose turns are all earlier.
    pub(crate) fn push(&mut self, row: &'a ExchangeRow, lanes: &mut Lanes) {
        let (scope, turn) = (scope_name(&row.scope), to_sql(row.turn.0));
        let of_scope = lanes.entry(scope.to_owned()).or_default();
        let lane = of_scope.iter().position(|last| *last < turn).unwrap_or(of_scope.len());
        if lane == of_scope.len() {
            of_scope.push(turn);
        } else {
            of_scope[lane] = turn;
        }
        self.scopes.push(scope);
        self.lanes.push(lane as i64);
        self.turns.push(turn);
        self.firsts.push(to_sql(row.first_seq.0));
        self.lasts.push(to_sql(row.last_seq.0));
        self.times.push(row.at.0);
        self.tokens.push(to_sql(row.tokens.0));
    }

    pub(crate) fn insert(&'a self, tenant: &'a &'a str, stream: &'a i64) -> Option<Statement<'a>> {
        let sql = "INSERT INTO neap.exchanges(tenant, stream, scope, lane, turn, first_seq, last_seq, at, tokens)
            SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
              $8::bigint[], $9::bigint[])";
        let Self { scopes, lanes, turns, firsts, lasts, times, tokens } = self;
        let params = params![tenant, stream, scopes, lanes, turns, firsts, lasts, times, tokens];
        (!turns.is_empty()).then_some(Statement(sql, params))
    }
}

/// Pairs of a key and a turn.
pub(crate) struct TurnBatch<'a> {
    sql: &'static str,
    keys: Vec<&'a [u8]>,
    turns: Vec<i64>,
}

impl<'a> TurnBatch<'a> {
    pub(crate) fn turn_ids() -> Self {
        let sql = "INSERT INTO neap.turn_ids(tenant, stream, turn_id, turn)
            SELECT $1, $2, * FROM unnest($3::bytea[], $4::bigint[]) ON CONFLICT DO NOTHING";
        Self { sql, keys: Vec::new(), turns: Vec::new() }
    }

    /// An existing link stays: the first turn that recorded a digest counts.
    pub(crate) fn links() -> Self {
        let sql = "INSERT INTO neap.links(tenant, stream, digest, turn)
            SELECT $1, $2, * FROM unnest($3::bytea[], $4::bigint[]) ON CONFLICT DO NOTHING";
        Self { sql, keys: Vec::new(), turns: Vec::new() }
    }

    pub(crate) fn push(&mut self, key: &'a [u8], turn: TurnNo) {
        self.keys.push(key);
        self.turns.push(to_sql(turn.0));
    }

    pub(crate) fn insert(&'a self, tenant: &'a &'a str, stream: &'a i64) -> Option<Statement<'a>> {
        let params = params![tenant, stream, &self.keys, &self.turns];
        (!self.keys.is_empty()).then_some(Statement(self.sql, params))
    }
}

pub(crate) fn numbers<'a>(turns: impl IntoIterator<Item = &'a TurnNo>) -> Vec<i64> {
    turns.into_iter().map(|turn| to_sql(turn.0)).collect()
}

/// Marks turns as withheld: their texts are not shown again.
pub(crate) fn put_withheld<'a>(
    tenant: &'a &'a str,
    stream: &'a i64,
    turns: &'a Vec<i64>,
) -> Option<Statement<'a>> {
    let sql = "INSERT INTO neap.withheld(tenant, stream, turn)
        SELECT $1, $2, * FROM unnest($3::bigint[]) ON CONFLICT DO NOTHING";
    (!turns.is_empty()).then(|| Statement(sql, params![tenant, stream, turns]))
}

/// Moves turns to a scope that is in no log; their spans in the stream stay known.
pub(crate) fn mark_undone<'a>(tenant: &'a &'a str, stream: &'a i64, turns: &'a Vec<i64>) -> Option<Statement<'a>> {
    let sql = "UPDATE neap.exchanges SET scope = $4 || scope
        WHERE tenant = $1 AND stream = $2 AND turn = ANY($3) AND NOT starts_with(scope, $4)";
    (!turns.is_empty()).then(|| Statement(sql, params![tenant, stream, turns, &UNDONE_PREFIX]))
}
