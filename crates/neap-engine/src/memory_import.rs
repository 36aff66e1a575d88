//! Takes over memories that were exported, under ids that are new here.

use std::collections::BTreeMap;

use neap_core::memory::learn::{MemoryCommand, MemoryResponse};
use neap_core::memory::{Author, Body, DraftOutcome, Memory, MemoryDraft, MemoryId, MemoryKind, Provenance};
use serde::Serialize;

use crate::agent::Agent;
use crate::error::EngineError;

/// An import in progress.
#[derive(Debug, Default)]
pub struct MemoryImport {
    /// Where the memories come from; a repeated import from there records nothing twice.
    source: String,
    /// Ids here, by the ids there, of an earlier part and of this one: decisions refer to facts.
    earlier: BTreeMap<MemoryId, MemoryId>,
    ids: BTreeMap<MemoryId, MemoryId>,
    counts: MemoryImportCounts,
}

/// What became of imported memories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MemoryImportCounts {
    /// New here.
    pub new: u64,
    /// Confirmed what was known.
    pub confirmed: u64,
    /// Took the place of others.
    pub superseded: u64,
    /// Contradict others.
    pub contested: u64,
    /// Known already.
    pub known: u64,
    /// Why some were refused, by their ids there.
    pub refused: Vec<String>,
    /// Retired where they come from.
    pub out_of_use: u64,
    /// Pinned where they come from, but not here.
    pub always_elsewhere: u64,
}

impl MemoryImport {
    /// `earlier` are the ids of memories that earlier parts of the same import took over.
    pub fn new(source: impl Into<String>, earlier: BTreeMap<MemoryId, MemoryId>) -> Self {
        let (ids, counts) = (BTreeMap::new(), MemoryImportCounts::default());
        Self { source: source.into(), earlier, ids, counts }
    }

    /// Puts memories in the order in which they can be taken over: facts before what refers to them.
    pub fn sort(memories: &mut [Memory]) {
        memories.sort_by_key(|memory| memory.kind() != MemoryKind::Fact);
    }

    /// Takes over one memory.
    pub async fn add(&mut self, agent: &mut Agent, memory: Memory) -> Result<(), EngineError> {
        let old_id = memory.id;
        if !memory.status.is_current() {
            self.counts.out_of_use += 1;
            return Ok(());
        }
        self.counts.always_elsewhere += u64::from(memory.pinned);
        let mut body = memory.body;
        if let Body::Decision(decision) = &mut body {
            let id_here = |fact| self.ids.get(fact).or_else(|| self.earlier.get(fact)).copied();
            decision.rests_on = decision.rests_on.iter().filter_map(id_here).collect();
        }
        let source = Some(format!("{} {old_id}", self.source));
        let draft = MemoryDraft {
            body,
            tags: memory.tags,
            project: memory.project,
            domain: memory.domain,
            pinned: false,
            valid_from: memory.valid_from,
            valid_until: memory.valid_until,
            sent: None,
            provenance: Provenance { source, ..Provenance::from_author(Author::Import) },
        };
        let response = agent.run_command(MemoryCommand::Remember(Box::new(draft))).await?;
        if let MemoryResponse::Remembered { id, outcome, .. } = response {
            self.ids.insert(old_id, id);
            *self.counts.counter_for(outcome) += 1;
        } else if let MemoryResponse::Refused(refusal) = response {
            self.counts.refused.push(format!("{old_id}: {}", refusal.error));
        }
        Ok(())
    }

    /// What became of the memories of this part, and their ids here by their ids there.
    pub fn finish(self) -> (MemoryImportCounts, BTreeMap<MemoryId, MemoryId>) {
        (self.counts, self.ids)
    }
}

impl MemoryImportCounts {
    fn counter_for(&mut self, outcome: DraftOutcome) -> &mut u64 {
        match outcome {
            DraftOutcome::New => &mut self.new,
            DraftOutcome::Confirmed => &mut self.confirmed,
            DraftOutcome::Superseded => &mut self.superseded,
            DraftOutcome::Contested => &mut self.contested,
            DraftOutcome::Known => &mut self.known,
        }
    }
}
