//! What goes on of a request that does not fit: what the core decides, with what the store knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::event::{EpochCause, Event};
use neap_core::ids::TurnNo;
use neap_core::ingest::{
    Block, Bounds, Chain, Changes, Class, Costs, Cut, Decision, Frozen, Heard, Item, OnWire, Overflow, Piece,
    Reach, checkpoint, decide, messages,
};
use neap_core::log::LogRequest;
use neap_core::message::Scope;
use neap_core::recall::{Counting, Embedding, Filter, TextKind};
use neap_core::summary::SummaryBy;
use neap_core::tokens::Tokens;
use neap_core::tools::ToolSet;
use neap_core::turn::Tending;
use neap_model::bpe::counter_for;
use neap_model::compute::off_worker;
use neap_model::wire::heard::{Counts, FixedParts, Request};
use neap_store::StoreError;

use super::lines::HeardLine;
use super::plan::Plan;
use crate::drive::Driver;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::live::Live;
use crate::parts::Parts;
use crate::recollect::{Asking, Here};
use crate::watch::{Interrupt, Quiet};

/// What is looked at of a question, from its end, in bytes.
const QUESTION_BYTES: usize = 4_096;

/// How often a request is cut that is over its budget by how its pieces add up.
pub(super) const AIMS_MAX: usize = 3;

/// A request that is to be bounded.
pub(super) struct Bounding<'a> {
    pub(super) parts: &'a Parts,
    pub(super) engine: &'a Engine,
    pub(super) request: &'a Arc<Request>,
    /// How long it is.
    pub(super) bytes: usize,
    pub(super) chain: &'a Chain,
    pub(super) counts: &'a Counts,
    /// A question that it may ask, and what that means, as far as it was found out before.
    pub(super) ahead: Option<(String, Option<Embedding>)>,
}

impl Bounding<'_> {
    /// Puts into the plan what is sent, or why that is too much.
    pub(super) async fn bound(
        &self,
        line: &mut HeardLine,
        budget: Tokens,
        plan: &mut Plan,
    ) -> Result<(), EngineError> {
        let (mut aim, mut first) = (budget, None);
        for _ in 0..AIMS_MAX {
            plan.overflow = None;
            self.bound_to(line, aim, budget, plan).await?;
            let Some(overflow) = plan.overflow else { return Ok(()) };
            // The first says how much it needs; the others were cut to less than they may cost.
            first.get_or_insert(overflow);
            let Some(lower) = overflow.lower_aim(aim) else { break };
            aim = lower;
        }
        plan.overflow = first;
        Ok(())
    }

    /// Cuts the request to `aim`; what is written may cost `budget`.
    async fn bound_to(
        &self,
        line: &mut HeardLine,
        aim: Tokens,
        budget: Tokens,
        plan: &mut Plan,
    ) -> Result<(), EngineError> {
        let (heard, bounds) = (self.request.heard(), Bounds::new(aim));
        let decision = decide(heard, self.chain, plan.class, line.frozen.as_ref(), &bounds);
        let is_anew = !matches!(decision, Decision::Grow);
        let nothing = Cut { dropped: Vec::new(), room: Tokens::ZERO, kept: heard.tokens() };
        let frozen = match decision {
            // What is recalled from behind what was put in short has to stay where it is.
            Decision::Unchanged if heard.opened.is_some() && plan.class.is_conversation() => {
                self.cut(line, &nothing, &bounds).await?
            }
            Decision::Unchanged => return Ok(()),
            Decision::Grow => line.frozen.clone().ok_or(heard.tokens()),
            Decision::Rewrite(cut) => self.cut(line, &cut, &bounds).await?,
            Decision::TooLarge => self.cut(line, &nothing, &bounds).await?,
        };
        let mut frozen = match frozen {
            Ok(frozen) => frozen,
            Err(least) => {
                let (request, counts) = (self.request.clone(), self.counts.clone());
                let why = off_worker(self.bytes, move || overflow(&request, &counts, least, budget));
                plan.overflow = Some(why.await);
                return Ok(());
            }
        };
        self.recall(line, &mut frozen, &bounds, plan.class, is_anew).await?;
        let (request, counts) = (self.request.clone(), self.counts.clone());
        let rendering = move || (render(&request, &frozen, &counts, budget), frozen);
        let (rendered, mut frozen) = off_worker(self.bytes, rendering).await;
        match rendered {
            Ok(rendered) => rendered.put(plan),
            Err(overflow) => {
                plan.overflow = Some(overflow);
                return Ok(());
            }
        }
        // An errand beside the conversation leaves no trace in it.
        if plan.class.is_conversation() {
            line.epochs = frozen.number;
            frozen.send(self.chain);
            line.frozen = Some(frozen);
            if is_anew {
                self.began(&mut line.live).await?;
            }
        }
        Ok(())
    }

    /// Cuts the history anew: summaries of what is left out are made, if there are none yet, by whoever is always at hand.
    async fn cut(
        &self,
        line: &mut HeardLine,
        cut: &Cut,
        bounds: &Bounds,
    ) -> Result<Result<Frozen, Tokens>, EngineError> {
        let turns = self.turns(&line.live).await?;
        let turn_of = move |at: usize| turns.get(at).copied().unwrap_or(TurnNo(0));
        let before = cut.dropped.last().map_or(TurnNo(0), |gap| turn_of(gap.end));
        self.summarize(&mut line.live, before, cut.room).await?;
        let note = if cut.dropped.is_empty() {
            String::new()
        } else {
            checkpoint(&line.live.state, before, cut.room, self.counts.counter())
        };
        let (request, chain, counts) = (self.request.clone(), self.chain.clone(), self.counts.clone());
        let (cut, bounds, number) = (cut.clone(), *bounds, line.epochs + 1);
        let cutting = move || {
            let piece = |piece: &Piece| request.piece_tokens(piece, &counts);
            let costs = Costs { counter: counts.counter(), piece: &piece, turn_of: &turn_of };
            Frozen::new(number, (request.heard(), &chain), &cut, &note, costs, &bounds)
        };
        Ok(off_worker(self.bytes, cutting).await)
    }

    /// The turn of each item; of those that are not recorded, the latest.
    async fn turns(&self, live: &Live) -> Result<Vec<TurnNo>, EngineError> {
        let linked = self.parts.store.linked(self.chain.links()).await?;
        let own = |found: &Vec<(_, TurnNo)>| found.iter().find(|(id, _)| *id == live.id).map(|(_, turn)| *turn);
        Ok(linked.iter().map(|found| own(found).unwrap_or(live.state.turn())).collect())
    }

    /// Sees to it that all that was said before a turn has a summary.
    pub(super) async fn summarize(
        &self,
        live: &mut Live,
        before: TurnNo,
        room: Tokens,
    ) -> Result<(), EngineError> {
        let mut left: BTreeMap<Scope, Tokens> = BTreeMap::new();
        for (scope, covered) in Reach::logs(&live.state) {
            if covered.next() < before {
                let request = LogRequest::turns(scope.clone(), covered.next(), TurnNo(before.0 - 1));
                left.insert(scope, self.parts.store.log(&live.id, &request).await?.size().tokens);
            }
        }
        let reach = Reach::new(&live.state, &left, room);
        let (counter, tools) = (counter_for(&live.state.head().encoding), ToolSet::none());
        let interrupt = Interrupt::default();
        let driver = Driver { parts: self.parts, counter: counter.as_ref(), tools: &tools, interrupt: &interrupt };
        while driver.tend(live, Tending::heard(reach.clone(), SummaryBy::BuiltIn), &mut Quiet).await? > 0 {}
        Ok(())
    }

    /// Recalls what bears on the newest turn and is out of sight; whatever is found stays with that turn.
    async fn recall(
        &self,
        line: &HeardLine,
        frozen: &mut Frozen,
        bounds: &Bounds,
        class: Class,
        is_anew: bool,
    ) -> Result<(), EngineError> {
        let (heard, counter) = (self.request.heard(), self.counts.counter());
        let Some(at) = frozen.awaits_recall(heard) else { return Ok(()) };
        let begins = is_anew || matches!(class, Class::MainTurn | Class::Subagent);
        let room = bounds.recall_room(frozen.lay_out(heard).tokens);
        let mut text = String::new();
        // What comes before is out of sight: left out, or put in short.
        let gap = Some(frozen.gap().end).filter(|_| !frozen.gap().is_empty());
        let sight = gap.max(heard.opened.map(|at| at + 1));
        if let (Some(room), Some(sight)) = (room.filter(|_| begins), sight) {
            let question = question(&heard.items[at]);
            let in_sight = heard.items[sight.min(heard.stem())..heard.stem()].iter();
            let in_sight = in_sight.map(|item| messages(item).len() as u64);
            let mut filter = Filter::of_stream(&line.live.id);
            filter.kinds = Some([TextKind::User, TextKind::Assistant, TextKind::Tool].into());
            let wire = OnWire(counter);
            let counting = Counting { counter: &wire, is_of_cards: false };
            let mut asking = Asking::new(question.as_str(), Frozen::page_room(room));
            asking.filter = filter;
            asking.here = Some(Here { session: line.live.id.clone(), in_sight: in_sight.sum() });
            asking.embedding = match &self.ahead {
                Some((asked, meant)) if *asked == question => meant.clone(),
                Some(_) | None => self.engine.meaning(&question).await,
            };
            text = self.engine.recollect_for(&asking, counting).await?.text;
        }
        frozen.recall(at, &text, counter);
        Ok(())
    }

    /// Notes that an epoch began.
    async fn began(&self, live: &mut Live) -> Result<(), EngineError> {
        let event = Event::EpochBegan { turn: live.state.turn(), cause: EpochCause::Full };
        let decided = vec![live.state.record(self.parts.clock.now(), event)];
        match live.commit(self.parts.store.as_ref(), decided).await {
            Ok(()) => Ok(()),
            // Someone else came first: it is a note, and nothing else rests on it.
            Err(StoreError::Conflict { .. }) => Ok(live.reload(self.parts.store.as_ref()).await?),
            Err(error) => Err(error.into()),
        }
    }
}

/// What a cut makes of a request.
pub(super) struct Rendered {
    body: String,
    changes: Changes,
    tokens: Tokens,
    epoch: u64,
}

impl Rendered {
    pub(super) fn put(self, plan: &mut Plan) {
        let Self { body, changes, tokens, epoch } = self;
        let opened = plan.changes.added;
        plan.body = Some(body);
        plan.changes = changes;
        plan.changes.added += opened;
        plan.tokens_planned = tokens;
        plan.epoch = epoch;
    }
}

/// What a cut makes of a request; fails where that does not fit. The bound is on what is sent, so that it is counted once more, as it is
/// written (I1).
pub(super) fn render(
    request: &Request,
    frozen: &Frozen,
    counts: &Counts,
    budget: Tokens,
) -> Result<Rendered, Overflow> {
    let layout = frozen.lay_out(request.heard());
    let body = request.write(&layout);
    let written = counts.of_body(&body, request.heard()).unwrap_or(layout.tokens);
    if written > budget {
        return Err(overflow(request, counts, written, budget));
    }
    Ok(Rendered { body, changes: layout.changes, tokens: layout.tokens, epoch: frozen.number })
}

/// Why a request does not fit, with what its parts cost.
pub(super) fn overflow(request: &Request, counts: &Counts, needed: Tokens, budget: Tokens) -> Overflow {
    let FixedParts { system, tools, other } = request.fixed_parts(counts);
    Overflow { needed, budget, system, tools, other }
}

/// What the newest turn of a history is looked for by; nothing where its model goes on by itself, or something was recalled for it.
pub(super) fn newest(heard: &Heard, frozen: Option<&Frozen>) -> String {
    let last = heard.stem().checked_sub(1).map(|last| &heard.items[last]);
    let awaits = frozen.is_none_or(|frozen| frozen.awaits_recall(heard).is_some());
    last.filter(|last| awaits && last.begins_turn()).map_or_else(String::new, question)
}

/// What is looked for by an item: the end of its last words.
fn question(item: &Item) -> String {
    let said = item.blocks.iter().rev().find_map(words).unwrap_or_default();
    let end = &said[said.ceil_char_boundary(said.len().saturating_sub(QUESTION_BYTES))..];
    // What is left of a word may be a secret that is not known as one any more.
    let is_cut = end.len() < said.len();
    let whole = is_cut.then(|| end.split_once(char::is_whitespace).map(|(_, rest)| rest)).flatten();
    whole.unwrap_or(end).to_owned()
}

fn words(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.clone()),
        Block::Text(_) | Block::Thinking | Block::Call(_) | Block::Answer { .. } | Block::Other { .. } => None,
    }
}
