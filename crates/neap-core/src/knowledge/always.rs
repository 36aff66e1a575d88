//! The layers that are always there: identity, preferences and rules, constraints, the stance, the focus, calibration
//! (003, layers 1 to 4 and the note).
//!
//! Each stays within its cap by showing less of itself: an identity loses its last lines, a stance its last questions, a
//! focus its last threads; of rules and constraints as many are shown as fit.

use super::Inputs;
use super::budget::KnowledgeBudget;
use super::fill::{Forms, Shelf};
use super::page::{Line, Part, Piece};
use super::weigh::forms;
use crate::excerpt::prefix_within;
use crate::ledger::Layer;
use crate::memory::{Action, Body, Confidence, Memory, MemoryKind};
use crate::prompt;
use crate::terms::terms;
use crate::tokens::{TokenCounter, Tokens};

/// A cut identity of less than this says nothing.
const IDENTITY_TOKENS_MIN: Tokens = Tokens(32);

/// What makes a layer, within a cap.
type Make = fn(&Inputs<'_>, Tokens) -> Part;

/// The layers in the order in which they are paid: in a tiny room the last ones go first.
const PAID: [(Layer, Make); 6] = [
    (Layer::Censors, constraints),
    (Layer::Frame, frame),
    (Layer::Identity, identity),
    (Layer::Profile, rules),
    (Layer::Focus, focus),
    (Layer::Calibration, calibration),
];

/// The parts that are always there. None costs more than its cap and what those paid before it left of the total.
pub(super) fn parts(inputs: &Inputs<'_>, budget: &KnowledgeBudget) -> Vec<Part> {
    let mut left = budget.total;
    let mut parts = Vec::new();
    for (layer, make) in PAID {
        let part = make(inputs, budget.caps.get(layer).min(left));
        left -= part.tokens();
        parts.push(part);
    }
    parts
}

fn whole(layer: Layer, section: Option<Line>) -> Part {
    let piece = |line| Piece { id: None, score: Confidence::FULL, line };
    Part { layer, heading: Line::default(), pieces: section.map(piece).into_iter().collect() }
}

fn identity(inputs: &Inputs<'_>, cap: Tokens) -> Part {
    whole(Layer::Identity, identity_within(inputs, cap))
}

fn identity_within(inputs: &Inputs<'_>, cap: Tokens) -> Option<Line> {
    let text = inputs.identity.trim();
    if text.is_empty() {
        return None;
    }
    let counter = inputs.counter;
    let said = |text: &str| Line::new(counter, format!("{}{}\n", prompt::KNOW_IDENTITY, text.trim_end()));
    let all = said(text);
    if all.tokens <= cap {
        return Some(all);
    }
    let mut room = cap.saturating_sub(counter.count(prompt::KNOW_IDENTITY));
    while room >= IDENTITY_TOKENS_MIN {
        let part = prefix_within(counter, text, room);
        let part = part.rfind('\n').map_or(part, |at| &part[..at]);
        let cut = said(part);
        if cut.tokens <= cap && !part.trim().is_empty() {
            return Some(cut);
        }
        room = Tokens(room.0 - 1);
    }
    None
}

/// Preferences and standing rules of a person, the oldest first. What others propose is found like anything else.
fn rules(inputs: &Inputs<'_>, cap: Tokens) -> Part {
    let pinned: Vec<&Memory> =
        inputs.agent.pinned.values().filter(|m| m.kind() != MemoryKind::Censor && m.is_a_persons()).collect();
    shelf(inputs, Layer::Profile, prompt::KNOW_PROFILE, &pinned, cap)
}

/// Censors of a person: no others are in force. The strictest first, then those whose words are in the question, then the oldest.
fn constraints(inputs: &Inputs<'_>, cap: Tokens) -> Part {
    let asked = terms(inputs.question);
    let bearing = |memory: &Memory| terms(&memory.text()).iter().filter(|term| asked.contains(term)).count();
    let mut censors: Vec<&Memory> = inputs.agent.censors.values().filter(|m| m.is_a_persons()).collect();
    censors.sort_by_cached_key(|memory| (std::cmp::Reverse((action(memory), bearing(memory))), memory.id));
    shelf(inputs, Layer::Censors, prompt::KNOW_CENSORS, &censors, cap)
}

fn action(memory: &Memory) -> Option<Action> {
    match &memory.body {
        Body::Censor(censor) => Some(censor.action),
        Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => None,
    }
}

fn shelf(inputs: &Inputs<'_>, layer: Layer, heading: &str, memories: &[&Memory], cap: Tokens) -> Part {
    let heading = Line::new(inputs.counter, heading.to_owned());
    // A procedure stands here in one line: its block would look like a section of its own.
    let single = |memory: &&Memory| {
        let forms = forms(inputs, memory);
        if memory.kind() == MemoryKind::Procedure { Forms { summary: None, ..forms } } else { forms }
    };
    let mut shelf = Shelf::new(layer, heading, memories.iter().map(single).collect());
    shelf.fill(cap);
    let shown = memories.iter().zip(&shelf.forms).zip(&shelf.chosen);
    let pieces = shown.filter_map(|((memory, forms), chosen)| {
        let line = forms.at((*chosen)?)?.clone();
        Some(Piece { id: Some(memory.id), score: Confidence::FULL, line })
    });
    Part { layer, heading: shelf.heading.clone(), pieces: pieces.collect() }
}

/// The heading alone is worth its place: it names the stance.
fn frame(inputs: &Inputs<'_>, cap: Tokens) -> Part {
    let frame = inputs.chosen.frame;
    let mut lines = vec![format!("{}\n", prompt::fill(prompt::KNOW_FRAME, &[("name", &frame.title())]))];
    if !frame.description.trim().is_empty() {
        lines.push(format!("{}\n", frame.description.trim()));
    }
    lines.extend(titled(prompt::KNOW_CONSIDER, frame.questions.iter().map(|question| format!("- {question}\n"))));
    whole(Layer::Frame, first_that_fit(inputs.counter, lines, 1, cap))
}

fn focus(inputs: &Inputs<'_>, cap: Tokens) -> Part {
    let focus = inputs.focus;
    if focus.is_empty() {
        return whole(Layer::Focus, None);
    }
    let mut lines = vec![prompt::KNOW_FOCUS.to_owned()];
    lines.extend(focus.task.iter().map(|task| format!("- {task}\n")));
    lines.extend(titled(prompt::KNOW_THREADS, focus.threads.iter().map(|thread| format!("- {}\n", thread.text))));
    whole(Layer::Focus, first_that_fit(inputs.counter, lines, 2, cap))
}

/// Lines under a title; the title and the first line are one, so that no title stands alone.
fn titled(title: &str, lines: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    lines.enumerate().map(move |(at, line)| if at == 0 { format!("{title}{line}") } else { line })
}

/// As many lines as fit, but at least so many, or none.
fn first_that_fit(counter: &dyn TokenCounter, mut lines: Vec<String>, least: usize, cap: Tokens) -> Option<Line> {
    while lines.len() >= least {
        let line = Line::new(counter, lines.concat());
        if line.tokens <= cap {
            return Some(line);
        }
        lines.pop();
    }
    None
}

/// How good the agent's judgement was, from enough reviews on.
fn calibration(inputs: &Inputs<'_>, cap: Tokens) -> Part {
    let note = inputs.agent.reviews.calibration().map(|calibration| calibration.note());
    let section = note.map(|note| Line::new(inputs.counter, format!("{}{note}\n", prompt::KNOW_CALIBRATION)));
    whole(Layer::Calibration, section.filter(|line| line.tokens <= cap))
}
