//! Cuts requests that do not fit their budget: the core decides, with what the store knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use neap_core::base::ids::TurnNo;
use neap_core::base::message::Scope;
use neap_core::base::tokens::Tokens;
use neap_core::client::{
    Bounds, Chain, Changes, ClientRequest, CutInputs, CutPlan, ForwardDecision, HistoryCut, HistoryPart,
    JsonTokenCounter, Overflow, RecallNeed, RequestClass, SummaryCoverage, decide_forward, item_messages,
    query_text, recall_budget, render_checkpoint,
};
use neap_core::context::tools::ToolSet;
use neap_core::recall::{Embedding, Filter, PageCounting, TextKind};
use neap_core::session::event::{EpochCause, WindowEvent};
use neap_core::session::log::LogRequest;
use neap_core::session::summary::SummarizerKind;
use neap_core::turn::Upkeep;
use neap_model::bpe::counter_for;
use neap_model::compute::run_blocking;
use neap_model::wire::request::{CachedCounter, FixedParts, WireRequest};

use super::plan::RequestPlan;
use super::session_cache::ProxySession;
use crate::driver::{Driver, DriverRun};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::observer::{Interrupt, NullObserver};
use crate::retrieval::{CurrentSession, RetrievalRequest};
use crate::stream::{OpenStream, Recorder};

/// Attempts to cut a request, since the whole may cost more than the sum of its parts.
pub(super) const CUT_ATTEMPTS_MAX: usize = 3;

pub(super) struct RequestBudgeter<'a> {
    pub(super) engine: &'a Engine,
    pub(super) request: &'a Arc<WireRequest>,
    pub(super) bytes: usize,
    pub(super) chain: &'a Chain,
    pub(super) counts: &'a CachedCounter,
    /// A query that may be asked again here, with its embedding.
    pub(super) embedded_query: Option<(String, Option<Embedding>)>,
    pub(super) economy: bool,
}

impl RequestBudgeter<'_> {
    pub(super) async fn fit(
        &self,
        session: &mut ProxySession,
        budget: Tokens,
        plan: &mut RequestPlan,
    ) -> Result<(), EngineError> {
        let (mut aim, mut first) = (budget, None);
        for _ in 0..CUT_ATTEMPTS_MAX {
            plan.overflow = None;
            self.fit_to(session, aim, budget, plan).await?;
            let Some(overflow) = plan.overflow else { return Ok(()) };
            // The first overflow counts: later attempts aimed at less than the request may cost.
            first.get_or_insert(overflow);
            let Some(lower) = overflow.lower_target(aim) else { break };
            aim = lower;
        }
        plan.overflow = first;
        Ok(())
    }

    /// Cuts the request to `aim`; the written body may cost `budget`.
    async fn fit_to(
        &self,
        session: &mut ProxySession,
        aim: Tokens,
        budget: Tokens,
        plan: &mut RequestPlan,
    ) -> Result<(), EngineError> {
        let parsed = self.request.parsed();
        let bounds = Bounds::of(parsed, aim, self.economy);
        let decision = decide(self.request, self.chain, plan.class, session, bounds, self.bytes).await;
        let is_new_cut = !matches!(decision, ForwardDecision::ReuseCut);
        let cut_plan = match decision {
            // Text recalled from behind a compaction must stay in its place.
            ForwardDecision::Unchanged if parsed.compaction_at.is_some() && plan.class.is_conversation() => {
                let cut = HistoryCut::nothing(parsed, session.cut_plan.as_ref(), &bounds);
                self.plan_cut(session, &cut, &bounds).await?
            }
            ForwardDecision::Unchanged => return Ok(()),
            ForwardDecision::ReuseCut => session.cut_plan.clone().ok_or(parsed.tokens()),
            ForwardDecision::NewCut(cut) => self.plan_cut(session, &cut, &bounds).await?,
            ForwardDecision::TooLarge(needed) => Err(needed),
        };
        let mut cut_plan = match cut_plan {
            Ok(cut_plan) => cut_plan,
            Err(least) => {
                let (request, counts) = (self.request.clone(), self.counts.clone());
                let why = run_blocking(self.bytes, move || overflow(&request, &counts, least, budget));
                plan.overflow = Some(why.await);
                return Ok(());
            }
        };
        self.add_recall(session, &mut cut_plan, &bounds, plan.class, is_new_cut).await?;
        let (request, counts) = (self.request.clone(), self.counts.clone());
        let rendering = move || (render(&request, &cut_plan, &counts, budget), cut_plan);
        let (rendered, mut cut_plan) = run_blocking(self.bytes, rendering).await;
        match rendered {
            Ok(rendered) => rendered.apply_to(plan),
            Err(overflow) => {
                plan.overflow = Some(overflow);
                return Ok(());
            }
        }
        // A side request leaves no trace in the conversation.
        if plan.class.is_conversation() {
            session.epochs = cut_plan.epoch;
            cut_plan.mark_sent(self.chain);
            session.cut_plan = Some(cut_plan);
            if is_new_cut {
                self.note_epoch(&mut session.stream).await?;
            }
        }
        Ok(())
    }

    /// Plans a new cut. The built-in summariser makes missing summaries of what is omitted.
    async fn plan_cut(
        &self,
        session: &mut ProxySession,
        cut: &HistoryCut,
        bounds: &Bounds,
    ) -> Result<Result<CutPlan, Tokens>, EngineError> {
        let turns = self.item_turns(&session.stream).await?;
        let turn_of = move |at: usize| turns.get(at).copied().unwrap_or(TurnNo(0));
        let before = cut.dropped.last().map_or(TurnNo(0), |gap| turn_of(gap.end));
        self.ensure_summaries(&mut session.stream, before, cut.note_budget).await?;
        let note = if cut.dropped.is_empty() {
            String::new()
        } else {
            render_checkpoint(&session.stream.state, before, cut.note_budget, self.counts.counter())
        };
        let (request, chain, counts) = (self.request.clone(), self.chain.clone(), self.counts.clone());
        let (cut, bounds, number) = (cut.clone(), *bounds, session.epochs + 1);
        let is_stored = !self.engine.parts.is_anonymous;
        let cutting = move || {
            let piece = |piece: &HistoryPart| request.piece_tokens(piece, &counts);
            let inputs =
                CutInputs { counter: counts.counter(), part_tokens: &piece, turn_of: &turn_of, is_stored };
            CutPlan::new(number, (request.parsed(), &chain), &cut, &note, inputs, &bounds)
        };
        Ok(run_blocking(self.bytes, cutting).await)
    }

    /// The turn of each item; the latest turn for items that are not recorded.
    async fn item_turns(&self, stream: &OpenStream) -> Result<Vec<TurnNo>, EngineError> {
        let linked = self.engine.parts.store.sessions_by_digest(self.chain.links()).await?;
        let own = |found: &Vec<(_, TurnNo)>| found.iter().find(|(id, _)| *id == stream.id).map(|(_, turn)| *turn);
        Ok(linked.iter().map(|found| own(found).unwrap_or(stream.state.turn())).collect())
    }

    pub(super) async fn ensure_summaries(
        &self,
        stream: &mut OpenStream,
        before: TurnNo,
        budget: Tokens,
    ) -> Result<(), EngineError> {
        let mut uncovered: BTreeMap<Scope, Tokens> = BTreeMap::new();
        for (scope, covered) in SummaryCoverage::coverable_logs(&stream.state) {
            if covered.next() < before {
                let request = LogRequest::turns(scope.clone(), covered.next(), TurnNo(before.0 - 1));
                uncovered.insert(scope, self.engine.parts.store.log(&stream.id, &request).await?.size().tokens);
            }
        }
        let coverage = SummaryCoverage::new(&stream.state, &uncovered, budget);
        let (counter, tools) = (counter_for(&stream.state.head().encoding), ToolSet::none());
        let interrupt = Interrupt::default();
        let driver = Driver {
            parts: &self.engine.parts,
            counter: counter.as_ref(),
            tools: &tools,
            interrupt: &interrupt,
            said_at: None,
        };
        let upkeep = || Upkeep::for_client_history(coverage.clone(), SummarizerKind::BuiltIn);
        while driver.run(stream, upkeep(), &mut DriverRun::new(driver.parts, &mut NullObserver)).await? > 0 {}
        Ok(())
    }

    /// Recalls what is relevant to the newest turn and no longer in the request; it stays with that turn.
    async fn add_recall(
        &self,
        session: &ProxySession,
        cut_plan: &mut CutPlan,
        bounds: &Bounds,
        class: RequestClass,
        is_new_cut: bool,
    ) -> Result<(), EngineError> {
        let (parsed, counter) = (self.request.parsed(), self.counts.counter());
        let Some(at) = cut_plan.recall_target(parsed) else { return Ok(()) };
        let starts_turn = is_new_cut || matches!(class, RequestClass::MainTurn | RequestClass::Subagent);
        let mut text = String::new();
        // The first item that the model still sees: the ones before are omitted or compacted.
        let visible_from = cut_plan.tail_start().max(parsed.compaction_at.map(|at| at + 1));
        let need = match visible_from.filter(|_| starts_turn) {
            Some(visible_from) => self.recall_need(cut_plan, (at, visible_from), *bounds).await,
            None => None,
        };
        if let (Some(need), Some(visible_from)) = (need, visible_from) {
            let visible = parsed.items[visible_from.min(parsed.stable_len())..parsed.stable_len()].iter();
            let visible = visible.map(|item| item_messages(item).len() as u64);
            let mut filter = Filter::for_stream(&session.stream.id);
            filter.kinds = Some([TextKind::User, TextKind::Assistant, TextKind::Tool].into());
            let wire = JsonTokenCounter(counter);
            let counting = PageCounting { counter: &wire, has_candidate_counts: false };
            let question = need.question.clone();
            let mut request = RetrievalRequest::new(question.as_str(), CutPlan::page_budget(need.budget));
            request.need = Some(need);
            // It answers the message; files in work would take the place of what does.
            request.weights.file_in_work = 0.0;
            request.filter = filter;
            request.current =
                Some(CurrentSession { session: session.stream.id.clone(), visible_texts: visible.sum() });
            request.embedding = match &self.embedded_query {
                Some((query, embedding)) if *query == question => embedding.clone(),
                Some(_) | None => self.engine.embed_query(&question).await,
            };
            text = self.engine.retrieve_counted(&request, counting).await?.text;
        }
        cut_plan.add_recalled(at, &text, counter);
        Ok(())
    }

    /// What the message at an item needs of what the model no longer sees.
    async fn recall_need(
        &self,
        cut_plan: &CutPlan,
        (at, visible_from): (usize, usize),
        bounds: Bounds,
    ) -> Option<RecallNeed> {
        let (request, cut_plan, now) = (self.request.clone(), cut_plan.clone(), self.engine.parts.clock.now());
        let deciding = move || {
            let budget = recall_budget(request.parsed(), &cut_plan, &bounds);
            let seen: Vec<_> = cut_plan.seen_texts(request.parsed(), at, visible_from).collect();
            RecallNeed::of(&request.parsed().items[at], now, seen.iter().map(|text| &**text), budget)
        };
        run_blocking(self.bytes, deciding).await
    }

    async fn note_epoch(&self, stream: &mut OpenStream) -> Result<(), EngineError> {
        let event = WindowEvent::EpochBegan { turn: stream.state.turn(), cause: EpochCause::Full };
        let decided = vec![stream.state.record(self.engine.parts.clock.now(), event)];
        // If another process came first, the note is dropped, since nothing depends on it.
        Recorder::new(&self.engine.parts).commit(stream, decided).await.map(|_| ())
    }
}

/// How a request is forwarded.
pub(super) async fn decide(
    request: &Arc<WireRequest>,
    chain: &Chain,
    class: RequestClass,
    session: &ProxySession,
    bounds: Bounds,
    bytes: usize,
) -> ForwardDecision {
    let (request, chain, plan) = (request.clone(), chain.clone(), session.cut_plan.clone());
    let deciding = move || decide_forward(request.parsed(), &chain, class, plan.as_ref(), &bounds);
    run_blocking(bytes, deciding).await
}

pub(super) struct RenderedRequest {
    body: String,
    changes: Changes,
    tokens: Tokens,
    epoch: u64,
}

impl RenderedRequest {
    pub(super) fn apply_to(self, plan: &mut RequestPlan) {
        let Self { body, changes, tokens, epoch } = self;
        let added_before = plan.changes.added;
        plan.body = Some(body);
        plan.changes = changes;
        plan.changes.added += added_before;
        plan.tokens_planned = tokens;
        plan.epoch = epoch;
    }
}

/// Fails if the body does not fit. It is counted again as written, since the budget limits what is sent (I1).
pub(super) fn render(
    request: &WireRequest,
    cut_plan: &CutPlan,
    counts: &CachedCounter,
    budget: Tokens,
) -> Result<RenderedRequest, Overflow> {
    let rendered = cut_plan.render(request.parsed());
    let body = request.render(&rendered);
    let written = counts.count_body(&body, request.parsed()).unwrap_or(rendered.tokens);
    if written > budget {
        return Err(overflow(request, counts, written, budget));
    }
    Ok(RenderedRequest { body, changes: rendered.changes, tokens: rendered.tokens, epoch: cut_plan.epoch })
}

pub(super) fn overflow(request: &WireRequest, counts: &CachedCounter, needed: Tokens, budget: Tokens) -> Overflow {
    let FixedParts { system, tools, other } = request.fixed_parts(counts);
    Overflow { needed, budget, system, tools, other }
}

/// Empty if the model continues on its own, or if something was recalled for the newest turn already.
pub(super) fn newest_query(request: &ClientRequest, cut_plan: Option<&CutPlan>) -> String {
    let last = request.stable_len().checked_sub(1).map(|last| &request.items[last]);
    let awaits = cut_plan.is_none_or(|cut_plan| cut_plan.recall_target(request).is_some());
    last.filter(|last| awaits && last.is_turn_start()).map_or_else(String::new, |last| query_text(last).to_owned())
}
