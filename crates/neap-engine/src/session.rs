//! An open session: one conversation with its efforts.

use std::sync::Arc;

use neap_core::base::ids::{SessionId, Stamp, TurnNo};
use neap_core::base::ledger::Ledger;
use neap_core::base::message::{CountedMessage, Incomplete, Message, Scope, ToolCall, display_text};
use neap_core::base::tokens::{TokenCounter, Tokens};
use neap_core::client::EffortRules;
use neap_core::context::tools::ToolSet;
use neap_core::context::{Assembler, Selection, ThisTurn, WorkingContext, check_budget};
use neap_core::memory::Author;
use neap_core::memory::learn::MemoryHit;
use neap_core::session::event::{AbandonReason, SessionEvent};
use neap_core::session::report::{Report, report};
use neap_core::session::resume::abandon;
use neap_core::session::state::SessionState;
use neap_core::text::secrets::mask_id;
use neap_core::turn::tools::Banner;
use neap_core::turn::{StandaloneOutcome, StandaloneToolCall, Turn, TurnOutcome, Upkeep, check_length};
use neap_model::envelope::Envelope;
use neap_store::StoreError;

use crate::driver::{Driver, DriverRun};
use crate::engine::tools_of;
use crate::error::EngineError;
use crate::observer::{Interrupt, NullObserver, TurnObserver};
use crate::parts::Parts;
use crate::record::prepare_message;
use crate::stream::{OpenStream, Recorder};
use crate::tool_answer::call_binding;

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReply {
    /// The turn's number.
    pub turn: TurnNo,
    /// The model's words, and nothing else.
    pub text: String,
    /// Why the reply is incomplete.
    pub incomplete: Option<Incomplete>,
    /// What tools, and time, did to efforts.
    pub banners: Vec<Banner>,
    /// Tool calls that were refused, and why.
    pub refusals: Vec<String>,
    /// How many tool calls the model made.
    pub tool_calls: u64,
    /// The log that the exchange went to.
    pub scope: Scope,
    /// The account of the prompt.
    pub ledger: Ledger,
}

impl TurnReply {
    /// The reply for people to read, with a note if it is incomplete.
    pub fn display_text(&self) -> String {
        display_text(&self.text, self.incomplete.as_ref())
    }
}

/// The outcome of a tool call outside a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// The tool's result.
    pub text: String,
    /// A line for the person about what the tool did.
    pub banner: Option<Banner>,
    /// Why the call was refused, if it was.
    pub refusal: Option<String>,
    /// Memories that it found, best first: the same as in the text, as fields.
    pub hits: Vec<MemoryHit>,
    /// The signed result, which proves elsewhere what it answers.
    pub envelope: Envelope,
}

/// One open conversation.
pub struct Session {
    id: SessionId,
    pub(crate) parts: Arc<Parts>,
    pub(crate) stream: OpenStream,
    counter: Arc<dyn TokenCounter>,
    tools: ToolSet,
    interrupt: Interrupt,
    /// Where the program keeps efforts if the model does not.
    pub(crate) rules: Option<EffortRules>,
    /// Whether the model is offered none of Neap's tools, because it calls none.
    is_without_tools: bool,
}

impl Session {
    pub(crate) fn new(
        id: SessionId,
        parts: Arc<Parts>,
        stream: OpenStream,
        counter: Arc<dyn TokenCounter>,
        tools: ToolSet,
    ) -> Self {
        let rules = parts.keeps_efforts_by_rule.then(EffortRules::default);
        Self { id, parts, stream, counter, tools, interrupt: Interrupt::default(), rules, is_without_tools: false }
    }

    /// Sends a message and returns the reply. The turn is durable when this returns; the message is durable before
    /// the model is called, even if the turn then fails or is dropped.
    ///
    /// `author` is who wrote `text`: [`Author::Person`] only if a person typed it, or if a host that knows its
    /// user vouches for that. What a person states to hold from now on is loaded in every session; from anybody
    /// else it is stored as a proposal.
    pub async fn turn(
        &mut self,
        author: Author,
        text: &str,
        observer: &mut dyn TurnObserver,
    ) -> Result<TurnReply, EngineError> {
        self.turn_with_id(author, text, None, observer).await
    }

    /// Like [`Session::turn`], with the caller's id: the same id again changes nothing and gets the same reply.
    pub async fn turn_with_id(
        &mut self,
        author: Author,
        text: &str,
        turn_id: Option<&str>,
        observer: &mut dyn TurnObserver,
    ) -> Result<TurnReply, EngineError> {
        let mut reply = self.run_turn(observer, turn_id, author, text, None, None).await?;
        self.apply_rules_after(&mut reply, observer).await;
        Ok(reply)
    }

    /// Records a turn for which the host ran the model. `author` is who wrote `text`, as in [`Session::turn`].
    pub async fn record(
        &mut self,
        author: Author,
        text: &str,
        reply: &str,
        turn_id: Option<&str>,
    ) -> Result<TurnReply, EngineError> {
        self.record_at(author, text, reply, turn_id, None).await
    }

    /// Like [`Session::record`], for what was said at another time. A time to come counts as now.
    pub async fn record_at(
        &mut self,
        author: Author,
        text: &str,
        reply: &str,
        turn_id: Option<&str>,
        at: Option<Stamp>,
    ) -> Result<TurnReply, EngineError> {
        let said_at = at.map(|at| at.clamp(Stamp(0), self.parts.clock.now()));
        self.run_turn(&mut NullObserver, turn_id, author, text, Some(reply), said_at).await
    }

    /// Runs a tool outside a turn.
    pub async fn call_tool(&mut self, name: &str, arguments: &str) -> Result<ToolReply, EngineError> {
        self.call_tool_observed(name, arguments, &mut NullObserver).await
    }

    /// Like [`Session::call_tool`], with an observer.
    pub async fn call_tool_observed(
        &mut self,
        name: &str,
        arguments: &str,
        observer: &mut dyn TurnObserver,
    ) -> Result<ToolReply, EngineError> {
        self.run_tool(name, arguments, StandaloneToolCall::new, observer).await
    }

    /// Runs a tool for a person who waits for it: a conclusion gets a summary at once, by the built-in summariser, and
    /// the configured one replaces it in upkeep.
    pub async fn command(
        &mut self,
        name: &str,
        arguments: &str,
        observer: &mut dyn TurnObserver,
    ) -> Result<ToolReply, EngineError> {
        let has_summarizer = self.parts.summary_timeout.is_some();
        let machine: fn(ToolCall) -> StandaloneToolCall =
            if has_summarizer { StandaloneToolCall::awaited } else { StandaloneToolCall::new };
        self.run_tool(name, arguments, machine, observer).await
    }

    async fn run_tool(
        &mut self,
        name: &str,
        arguments: &str,
        machine: fn(ToolCall) -> StandaloneToolCall,
        observer: &mut dyn TurnObserver,
    ) -> Result<ToolReply, EngineError> {
        // Fail before the tool runs if its result cannot be signed.
        self.parts.keyring()?;
        self.recover().await?;
        let call = ToolCall {
            id: format!("call_{}", self.stream.state.seq().next()),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let (driver, stream) = self.driver();
        let outcome =
            driver.run(stream, machine(call.clone()), &mut DriverRun::new(driver.parts, observer)).await?;
        let StandaloneOutcome { text, banner, refusal, hits } = outcome;
        let (keyring, now) = (self.parts.keyring()?, self.parts.clock.now());
        let envelope = keyring.seal(&call_binding(self.stream.id.as_str(), &call), text.clone(), now)?;
        Ok(ToolReply { text, banner, refusal, hits, envelope })
    }

    /// The prompt for `text` now: the one that was sent last and more, or a rewritten one.
    pub async fn preview(&mut self, text: Option<&str>) -> Result<WorkingContext, EngineError> {
        self.recover().await?;
        self.load_logs().await?;
        let message = self.prepare_text(text).await;
        let turn = self.stream.state.turn().next();
        let this_turn = ThisTurn { turn, message: message.as_ref(), ..ThisTurn::default() };
        let now = self.parts.clock.now();
        Ok(self.view().preview(&self.stream.sent, this_turn, now)?)
    }

    /// The context for `text`, if any, written from scratch.
    pub async fn assemble(&mut self, text: Option<&str>) -> Result<WorkingContext, EngineError> {
        self.recover().await?;
        self.load_logs().await?;
        let message = self.prepare_text(text).await;
        let turn = self.stream.state.turn().next();
        let this_turn = ThisTurn { turn, message: message.as_ref(), ..ThisTurn::default() };
        Ok(self.view().assemble_anew(this_turn)?)
    }

    /// The context within another budget, without our tools; `None` if that is too small. Changes nothing.
    pub(crate) async fn context_within(&mut self, budget: Tokens) -> Result<Option<WorkingContext>, EngineError> {
        self.recover().await?;
        let mut policy = self.stream.state.policy().clone();
        policy.set("context_tokens_max", &budget.0.to_string())?;
        // Applied in memory only: the session is reloaded below.
        self.stream.state.record(self.parts.clock.now(), SessionEvent::PolicyChanged { policy });
        self.stream.logs.clear();
        self.load_logs().await?;
        let this_turn = ThisTurn { turn: self.stream.state.turn().next(), ..ThisTurn::default() };
        let context =
            Assembler { tools: &ToolSet::none(), knowledge: None, ..self.view() }.assemble_anew(this_turn);
        self.stream.reload(self.parts.store.as_ref()).await?;
        Ok(context.ok())
    }

    /// Prepares the summaries that the next turns will need, so that none waits for them; returns how many. May be
    /// dropped midway. Without upkeep, the built-in summariser bounds the session at the last moment.
    pub async fn run_upkeep(&mut self) -> Result<usize, EngineError> {
        self.run_upkeep_observed(&mut NullObserver).await
    }

    /// Like [`Session::run_upkeep`], with an observer.
    pub async fn run_upkeep_observed(&mut self, observer: &mut dyn TurnObserver) -> Result<usize, EngineError> {
        self.recover().await?;
        let (driver, stream) = self.driver();
        let made = driver.run(stream, Upkeep::default(), &mut DriverRun::new(driver.parts, observer)).await?;
        driver.run_agent_upkeep(stream).await?;
        Ok(made)
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session's state.
    pub fn state(&self) -> &SessionState {
        &self.stream.state
    }

    /// The session's metrics.
    pub fn report(&self) -> Report {
        report(&self.stream.state)
    }

    /// Counts in the session's encoding.
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// The tools that it offers a model.
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// A handle that stops a reply midway, from anywhere.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Changes a setting for good; one that leaves no room for a message is refused and changes nothing.
    pub async fn set(&mut self, key: &str, value: &str) -> Result<(), EngineError> {
        self.recover().await?;
        let Self { parts, stream, tools, counter, is_without_tools, .. } = self;
        let mut recorder = Recorder::new(parts);
        loop {
            let mut policy = stream.state.policy().clone();
            policy.set(key, value)?;
            let fitting = if *is_without_tools {
                ToolSet::host_only(counter.as_ref(), parts.host_tools.specs())
            } else {
                tools_of(parts, stream, &policy, counter.as_ref())
            };
            check_budget(&policy, &fitting, counter.as_ref())?;
            let decided = vec![stream.state.record(parts.clock.now(), SessionEvent::PolicyChanged { policy })];
            if !recorder.commit(stream, decided).await?.is_stale() {
                // The logs in memory were cut to the old budget.
                stream.forget_logs();
                if fitting.specs() != tools.specs() {
                    *tools = fitting;
                    stream.sent.invalidate();
                }
                return Ok(());
            }
        }
    }

    /// Offers the model no tools any more but the host's, until the session is opened anew.
    pub(crate) fn withdraw_tools(&mut self) {
        self.is_without_tools = true;
        self.tools = ToolSet::host_only(self.counter.as_ref(), self.parts.host_tools.specs());
        self.stream.sent.invalidate();
    }

    async fn prepare_message(&self, message: Message) -> CountedMessage {
        prepare_message(&self.stream.state, &self.counter, message).await
    }

    async fn prepare_text(&self, text: Option<&str>) -> Option<CountedMessage> {
        match text {
            Some(text) => Some(self.prepare_message(Message::user(text)).await),
            None => None,
        }
    }

    async fn run_turn(
        &mut self,
        observer: &mut dyn TurnObserver,
        turn_id: Option<&str>,
        author: Author,
        text: &str,
        reply: Option<&str>,
        said_at: Option<Stamp>,
    ) -> Result<TurnReply, EngineError> {
        self.recover().await?;
        let stored_id = turn_id.map(|id| mask_id(self.stream.state.masking(), id));
        if let Some(turn_id) = &stored_id
            && let Some(turn) = self.parts.store.turn_by_id(&self.stream.id, turn_id).await?
        {
            return self.stored_reply(turn, text).await;
        }
        check_length(self.stream.state.policy(), text, reply)?;
        if reply.is_none() && author == Author::Person {
            self.apply_rules_before(text, observer).await;
        }
        let user_message = self.prepare_message(Message::user(text)).await;
        let reply_message = match reply {
            Some(reply) => Some(self.prepare_message(Message::assistant(reply)).await),
            None => None,
        };
        let (mut driver, stream) = self.driver();
        driver.said_at = said_at;
        let turn = Turn::new(&driver.turn_context(stream), author, user_message, reply_message, stored_id)?;
        match driver.run_turn(stream, turn, observer).await {
            Ok(TurnOutcome { turn, reply, incomplete, banners, refusals, tool_calls, scope, ledger }) => {
                match reply {
                    Ok(text) => {
                        Ok(TurnReply { turn, text, incomplete, banners, refusals, tool_calls, scope, ledger })
                    }
                    Err(reason) => Err(EngineError::NoReply { turn, reason }),
                }
            }
            Err(EngineError::Store(StoreError::DuplicateTurn { turn })) if turn_id.is_some() => {
                self.recover().await?;
                self.stored_reply(turn, text).await
            }
            Err(error) => Err(error),
        }
    }

    /// The reply to `text` that a turn of the same id got before.
    async fn stored_reply(&self, turn: TurnNo, text: &str) -> Result<TurnReply, EngineError> {
        if self.stream.state.head().pending.contains_key(&turn) {
            return Err(EngineError::StillAnswering { turn });
        }
        let explanation = crate::explain::explain(self.parts.store.as_ref(), &self.stream.id, turn).await?;
        if let Some(reason) = explanation.abandoned {
            return Err(EngineError::NoReply { turn, reason });
        }
        let sent = self.prepare_message(Message::user(text)).await;
        if explanation.message.is_some_and(|message| message != *sent.message.content) {
            return Err(EngineError::IdReused { turn });
        }
        let text =
            explanation.reply.ok_or_else(|| EngineError::NoTurn { session: self.stream.id.clone(), turn })?;
        let scope = explanation.scope.unwrap_or(Scope::Ambient);
        let (ledger, incomplete) = (explanation.ledger.unwrap_or_default(), explanation.incomplete);
        let (banners, refusals) = (Vec::new(), Vec::new());
        Ok(TurnReply { turn, text, incomplete, banners, refusals, tool_calls: 0, scope, ledger })
    }

    /// Drops what a cancelled turn decided but never made durable, and closes the turn; its message stays.
    pub(crate) async fn recover(&mut self) -> Result<(), EngineError> {
        if let Some(agent) = &mut self.stream.agent
            && agent.refresh(&self.parts).await?
        {
            // An erased memory must not be sent again.
            self.stream.sent.invalidate();
        }
        let Self { parts, stream, .. } = self;
        stream.drop_uncommitted(parts.store.as_ref()).await?;
        let mut recorder = Recorder::new(parts);
        while let Some(turn) = stream.turn {
            let Some(event) = abandon(&stream.state, turn, AbandonReason::Interrupted) else {
                stream.turn = None;
                break;
            };
            let decided = vec![stream.state.record(parts.clock.now(), event)];
            if !recorder.commit(stream, decided).await?.is_stale() {
                // The log in memory lacks the turn, and the prompt has it without an end.
                stream.forget_logs();
            }
        }
        Ok(())
    }

    async fn load_logs(&mut self) -> Result<(), EngineError> {
        let OpenStream { state, logs, .. } = &self.stream;
        for request in Selection::of(state).log_requests(state.policy(), |scope| logs.get(scope).is_some()) {
            let log = self.parts.store.log(&self.stream.id, &request).await?;
            self.stream.logs.put(request.scope, log);
        }
        Ok(())
    }

    fn view(&self) -> Assembler<'_> {
        let OpenStream { state, logs, agent, .. } = &self.stream;
        let knowledge = agent.as_ref().and_then(|agent| agent.memories.page());
        Assembler { state, logs, tools: &self.tools, counter: self.counter.as_ref(), knowledge }
    }

    fn driver(&mut self) -> (Driver<'_>, &mut OpenStream) {
        let driver = Driver {
            parts: &self.parts,
            counter: self.counter.as_ref(),
            tools: &self.tools,
            interrupt: &self.interrupt,
            said_at: None,
        };
        (driver, &mut self.stream)
    }
}
