//! The only loop. The core's machine says what to do next; this does it and tells the machine what came.
//!
//! There are no decisions here: an `if` about memory in this file belongs in the core.

use neap_core::event::Recorded;
use neap_core::knowledge::changed_record;
use neap_core::learn::MemoryGiven;
use neap_core::memory::Recalled;
use neap_core::turn::{
    Desk, Input, LoneCall, LoneOutcome, LoneStep, ModelReply, ModelRequest, Outcome, Step, TendStep, Tending, Turn,
};
use neap_model::ModelError;
use neap_model::compute::in_place;

use crate::error::EngineError;
use crate::live::{Live, overtaken};
use crate::mind::given;
use crate::parts::Parts;
use crate::recollect::find;
use crate::tell::{Run, operations};
use crate::watch::{Interrupt, Watch};
use neap_core::tokens::{TokenCounter, Tokens};
use neap_core::tools::{Banner, ToolSet};

/// What performing needs besides the session.
pub(crate) struct Driver<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) tools: &'a ToolSet,
    pub(crate) interrupt: &'a Interrupt,
}

impl Driver<'_> {
    /// Takes a turn from its message to its reply.
    pub(crate) async fn turn(
        &self,
        live: &mut Live,
        mut turn: Turn,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, EngineError> {
        let mut run = Run::new(watch);
        let mut told = 0;
        // Words that a rule has to look at first are told when it has.
        let mut held = false;
        let mut input = Input::Begin;
        let bytes = turn.bytes();
        loop {
            // What was said is looked through in most steps.
            let step = in_place(bytes, || turn.step(&mut self.desk(live), input));
            tell(run.watch, turn.banners(), &mut told);
            input = match step {
                Step::CallModel(request) => {
                    held = request.hold;
                    let answer = self.call_model(&request, run.watch).await;
                    run.model_answered();
                    answer
                }
                Step::Done(outcome) => {
                    if let (true, Ok(reply)) = (held, &outcome.reply) {
                        run.watch.text(reply);
                    }
                    tell_rest(run.watch, &outcome.banners, &turn.banners()[..told]);
                    return Ok(*outcome);
                }
                Step::Commit(_)
                | Step::Load(_)
                | Step::Fetch(_)
                | Step::Search(_)
                | Step::Summarize(_)
                | Step::Recall(_)
                | Step::Learn(_)
                | Step::CallTool(_) => match self.perform(live, step, &mut run).await {
                    Ok(input) => input,
                    // The reply is durable: that something could not be counted is no reason to keep it back.
                    Err(_) if turn.is_answered() => Input::NotLearnt,
                    Err(error) => return Err(error),
                },
            };
        }
    }

    /// Carries out one tool call from outside a turn.
    pub(crate) async fn lone_call(
        &self,
        live: &mut Live,
        mut call: LoneCall,
        watch: &mut dyn Watch,
    ) -> Result<LoneOutcome, EngineError> {
        let mut run = Run::new(watch);
        let mut input = Input::Begin;
        loop {
            input = match call.step(&mut self.desk(live), input) {
                LoneStep::Ask(step) => self.perform(live, step, &mut run).await?,
                LoneStep::Done(outcome) => return Ok(outcome),
            };
        }
    }

    /// Prepares the summaries that the next turns will need; says how many were made.
    pub(crate) async fn tend(
        &self,
        live: &mut Live,
        mut tending: Tending,
        watch: &mut dyn Watch,
    ) -> Result<usize, EngineError> {
        let mut run = Run::new(watch);
        let mut input = Input::Begin;
        loop {
            input = match tending.step(&mut self.desk(live), input) {
                TendStep::Ask(step) => self.perform(live, step, &mut run).await?,
                TendStep::Done(made) => return Ok(made),
            };
        }
    }

    /// Upkeep of what the agent knows.
    pub(crate) async fn tend_mind(&self, live: &mut Live) -> Result<(), EngineError> {
        match &mut live.mind {
            Some(mind) => mind.tend(self.parts).await,
            None => Ok(()),
        }
    }

    async fn perform(&self, live: &mut Live, step: Step, run: &mut Run<'_>) -> Result<Input, EngineError> {
        let store = self.parts.store.as_ref();
        Ok(match step {
            Step::Commit(events) => self.commit(live, events, run).await?,
            Step::Load(requests) => {
                let mut loaded = Vec::with_capacity(requests.len());
                for request in requests {
                    let log = store.log(&live.id, &request).await?;
                    loaded.push((request.scope, log));
                }
                Input::Loaded(loaded)
            }
            Step::Fetch(handle) => {
                Input::Fetched(crate::original::fetch(store, &live.id, &live.state, &handle).await?)
            }
            Step::Search(search) => Input::Found(find(self.parts, &search).await?),
            Step::Summarize(request) => {
                let made = self.parts.summarize(&request).await;
                Input::Summarized(made.map_err(|error| error.to_string()))
            }
            Step::Recall(ask) => match &live.mind {
                Some(mind) => Input::Given(given(self.parts, &mind.live, ask).await?),
                None => Input::Given(MemoryGiven::Recalled(Recalled::default())),
            },
            Step::Learn(events) => self.learn(live, events, run).await?,
            Step::CallTool(call) => self.call_host_tool(live, &call).await,
            Step::CallModel(_) | Step::Done(_) => unreachable!("performed by the turn itself"),
        })
    }

    async fn commit(
        &self,
        live: &mut Live,
        events: Vec<Recorded>,
        run: &mut Run<'_>,
    ) -> Result<Input, EngineError> {
        let store = self.parts.store.as_ref();
        let done = operations(&events, live.sent.tokens());
        match live.commit(store, events).await {
            Ok(()) => {
                self.parts.changed(&live.id);
                run.committed(&live.id, &done);
                Ok(Input::Committed)
            }
            Err(error) => {
                overtaken(live, store, error, &mut run.conflicts).await?;
                Ok(Input::Stale)
            }
        }
    }

    /// Makes durable what the agent learnt.
    async fn learn(
        &self,
        live: &mut Live,
        events: Vec<Recorded>,
        run: &mut Run<'_>,
    ) -> Result<Input, EngineError> {
        let store = self.parts.store.as_ref();
        let Some(mind) = &mut live.mind else { return Ok(Input::Learnt) };
        let done = operations(&events, Tokens::ZERO);
        let changed: Vec<_> = events.iter().filter_map(|recorded| changed_record(&recorded.event)).collect();
        match mind.live.commit(store, events).await {
            Ok(()) => {
                mind.known.changed(&changed);
                run.committed(&mind.live.id, &done);
                Ok(Input::Learnt)
            }
            Err(error) => {
                overtaken(&mut mind.live, store, error, &mut run.conflicts).await?;
                Ok(Input::Outdated)
            }
        }
    }

    async fn call_model(&self, request: &ModelRequest, watch: &mut dyn Watch) -> Input {
        let mut partial = String::new();
        let reply: Option<Result<ModelReply, ModelError>> = {
            let mut on_text = |words: &str| {
                partial.push_str(words);
                if !request.hold {
                    watch.text(words);
                }
            };
            tokio::select! {
                biased;
                () = self.interrupt.wait() => None,
                reply = self.parts.model.reply(request, &mut on_text) => Some(reply),
            }
        };
        match reply {
            Some(Ok(reply)) => Input::Replied(reply),
            Some(Err(error)) => Input::ModelFailed { message: error.to_string(), partial },
            None => Input::Interrupted { partial },
        }
    }

    pub(crate) fn desk<'a>(&'a self, live: &'a mut Live) -> Desk<'a> {
        Desk {
            mind: live.mind.as_mut().map(|mind| mind.mind()),
            state: &mut live.state,
            logs: &mut live.logs,
            sent: &mut live.sent,
            counter: self.counter,
            tools: self.tools,
            now: self.parts.clock.now(),
        }
    }
}

/// Announces what is settled; a conclusion is announced at the end, after what was said to it.
fn tell(watch: &mut dyn Watch, banners: &[Banner], told: &mut usize) {
    for banner in &banners[*told..] {
        if !matches!(banner, Banner::Concluded { .. }) {
            watch.banner(banner);
        }
    }
    *told = banners.len();
}

fn tell_rest(watch: &mut dyn Watch, all: &[Banner], told: &[Banner]) {
    for (at, banner) in all.iter().enumerate() {
        if at >= told.len() || matches!(banner, Banner::Concluded { .. }) {
            watch.banner(banner);
        }
    }
}
