//! Assembles the context that the model sees, under a hard budget, and accounts for every token.
//!
//! Pure: the same state, logs and message give the same bytes (I9). Order: system (identity, rules, a person's
//! constraints, the stance, how to reach what is not shown) → records (preferences, summaries, memories, efforts
//! in play) → ambient → expanded logs → open logs → active log → this turn's messages.

pub mod brief;
pub(crate) mod budget;
pub mod epoch;
pub mod host_log;
mod logs;
mod records;
mod select;
mod system;
mod this_turn;
pub mod tools;

use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use records::efforts_line;
pub use select::Selection;

use crate::base::ids::TurnNo;
use crate::base::ledger::{Layer, LayerTokens, Ledger};
use crate::base::message::{CountedMessage, Message, ToolRound};
use crate::base::policy::Policy;
use crate::base::tokens::{REPLY_PRIMING, TokenCounter, Tokens};
use crate::memory::AgentHead;
use crate::memory::knowledge::{Knowledge, LoadCause, MemoryLoad};
use crate::session::log::LogCache;
use crate::session::state::SessionState;
use crate::session::window::CompactionRequest;
use budget::LayerDemand;
use logs::LogSection;
use records::RecordsWrapper;
pub(crate) use this_turn::RenderedTurn;
use tools::{AgentKnowledge, ToolSet, ToolSpec};

/// The turn for which a context is assembled.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisTurn<'a> {
    pub turn: TurnNo,
    /// `None` for a preview.
    pub message: Option<&'a CountedMessage>,
    /// What censors say about the message.
    pub guidance: Option<&'a CountedMessage>,
    pub rounds: &'a [ToolRound],
}

impl ThisTurn<'_> {
    pub(crate) fn tokens(&self) -> Tokens {
        let messages = self.message.into_iter().chain(self.guidance);
        messages
            .chain(self.rounds.iter().flat_map(ToolRound::messages_with_notes))
            .map(|counted| counted.tokens)
            .sum()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct LayeredMessage {
    pub layer: Layer,
    pub counted: CountedMessage,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkingContext {
    /// The sections of the system message; joined, they are its text.
    pub system: Vec<(Layer, String)>,
    /// The sections of the records message that follows it; joined, they are its text. May be empty.
    pub records: Vec<(Layer, String)>,
    /// Everything after these, in order.
    pub messages: Vec<LayeredMessage>,
    pub tools: Arc<[ToolSpec]>,
    pub ledger: Ledger,
}

impl WorkingContext {
    pub fn request_messages(&self) -> Vec<Message> {
        let joined =
            |sections: &[(Layer, String)]| sections.iter().map(|(_, text)| text.as_str()).collect::<String>();
        let records = (!self.records.is_empty()).then(|| Message::user(joined(&self.records)));
        std::iter::once(Message::system(joined(&self.system)))
            .chain(records)
            .chain(self.messages.iter().map(|placed| placed.counted.message.clone()))
            .collect()
    }

    pub fn tokens(&self) -> Tokens {
        self.ledger.tokens.total()
    }
}

/// The budget is too small for what every request must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the budget of {budget} tokens is below the least that can be sent: {floor} \
     (rules and note {protocol}, tool schemas {tools}, room for a message {message})"
)]
pub struct BudgetTooSmall {
    pub budget: Tokens,
    /// What is needed at least.
    pub floor: Tokens,
    /// Of that, Neap's own text.
    pub protocol: Tokens,
    /// Of that, tool schemas.
    pub tools: Tokens,
    /// Of that, the new message, cut as far as it can be.
    pub message: Tokens,
}

/// Checks that a budget holds what must always be there: Neap's text, the longest note, the tools, and an excerpt
/// of a message. It depends on settings alone, so a session that opens can continue.
pub fn check_budget(policy: &Policy, tools: &ToolSet, counter: &dyn TokenCounter) -> Result<(), BudgetTooSmall> {
    let rules = counter.count(&system::protocol(tools));
    let protocol = REPLY_PRIMING + system::MESSAGE_OVERHEAD + rules + system::NOTE_TOKENS_MAX;
    // Whatever the provider counts for a message that it has not seen.
    let (budget, message) = (policy.budget_with(Tokens(u64::MAX)), this_turn::message_tokens_min());
    let floor = protocol + tools.tokens() + message;
    if floor <= budget {
        return Ok(());
    }
    Err(BudgetTooSmall { budget, floor, protocol, tools: tools.tokens(), message })
}

/// The tools of a session, as far as its budget has room for them, so that a session that opens can continue,
/// whatever its agent learns. `agent` is given if the session has memories.
pub fn session_tools(
    policy: &Policy,
    agent: Option<&AgentHead>,
    host: &[ToolSpec],
    counter: &dyn TokenCounter,
) -> ToolSet {
    tools_for(policy, agent.map(AgentKnowledge::of), host, counter)
}

/// The tools that sessions with these settings are offered, whatever their agent knows, or without one: one of them is
/// what a session was offered at another time.
pub fn possible_session_tools<'a>(
    policy: &'a Policy,
    host: &'a [ToolSpec],
    counter: &'a dyn TokenCounter,
) -> impl Iterator<Item = ToolSet> + 'a {
    let agents = AgentKnowledge::ALL.into_iter().map(Some).chain([None]);
    agents.map(move |known| tools_for(policy, known, host, counter))
}

fn tools_for(
    policy: &Policy,
    known: Option<AgentKnowledge>,
    host: &[ToolSpec],
    counter: &dyn TokenCounter,
) -> ToolSet {
    let full = ToolSet::full(counter, known, host.to_vec());
    // What the host offers is its own choice.
    let own_tools = ToolSet::full(counter, known, Vec::new()).tokens();
    let own = counter.count(&system::protocol(&full)) + counter.count(system::note(&full)) + own_tools;
    if own <= policy.context_budget().percent(OWN_PERCENT_MAX) {
        return full;
    }
    let small = ToolSet::small(counter, known, host.to_vec());
    match check_budget(policy, &small, counter) {
        Ok(()) => small,
        Err(_) => ToolSet::small(counter, None, host.to_vec()),
    }
}

/// What all memory layers may cost together: a share of what the mandatory parts leave.
pub fn memory_budget(policy: &Policy, tools: &ToolSet, counter: &dyn TokenCounter) -> Tokens {
    let rules = counter.count(&system::protocol(tools));
    let fixed = REPLY_PRIMING + system::MESSAGE_OVERHEAD + rules + system::NOTE_TOKENS_MAX + tools.tokens();
    let room = policy.context_budget().saturating_sub(fixed + this_turn::message_tokens_min());
    room.percent(policy.memory_share_percent).min(Tokens(policy.memory_tokens_max))
}

/// Assembles the context that the state calls for.
pub fn assemble(
    state: &SessionState,
    logs: &LogCache,
    tools: &ToolSet,
    counter: &dyn TokenCounter,
    this_turn: ThisTurn<'_>,
) -> Result<WorkingContext, BudgetTooSmall> {
    Assembler { state, logs, tools, counter, knowledge: None }.assemble_anew(this_turn)
}

/// Of a budget, the most that Neap's rules and tools take before the short ones are used, in per cent.
const OWN_PERCENT_MAX: u64 = 25;

pub(crate) const FULL_PERCENT: u64 = 100;

#[derive(Clone, Copy)]
pub struct Assembler<'a> {
    pub state: &'a SessionState,
    pub logs: &'a LogCache,
    pub tools: &'a ToolSet,
    pub counter: &'a dyn TokenCounter,
    /// The agent's relevant memories.
    pub knowledge: Option<&'a Knowledge>,
}

#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) context: WorkingContext,
    /// Index of this turn's first message.
    pub(crate) turn_start: usize,
    /// Span summaries that it could use.
    pub(crate) compactions: Vec<CompactionRequest>,
    /// The memories that remain, if some were dropped for lack of room.
    pub(crate) reduced_memories: Option<Box<MemoryLoad>>,
}

impl Assembler<'_> {
    /// Assembles the context that the state calls for, regardless of what was sent before.
    pub fn assemble_anew(&self, this_turn: ThisTurn<'_>) -> Result<WorkingContext, BudgetTooSmall> {
        Ok(self.assemble(&Selection::of(self.state), this_turn, FULL_PERCENT)?.context)
    }

    /// Assembles a selection. History takes at most `history_percent` of the room left for it.
    pub(crate) fn assemble(
        &self,
        selection: &Selection<'_>,
        this_turn: ThisTurn<'_>,
        history_percent: u64,
    ) -> Result<Assembled, BudgetTooSmall> {
        let Assembler { state, logs, tools, counter, .. } = *self;
        check_budget(state.policy(), tools, counter)?;
        let budget = state.policy().budget_with(this_turn.tokens());
        let mut ledger = Ledger { budget, evicted: selection.evicted as u64, ..Ledger::default() };

        let (protocol, note) = (system::protocol(tools), system::note(tools));
        let wrapper = RecordsWrapper::of(counter, selection, tools);
        ledger.tokens.add(Layer::Protocol, REPLY_PRIMING + system::MESSAGE_OVERHEAD + counter.count(&protocol));
        ledger.tokens.add(Layer::Note, counter.count(note) + wrapper.tokens());
        ledger.tokens.add(Layer::Tools, tools.tokens());

        let fixed = ledger.tokens.total();
        let room = budget - fixed;
        let shown_turn = RenderedTurn::of(counter, this_turn);
        let turn_part = this_turn::render(counter, shown_turn.this_turn(), room);
        ledger.tokens.add(Layer::Message, turn_part.tokens);
        ledger.rounds_left_out = turn_part.rounds_left_out;

        let room = room - turn_part.tokens;
        let (knowledge, reduced_memories) = self.fit_knowledge(room).unzip();
        let reduced_memories = reduced_memories.flatten();
        let tail_message = self.charge_knowledge(knowledge.as_deref(), &mut ledger);
        let memories = ledger.tokens.total() - (budget - room);

        let sections = logs::sections(counter, selection, state, logs);
        let granted = self.layer_budgets(selection, &sections, (room - memories).percent(history_percent));
        let heading = counter.count(crate::base::prompt::SUMMARIES);
        let summaries = records::render_summaries(selection, heading, granted.get(Layer::Summaries), &mut ledger);
        let rendered = logs::render(counter, &sections, &granted, &mut ledger);
        let logs::RenderedLogs { mut messages, compactions } = rendered;
        messages.extend(tail_message);
        let turn_start = messages.len();
        messages.extend(turn_part.messages);
        ledger.naive_tokens = fixed + memories + state.head().all_logs.tokens + this_turn.tokens();

        let knowledge_part =
            |part: fn(&Knowledge) -> Vec<(Layer, String)>| knowledge.as_deref().map_or_else(Vec::new, part);
        // What never changes comes before constraints, and these before the stance.
        let system_sections = [(Layer::Protocol, protocol), (Layer::Note, note.to_owned())].into_iter();
        let system_sections = system_sections.chain(knowledge_part(Knowledge::system_sections));
        let mut stored = knowledge_part(Knowledge::preference_sections);
        stored.push((Layer::Summaries, summaries));
        stored.extend(knowledge_part(Knowledge::record_sections));
        let records = wrapper.wrap(stored, &mut ledger);
        assert!(ledger.tokens.total() <= budget, "I1: the context exceeds its budget");
        let context = WorkingContext {
            system: system_sections.filter(|(_, text)| !text.is_empty()).collect(),
            records,
            messages,
            tools: tools.specs().clone(),
            ledger,
        };
        Ok(Assembled { context, turn_start, compactions, reduced_memories })
    }

    /// The memories that fit, and what is left of them if that is not all.
    fn fit_knowledge(&self, room: Tokens) -> Option<(Cow<'_, Knowledge>, Option<Box<MemoryLoad>>)> {
        let whole = self.knowledge?;
        let fitted = whole.fit_within(room.percent(self.state.policy().memory_share_percent));
        let is_reduced = fitted.items.len() < whole.items.len();
        let reduced = is_reduced.then(|| Box::new(fitted.to_memory_load(LoadCause::Pressure)));
        Some((fitted, reduced))
    }

    /// Enters the memories into the ledger. Where Neap does not write the system text, they form a message of
    /// their own; the note's layer pays for its wrapping.
    fn charge_knowledge(&self, knowledge: Option<&Knowledge>, ledger: &mut Ledger) -> Option<LayeredMessage> {
        let knowledge = knowledge?;
        knowledge.record_in_ledger(ledger);
        let counted = knowledge.tail_message(self.counter)?;
        ledger.tokens.add(Layer::Note, counted.tokens.saturating_sub(knowledge.tokens.total()));
        Some(LayeredMessage { layer: Layer::Note, counted })
    }

    /// The budget of each layer of the past.
    fn layer_budgets(&self, selection: &Selection<'_>, sections: &[LogSection<'_>], room: Tokens) -> LayerTokens {
        let policy = self.state.policy();
        let heading = self.counter.count(crate::base::prompt::SUMMARIES);
        let of_logs = |layer| sections.iter().filter(|s| s.layer == layer).map(|s| s.demand).sum();
        let demands = [
            LayerDemand::new(Layer::Active, policy.active_share_percent, of_logs(Layer::Active)),
            LayerDemand::new(Layer::Expanded, policy.expanded_share_percent, of_logs(Layer::Expanded)),
            LayerDemand::new(Layer::Open, policy.open_share_percent, of_logs(Layer::Open)),
            LayerDemand::new(Layer::Ambient, policy.ambient_share_percent, of_logs(Layer::Ambient)),
            LayerDemand::new(
                Layer::Summaries,
                policy.summaries_share_percent,
                selection.summaries_tokens(heading),
            ),
        ];
        budget::allocate(room, &demands)
    }
}
