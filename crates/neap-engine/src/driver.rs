//! Runs the core's state machines: performs each step and returns its result to the machine. No rules
//! here: what depends on the content of memories is decided in the core.

use std::time::Instant;

use neap_core::memory::knowledge::changed_memory;
use neap_core::session::event::RecordedEvent;
use neap_core::turn::{
    Input, Machine, ModelReply, ModelRequest, Progress, Step, StreamedText, Turn, TurnContext, TurnOutcome,
    read_reply,
};
use neap_model::ModelError;
use neap_model::compute::run_in_place;

use crate::agent_stream::lookup;
use crate::error::EngineError;
use crate::memory_log::{log_op, memory_ops};
use crate::observer::{Interrupt, TurnObserver};
use crate::parts::Parts;
use crate::retrieval::find_texts;
use crate::stream::{OpenStream, Recorder};
use neap_core::base::ids::{Stamp, StreamId};
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::context::tools::ToolSet;
use neap_core::session::memory_op::MemoryOp;
use neap_core::turn::tools::Banner;

pub(crate) struct Driver<'a> {
    pub(crate) parts: &'a Parts,
    pub(crate) counter: &'a dyn TokenCounter,
    pub(crate) tools: &'a ToolSet,
    pub(crate) interrupt: &'a Interrupt,
    /// When what it records was said, if not just now.
    pub(crate) said_at: Option<Stamp>,
}

impl Driver<'_> {
    pub(crate) async fn run_turn(
        &self,
        stream: &mut OpenStream,
        turn: Turn,
        observer: &mut dyn TurnObserver,
    ) -> Result<TurnOutcome, EngineError> {
        let mut run = DriverRun::new(self.parts, observer);
        let outcome = self.run(stream, turn, &mut run).await?;
        if let (true, Ok(reply)) = (run.is_buffered, &outcome.reply) {
            run.watch.on_text(reply);
        }
        announce_rest(run.watch, &outcome.banners, run.announced);
        Ok(*outcome)
    }

    /// Takes a machine to its end: the only loop that performs steps.
    pub(crate) async fn run<M: Machine>(
        &self,
        stream: &mut OpenStream,
        mut machine: M,
        run: &mut DriverRun<'_, '_>,
    ) -> Result<M::Outcome, EngineError> {
        let mut input = Input::Begin;
        let bytes = machine.bytes();
        loop {
            // Most steps scan the messages.
            let progress = run_in_place(bytes, || machine.step(&mut self.turn_context(stream), input));
            announce(run, machine.banners());
            input = match progress {
                Progress::Done(outcome) => return Ok(outcome),
                Progress::Perform(step) => match self.perform(stream, step, run).await {
                    Ok(input) => input,
                    // A memory update that failed does not withhold a reply that is durable.
                    Err(_) if machine.may_fail() => Input::MemoriesFailed,
                    Err(error) => return Err(error),
                },
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
        run: &mut DriverRun<'_, '_>,
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
            Step::Search(mut search) => {
                search.filter = self.parts.restrict_to_visible(search.filter).await?;
                Input::Found(find_texts(self.parts, &search).await?)
            }
            Step::Summarize(request) => {
                let made = self.parts.summarize(&request).await;
                Input::Summarized(made.map_err(|error| error.to_string()))
            }
            // Without an agent the stream is an agent's own, or has no memories.
            Step::Recall(query) => {
                let agent = stream.agent.as_ref().map_or(&stream.id, |agent| &agent.stream.id);
                Input::Recalled(lookup(self.parts, agent, query).await?)
            }
            Step::CommitMemories(events) => self.commit_memories(stream, events, run).await?,
            Step::CallTool(call) => self.call_host_tool(stream, &call).await,
            Step::CallModel(request) => {
                // A reply that a censor must check first is shown at the end.
                run.is_buffered = request.buffer_output;
                let answer = self.call_model(&request, run.watch).await;
                // The model's time does not count.
                run.since = Instant::now();
                answer
            }
        })
    }

    async fn commit(
        &self,
        stream: &mut OpenStream,
        events: Vec<RecordedEvent>,
        run: &mut DriverRun<'_, '_>,
    ) -> Result<Input, EngineError> {
        let ops = memory_ops(&events, stream.sent.tokens());
        if run.recorder.commit(stream, events).await?.is_stale() {
            return Ok(Input::Stale);
        }
        run.committed(&stream.id, &ops);
        Ok(Input::Committed)
    }

    async fn commit_memories(
        &self,
        stream: &mut OpenStream,
        events: Vec<RecordedEvent>,
        run: &mut DriverRun<'_, '_>,
    ) -> Result<Input, EngineError> {
        let Some(agent) = &mut stream.agent else { return Ok(Input::MemoriesCommitted) };
        let ops = memory_ops(&events, Tokens::ZERO);
        let changed: Vec<_> =
            events.iter().filter_map(|recorded| recorded.event.as_memory().and_then(changed_memory)).collect();
        if run.recorder.commit(&mut agent.stream, events).await?.is_stale() {
            return Ok(Input::MemoriesStale);
        }
        agent.memories.mark_changed(&changed);
        run.committed(&agent.stream.id, &ops);
        Ok(Input::MemoriesCommitted)
    }

    async fn call_model(&self, request: &ModelRequest, observer: &mut dyn TurnObserver) -> Input {
        let mut streamed = StreamedText::default();
        let reply: Option<Result<ModelReply, ModelError>> = {
            let mut on_text = |text: &str| {
                let shown = streamed.push(text);
                if !request.buffer_output && !shown.is_empty() {
                    observer.on_text(shown);
                }
            };
            tokio::select! {
                biased;
                () = self.interrupt.wait() => None,
                reply = self.parts.model.reply(request, &mut on_text) => Some(reply),
            }
        };
        match reply {
            Some(Ok(reply)) => {
                let input = read_reply(request, reply);
                if let Input::Replied(reply) = &input {
                    let rest = streamed.rest_of(reply);
                    if !request.buffer_output && !rest.is_empty() {
                        observer.on_text(rest);
                    }
                }
                input
            }
            Some(Err(error)) => Input::ModelFailed { message: error.to_string(), partial: streamed.into_text() },
            None => Input::Interrupted { partial: streamed.into_text() },
        }
    }

    pub(crate) fn turn_context<'a>(&'a self, stream: &'a mut OpenStream) -> TurnContext<'a> {
        TurnContext {
            agent: stream.agent.as_mut().map(|agent| agent.context()),
            id: &stream.id,
            state: &mut stream.state,
            logs: &mut stream.logs,
            sent_prompt: &mut stream.sent,
            counter: self.counter,
            tools: self.tools,
            model: self.parts.model_name.as_ref(),
            now: self.said_at.unwrap_or_else(|| self.parts.clock.now()),
        }
    }
}

pub(crate) struct DriverRun<'p, 'w> {
    pub(crate) recorder: Recorder<'p>,
    pub(crate) watch: &'w mut dyn TurnObserver,
    /// How many of the machine's banners were announced.
    pub(crate) announced: usize,
    /// Whether the last reply is held back until the end.
    pub(crate) is_buffered: bool,
    since: Instant,
}

impl<'p, 'w> DriverRun<'p, 'w> {
    pub(crate) fn new(parts: &'p Parts, watch: &'w mut dyn TurnObserver) -> Self {
        Self { recorder: Recorder::new(parts), watch, announced: 0, is_buffered: false, since: Instant::now() }
    }

    pub(crate) fn committed(&mut self, session: &StreamId, ops: &[MemoryOp]) {
        let took = self.since.elapsed();
        self.since = Instant::now();
        for op in ops {
            log_op(session, op, took);
            self.watch.on_memory_op(op, took);
        }
    }
}

/// Announces new banners; a conclusion waits for the end, after the reply.
fn announce(run: &mut DriverRun<'_, '_>, banners: &[Banner]) {
    for banner in &banners[run.announced..] {
        if !matches!(banner, Banner::Concluded { .. }) {
            run.watch.on_banner(banner);
        }
    }
    run.announced = banners.len();
}

fn announce_rest(observer: &mut dyn TurnObserver, all: &[Banner], announced: usize) {
    for (at, banner) in all.iter().enumerate() {
        if at >= announced || matches!(banner, Banner::Concluded { .. }) {
            observer.on_banner(banner);
        }
    }
}
