//! Index cards and postings of texts, as columns.

use std::collections::BTreeSet;

use neap_core::base::ids::Stamp;
use neap_core::base::ids::TurnNo;
use neap_core::base::tokens::Tokens;
use neap_store::backend::card::{
    CardRow, QueryCard, QueryTerms, TermCounts, kind_from_number, kind_number, term_hash,
};
use neap_store::backend::rowids;
use tokio_postgres::Row;

use crate::db_error::DbError;
use crate::sql::{params, to_sql};
use crate::tx::{Statement, Tx};

/// The columns that [`card_row`] reads, of a table `c`.
pub(crate) const COLUMNS: &str = "c.text, c.kind, c.turn, c.nth, c.at, c.who, c.tokens, c.length, c.sum, c.terms";
/// How many these are.
pub(crate) const COLUMN_COUNT: usize = 10;

/// A card with its rowid; `None` if its kind is unknown.
fn card_row<T>(row: &Row, terms: impl FnOnce(&[u8]) -> T) -> Result<Option<(i64, CardRow<T>)>, DbError> {
    let number = |at: usize| row.try_get::<_, i64>(at).map(|n| n as u64);
    let Some(kind) = kind_from_number(row.try_get(1)?) else { return Ok(None) };
    let who: Option<&[u8]> = row.try_get(5)?;
    let card = CardRow {
        kind,
        turn: TurnNo(number(2)?),
        nth: number(3)?,
        at: Stamp(row.try_get(4)?),
        who: who.map(|who| String::from_utf8_lossy(who).into_owned()),
        tokens: Tokens(number(6)?),
        length: number(7)? as u32,
        checksum: number(8)? as u32,
        terms: terms(row.try_get(9)?),
    };
    Ok(Some((row.try_get(0)?, card)))
}

/// A card for a query. Many are read per query, so their terms are not copied.
pub(crate) fn query_card(row: &Row, query: &QueryTerms) -> Result<Option<(i64, QueryCard)>, DbError> {
    card_row(row, |terms| query.hits(terms))
}

/// The cards of a stream, by rowid.
pub(crate) async fn of_stream(tx: &Tx, stream: i64) -> Result<Vec<(i64, CardRow)>, DbError> {
    let (first, last) = rowids::text_range(stream);
    let sql = format!("SELECT {COLUMNS} FROM neap.cards c WHERE tenant = $1 AND text BETWEEN $2 AND $3");
    let rows = tx.query(&sql, params![&tx.tenant(), &first, &last]).await?;
    let all = |terms: &[u8]| TermCounts::from_bytes(terms.to_vec());
    rows.iter().filter_map(|row| card_row(row, all).transpose()).collect()
}

/// Cards to put in place of what there is.
#[derive(Default)]
pub(crate) struct CardBatch<'a> {
    texts: Vec<i64>,
    kinds: Vec<i64>,
    turns: Vec<i64>,
    nths: Vec<i64>,
    times: Vec<i64>,
    speakers: Vec<Option<&'a [u8]>>,
    tokens: Vec<i64>,
    lengths: Vec<i64>,
    sums: Vec<i64>,
    terms: Vec<&'a [u8]>,
    postings: PostingBatch<'a>,
}

#[derive(Default)]
struct PostingBatch<'a> {
    hashes: Vec<i64>,
    texts: Vec<i64>,
    terms: Vec<&'a str>,
}

impl<'a> CardBatch<'a> {
    /// `nth` counts the stream's messages; 0 for any other text.
    pub(crate) fn push(&mut self, text: i64, row: &'a CardRow, nth: u64, words: &'a str) {
        self.texts.push(text);
        self.kinds.push(kind_number(row.kind));
        self.turns.push(to_sql(row.turn.0));
        self.nths.push(to_sql(nth));
        self.times.push(row.at.0);
        self.speakers.push(row.who.as_deref().map(str::as_bytes));
        self.tokens.push(to_sql(row.tokens.0));
        self.lengths.push(row.length.into());
        self.sums.push(row.checksum.into());
        self.terms.push(row.terms.bytes());
        let terms: BTreeSet<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
        for term in terms {
            self.postings.hashes.push(term_hash(term).into());
            self.postings.texts.push(text);
            self.postings.terms.push(term);
        }
    }

    pub(crate) fn insert(&'a self, tenant: &'a &'a str, stream: &'a i64, scope: &'a i64) -> Vec<Statement<'a>> {
        let mut statements = Vec::new();
        if !self.texts.is_empty() {
            let sql = "INSERT INTO neap.cards(tenant, stream, text, kind, turn, nth, at, who, tokens, length, sum, terms)
                SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                  $8::bytea[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bytea[])";
            let Self { texts, kinds, turns, nths, times, speakers, tokens, lengths, sums, terms, .. } = self;
            let params =
                params![tenant, stream, texts, kinds, turns, nths, times, speakers, tokens, lengths, sums, terms];
            statements.push(Statement(sql, params));
        }
        let PostingBatch { hashes, texts, terms } = &self.postings;
        if !hashes.is_empty() {
            let sql = "INSERT INTO neap.postings(tenant, scope, hash, text, term)
                SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::text[])";
            statements.push(Statement(sql, params![tenant, scope, hashes, texts, terms]));
        }
        statements
    }
}

/// Cards to remove, with the postings that they name.
#[derive(Default)]
pub(crate) struct CardRemovals {
    texts: Vec<i64>,
    posted: Vec<i64>,
    hashes: Vec<i64>,
}

impl CardRemovals {
    pub(crate) fn push(&mut self, text: i64, terms: &TermCounts) {
        self.texts.push(text);
        for hash in terms.hashes() {
            self.posted.push(text);
            self.hashes.push(hash.into());
        }
    }

    pub(crate) fn delete<'a>(&'a self, tenant: &'a &'a str, scope: &'a i64) -> Vec<Statement<'a>> {
        if self.texts.is_empty() {
            return Vec::new();
        }
        let postings = "DELETE FROM neap.postings p USING unnest($3::bigint[], $4::bigint[]) q(hash, text)
            WHERE p.tenant = $1 AND p.scope = $2 AND p.hash = q.hash AND p.text = q.text";
        vec![
            Statement(postings, params![tenant, scope, &self.hashes, &self.posted]),
            Statement("DELETE FROM neap.cards WHERE tenant = $1 AND text = ANY($2)", params![tenant, &self.texts]),
        ]
    }
}
