//! Compares stored rows with the streams. Reads everything, changes nothing.

use std::collections::BTreeMap;

use neap_core::base::digest::Digest;
use neap_core::base::ids::{EffortId, Seq, Stamp, StreamId};
use neap_core::memory::Memory;
use neap_core::recall::TextKey;
use neap_core::session::effort::Effort;
use neap_core::session::state::SessionHead;
use neap_store::backend::derived::{Derived, StoredMemory};
use neap_store::backend::event_row::checked_json;
use neap_store::backend::examine::{differences, losses};
use neap_store::backend::memory_recall::SearchTier;
use neap_store::backend::rowids;
use neap_store::backend::scope_column::UNDONE_PREFIX;
use neap_store::{Finding, Severity};

use crate::cards;
use crate::db_error::DbError;
use crate::events::fold_stream;
use crate::heads::streams;
use crate::log::exchange_row;
use crate::rebuild::count_scope;
use crate::repair::{has_inconsistencies, has_miscounts};
use crate::server::PostgresServer;
use crate::sql::{params, to_sql};
use crate::texts::turn_no;
use crate::tx::Tx;

pub(crate) async fn examine(
    tx: &Tx,
    server: &PostgresServer,
    session: Option<&StreamId>,
) -> Result<Vec<Finding>, DbError> {
    let mut findings = Vec::new();
    if session.is_none() {
        findings.push(finding(Severity::Note, format!("PostgreSQL {}", server.version())));
        findings.extend(server.warnings().iter().map(|warning| finding(Severity::Note, warning.clone())));
        findings.extend(setting_findings(tx).await?);
        findings.extend(orphan_findings(tx).await?);
        if has_miscounts(tx).await? {
            let what = "the number of indexed terms differs from its count".to_owned();
            findings.push(finding(Severity::Repairable, what));
        }
        if has_inconsistencies(tx).await? {
            findings.push(finding(Severity::Repairable, "the embeddings differ from their counts".to_owned()));
        }
    }
    for (stream, id, seq) in streams(tx).await? {
        if session.is_none_or(|wanted| *wanted == id) {
            findings.extend(stream_findings(tx, stream, &id, seq).await?);
        }
    }
    Ok(findings)
}

fn finding(severity: Severity, what: String) -> Finding {
    Finding { severity, session: None, what }
}

/// A setting may have changed since the server was opened.
async fn setting_findings(tx: &Tx) -> Result<Option<Finding>, DbError> {
    let row = tx.query_one("SELECT current_setting('synchronous_commit')", Vec::new()).await?;
    let is_off = row.try_get::<_, &str>(0)? == "off";
    let what = || "synchronous_commit is off: what is accepted from now on could be lost".to_owned();
    Ok(is_off.then(|| finding(Severity::Damaged, what())))
}

async fn orphan_findings(tx: &Tx) -> Result<Vec<Finding>, DbError> {
    let sql = "SELECT DISTINCT e.stream FROM neap.events e
        LEFT JOIN neap.sessions s ON s.tenant = $1 AND s.stream = e.stream
        WHERE e.tenant = $1 AND s.stream IS NULL ORDER BY 1";
    let mut findings = Vec::new();
    for row in tx.query(sql, params![&tx.tenant()]).await? {
        let stream: i64 = row.try_get(0)?;
        findings.push(finding(Severity::Damaged, format!("the events of stream {stream} belong to no session")));
    }
    let names = "SELECT name FROM neap.sessions WHERE tenant = $1";
    for row in tx.query(names, params![&tx.tenant()]).await? {
        let name: &str = row.try_get(0)?;
        if StreamId::parse(name).is_err() {
            findings.push(finding(Severity::Damaged, format!("{name:?} is not a session id")));
        }
    }
    Ok(findings)
}

async fn stream_findings(tx: &Tx, stream: i64, id: &StreamId, seq: Seq) -> Result<Vec<Finding>, DbError> {
    let folded = fold_stream(tx, stream).await?;
    let mut findings = losses(id, &folded);
    let StoredRows { derived, strays, project } = stored_rows(tx, stream, id, &folded.derived).await?;
    findings.extend(differences(id, &derived, &folded.derived));
    let mut repairable = |what: String| {
        findings.push(Finding { severity: Severity::Repairable, session: Some(id.clone()), what });
    };
    if strays > 0 {
        repairable(format!("{strays} indexed texts belong to nothing"));
    }
    if seq != folded.derived.head.seq {
        repairable("its row names another last event than its stream".to_owned());
    }
    if project.as_deref() != folded.derived.head.project.as_ref().map(|project| project.as_str()) {
        repairable("it is listed under another project than its own".to_owned());
    }
    Ok(findings)
}

struct StoredRows {
    derived: Derived,
    /// Indexed texts that belong to nothing.
    strays: u64,
    project: Option<String>,
}

/// Terms cannot be read back in order and stay empty.
async fn stored_rows(tx: &Tx, stream: i64, id: &StreamId, folded: &Derived) -> Result<StoredRows, DbError> {
    let tenant = tx.tenant();
    let sql = "SELECT head, sum, project FROM neap.sessions WHERE tenant = $1 AND stream = $2";
    let row = tx.query_one(sql, params![&tenant, &stream]).await?;
    let head: Option<SessionHead> = checked_json(row.try_get(0)?, Some(row.try_get(1)?));
    let project: Option<String> = row.try_get(2)?;
    let mut stored = Derived { head: head.unwrap_or_default(), ..Derived::default() };
    let efforts = read_efforts(tx, stream, folded, &mut stored).await?;
    read_exchanges(tx, stream, &mut stored).await?;
    let sql = "SELECT turn_id, turn FROM neap.turn_ids WHERE tenant = $1 AND stream = $2";
    for row in tx.query(sql, params![&tenant, &stream]).await? {
        let turn_id: &[u8] = row.try_get(0)?;
        stored.turn_ids.insert(String::from_utf8_lossy(turn_id).into_owned(), turn_no(row.try_get(1)?));
    }
    let sql = "SELECT digest, turn FROM neap.links WHERE tenant = $1 AND stream = $2";
    for row in tx.query(sql, params![&tenant, &stream]).await? {
        let turn = turn_no(row.try_get(1)?);
        stored.links.extend(Digest::from_bytes(row.try_get(0)?).map(|digest| (digest, turn)));
    }
    let sql = "SELECT turn FROM neap.withheld WHERE tenant = $1 AND stream = $2";
    for row in tx.query(sql, params![&tenant, &stream]).await? {
        stored.withheld_turns.insert(turn_no(row.try_get(0)?));
    }
    read_memories(tx, stream, &mut stored).await?;
    let strays = read_index(tx, stream, id, &efforts, &mut stored).await?;
    Ok(StoredRows { derived: stored, strays, project })
}

/// Returns the efforts by the rowids of their texts.
async fn read_efforts(
    tx: &Tx,
    stream: i64,
    folded: &Derived,
    stored: &mut Derived,
) -> Result<BTreeMap<i64, EffortId>, DbError> {
    let sql = "SELECT text, id, body, sum FROM neap.efforts WHERE tenant = $1 AND stream = $2";
    let mut efforts = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), &stream]).await? {
        let id: &str = row.try_get(1)?;
        if let Some(known) = folded.efforts.keys().find(|key| key.as_str() == id) {
            efforts.insert(row.try_get(0)?, known.clone());
        }
        let effort: Option<Effort> = checked_json(row.try_get(2)?, Some(row.try_get(3)?));
        stored.efforts.extend(effort.map(|effort| (effort.id.clone(), effort)));
    }
    Ok(efforts)
}

async fn read_exchanges(tx: &Tx, stream: i64, stored: &mut Derived) -> Result<(), DbError> {
    let sql = "SELECT turn, ltrim(scope, $3), first_seq, last_seq, at, tokens, starts_with(scope, $3)
        FROM neap.exchanges WHERE tenant = $1 AND stream = $2";
    for row in tx.query(sql, params![&tx.tenant(), &stream, &UNDONE_PREFIX]).await? {
        if row.try_get(6)? {
            stored.undone_turns.insert(turn_no(row.try_get(0)?));
        }
        stored.exchanges.extend(exchange_row(&row, 0)?.map(|row| (row.last_seq, row)));
    }
    Ok(())
}

/// A row under a rowid or shelf that is not its own is skipped.
async fn read_memories(tx: &Tx, stream: i64, stored: &mut Derived) -> Result<(), DbError> {
    let sql = "SELECT text, shelf, at, due, body, sum FROM neap.memories WHERE tenant = $1 AND stream = $2";
    for row in tx.query(sql, params![&tx.tenant(), &stream]).await? {
        let (text, shelf, at): (i64, i64, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let memory: Option<Memory> = checked_json(row.try_get(4)?, Some(row.try_get(5)?));
        let Some(memory) = memory else { continue };
        let tier = SearchTier::of(memory.status);
        let own = (rowids::memory_rowid(stream, memory.id, tier), rowids::shelf(stream, memory.id.kind(), tier));
        if (text, shelf) == own && at == memory.created.0 {
            let due: Option<i64> = row.try_get(3)?;
            stored.memories.insert(memory.id, StoredMemory { due: due.map(Stamp), memory });
        }
    }
    let sql = "SELECT memory, seq FROM neap.memory_events WHERE tenant = $1 AND stream = $2 ORDER BY memory, seq";
    for row in tx.query(sql, params![&tx.tenant(), &stream]).await? {
        let seq: i64 = row.try_get(1)?;
        if let Some(id) = rowids::memory_from_number(row.try_get(0)?) {
            stored.history.entry(id).or_default().push(Seq(seq as u64));
        }
    }
    Ok(())
}

/// Cards, and the texts whose postings are those that the card names. Returns how many belong to nothing.
async fn read_index(
    tx: &Tx,
    stream: i64,
    id: &StreamId,
    efforts: &BTreeMap<i64, EffortId>,
    stored: &mut Derived,
) -> Result<u64, DbError> {
    let (first, last) = rowids::text_range(stream);
    let scope = count_scope(id, stream);
    let sql = "SELECT text, count(DISTINCT hash) FROM neap.postings
        WHERE tenant = $1 AND scope = $2 AND text BETWEEN $3 AND $4 GROUP BY text";
    let mut postings: BTreeMap<i64, i64> = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), &scope, &first, &last]).await? {
        postings.insert(row.try_get(0)?, row.try_get(1)?);
    }
    let mut strays = 0;
    for (text, card) in cards::of_stream(tx, stream).await? {
        let key = if rowids::is_message(text) {
            Some(TextKey::Message(Seq(rowids::message_seq(text) as u64)))
        } else if id.agent().is_some() {
            let memory = rowids::memory_at_rowid(text).map(|(id, _)| id);
            memory.filter(|id| is_at(stored, stream, *id, text)).map(TextKey::Memory)
        } else {
            efforts.get(&text).cloned().map(TextKey::Effort)
        };
        let posted = postings.remove(&text).unwrap_or(0);
        let Some(key) = key else {
            strays += 1;
            continue;
        };
        if posted == to_sql(card.terms.hashes().count() as u64) {
            stored.texts.insert(key.clone(), String::new());
        }
        stored.cards.insert(key, card);
    }
    Ok(strays + postings.len() as u64)
}

fn is_at(stored: &Derived, stream: i64, id: neap_core::memory::MemoryId, text: i64) -> bool {
    let own = stored.memories.get(&id).map(|stored| SearchTier::of(stored.memory.status));
    own.is_some_and(|tier| rowids::memory_rowid(stream, id, tier) == text)
}
