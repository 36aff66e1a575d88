//! A session: one conversation, with its efforts, going on.

use std::sync::Arc;

use neap_core::assemble::{Selection, ThisTurn, View, WorkingContext, check_budget};
use neap_core::event::{AbandonReason, Event, Recorded};
use neap_core::ids::{SessionId, TurnNo};
use neap_core::ledger::Ledger;
use neap_core::memory::Author;
use neap_core::message::{Counted, Incomplete, Message, Scope, ToolCall, for_people};
use neap_core::report::{Report, report};
use neap_core::resume::abandon;
use neap_core::secrets::mask_key;
use neap_core::state::SessionState;
use neap_core::tokens::{TokenCounter, Tokens};
use neap_core::tools::{Banner, ToolSet};
use neap_core::turn::{LoneCall, LoneOutcome, Outcome, Tending, Turn, check_length};
use neap_model::envelope::Envelope;
use neap_store::StoreError;

use crate::answer::binding;
use crate::drive::Driver;
use crate::error::EngineError;
use crate::live::Live;
use crate::parts::Parts;
use crate::record::take_in;
use crate::watch::{Interrupt, Quiet, Watch};

/// What came of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnReply {
    /// Its number.
    pub turn: TurnNo,
    /// What the model said, and nothing else.
    pub text: String,
    /// Why that is not all that it might have said.
    pub incomplete: Option<Incomplete>,
    /// What tools, and time, did.
    pub banners: Vec<Banner>,
    /// What was refused.
    pub refusals: Vec<String>,
    /// Where the exchange went.
    pub scope: Scope,
    /// What the model saw.
    pub ledger: Ledger,
}

impl TurnReply {
    /// What people read of it: what was said, and why there is no more.
    pub fn for_people(&self) -> String {
        for_people(&self.text, self.incomplete.as_ref())
    }
}

/// What came of a tool call outside a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolReply {
    /// What the tool answered.
    pub text: String,
    /// What the human is told.
    pub banner: Option<Banner>,
    /// Set if it was refused.
    pub refusal: Option<String>,
    /// The answer, signed: whoever carries it elsewhere can prove what it answers.
    pub envelope: Envelope,
}

/// An open session.
pub struct Session {
    pub(crate) parts: Arc<Parts>,
    pub(crate) live: Live,
    counter: Arc<dyn TokenCounter>,
    tools: ToolSet,
    interrupt: Interrupt,
}

impl Session {
    pub(crate) fn new(parts: Arc<Parts>, live: Live, counter: Arc<dyn TokenCounter>, tools: ToolSet) -> Self {
        Self { parts, live, counter, tools, interrupt: Interrupt::default() }
    }

    /// Says something and gets a reply. Once this returns, the turn is durable; even if it fails or is
    /// dropped half-way, the message is, from the moment the model is asked.
    ///
    /// `author` is whose words these are: [`Author::Person`] only where a person typed them, or where a host that knows its
    /// user vouches for that. What a person states to hold from now on is loaded in every session; what anybody else states
    /// is kept as a proposal.
    pub async fn turn(
        &mut self,
        author: Author,
        text: &str,
        watch: &mut dyn Watch,
    ) -> Result<TurnReply, EngineError> {
        self.turn_with_id(author, text, None, watch).await
    }

    /// The same, with the caller's own id for the turn: sending it again changes nothing and gives the same
    /// reply.
    pub async fn turn_with_id(
        &mut self,
        author: Author,
        text: &str,
        turn_id: Option<&str>,
        watch: &mut dyn Watch,
    ) -> Result<TurnReply, EngineError> {
        self.take_turn(watch, turn_id, author, text, None).await
    }

    /// Records a turn that happened elsewhere: the host ran the model. `author` is whose words `text` is, as in
    /// [`Session::turn`].
    pub async fn record(
        &mut self,
        author: Author,
        text: &str,
        reply: &str,
        turn_id: Option<&str>,
    ) -> Result<TurnReply, EngineError> {
        self.take_turn(&mut Quiet, turn_id, author, text, Some(reply)).await
    }

    /// Carries out a tool outside a turn.
    pub async fn call_tool(&mut self, name: &str, arguments: &str) -> Result<ToolReply, EngineError> {
        self.call_tool_watched(name, arguments, &mut Quiet).await
    }

    /// The same, while someone watches.
    pub async fn call_tool_watched(
        &mut self,
        name: &str,
        arguments: &str,
        watch: &mut dyn Watch,
    ) -> Result<ToolReply, EngineError> {
        // Before anything is done that could not be told.
        self.parts.keyring()?;
        self.settle().await?;
        let call = ToolCall {
            id: format!("call_{}", self.live.state.seq().next()),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let (driver, live) = self.driver();
        let outcome = driver.lone_call(live, LoneCall::new(call.clone()), watch).await?;
        let LoneOutcome { text, banner, refusal } = outcome;
        let (keyring, now) = (self.parts.keyring()?, self.parts.clock.now());
        let envelope = keyring.seal(&binding(self.live.id.as_str(), &call), text.clone(), now)?;
        Ok(ToolReply { text, banner, refusal, envelope })
    }

    /// What the model would be sent if this were said now: the prompt so far and more, or one written anew.
    pub async fn preview(&mut self, text: Option<&str>) -> Result<WorkingContext, EngineError> {
        self.settle().await?;
        self.load_logs().await?;
        let message = self.accepted(text).await;
        let turn = self.live.state.turn().next();
        let this_turn = ThisTurn { turn, message: message.as_ref(), ..ThisTurn::default() };
        let now = self.parts.clock.now();
        Ok(self.view().preview(&self.live.sent, this_turn, now)?)
    }

    /// What the state calls for if this were said now, written anew; with nothing to say, what it calls for before.
    pub async fn assemble(&mut self, text: Option<&str>) -> Result<WorkingContext, EngineError> {
        self.settle().await?;
        self.load_logs().await?;
        let message = self.accepted(text).await;
        let turn = self.live.state.turn().next();
        let this_turn = ThisTurn { turn, message: message.as_ref(), ..ThisTurn::default() };
        Ok(self.view().anew(this_turn)?)
    }

    /// Where the session stands, within a budget of its own, for a reader who is not offered our tools; none if the budget is too
    /// small for anything. Changes nothing.
    pub(crate) async fn stand(&mut self, budget: Tokens) -> Result<Option<WorkingContext>, EngineError> {
        self.settle().await?;
        let mut policy = self.live.state.policy().clone();
        policy.set("context_tokens_max", &budget.0.to_string())?;
        // Applied here and never made durable: the session is read anew afterwards.
        self.live.state.record(self.parts.clock.now(), Event::PolicyChanged { policy });
        self.live.logs.clear();
        self.load_logs().await?;
        let this_turn = ThisTurn { turn: self.live.state.turn().next(), ..ThisTurn::default() };
        let context = View { tools: &ToolSet::none(), known: None, ..self.view() }.anew(this_turn);
        self.live.reload(self.parts.store.as_ref()).await?;
        Ok(context.ok())
    }

    /// Upkeep between turns: prepares the summaries that the next turns will need, so that none has to be waited
    /// for. Says how many were made. May be dropped half-way; a session that is never tended is bounded all the
    /// same, with the built-in summariser at the last moment.
    pub async fn tend(&mut self) -> Result<usize, EngineError> {
        self.tend_watched(&mut Quiet).await
    }

    /// The same, while someone watches.
    pub async fn tend_watched(&mut self, watch: &mut dyn Watch) -> Result<usize, EngineError> {
        self.settle().await?;
        let (driver, live) = self.driver();
        let made = driver.tend(live, Tending::default(), watch).await?;
        driver.tend_mind(live).await?;
        Ok(made)
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.live.id
    }

    /// What is known about it.
    pub fn state(&self) -> &SessionState {
        &self.live.state
    }

    /// The seeds' metrics.
    pub fn report(&self) -> Report {
        report(&self.live.state)
    }

    /// How its tokens are counted.
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// Stops a reply in mid-sentence, from anywhere.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Changes a setting, for good; one that leaves no room for a message is refused and changes nothing.
    pub async fn set(&mut self, key: &str, value: &str) -> Result<(), EngineError> {
        loop {
            self.settle().await?;
            let mut policy = self.live.state.policy().clone();
            policy.set(key, value)?;
            check_budget(&policy, &self.tools, self.counter.as_ref())?;
            let decided = vec![self.live.state.record(self.parts.clock.now(), Event::PolicyChanged { policy })];
            match self.commit(decided).await {
                Ok(()) => break,
                // Another process came first: decided again on what it left.
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        // Logs in memory were cut to the old budget.
        self.live.logs.clear();
        self.live.sent.forget();
        Ok(())
    }

    /// Makes events durable that were already applied to the state.
    pub(crate) async fn commit(&mut self, events: Vec<Recorded>) -> Result<(), StoreError> {
        self.live.commit(self.parts.store.as_ref(), events).await?;
        self.parts.changed(&self.live.id);
        Ok(())
    }

    /// A message as it is recorded; a long one is masked and counted off the async workers.
    async fn taken(&self, message: Message) -> Counted {
        take_in(&self.live.state, &self.counter, message).await
    }

    /// A message as a turn would take it in.
    async fn accepted(&self, text: Option<&str>) -> Option<Counted> {
        match text {
            Some(text) => Some(self.taken(Message::user(text)).await),
            None => None,
        }
    }

    /// Whether the budget holds at least a message.
    pub(crate) fn check_budget(&self) -> Result<(), EngineError> {
        Ok(check_budget(self.live.state.policy(), &self.tools, self.counter.as_ref())?)
    }

    async fn take_turn(
        &mut self,
        watch: &mut dyn Watch,
        turn_id: Option<&str>,
        author: Author,
        text: &str,
        reply: Option<&str>,
    ) -> Result<TurnReply, EngineError> {
        self.settle().await?;
        let stored_id = turn_id.map(|id| mask_key(self.live.state.masking(), id));
        if let Some(turn_id) = &stored_id
            && let Some(turn) = self.parts.store.turn_of(&self.live.id, turn_id).await?
        {
            return self.reply_of(turn).await;
        }
        check_length(self.live.state.policy(), text, reply)?;
        let said = self.taken(Message::user(text)).await;
        let told = match reply {
            Some(reply) => Some(self.taken(Message::assistant(reply)).await),
            None => None,
        };
        let (driver, live) = self.driver();
        let turn = Turn::of(&driver.desk(live), author, said, told, stored_id)?;
        match driver.turn(live, turn, watch).await {
            Ok(Outcome { turn, reply, incomplete, banners, refusals, scope, ledger }) => match reply {
                Ok(text) => Ok(TurnReply { turn, text, incomplete, banners, refusals, scope, ledger }),
                Err(reason) => Err(EngineError::NoReply { turn, reason }),
            },
            Err(EngineError::Store(StoreError::DuplicateTurn { turn })) if turn_id.is_some() => {
                self.settle().await?;
                self.reply_of(turn).await
            }
            Err(error) => Err(error),
        }
    }

    /// What was answered to a turn that is over.
    async fn reply_of(&self, turn: TurnNo) -> Result<TurnReply, EngineError> {
        if self.live.state.head().pending.contains_key(&turn) {
            return Err(EngineError::StillAnswering { turn });
        }
        let explained = crate::explain::explain(self.parts.store.as_ref(), &self.live.id, turn).await?;
        if let Some(reason) = explained.abandoned {
            return Err(EngineError::NoReply { turn, reason });
        }
        let text = explained.reply.ok_or_else(|| EngineError::NoTurn { session: self.live.id.clone(), turn })?;
        let scope = explained.scope.unwrap_or(Scope::Ambient);
        let (ledger, incomplete) = (explained.ledger.unwrap_or_default(), explained.incomplete);
        Ok(TurnReply { turn, text, incomplete, banners: Vec::new(), refusals: Vec::new(), scope, ledger })
    }

    /// Forgets decisions of a turn that was dropped half-way and never became durable, and closes that turn: what
    /// was said in it stays, in its place.
    pub(crate) async fn settle(&mut self) -> Result<(), EngineError> {
        if let Some(mind) = &mut self.live.mind
            && mind.follow(&self.parts).await?
        {
            // What was erased must not be sent again.
            self.live.sent.forget();
        }
        loop {
            if self.live.is_ahead_of_store() {
                self.live.reload(self.parts.store.as_ref()).await?;
            }
            let Some(turn) = self.live.turn else { return Ok(()) };
            let Some(event) = abandon(&self.live.state, turn, AbandonReason::Interrupted) else {
                self.live.turn = None;
                return Ok(());
            };
            let decided = vec![self.live.state.record(self.parts.clock.now(), event)];
            match self.commit(decided).await {
                // Its log does not have it yet, and the prompt has it without an end.
                Ok(()) => {
                    self.live.logs.clear();
                    self.live.sent.forget();
                }
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn load_logs(&mut self) -> Result<(), EngineError> {
        let Live { state, logs, .. } = &self.live;
        for request in Selection::of(state).requests(state.policy(), |scope| logs.get(scope).is_some()) {
            let log = self.parts.store.log(&self.live.id, &request).await?;
            self.live.logs.put(request.scope, log);
        }
        Ok(())
    }

    /// What a context is made from, now.
    fn view(&self) -> View<'_> {
        let Live { state, logs, mind, .. } = &self.live;
        let known = mind.as_ref().and_then(|mind| mind.known.page());
        View { state, logs, tools: &self.tools, counter: self.counter.as_ref(), known }
    }

    fn driver(&mut self) -> (Driver<'_>, &mut Live) {
        let driver = Driver {
            parts: &self.parts,
            counter: self.counter.as_ref(),
            tools: &self.tools,
            interrupt: &self.interrupt,
        };
        (driver, &mut self.live)
    }
}
