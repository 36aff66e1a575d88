//! Writes a commit: one round trip to claim the stream, one for what it replaces (if anything), one for all rows.

use std::collections::{BTreeMap, BTreeSet};

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::recall::TextKey;
use neap_store::StoreError;
use neap_store::backend::counts::{CountChanges, SESSIONS_SCOPE};
use neap_store::backend::prepared_commit::PreparedCommit;
use neap_store::backend::rowids;
use neap_store::backend::scope_column::scope_name;

use crate::cards::{CardBatch, CardRemovals};
use crate::counts::CountBatch;
use crate::db_error::DbError;
use crate::derived_rows::{
    EffortBatch, ExchangeBatch, Lanes, TurnBatch, lanes, mark_undone, numbers, put_withheld,
};
use crate::events::EventBatch;
use crate::heads;
use crate::memories::{MemoryBatch, memory_rowids};
use crate::sql::{params, to_sql};
use crate::tx::{Statement, Tx};
use crate::vectors::{StoredText, Sums, VectorBatch, scope_sums, stored_texts};

/// The stream of a commit, locked until the transaction ends.
struct Claim {
    stream: i64,
    is_new: bool,
    /// How many efforts and messages the stream has.
    efforts: i64,
    messages: i64,
    /// The tenant's last row of `vector_index`.
    last_vector: i64,
}

/// Locks the tenant until the transaction ends, and counts it. Returns the tenant's last stream and vector.
pub(crate) async fn lock_tenant(tx: &Tx) -> Result<(i64, i64), DbError> {
    let sql = "INSERT INTO neap.tenants AS t (tenant, commits) VALUES ($1, 1)
        ON CONFLICT (tenant) DO UPDATE SET commits = t.commits + 1 RETURNING t.streams, t.vectors";
    let row = tx.query_one(sql, params![&tx.tenant()]).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// Refuses a commit that does not follow the last one, or has a turn id that was used before.
async fn claim(tx: &Tx, commit: &PreparedCommit) -> Result<Claim, DbError> {
    let (tenant, name) = (tx.tenant(), commit.stream.as_str());
    let (expected, next) = (to_sql(commit.expected.0), to_sql(commit.expected.0) + commit.events.len() as i64);
    let ids: Vec<&[u8]> = commit.turn_ids.iter().map(|(id, _)| id.as_bytes()).collect();
    let known = "SELECT s.seq, (SELECT i.turn FROM neap.turn_ids i WHERE i.tenant = $1 AND i.stream = s.stream
          AND i.digest IN (SELECT sha256(id) FROM unnest($3::bytea[]) id) ORDER BY i.turn LIMIT 1)
        FROM neap.sessions s WHERE s.tenant = $1 AND s.name = $2";
    let claim = "UPDATE neap.sessions SET seq = $4 WHERE tenant = $1 AND name = $2 AND seq = $3
        RETURNING stream, efforts, messages";
    let ((last_stream, last_vector), known, claimed) = tokio::try_join!(
        biased;
        lock_tenant(tx),
        tx.query_opt(known, params![&tenant, &name, &ids]),
        tx.query_opt(claim, params![&tenant, &name, &expected, &next]),
    )?;
    let mut actual = Seq(0);
    if let Some(row) = known {
        actual = Seq(row.try_get::<_, i64>(0)? as u64);
        if let Some(turn) = row.try_get::<_, Option<i64>>(1)? {
            return Err(StoreError::DuplicateTurn { turn: TurnNo(turn as u64) }.into());
        }
    }
    if let Some(row) = claimed {
        let (stream, efforts, messages) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        return Ok(Claim { stream, is_new: false, efforts, messages, last_vector });
    }
    if actual != commit.expected || actual != Seq(0) {
        return Err(StoreError::Conflict { expected: commit.expected, actual }.into());
    }
    Ok(Claim { stream: last_stream + 1, is_new: true, efforts: 0, messages: 0, last_vector })
}

/// What is stored that the commit may replace.
#[derive(Default)]
struct Replaced {
    effort_rowids: BTreeMap<String, i64>,
    texts: BTreeMap<i64, StoredText>,
    lanes: Lanes,
    sums: Sums,
}

impl Replaced {
    async fn read(tx: &Tx, commit: &PreparedCommit, claim: &Claim, scope: i64) -> Result<Self, DbError> {
        let stream = claim.stream;
        let of_texts = commit.texts.iter().filter_map(|entry| match &entry.key {
            TextKey::Effort(id) => Some(id.as_str()),
            TextKey::Message(_) | TextKey::Memory(_) => None,
        });
        let with_texts: Vec<&str> = of_texts.collect();
        let changed = commit.efforts.iter().map(|(id, _)| id.as_str());
        let efforts: BTreeSet<&str> = changed.chain(with_texts.iter().copied()).collect();
        let efforts: Vec<&str> = efforts.into_iter().collect();
        let memories = commit.memories.iter().map(|memory| memory.id).chain(commit.erased.iter().copied());
        let texts: Vec<i64> = memories.flat_map(|id| memory_rowids(stream, id)).collect();
        let scopes: BTreeSet<&str> = commit.exchanges.iter().map(|row| scope_name(&row.scope)).collect();
        let scopes: Vec<&str> = scopes.into_iter().collect();
        if claim.is_new || (efforts.is_empty() && texts.is_empty() && scopes.is_empty()) {
            return Ok(Self::default());
        }
        let (effort_rowids, stored, lanes, sums) = tokio::try_join!(
            biased;
            heads::effort_rowids(tx, stream, &efforts),
            stored_texts(tx, stream, &texts, &with_texts),
            lanes(tx, stream, &scopes),
            scope_sums(tx, scope),
        )?;
        Ok(Self { effort_rowids, texts: stored, lanes, sums })
    }
}

/// Writes a commit or, if it is refused, nothing.
pub(crate) async fn write(tx: Tx, commit: &PreparedCommit) -> Result<(), DbError> {
    let claim = claim(&tx, commit).await?;
    let stream = claim.stream;
    let scope = if commit.stream.agent().is_some() { stream } else { SESSIONS_SCOPE };
    let mut old = Replaced::read(&tx, commit, &claim, scope).await?;
    let (mut efforts, mut effort_count) = (EffortBatch::default(), claim.efforts);
    for (id, body) in &commit.efforts {
        let rowid = *old.effort_rowids.entry(id.to_string()).or_insert_with(|| {
            effort_count += 1;
            rowids::effort_rowid(stream, effort_count - 1)
        });
        efforts.push(rowid, id.as_str(), body);
    }
    let mut exchanges = ExchangeBatch::default();
    for row in &commit.exchanges {
        exchanges.push(row, &mut old.lanes);
    }
    let (mut turn_ids, mut links) = (TurnBatch::turn_ids(), TurnBatch::links());
    commit.turn_ids.iter().for_each(|(id, turn)| turn_ids.push(id.as_bytes(), *turn));
    commit.links.iter().for_each(|link| links.push(link.digest.bytes(), link.turn));
    let (withheld, undone) = (numbers(&commit.withheld_turns), numbers(&commit.undone_turns));
    let memories = MemoryBatch::of(stream, &commit.memories, &commit.erased, &commit.memory_events);

    let (mut cards, mut removals) = (CardBatch::default(), CardRemovals::default());
    let mut counts = CountChanges::default();
    let mut vectors = VectorBatch::new(claim.last_vector, std::mem::take(&mut old.sums));
    let mut messages = claim.messages;
    // Of every text the last card counts.
    let mut new_cards = BTreeMap::new();
    for entry in &commit.texts {
        let text = match &entry.key {
            TextKey::Message(seq) => message_rowid(stream, *seq),
            TextKey::Effort(id) => old.effort_rowids.get(id.as_str()).copied(),
            TextKey::Memory(id) => commit
                .memories
                .iter()
                .find(|memory| memory.id == *id)
                .map(|memory| rowids::memory_rowid(stream, *id, memory.tier)),
        };
        new_cards.extend(text.map(|text| (text, entry)));
    }
    for (text, stored) in &old.texts {
        if let Some((terms, length)) = &stored.card {
            removals.push(*text, terms);
            counts.count(scope, terms, *length, -1);
        }
    }
    for (text, entry) in &new_cards {
        let mut nth = 0;
        if entry.row.kind.is_message() {
            messages += 1;
            nth = messages as u64;
        }
        cards.push(*text, &entry.row, nth, &entry.words);
        counts.count(scope, &entry.row.terms, entry.row.length, 1);
        match entry.key {
            TextKey::Message(_) => vectors.queue(*text),
            TextKey::Effort(_) => vectors.sync(&[*text], &old.texts, Some((*text, &entry.row))),
            TextKey::Memory(_) => {}
        }
    }
    for id in memories.ids() {
        let texts = memory_rowids(stream, *id);
        let own = texts.iter().find_map(|text| new_cards.get(text).map(|entry| (*text, &entry.row)));
        vectors.sync(&texts, &old.texts, own);
    }

    let tenant = tx.tenant().to_owned();
    let (tenant, name) = (&tenant.as_str(), commit.stream.as_str());
    let counts = CountBatch::of(&counts);
    let events = EventBatch::of(&commit.events);
    let seq = to_sql(commit.expected.0) + commit.events.len() as i64;
    let head = heads::HeadColumns::new(&commit.head, seq, effort_count, messages);
    let mut statements: Vec<Statement<'_>> = head.write(tenant, &stream, &name, claim.is_new);
    statements.push(events.insert(tenant, &stream));
    statements.extend(turn_ids.insert(tenant, &stream));
    statements.extend(efforts.put(tenant, &stream));
    statements.extend(exchanges.insert(tenant, &stream));
    statements.extend(links.insert(tenant, &stream));
    statements.extend(put_withheld(tenant, &stream, &withheld));
    statements.extend(mark_undone(tenant, &stream, &undone));
    statements.extend(memories.write(tenant, &stream));
    statements.extend(removals.delete(tenant, &scope));
    statements.extend(cards.insert(tenant, &stream, &scope));
    statements.extend(counts.write(tenant));
    statements.extend(vectors.write(tenant, &scope));
    tx.commit_after(statements).await
}

/// `None` for a message that no stream can have.
pub(crate) fn message_rowid(stream: i64, seq: Seq) -> Option<i64> {
    let (first, last) = rowids::message_range(stream);
    i64::try_from(seq.0).ok().filter(|seq| *seq <= last - first).map(|seq| first + seq)
}
