//! One message's journey, as a machine that says what to do next and does nothing itself.
//!
//! The driver (in `neap-engine`) performs each [`Step`] and feeds the result back as an [`Input`]:
//! accept → load logs → assemble → call the model → carry out its tool calls → assemble again, so that an
//! expanded log is visible in the same turn → … → reply → route, references, decay, eviction → done.
//!
//! What the machine decides is applied to the state at once and handed out in [`Step::Commit`]. If that
//! commit turns out stale, the driver reloads the state and says [`Input::Stale`]; the machine then decides
//! that part again.

mod censoring;
mod compacting;
mod concluding;
mod desk;
mod finish;
mod intake;
mod knowing;
mod learning;
mod lone;
mod perform;
mod round;
mod search;
mod step;
mod summing;
mod taking_back;
mod tend;
mod text;
mod think;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

pub use desk::Desk;
pub use intake::limit;
pub use lone::{LoneCall, LoneOutcome, LoneStep};
pub use step::{Ended, Input, ModelReply, ModelRequest, Outcome, Step, TurnError};
pub use taking_back::take_back;
pub use tend::{TendStep, Tending};

use crate::assemble::{Selection, check_budget};
use crate::cost::Cost;
use crate::event::{AbandonReason, Event, Recorded, RoundVisibility};
use crate::ids::{EffortId, Seq, Stamp, TurnNo};
use crate::knowledge::LoadCause;
use crate::learn::{Learning, Use, Wish};
use crate::ledger::Ledger;
use crate::memory::{Author, MemoryId};
use crate::message::{Counted, Exchange, Incomplete, Message, Scope, ToolRound};
use crate::policy::Policy;
use crate::secrets::mask_key;
use crate::tools::Banner;
use compacting::Compacting;
use round::Round;

/// Whether what was said may be taken in at all.
pub fn check_length(policy: &Policy, text: &str, reply: Option<&str>) -> Result<(), TurnError> {
    let (longest, bytes_max) = (text.len().max(reply.map_or(0, str::len)) as u64, policy.message_bytes_max);
    if longest > bytes_max {
        return Err(TurnError::MessageTooLong { bytes: longest, bytes_max });
    }
    Ok(())
}

/// A turn in progress.
#[derive(Debug)]
pub struct Turn {
    message: Counted,
    /// Whose words the message is, as the surface it came by vouches.
    author: Author,
    turn_id: Option<String>,
    /// Set when the host ran the model itself and only tells us what was said.
    told_reply: Option<Counted>,
    turn: TurnNo,
    /// The event that began it, and when: a number alone could be another process's turn.
    first_seq: Seq,
    began: Stamp,
    /// Whether its beginning is durable; until then, a stale commit means that it never began.
    is_accepted: bool,
    phase: Phase,
    /// Decided and applied, not yet committed.
    batch: Vec<Recorded>,
    /// Tool rounds of this turn, committed.
    rounds: Vec<(ToolRound, RoundVisibility)>,
    calls_made: u64,
    banners: Vec<Banner>,
    refusals: Vec<String>,
    touched: BTreeSet<EffortId>,
    ledger: Ledger,
    cost: Cost,
    /// What the model said last, without what it said beside earlier calls.
    last_said: String,
    /// Summaries of spans made on the way, and logs of which none could be made.
    compactions: usize,
    given_up: BTreeSet<Scope>,
    /// What rules say about the message.
    guidance: Option<Counted>,
    /// Answers that a rule refused.
    refused: u64,
    /// What was found out on the way and is not durable yet.
    unsaved: Vec<Event>,
    /// Whether the model's words are held back until a rule has looked at them; the same for the whole turn.
    hold: Option<bool>,
    /// Memories that it made use of, to be counted when it is over.
    uses: Vec<(MemoryId, Use)>,
    /// What is to be learnt once it is durable.
    wishes: VecDeque<Wish>,
}

#[derive(Debug)]
enum Phase {
    /// The message is being accepted.
    Accepting,
    /// What the agent knows is being looked up.
    Recalling {
        cause: LoadCause,
    },
    /// An answer that a rule refused is being committed.
    AskedAgain {
        round: Box<ToolRound>,
    },
    /// What the turn used of what the agent knows is being counted.
    Counting {
        learning: Box<Learning>,
        outcome: Box<Outcome>,
    },
    /// Logs are being fetched.
    Loading,
    /// A stretch of a log that no longer fits is being summarised.
    Compacting(Box<Compacting>),
    /// Its summary is being committed.
    Compacted,
    /// The model has the context.
    Thinking,
    /// Its calls are being carried out.
    Calling(Box<Round>),
    /// A round of calls is being committed.
    Called(Box<Round>),
    /// Logs are fetched again after another process's commit, so that what fades is measured against them.
    Refilling {
        reply: Counted,
    },
    /// The turn's end is being committed.
    Completing {
        reply: Counted,
        ended: Box<Ended>,
    },
    /// The turn ends without a reply.
    Abandoning {
        reason: AbandonReason,
        ended: Box<Ended>,
    },
    Over,
}

impl Turn {
    /// A turn in which the model is called.
    pub fn new(desk: &Desk<'_>, author: Author, text: &str, turn_id: Option<String>) -> Result<Self, TurnError> {
        check_length(desk.state.policy(), text, None)?;
        Self::of(desk, author, desk.count(Message::user(text)), None, turn_id)
    }

    /// A turn that already happened elsewhere: the host ran the model.
    pub fn told(
        desk: &Desk<'_>,
        author: Author,
        text: &str,
        reply: &str,
        turn_id: Option<String>,
    ) -> Result<Self, TurnError> {
        check_length(desk.state.policy(), text, Some(reply))?;
        let reply = desk.count(Message::assistant(reply));
        Self::of(desk, author, desk.count(Message::user(text)), Some(reply), turn_id)
    }

    /// The same with what was said as it may be recorded already ([`SessionState::counted`](crate::state::SessionState::counted));
    /// its length was checked ([`check_length`]). With a reply, the turn happened elsewhere.
    pub fn of(
        desk: &Desk<'_>,
        author: Author,
        message: Counted,
        told_reply: Option<Counted>,
        turn_id: Option<String>,
    ) -> Result<Self, TurnError> {
        let turn_id = turn_id.map(|id| mask_key(desk.state.masking(), &id));
        check_budget(desk.state.policy(), desk.tools, desk.counter)?;
        Ok(Self {
            message,
            author,
            turn_id,
            told_reply,
            turn: TurnNo(0),
            first_seq: Seq(0),
            began: desk.now,
            is_accepted: false,
            phase: Phase::Accepting,
            batch: Vec::new(),
            rounds: Vec::new(),
            calls_made: 0,
            banners: Vec::new(),
            refusals: Vec::new(),
            touched: BTreeSet::new(),
            ledger: Ledger::default(),
            cost: Cost::default(),
            last_said: String::new(),
            compactions: 0,
            given_up: BTreeSet::new(),
            guidance: None,
            refused: 0,
            unsaved: Vec::new(),
            hold: None,
            uses: Vec::new(),
            wishes: VecDeque::new(),
        })
    }

    /// How long what was said is, with what was answered elsewhere.
    pub fn bytes(&self) -> usize {
        let told = self.told_reply.as_ref().map_or(0, |reply| reply.message.content.len());
        self.message.message.content.len() + told
    }

    /// Takes what the last step gave, and says what to do next.
    ///
    /// # Panics
    /// If the input does not answer the last step: that is a fault of the driver.
    pub fn step(&mut self, desk: &mut Desk<'_>, input: Input) -> Step {
        if matches!(input, Input::Stale) {
            self.batch.clear();
            // What was found out on the way stays found out.
            for event in self.unsaved.clone() {
                self.record(desk, event);
            }
        } else if matches!(input, Input::Committed) {
            self.unsaved.clear();
        }
        match (std::mem::replace(&mut self.phase, Phase::Over), input) {
            (Phase::Accepting, Input::Begin | Input::Stale) => self.accept(desk),
            (Phase::Accepting, Input::Committed) => {
                self.is_accepted = true;
                self.know(desk)
            }
            (Phase::Recalling { cause }, Input::Given(given)) => self.known(desk, cause, given),
            (Phase::AskedAgain { round }, Input::Committed) => {
                self.rounds.push((*round, RoundVisibility::ThisTurn));
                self.load(desk)
            }
            (Phase::AskedAgain { round }, Input::Stale) => {
                let event = Event::ToolsCalled {
                    turn: self.turn,
                    round: (*round).clone(),
                    visibility: RoundVisibility::ThisTurn,
                };
                self.record(desk, event);
                self.commit(Phase::AskedAgain { round })
            }
            (Phase::Counting { outcome, .. }, Input::NotLearnt) => Step::Done(outcome),
            (Phase::Counting { learning, outcome }, input) => self.count_uses(desk, learning, outcome, input),
            (Phase::Loading, Input::Loaded(loaded)) => {
                desk.hold(loaded);
                self.think(desk)
            }
            (Phase::Compacting(compacting), input) => self.compact(desk, compacting, input),
            (Phase::Compacted, Input::Committed | Input::Stale) => self.load(desk),
            (Phase::Thinking, Input::Replied(reply)) => self.hear(desk, reply),
            (Phase::Thinking, Input::ModelFailed { message, partial }) => self.failed(desk, &message, &partial),
            (Phase::Thinking, Input::Interrupted { partial }) => self.interrupted(desk, &partial),
            (Phase::Calling(round), input) => self.call(desk, round, input),
            (Phase::Called(round), Input::Committed) => self.called(desk, *round),
            (Phase::Called(round), Input::Stale) => self.call_again(desk, *round),
            (Phase::Completing { ended, .. } | Phase::Abandoning { ended, .. }, Input::Committed) => {
                let Ended { scope, exchange, outcome } = *ended;
                self.end_of_prompt(desk, &exchange);
                desk.logs.push(&scope, Arc::new(exchange), desk.state.policy().context_budget());
                self.learn_from_it(desk, Box::new(outcome))
            }
            (Phase::Completing { .. } | Phase::Abandoning { .. }, Input::Stale) if !self.is_accepted => {
                self.accept(desk)
            }
            (Phase::Completing { reply, .. }, Input::Stale) => self.finish(desk, reply),
            (Phase::Refilling { reply }, Input::Loaded(loaded)) => {
                desk.hold(loaded);
                self.finish(desk, reply)
            }
            (Phase::Abandoning { reason, .. }, Input::Stale) => self.abandon(desk, reason),
            (phase, input) => panic!("the driver answered {phase:?} with {input:?}"),
        }
    }

    /// What tools did so far.
    pub fn banners(&self) -> &[Banner] {
        &self.banners
    }

    /// The message is durable before any model is called (I2).
    fn accept(&mut self, desk: &mut Desk<'_>) -> Step {
        self.begin_turn(desk, self.turn_id.clone());
        if self.told_reply.is_some() {
            return self.load(desk);
        }
        self.commit(Phase::Accepting)
    }

    fn begin_turn(&mut self, desk: &mut Desk<'_>, turn_id: Option<String>) {
        (self.turn, self.first_seq, self.began) = (desk.state.turn().next(), desk.state.seq().next(), desk.now);
        let (message, author) = (self.message.clone(), Some(self.author));
        self.record(desk, Event::TurnStarted { turn: self.turn, message, turn_id, author });
    }

    fn load(&mut self, desk: &mut Desk<'_>) -> Step {
        let selection = Selection::of(desk.state);
        let wanted: BTreeSet<Scope> = selection.scopes().collect();
        desk.logs.retain(|scope| wanted.contains(scope));
        let requests = desk.missing(&selection);
        if requests.is_empty() {
            return self.think(desk);
        }
        self.phase = Phase::Loading;
        Step::Load(requests)
    }

    /// Whether its reply is durable, and all that is left can fail without harm.
    pub fn is_answered(&self) -> bool {
        matches!(self.phase, Phase::Counting { .. })
    }

    fn finish_told(&mut self, desk: &mut Desk<'_>) -> Step {
        self.check_told(desk);
        let reply = self.told_reply.clone().unwrap_or_else(|| desk.count(Message::assistant("")));
        self.finish(desk, reply)
    }

    fn may_call(&self, desk: &Desk<'_>) -> bool {
        let policy = desk.state.policy();
        (self.rounds.len() as u64) < policy.tool_rounds_max && self.calls_made < policy.tool_calls_max
    }

    fn hear(&mut self, desk: &mut Desk<'_>, mut reply: ModelReply) -> Step {
        self.pay_for(desk, &reply);
        // The calls stay as they are: a host's tool needs what it was given, and what is recorded of it is masked then.
        reply.text = desk.mask(&reply.text);
        let calls_left =
            if self.may_call(desk) { desk.state.policy().tool_calls_max - self.calls_made } else { 0 };
        let heard = intake::hear(reply, self.turn, self.rounds.len(), calls_left, desk.state.policy());
        self.refusals.extend(heard.refusals);
        self.last_said.clone_from(&heard.text);
        if heard.calls.is_empty() {
            return self.answered(desk, heard.text, heard.incomplete);
        }
        match self.check_round(desk, heard.text, &heard.calls) {
            Ok(text) => {
                self.last_said.clone_from(&text);
                self.start_next_call(desk, Box::new(Round::new(text, heard.calls)))
            }
            Err(reason) => self.abandon(desk, reason),
        }
    }

    /// The model has answered; a rule may have something to say about it.
    fn answered(&mut self, desk: &mut Desk<'_>, text: String, incomplete: Option<Incomplete>) -> Step {
        let whole = self.said_beside_calls(text.clone());
        let reply = match self.check_output(desk, &text, &whole) {
            Ok(None) => intake::reply(whole, incomplete),
            Ok(Some(withheld)) => {
                self.last_said.clear();
                intake::reply(String::new(), Some(withheld))
            }
            Err(step) => return *step,
        };
        self.finish(desk, desk.count(reply))
    }

    /// What the model said together with its calls is part of its reply: a round that only this turn shows
    /// would take those words with it.
    fn said_beside_calls(&self, last: String) -> String {
        // What a rule refused has no calls and is not said.
        let earlier = self.rounds.iter().filter(|(round, visibility)| {
            *visibility == RoundVisibility::ThisTurn && !round.assistant.message.tool_calls.is_empty()
        });
        let texts = earlier.map(|(round, _)| round.assistant.message.content.to_string()).chain([last]);
        texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// What this turn said until now, for the summary of an effort that it closes.
    fn said_so_far(&self, text: &str) -> Vec<Message> {
        let mut said = vec![self.message.message.clone()];
        said.extend((!text.is_empty()).then(|| Message::assistant(text)));
        said
    }

    /// Records what would be lost if another process came first: it is not decided again.
    fn record_found(&mut self, desk: &mut Desk<'_>, event: Event) {
        self.unsaved.push(event.clone());
        self.record(desk, event);
    }

    fn record(&mut self, desk: &mut Desk<'_>, event: Event) {
        self.batch.push(desk.state.record(desk.now, event));
    }

    fn commit(&mut self, then: Phase) -> Step {
        self.phase = then;
        Step::Commit(std::mem::take(&mut self.batch))
    }

    fn exchange(&self, reply: Option<Counted>) -> Exchange {
        let transcript = self.rounds.iter().filter(|(_, v)| *v == RoundVisibility::Transcript);
        let rounds = transcript.flat_map(|(round, _)| round.messages().cloned());
        let messages = std::iter::once(self.message.clone()).chain(rounds).chain(reply).collect();
        Exchange { turn: self.turn, at: self.began, messages }
    }
}
