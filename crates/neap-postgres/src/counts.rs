//! Document frequencies and sizes of scopes; see [`neap_store::backend::counts`].

use neap_store::backend::counts::{CountChanges, ScopeCounts};

use crate::db_error::DbError;
use crate::sql::params;
use crate::tx::{Statement, Tx};

/// Changes as columns.
#[derive(Default)]
pub(crate) struct CountBatch {
    scopes: Vec<i64>,
    hashes: Vec<i64>,
    changes: Vec<i64>,
    counted: Vec<i64>,
    texts: Vec<i64>,
    lengths: Vec<i64>,
    sums: Vec<i64>,
}

impl CountBatch {
    pub(crate) fn of(changes: &CountChanges) -> Self {
        let mut batch = Self::default();
        for (key, by) in changes.terms.iter().filter(|(_, by)| **by != 0) {
            batch.scopes.push(key >> 32);
            batch.hashes.push(key & 0xffff_ffff);
            batch.changes.push(*by);
        }
        for (scope, ScopeCounts { texts, length, sum }) in &changes.scopes {
            batch.counted.push(*scope);
            batch.texts.push(*texts);
            batch.lengths.push(*length);
            batch.sums.push(*sum);
        }
        batch
    }

    pub(crate) fn write<'a>(&'a self, tenant: &'a &'a str) -> Vec<Statement<'a>> {
        let mut statements = Vec::new();
        if !self.hashes.is_empty() {
            let sql = "INSERT INTO neap.frequencies AS f (tenant, scope, hash, texts)
                SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[])
                ON CONFLICT (tenant, scope, hash) DO UPDATE SET texts = f.texts + EXCLUDED.texts";
            statements.push(Statement(sql, params![tenant, &self.scopes, &self.hashes, &self.changes]));
        }
        if self.changes.iter().any(|by| *by < 0) {
            let sql = "DELETE FROM neap.frequencies f USING unnest($2::bigint[], $3::bigint[]) q(scope, hash)
                WHERE f.tenant = $1 AND f.scope = q.scope AND f.hash = q.hash AND f.texts <= 0";
            statements.push(Statement(sql, params![tenant, &self.scopes, &self.hashes]));
        }
        if !self.counted.is_empty() {
            let sql = "INSERT INTO neap.counts AS c (tenant, scope, texts, length, sum)
                SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                ON CONFLICT (tenant, scope) DO UPDATE SET texts = c.texts + EXCLUDED.texts,
                  length = c.length + EXCLUDED.length, sum = c.sum + EXCLUDED.sum";
            let params = params![tenant, &self.counted, &self.texts, &self.lengths, &self.sums];
            statements.push(Statement(sql, params));
        }
        statements
    }
}

pub(crate) async fn stored(tx: &Tx) -> Result<CountChanges, DbError> {
    let tenant = tx.tenant();
    let terms = "SELECT scope, hash, texts FROM neap.frequencies WHERE tenant = $1 AND texts <> 0";
    let scopes = "SELECT scope, texts, length, sum FROM neap.counts WHERE tenant = $1";
    let (terms, scopes) =
        tokio::try_join!(biased; tx.query(terms, params![&tenant]), tx.query(scopes, params![&tenant]))?;
    let mut stored = CountChanges::default();
    for row in terms {
        let (scope, hash): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        stored.terms.insert(scope << 32 | hash, row.try_get(2)?);
    }
    for row in scopes {
        let counts = ScopeCounts { texts: row.try_get(1)?, length: row.try_get(2)?, sum: row.try_get(3)? };
        if counts != ScopeCounts::default() {
            stored.scopes.insert(row.try_get(0)?, counts);
        }
    }
    Ok(stored)
}
