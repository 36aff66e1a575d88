//! What each wish comes to, record by record.

use std::collections::BTreeMap;

use super::{AgentDesk, Amendment, Answer, Hit, LearnStep, Use};
use crate::event::{Event, Recorded};
use crate::frame::Frames;
use crate::ids::{Seq, Stamp};
use crate::knowledge::{Question, named_time, score, window};
use crate::memory::{
    AgentHead, Body, Change, Confidence, Lines, Memory, MemoryId, MemoryKind, MemoryWrite, Provenance,
    RecallRequest, Recalled, Status, amend, lifecycle, similarity,
};
use crate::message::Message;
use crate::policy::Policy;
use crate::receipt::receipt;
use crate::terms::query_terms;
use crate::tools::Refusal;

/// Records of each kind that `recall` considers.
pub(super) const RECALL_MAX: usize = 32;
/// Records that `recall` tells.
pub const HITS_MAX: usize = 12;
/// Earlier decisions that a new one is told of.
const SIMILAR_MAX: usize = 3;
/// How like a new one they must be.
const SIMILAR_MIN: f64 = 0.3;

pub(super) fn head<'a>(desk: &'a AgentDesk<'_>) -> Option<&'a AgentHead> {
    desk.agent.head().agent.as_deref()
}

/// Applies changes, in order.
pub(super) fn record(desk: &mut AgentDesk<'_>, writes: Vec<MemoryWrite>) -> Vec<Recorded> {
    let created = desk.agent.head().session.is_none().then(|| Event::SessionCreated {
        session: desk.id.clone(),
        encoding: desk.counter.encoding().to_owned(),
        policy: Policy::default(),
        imported_from: None,
    });
    let (agent, now) = (&mut desk.agent, desk.now);
    let events = created.into_iter().chain(writes.into_iter().map(MemoryWrite::event));
    events.map(|event| agent.record(now, event)).collect()
}

pub(super) fn refused(refusal: Refusal) -> LearnStep {
    LearnStep::Done(Box::new(Answer::Refused(refusal)))
}

pub(super) fn unknown(id: MemoryId) -> Refusal {
    Refusal::new(format!("No memory with id '{id}'.")).hint("recall finds memories by what they say")
}

/// What `recall` looks for: words, a time, or both.
pub(super) fn recall(
    query: &str,
    kinds: &[MemoryKind],
    time: Option<&str>,
    superseded: bool,
    now: Stamp,
) -> Result<RecallRequest, Refusal> {
    let asked = match time {
        Some(time) => Some(named_time(time, now).ok_or_else(|| {
            Refusal::new("The time is not understood.")
                .hint("say it in words: today, yesterday, last week, recently, last month")
        })?),
        None => window(query, now),
    };
    let all = [MemoryKind::Decision, MemoryKind::Fact, MemoryKind::Procedure, MemoryKind::Episode];
    let kinds = if kinds.is_empty() { &all[..] } else { kinds };
    let limits = kinds.iter().map(|kind| (*kind, RECALL_MAX)).collect();
    // Without a time of its own, a question about the time is answered by time, not by its words.
    let terms = if asked.is_some() && time.is_none() { Vec::new() } else { query_terms(query) };
    if terms.is_empty() && asked.is_none() {
        return Err(Refusal::new("The query has no word to search for.").hint("name the topic, or a time"));
    }
    let (from, until) = asked.map_or((None, None), |(from, until)| (Some(from), Some(until)));
    Ok(RecallRequest { from, until, superseded, ..RecallRequest::new(terms, limits) })
}

/// What was found, best first; without words to go by, newest first.
pub(super) fn ranked<'m>(request: &RecallRequest, found: &'m Recalled, max: usize, now: Stamp) -> Vec<Hit> {
    let frames = Frames::built_in();
    let question = Question::new(&request.terms, found);
    let mut hits: Vec<(&'m Memory, Confidence)> = found
        .memories
        .iter()
        .map(|memory| {
            let likeness = question.similarity(memory);
            (memory, score(memory, likeness, frames.fallback(), now).score)
        })
        .collect();
    match request.terms.is_empty() {
        true => hits.sort_by_key(|(memory, _)| std::cmp::Reverse((memory.created, memory.id))),
        false => hits.sort_by_key(|(memory, score)| (std::cmp::Reverse(*score), memory.id)),
    }
    hits.into_iter().take(max).map(|(memory, score)| Hit::of(memory, score)).collect()
}

/// Earlier decisions like a new one: before acting, one should know how they came out.
pub(super) fn similar_decisions(new: MemoryId, text: &str, near: &[Memory]) -> Vec<Hit> {
    if new.kind() != MemoryKind::Decision {
        return Vec::new();
    }
    let mut like: Vec<(&Memory, f64)> = near
        .iter()
        .filter(|memory| memory.kind() == MemoryKind::Decision && memory.id != new)
        .map(|memory| (memory, similarity(text, &memory.text())))
        .filter(|(_, likeness)| *likeness >= SIMILAR_MIN)
        .collect();
    like.sort_by(|(a, a_like), (b, b_like)| b_like.total_cmp(a_like).then_with(|| a.id.cmp(&b.id)));
    let hit = |(memory, likeness): (&Memory, f64)| {
        let score = likeness.clamp(0.0, 1.0).try_into().ok()?;
        Some(Hit::of(memory, score))
    };
    like.into_iter().filter_map(hit).take(SIMILAR_MAX).collect()
}

/// What a turn used, counted.
pub(super) fn count_uses(uses: &[(MemoryId, Use)], found: Vec<Memory>, desk: &AgentDesk<'_>) -> Vec<MemoryWrite> {
    let mut records: BTreeMap<MemoryId, Memory> = found.into_iter().map(|memory| (memory.id, memory)).collect();
    let mut writes = Vec::new();
    for (id, how) in uses {
        let Some(memory) = records.get(id) else { continue };
        let counted = match how {
            Use::Activated => amend::activate(memory, None, desk.counter, desk.now),
            Use::Triggered => amend::trigger(memory, desk.counter, desk.now),
        };
        // What cannot be used that way is not counted; a turn is not held up by it.
        let Ok(counted) = counted else { continue };
        if let Some(last) = counted.last() {
            records.insert(*id, last.memory.clone());
        }
        writes.extend(counted);
    }
    writes
}

/// A change that someone asked for.
pub(super) fn amendment(
    how: &Amendment,
    by: &Provenance,
    memory: &Memory,
    desk: &AgentDesk<'_>,
) -> Result<Vec<MemoryWrite>, Refusal> {
    let (counter, now) = (desk.counter, desk.now);
    match how {
        Amendment::Confirm => {
            let known = head(desk).cloned().unwrap_or_default();
            amend::confirm(&known, memory, by, counter, now)
        }
        Amendment::Review { outcome, notes } => amend::review(memory, by.author, *outcome, notes, counter, now),
        Amendment::CarryOut => amend::carried_out(memory, counter, now),
        Amendment::Edit(edit) => {
            let known = head(desk).cloned().unwrap_or_default();
            amend::edit(&known, memory, amend::Edit { by: by.author, ..(**edit).clone() }, counter, now)
        }
        Amendment::MarkCore => amend::mark_core(memory, by.author, counter, now),
        Amendment::Deactivate => amend::deactivate(memory, counter, now),
        Amendment::Retire => amend::retire(memory, counter, now),
        Amendment::Activate { succeeded } => amend::activate(memory, *succeeded, counter, now),
        Amendment::AskToForget { reason } => amend::forget_asked(memory, reason, counter, now),
        Amendment::FalsePositive => amend::false_positive(memory, counter, now),
        Amendment::Reword { micro, summary } => reworded(memory, micro, summary, desk).map(|write| vec![write]),
        Amendment::Undo => Err(Refusal::new("Undoing needs the record's history.")),
    }
}

/// An archived episode with its detail back in place.
pub(super) fn detail(of: &Memory, found: &Recalled) -> LearnStep {
    let mut memory = of.clone();
    let earlier = found.memories.first().map(|earlier| &earlier.body);
    if let (Body::Episode(now), Some(Body::Episode(then))) = (&mut memory.body, earlier) {
        now.detail.clone_from(&then.detail);
    }
    LearnStep::Done(Box::new(Answer::Full { memory: Box::new(memory) }))
}

/// What gave way to a fact holds again once that is undone: what it had taken the place of, and what contradicted
/// it until someone said, at the moment `fell`, which holds.
pub(super) fn brought_back(
    memory: &Memory,
    by: MemoryId,
    seq: Seq,
    fell: Option<Stamp>,
    desk: &AgentDesk<'_>,
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
    after.updated = desk.now;
    after.lines = Lines::of(desk.counter, &after);
    Some(MemoryWrite::of(Change::Undone { seq }, memory, after))
}

/// A record in a model's words, if these say nothing else than it does.
fn reworded(memory: &Memory, micro: &str, summary: &str, desk: &AgentDesk<'_>) -> Result<MemoryWrite, Refusal> {
    let original = [Message::user(memory.full())];
    for worded in [micro, summary] {
        if !receipt(&original, worded, None).changed.is_empty() {
            return Err(Refusal::new(format!("The wording of {} changes what it says.", memory.id)));
        }
    }
    let lines = Lines::worded(desk.counter, memory, micro, summary)?;
    let after = Memory { lines, updated: desk.now, ..memory.clone() };
    Ok(MemoryWrite::of(Change::Reworded, memory, after))
}
