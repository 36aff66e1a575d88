//! Runs the core's state machines: performs each step and returns its result to the machine. Nothing is decided
//! here: an `if` about memory in this file belongs in the core.

use neap_core::memory::RecallResponse;
use neap_core::memory::knowledge::changed_memory;
use neap_core::memory::learn::MemoryQueryResult;
use neap_core::session::event::RecordedEvent;
use neap_core::turn::{
    Input, ModelReply, ModelRequest, StandaloneOutcome, StandaloneStep, StandaloneToolCall, Step, Turn,
    TurnContext, TurnOutcome, Upkeep, UpkeepStep,
};
use neap_model::ModelError;
use neap_model::compute::run_in_place;

use crate::agent_stream::lookup;
use crate::error::EngineError;
use crate::memory_log::{DriverRun, memory_ops};
use crate::observer::{Interrupt, TurnObserver};
use crate::parts::Parts;
use crate::retrieval::find_texts;
use crate::stream::{OpenStream, reload_on_conflict};
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::turn::tools::{Banner, ToolSet};

pub(crate) struct Driver<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) tools: &'a ToolSet,
    pub(crate) interrupt: &'a Interrupt,
}

impl Driver<'_> {
    pub(crate) async fn run_turn(
        &self,
        stream: &mut OpenStream,
        mut turn: Turn,
        observer: &mut dyn TurnObserver,
    ) -> Result<TurnOutcome, EngineError> {
        let mut run = DriverRun::new(observer);
        let mut announced = 0;
        // A reply that a censor must check first is shown at the end.
        let mut is_buffered = false;
        let mut input = Input::Begin;
        let bytes = turn.bytes();
        loop {
            // Most steps scan the messages.
            let step = run_in_place(bytes, || turn.step(&mut self.turn_context(stream), input));
            announce(run.watch, turn.banners(), &mut announced);
            input = match step {
                Step::CallModel(request) => {
                    is_buffered = request.buffer_output;
                    let answer = self.call_model(&request, run.watch).await;
                    run.model_answered();
                    answer
                }
                Step::Done(outcome) => {
                    if let (true, Ok(reply)) = (is_buffered, &outcome.reply) {
                        run.watch.on_text(reply);
                    }
                    announce_rest(run.watch, &outcome.banners, &turn.banners()[..announced]);
                    return Ok(*outcome);
                }
                Step::Commit(_)
                | Step::LoadLogs(_)
                | Step::Fetch(_)
                | Step::Search(_)
                | Step::Summarize(_)
                | Step::Recall(_)
                | Step::CommitMemories(_)
                | Step::CallTool(_) => match self.perform(stream, step, &mut run).await {
                    Ok(input) => input,
                    // The reply is durable: a memory update that failed does not withhold it.
                    Err(_) if turn.is_answered() => Input::MemoriesFailed,
                    Err(error) => return Err(error),
                },
            };
        }
    }

    pub(crate) async fn run_standalone_call(
        &self,
        stream: &mut OpenStream,
        mut call: StandaloneToolCall,
        observer: &mut dyn TurnObserver,
    ) -> Result<StandaloneOutcome, EngineError> {
        let mut run = DriverRun::new(observer);
        let mut input = Input::Begin;
        loop {
            input = match call.step(&mut self.turn_context(stream), input) {
                StandaloneStep::Ask(step) => self.perform(stream, step, &mut run).await?,
                StandaloneStep::Done(outcome) => return Ok(outcome),
            };
        }
    }

    /// Returns how many summaries were made.
    pub(crate) async fn run_upkeep(
        &self,
        stream: &mut OpenStream,
        mut upkeep: Upkeep,
        observer: &mut dyn TurnObserver,
    ) -> Result<usize, EngineError> {
        let mut run = DriverRun::new(observer);
        let mut input = Input::Begin;
        loop {
            input = match upkeep.step(&mut self.turn_context(stream), input) {
                UpkeepStep::Ask(step) => self.perform(stream, step, &mut run).await?,
                UpkeepStep::Done(made) => return Ok(made),
            };
        }
    }

    pub(crate) async fn run_agent_upkeep(&self, stream: &mut OpenStream) -> Result<(), EngineError> {
        match &mut stream.agent {
            Some(agent) => agent.run_upkeep(self.parts).await,
            None => Ok(()),
        }
    }

    async fn perform(
        &self,
        stream: &mut OpenStream,
        step: Step,
        run: &mut DriverRun<'_>,
    ) -> Result<Input, EngineError> {
        let store = self.parts.store.as_ref();
        Ok(match step {
            Step::Commit(events) => self.commit(stream, events, run).await?,
            Step::LoadLogs(requests) => {
                let mut loaded = Vec::with_capacity(requests.len());
                for request in requests {
                    let log = store.log(&stream.id, &request).await?;
                    loaded.push((request.scope, log));
                }
                Input::LogsLoaded(loaded)
            }
            Step::Fetch(handle) => Input::Fetched(
                crate::handle_lookup::fetch_exchanges(store, &stream.id, &stream.state, &handle).await?,
            ),
            Step::Search(search) => Input::Found(find_texts(self.parts, &search).await?),
            Step::Summarize(request) => {
                let made = self.parts.summarize(&request).await;
                Input::Summarized(made.map_err(|error| error.to_string()))
            }
            Step::Recall(query) => match &stream.agent {
                Some(agent) => Input::Recalled(lookup(self.parts, &agent.live, query).await?),
                None => Input::Recalled(MemoryQueryResult::Records(RecallResponse::default())),
            },
            Step::CommitMemories(events) => self.commit_memories(stream, events, run).await?,
            Step::CallTool(call) => self.call_host_tool(stream, &call).await,
            Step::CallModel(_) | Step::Done(_) => unreachable!("performed by the turn itself"),
        })
    }

    async fn commit(
        &self,
        stream: &mut OpenStream,
        events: Vec<RecordedEvent>,
        run: &mut DriverRun<'_>,
    ) -> Result<Input, EngineError> {
        let store = self.parts.store.as_ref();
        let ops = memory_ops(&events, stream.sent.tokens());
        match stream.commit(store, events).await {
            Ok(()) => {
                self.parts.mark_changed(&stream.id);
                run.committed(&stream.id, &ops);
                Ok(Input::Committed)
            }
            Err(error) => {
                reload_on_conflict(stream, store, error, &mut run.conflicts).await?;
                Ok(Input::Stale)
            }
        }
    }

    async fn commit_memories(
        &self,
        stream: &mut OpenStream,
        events: Vec<RecordedEvent>,
        run: &mut DriverRun<'_>,
    ) -> Result<Input, EngineError> {
        let store = self.parts.store.as_ref();
        let Some(agent) = &mut stream.agent else { return Ok(Input::MemoriesCommitted) };
        let ops = memory_ops(&events, Tokens::ZERO);
        let changed: Vec<_> = events.iter().filter_map(|recorded| changed_memory(&recorded.event)).collect();
        match agent.live.commit(store, events).await {
            Ok(()) => {
                agent.memories.mark_changed(&changed);
                run.committed(&agent.live.id, &ops);
                Ok(Input::MemoriesCommitted)
            }
            Err(error) => {
                reload_on_conflict(&mut agent.live, store, error, &mut run.conflicts).await?;
                Ok(Input::MemoriesStale)
            }
        }
    }

    async fn call_model(&self, request: &ModelRequest, observer: &mut dyn TurnObserver) -> Input {
        let mut partial = String::new();
        let reply: Option<Result<ModelReply, ModelError>> = {
            let mut on_text = |text: &str| {
                partial.push_str(text);
                if !request.buffer_output {
                    observer.on_text(text);
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

    pub(crate) fn turn_context<'a>(&'a self, stream: &'a mut OpenStream) -> TurnContext<'a> {
        TurnContext {
            agent: stream.agent.as_mut().map(|agent| agent.context()),
            state: &mut stream.state,
            logs: &mut stream.logs,
            sent_prompt: &mut stream.sent,
            counter: self.counter,
            tools: self.tools,
            now: self.parts.clock.now(),
        }
    }
}

/// Announces new banners; a conclusion waits for the end, after the reply.
fn announce(observer: &mut dyn TurnObserver, banners: &[Banner], announced: &mut usize) {
    for banner in &banners[*announced..] {
        if !matches!(banner, Banner::Concluded { .. }) {
            observer.on_banner(banner);
        }
    }
    *announced = banners.len();
}

fn announce_rest(observer: &mut dyn TurnObserver, all: &[Banner], announced: &[Banner]) {
    for (at, banner) in all.iter().enumerate() {
        if at >= announced.len() || matches!(banner, Banner::Concluded { .. }) {
            observer.on_banner(banner);
        }
    }
}
