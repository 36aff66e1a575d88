//! The working context: what the model sees, under a hard budget, with an account of every token.
//!
//! Pure: the same state, logs and message give the same bytes (I9). Order: system (identity, rules, a person's constraints, the
//! stance, how to reach what is not shown) → records (preferences, summaries, memories, which efforts are in play) → ambient →
//! expanded logs → open logs → active log → this turn's messages.

mod logs;
mod records;
mod select;
mod shares;
mod system;
mod this_turn;

use std::sync::Arc;

pub(crate) use records::standing;
pub use select::Selection;
pub(crate) use shares::level;

use crate::ids::TurnNo;
use crate::knowledge::{Knowledge, LoadCause, Loaded};
use crate::ledger::{Layer, LayerTokens, Ledger};
use crate::log::Logs;
use crate::memory::AgentHead;
use crate::message::{Counted, Message, ToolRound};
use crate::policy::Policy;
use crate::state::SessionState;
use crate::tokens::{REPLY_PRIMING, TokenCounter, Tokens};
use crate::tools::{ToolSet, ToolSpec};
use crate::window::Wish;
use logs::Section;
use records::Around;
use shares::Demand;
pub(crate) use this_turn::ShownTurn;

/// What happens in the turn for which a context is assembled.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisTurn<'a> {
    /// Its number.
    pub turn: TurnNo,
    /// The new message; none when only looking.
    pub message: Option<&'a Counted>,
    /// What rules say about it.
    pub guidance: Option<&'a Counted>,
    /// Tool rounds so far.
    pub rounds: &'a [ToolRound],
}

impl ThisTurn<'_> {
    /// What showing all of it would cost.
    pub(crate) fn tokens(&self) -> Tokens {
        let said = self.message.into_iter().chain(self.guidance);
        said.chain(self.rounds.iter().flat_map(ToolRound::with_notes)).map(|said| said.tokens).sum()
    }
}

/// A message and the layer that pays for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Who pays.
    pub layer: Layer,
    /// What is sent, and what it costs.
    pub said: Counted,
}

/// All that is sent to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingContext {
    /// The system message, section by section; joined they are its text.
    pub system: Vec<(Layer, String)>,
    /// The message of records behind it, section by section; joined they are its text. Empty if there is none.
    pub records: Vec<(Layer, String)>,
    /// Everything after these, in order.
    pub messages: Vec<Placed>,
    /// The tools offered.
    pub tools: Arc<[ToolSpec]>,
    /// What it costs and what was left out.
    pub ledger: Ledger,
}

impl WorkingContext {
    /// The messages as they are sent.
    pub fn request_messages(&self) -> Vec<Message> {
        let joined =
            |sections: &[(Layer, String)]| sections.iter().map(|(_, text)| text.as_str()).collect::<String>();
        let records = (!self.records.is_empty()).then(|| Message::user(joined(&self.records)));
        std::iter::once(Message::system(joined(&self.system)))
            .chain(records)
            .chain(self.messages.iter().map(|placed| placed.said.message.clone()))
            .collect()
    }

    /// What it costs, everything included.
    pub fn tokens(&self) -> Tokens {
        self.ledger.tokens.total()
    }
}

/// The budget cannot hold even what must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the budget of {budget} tokens is below the least that can be sent: {floor} \
     (rules and note {protocol}, tool schemas {tools}, room for a message {message})"
)]
pub struct BudgetTooSmall {
    /// What is allowed.
    pub budget: Tokens,
    /// What is needed at least.
    pub floor: Tokens,
    /// Of that, our own text.
    pub protocol: Tokens,
    /// Of that, tool schemas.
    pub tools: Tokens,
    /// Of that, the new message, cut as far as it can be.
    pub message: Tokens,
}

/// Whether a budget holds what must always be there: our text, the longest note, the tools, and room for an
/// excerpt of a message. It depends on settings alone, so a session that opens goes on.
pub fn check_budget(policy: &Policy, tools: &ToolSet, counter: &dyn TokenCounter) -> Result<(), BudgetTooSmall> {
    let rules = counter.count(&system::protocol(tools));
    let protocol = REPLY_PRIMING + system::MESSAGE_TOKENS + rules + system::NOTE_TOKENS_MAX;
    let (budget, message) = (policy.context_budget(), this_turn::least());
    let floor = protocol + tools.tokens() + message;
    if floor <= budget {
        return Ok(());
    }
    Err(BudgetTooSmall { budget, floor, protocol, tools: tools.tokens(), message })
}

/// The tools of an agent's session: those of the memory tools that are of use, as far as the budget has room for them
/// beside what must be there. So a session that opens goes on, whatever its agent learns.
pub fn tools_of_agent(
    policy: &Policy,
    head: Option<&AgentHead>,
    host: &[ToolSpec],
    counter: &dyn TokenCounter,
) -> ToolSet {
    let all = ToolSet::with_memories(counter, head, host.to_vec());
    let few = || ToolSet::with_memories(counter, None, host.to_vec());
    let none = || ToolSet::with_efforts(counter, host.to_vec());
    let fits = |tools: &ToolSet| check_budget(policy, tools, counter).is_ok();
    if fits(&all) { all } else { Some(few()).filter(fits).unwrap_or_else(none) }
}

/// What layers of memory may cost together: a share of what is left when everything is there that must be.
pub fn memory_room(policy: &Policy, tools: &ToolSet, counter: &dyn TokenCounter) -> Tokens {
    let rules = counter.count(&system::protocol(tools));
    let fixed = REPLY_PRIMING + system::MESSAGE_TOKENS + rules + system::NOTE_TOKENS_MAX + tools.tokens();
    let room = policy.context_budget().saturating_sub(fixed + this_turn::least());
    room.percent(policy.memory_share_percent).min(Tokens(policy.memory_tokens_max))
}

/// Assembles what the state says should be in the context.
pub fn assemble(
    state: &SessionState,
    logs: &Logs,
    tools: &ToolSet,
    counter: &dyn TokenCounter,
    this_turn: ThisTurn<'_>,
) -> Result<WorkingContext, BudgetTooSmall> {
    View { state, logs, tools, counter, known: None }.anew(this_turn)
}

/// All of the room, in per cent.
pub(crate) const ALL: u64 = 100;

/// What a context is made from.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The state.
    pub state: &'a SessionState,
    /// The logs in play.
    pub logs: &'a Logs,
    /// The tools offered.
    pub tools: &'a ToolSet,
    /// How tokens are counted.
    pub counter: &'a dyn TokenCounter,
    /// What the agent knows that bears on this.
    pub known: Option<&'a Knowledge>,
}

/// A context, and what would have served it better.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) context: WorkingContext,
    /// Where this turn begins among its messages.
    pub(crate) turn_at: usize,
    /// Summaries of spans that it could use.
    pub(crate) wishes: Vec<Wish>,
    /// What is left of what the agent knows, if something had to leave for lack of room.
    pub(crate) pressed: Option<Box<Loaded>>,
}

impl View<'_> {
    /// Assembles what the state says should be in the context, whatever was sent before.
    pub fn anew(&self, this_turn: ThisTurn<'_>) -> Result<WorkingContext, BudgetTooSmall> {
        Ok(self.assemble(&Selection::of(self.state), this_turn, ALL)?.context)
    }

    /// Assembles a selection. What was said before this turn takes at most `history_percent` of the room for it.
    pub(crate) fn assemble(
        &self,
        selection: &Selection<'_>,
        this_turn: ThisTurn<'_>,
        history_percent: u64,
    ) -> Result<Assembled, BudgetTooSmall> {
        let View { state, logs, tools, counter, known } = *self;
        check_budget(state.policy(), tools, counter)?;
        let budget = state.policy().context_budget();
        let mut ledger = Ledger { budget, evicted: selection.evicted as u64, ..Ledger::default() };

        let (protocol, note) = (system::protocol(tools), system::note(tools));
        let around = Around::of(counter, selection, tools);
        ledger.tokens.add(Layer::Protocol, REPLY_PRIMING + system::MESSAGE_TOKENS + counter.count(&protocol));
        ledger.tokens.add(Layer::Note, counter.count(note) + around.tokens());
        ledger.tokens.add(Layer::Tools, tools.tokens());

        let fixed = ledger.tokens.total();
        let room = budget - fixed;
        let shown_turn = ShownTurn::of(counter, this_turn);
        let turn_part = this_turn::render(counter, shown_turn.this_turn(), room);
        ledger.tokens.add(Layer::Message, turn_part.tokens);
        ledger.rounds_left_out = turn_part.rounds_left_out;

        let room = room - turn_part.tokens;
        let whole = known.map_or(0, |known| known.items.len());
        let known = known.map(|known| known.within(room.percent(state.policy().memory_share_percent)));
        let pressed = known.as_deref().filter(|known| known.items.len() < whole);
        let pressed = pressed.map(|known| Box::new(known.loaded(LoadCause::Pressure)));
        let aside = self.enter(known.as_deref(), &mut ledger);
        let memories = ledger.tokens.total() - (budget - room);

        let sections = logs::sections(counter, selection, state, logs);
        let granted = self.grant(selection, &sections, (room - memories).percent(history_percent));
        let heading = counter.count(crate::prompt::SUMMARIES);
        let summaries = records::summaries(selection, heading, granted.get(Layer::Summaries), &mut ledger);
        let logs::Rendered { mut messages, wishes } = logs::render(counter, &sections, &granted, &mut ledger);
        messages.extend(aside);
        let turn_at = messages.len();
        messages.extend(turn_part.messages);
        ledger.naive_tokens = fixed + memories + state.head().all_logs.tokens + this_turn.tokens();

        let of_known = |part: fn(&Knowledge) -> Vec<(Layer, String)>| known.as_deref().map_or_else(Vec::new, part);
        // What never changes stands before constraints, and these before the stance.
        let ours = [(Layer::Protocol, protocol), (Layer::Note, note.to_owned())].into_iter();
        let ours = ours.chain(of_known(Knowledge::system));
        let mut stored = of_known(Knowledge::preferences);
        stored.push((Layer::Summaries, summaries));
        stored.extend(of_known(Knowledge::records));
        let records = around.put(stored, &mut ledger);
        assert!(ledger.tokens.total() <= budget, "I1: the context exceeds its budget");
        let context = WorkingContext {
            system: ours.filter(|(_, text)| !text.is_empty()).collect(),
            records,
            messages,
            tools: tools.specs().clone(),
            ledger,
        };
        Ok(Assembled { context, turn_at, wishes, pressed })
    }

    /// Enters what is known into the ledger; where the system text is not ours, it is a message of its own, and what is
    /// around that is paid from the note's layer.
    fn enter(&self, known: Option<&Knowledge>, ledger: &mut Ledger) -> Option<Placed> {
        let known = known?;
        known.enter(ledger);
        let said = known.message(self.counter)?;
        ledger.tokens.add(Layer::Note, said.tokens.saturating_sub(known.tokens.total()));
        Some(Placed { layer: Layer::Note, said })
    }

    /// What each layer of the past may cost.
    fn grant(&self, selection: &Selection<'_>, sections: &[Section<'_>], room: Tokens) -> LayerTokens {
        let policy = self.state.policy();
        let heading = self.counter.count(crate::prompt::SUMMARIES);
        let of_logs = |layer| sections.iter().filter(|s| s.layer == layer).map(|s| s.demand).sum();
        let demands = [
            Demand::new(Layer::Active, policy.active_share_percent, of_logs(Layer::Active)),
            Demand::new(Layer::Expanded, policy.expanded_share_percent, of_logs(Layer::Expanded)),
            Demand::new(Layer::Open, policy.open_share_percent, of_logs(Layer::Open)),
            Demand::new(Layer::Ambient, policy.ambient_share_percent, of_logs(Layer::Ambient)),
            Demand::new(Layer::Summaries, policy.summaries_share_percent, selection.summaries_tokens(heading)),
        ];
        shares::allot(room, &demands)
    }
}
