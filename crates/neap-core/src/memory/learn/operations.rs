//! Record-level operations behind each command.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Amendment, LearnContext, LearnStep, MemoryHit, MemoryQuery, MemoryResponse, MemoryUse};
use crate::base::ids::{Seq, Stamp};
use crate::base::message::Message;
use crate::base::refusal::Refusal;
use crate::memory::asked_kinds::AskedKinds;
use crate::memory::frame::FrameSet;
use crate::memory::knowledge::{
    QuestionScorer, ScoreBreakdown, parse_time_range, question_time_range, relevance_floor, score,
};
use crate::memory::{
    Body, Change, Confidence, Memory, MemoryId, MemoryKind, MemoryWrite, Provenance, RecallRequest,
    RecallResponse, RenderedMemory, Status, amend, lifecycle, text_similarity,
};
use crate::recall::ProjectFilter;
use crate::text::receipt::receipt;
use crate::text::terms::{query_terms, query_terms_without_clitics};

/// Candidates of each kind for `recall`.
pub(super) const RECALL_MAX: usize = 32;
/// Superseded facts that a search takes in addition, to show them with what replaced them.
const SUPERSEDED_MAX: usize = 16;
/// Hits `recall` returns.
pub const HITS_MAX: usize = 12;
/// Hits that are given, marked, if none bears on the question.
const NEAREST_MAX: usize = 3;
/// Of as many: some are superseded, or of another project.
const NEAREST_CONSIDERED: usize = 16;
/// Earlier decisions reported with a new one.
const SIMILAR_MAX: usize = 3;
const SIMILAR_MIN: f64 = 0.3;

pub(super) fn refuse(refusal: Refusal) -> LearnStep {
    LearnStep::Done(Box::new(MemoryResponse::Refused(refusal)))
}

pub(super) fn unknown_memory(id: MemoryId) -> Refusal {
    Refusal::new(format!("No memory with id '{id}'.")).hint("recall finds memories by what they say")
}

/// A search by words, by time, or both.
pub(super) fn recall_request(
    query: &str,
    kinds: &[MemoryKind],
    time: Option<&str>,
    now: Stamp,
) -> Result<RecallRequest, Refusal> {
    let range = match time {
        Some(time) => Some(parse_time_range(time, now).ok_or_else(|| {
            Refusal::new("The time is not understood.")
                .hint("say it in words: today, yesterday, last week, recently, last month")
        })?),
        None => question_time_range(query, now),
    };
    let all = [MemoryKind::Decision, MemoryKind::Fact, MemoryKind::Procedure, MemoryKind::Episode];
    let asked = AskedKinds::of(query).filter(|_| kinds.is_empty());
    let kinds = match &asked {
        Some(asked) => &asked.kinds[..],
        None if kinds.is_empty() => &all[..],
        None => kinds,
    };
    let more = |kind| if kind == MemoryKind::Fact { SUPERSEDED_MAX } else { 0 };
    let limits = kinds.iter().map(|kind| (*kind, RECALL_MAX + more(*kind))).collect();
    // Without an explicit time, a question about a time is answered by time alone.
    let mut terms =
        if range.is_some() && time.is_none() { Vec::new() } else { query_terms_without_clitics(query) };
    // The name of a kind is not what the question is about; alone, it asks for all of them.
    terms.retain(|term| asked.as_ref().is_none_or(|asked| !asked.names(term)));
    if terms.is_empty() && range.is_none() && asked.is_none() {
        return Err(Refusal::new("The query has no word to search for.").hint("name the topic, or a time"));
    }
    let (from, until) = range.map_or((None, None), |(from, until)| (Some(from), Some(until)));
    Ok(RecallRequest {
        from,
        until,
        superseded: true,
        nearest: NEAREST_CONSIDERED,
        ..RecallRequest::new(terms, limits)
    })
}

/// How hits are chosen.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitLimits<'a> {
    pub(super) max: usize,
    /// Where it is asked.
    pub(super) project: Option<&'a ProjectFilter>,
    /// Superseded facts are hits too; else they are shown with what replaced them.
    pub(super) superseded: bool,
    /// A list: also what only shares a word with the question.
    pub(super) lists: bool,
}

/// Ranks hits, best first; newest first if there are no terms. Unless it is a list, what is below the floor of its kind
/// is left out; if all of it is, the nearest few are given and say so.
pub(super) fn rank_hits<'m>(
    query: &str,
    request: &RecallRequest,
    found: &'m RecallResponse,
    limits: HitLimits<'_>,
    now: Stamp,
) -> Vec<MemoryHit> {
    let frames = FrameSet::built_in();
    let question = QuestionScorer::new(query, &request.terms, found);
    let asked = AskedKinds::of(query);
    let mut hits: Vec<(&'m Memory, ScoreBreakdown)> = found
        .memories
        .iter()
        .filter(|memory| limits.superseded || memory.status.is_current())
        .filter(|memory| asked.as_ref().is_none_or(|asked| !asked.is_open || asked.admits(memory)))
        .filter(|memory| memory.serves(limits.project, &request.terms, found))
        .map(|memory| (memory, score(memory, question.similarity(memory), frames.default_frame(), now)))
        .collect();
    match request.terms.is_empty() {
        true => hits.sort_by_key(|(memory, _)| Reverse((memory.created, memory.id))),
        false => {
            hits.sort_by_key(|(memory, scored)| (Reverse(scored.score), Reverse(memory.created), memory.id));
        }
    }
    let is_relevant = relevance(&hits);
    let is_nearest = !request.terms.is_empty() && !hits.iter().any(&is_relevant);
    if is_nearest {
        hits.sort_by_key(|(memory, scored)| (Reverse(scored.similarity), Reverse(memory.created), memory.id));
        hits.truncate(NEAREST_MAX);
    } else if !request.terms.is_empty() {
        hits.retain(|hit| is_relevant(hit) || limits.lists && question.shares_words(hit.0));
    }
    let hit = |(memory, scored): (&'m Memory, ScoreBreakdown)| {
        let mut hit = MemoryHit { is_nearest, ..MemoryHit::new(memory, scored.score) };
        if memory.is_from_elsewhere(limits.project) {
            hit.name_project();
        }
        hit.add_superseded(&found.memories);
        hit
    };
    hits.into_iter().take(limits.max).map(hit).collect()
}

/// Tells the records that are above the floor of their kind.
fn relevance(hits: &[(&Memory, ScoreBreakdown)]) -> impl Fn(&(&Memory, ScoreBreakdown)) -> bool + use<> {
    let mut best: BTreeMap<MemoryKind, Confidence> = BTreeMap::new();
    for (memory, scored) in hits {
        let known = best.entry(memory.kind()).or_insert(scored.similarity);
        *known = (*known).max(scored.similarity);
    }
    move |(memory, scored)| {
        let best = best.get(&memory.kind()).copied().unwrap_or(scored.similarity);
        scored.similarity >= relevance_floor(memory.kind(), best, FrameSet::built_in().default_frame())
    }
}

/// Earlier decisions similar to a new one, so that the model sees how they came out.
pub(super) fn similar_decisions(new: MemoryId, text: &str, candidates: &[Memory]) -> Vec<MemoryHit> {
    if new.kind() != MemoryKind::Decision {
        return Vec::new();
    }
    let mut similar: Vec<(&Memory, f64)> = candidates
        .iter()
        .filter(|memory| memory.kind() == MemoryKind::Decision && memory.id != new)
        .map(|memory| (memory, text_similarity(text, &memory.search_text())))
        .filter(|(_, similarity)| *similarity >= SIMILAR_MIN)
        .collect();
    similar.sort_by(|(a, a_like), (b, b_like)| b_like.total_cmp(a_like).then_with(|| a.id.cmp(&b.id)));
    let hit = |(memory, similarity): (&Memory, f64)| {
        let score = similarity.clamp(0.0, 1.0).try_into().ok()?;
        Some(MemoryHit::new(memory, score))
    };
    similar.into_iter().filter_map(hit).take(SIMILAR_MAX).collect()
}

pub(super) fn count_uses(
    uses: &[(MemoryId, MemoryUse)],
    found: Vec<Memory>,
    context: &LearnContext<'_>,
) -> Vec<MemoryWrite> {
    let mut records: BTreeMap<MemoryId, Memory> = found.into_iter().map(|memory| (memory.id, memory)).collect();
    let mut writes = Vec::new();
    for (id, how) in uses {
        let Some(memory) = records.get(id) else { continue };
        let counted = match how {
            MemoryUse::Activated => amend::record_use(memory, None, context.counter, context.now),
            MemoryUse::Triggered => amend::record_trigger(memory, context.counter, context.now),
        };
        // A use that the record does not allow is skipped; it must not fail the turn.
        let Ok(counted) = counted else { continue };
        if let Some(last) = counted.last() {
            records.insert(*id, last.memory.clone());
        }
        writes.extend(counted);
    }
    writes
}

pub(super) fn apply_amendment(
    how: &Amendment,
    by: &Provenance,
    memory: &Memory,
    context: &LearnContext<'_>,
) -> Result<Vec<MemoryWrite>, Refusal> {
    let (counter, now) = (context.counter, context.now);
    match how {
        Amendment::Confirm => {
            let head = context.head.cloned().unwrap_or_default();
            amend::confirm(&head, memory, by, counter, now)
        }
        Amendment::Review { outcome, notes } => amend::review(memory, by.author, *outcome, notes, counter, now),
        Amendment::CarryOut => amend::mark_carried_out(memory, counter, now),
        Amendment::Edit(edit) => {
            let head = context.head.cloned().unwrap_or_default();
            amend::edit(&head, memory, amend::Edit { author: by.author, ..(**edit).clone() }, counter, now)
        }
        Amendment::MarkCore => amend::mark_core(memory, by.author, counter, now),
        Amendment::Deactivate => amend::deactivate(memory, counter, now),
        Amendment::Retire => amend::retire(memory, counter, now),
        Amendment::Activate { succeeded } => amend::record_use(memory, *succeeded, counter, now),
        Amendment::AskToForget { reason } => amend::request_forget(memory, reason, counter, now),
        Amendment::FalsePositive => amend::record_false_positive(memory, counter, now),
        Amendment::Reword { micro, summary } => reword(memory, micro, summary, context).map(|write| vec![write]),
        Amendment::Undo => Err(Refusal::new("Undoing needs the record's history.")),
    }
}

/// An archived episode with its detail restored.
pub(super) fn restore_detail(archived: &Memory, found: &RecallResponse) -> LearnStep {
    let mut memory = archived.clone();
    let earlier = found.memories.first().map(|earlier| &earlier.body);
    if let (Body::Episode(now), Some(Body::Episode(then))) = (&mut memory.body, earlier) {
        now.detail.clone_from(&then.detail);
    }
    LearnStep::Done(Box::new(MemoryResponse::Full { memory: Box::new(memory), supersedes: Vec::new() }))
}

/// Looks for the facts that `fact` superseded when it was written: they have similar words.
pub(super) fn superseded_lookup(fact: &Memory) -> MemoryQuery {
    let terms = query_terms(&fact.search_text());
    let limits = vec![(MemoryKind::Fact, RECALL_MAX)];
    MemoryQuery::Recall(RecallRequest { superseded: true, ..RecallRequest::new(terms, limits) })
}

/// Restores a fact that `by` had superseded, once that is undone. `fell` is the time when a person's confirmation
/// overruled the facts that contradicted `by`; `None` if they were superseded when `by` was written.
pub(super) fn restore_superseded(
    memory: &Memory,
    by: MemoryId,
    seq: Seq,
    fell: Option<Stamp>,
    context: &LearnContext<'_>,
) -> Option<MemoryWrite> {
    let mut after = memory.clone();
    let Body::Fact(fact) = &mut after.body else { return None };
    let replaced = memory.status == Status::Superseded && fact.superseded_by == Some(by);
    let overruled = memory.status == Status::Inactive && memory.contested_with.contains(&by);
    let gave_way = match fell {
        None => replaced,
        Some(fell) => memory.updated == fell && (replaced || overruled),
    };
    if !gave_way {
        return None;
    }
    fact.superseded_by = None;
    after.status = match fact.confirmations {
        0 => Status::New,
        n if n < lifecycle::CORE_CONFIRMATIONS => Status::Confirmed,
        _ => Status::Core,
    };
    after.updated = context.now;
    after.lines = RenderedMemory::render(context.counter, &after);
    Some(MemoryWrite::update(Change::Undone { seq }, memory, after))
}

/// A record in a model's words; refused if the wording changes what it says.
fn reword(
    memory: &Memory,
    micro: &str,
    summary: &str,
    context: &LearnContext<'_>,
) -> Result<MemoryWrite, Refusal> {
    let original = [Message::user(memory.full_text())];
    for wording in [micro, summary] {
        if !receipt(&original, wording, None).changed.is_empty() {
            return Err(Refusal::new(format!("The wording of {} changes what it says.", memory.id)));
        }
    }
    let lines = RenderedMemory::from_model_text(context.counter, memory, micro, summary)?;
    let after = Memory { lines, updated: context.now, ..memory.clone() };
    Ok(MemoryWrite::update(Change::Reworded, memory, after))
}
