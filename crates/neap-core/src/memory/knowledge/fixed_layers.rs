//! The layers that are always present: identity, preferences and rules, constraints, frame, focus, calibration
//! (003, layers 1 to 4 and the note).
//!
//! Each stays within its cap by showing less: identity drops its last lines, the frame its last questions, the
//! focus its last threads; rules and constraints show as many entries as fit.

use super::KnowledgeInputs;
use super::budget::KnowledgeBudget;
use super::candidates::line_variants;
use super::fill::{LayerSelection, LineVariants};
use super::page::{CountedText, PageEntry, PageSection};
use crate::base::ledger::Layer;
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::{Body, CensorAction, Confidence, Memory, MemoryKind};
use crate::text::excerpt::prefix_within;
use crate::text::terms::terms;

/// A shorter excerpt of the identity is useless.
const IDENTITY_TOKENS_MIN: Tokens = Tokens(32);

type SectionBuilder = fn(&KnowledgeInputs<'_>, Tokens) -> PageSection;

/// In payment order: when space is short, the last ones go first.
const PAYMENT_ORDER: [(Layer, SectionBuilder); 6] = [
    (Layer::Censors, constraints),
    (Layer::Frame, frame),
    (Layer::Identity, identity),
    (Layer::Profile, rules),
    (Layer::Focus, focus),
    (Layer::Calibration, calibration),
];

/// The fixed sections. Each costs at most its cap and what the earlier ones left of the total.
pub(super) fn fixed_sections(inputs: &KnowledgeInputs<'_>, budget: &KnowledgeBudget) -> Vec<PageSection> {
    let mut left = budget.total;
    let mut sections = Vec::new();
    for (layer, build) in PAYMENT_ORDER {
        let section = build(inputs, budget.caps.get(layer).min(left));
        left -= section.tokens();
        sections.push(section);
    }
    sections
}

fn single_section(layer: Layer, section: Option<CountedText>) -> PageSection {
    let entry = |line| PageEntry { id: None, score: Confidence::FULL, line };
    PageSection { layer, heading: CountedText::default(), entries: section.map(entry).into_iter().collect() }
}

fn identity(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> PageSection {
    single_section(Layer::Identity, fit_identity(inputs, cap))
}

fn fit_identity(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> Option<CountedText> {
    let text = inputs.identity.trim();
    if text.is_empty() {
        return None;
    }
    let counter = inputs.counter;
    let render =
        |text: &str| CountedText::new(counter, format!("{}{}\n", prompt::KNOWLEDGE_IDENTITY, text.trim_end()));
    let all = render(text);
    if all.tokens <= cap {
        return Some(all);
    }
    let mut room = cap.saturating_sub(counter.count(prompt::KNOWLEDGE_IDENTITY));
    while room >= IDENTITY_TOKENS_MIN {
        let part = prefix_within(counter, text, room);
        let part = part.rfind('\n').map_or(part, |at| &part[..at]);
        let cut = render(part);
        if cut.tokens <= cap && !part.trim().is_empty() {
            return Some(cut);
        }
        room = Tokens(room.0 - 1);
    }
    None
}

/// Pinned records approved by a person, oldest first. Proposals are found by search like other records.
fn rules(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> PageSection {
    let pinned: Vec<&Memory> = inputs
        .agent
        .pinned
        .values()
        .filter(|m| m.kind() != MemoryKind::Censor && m.is_person_approved())
        .filter(|m| !m.is_from_elsewhere(inputs.project))
        .collect();
    memory_section(inputs, Layer::Profile, prompt::KNOWLEDGE_PROFILE, &pinned, cap)
}

/// Approved censors: strictest first, then those that share words with the question, then oldest.
fn constraints(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> PageSection {
    let question_terms = terms(inputs.question);
    let overlap =
        |memory: &Memory| terms(&memory.search_text()).iter().filter(|term| question_terms.contains(term)).count();
    let mut censors: Vec<&Memory> = inputs.agent.censors.values().filter(|m| m.is_person_approved()).collect();
    censors.sort_by_cached_key(|memory| (std::cmp::Reverse((censor_action(memory), overlap(memory))), memory.id));
    memory_section(inputs, Layer::Censors, prompt::KNOWLEDGE_CENSORS, &censors, cap)
}

fn censor_action(memory: &Memory) -> Option<CensorAction> {
    match &memory.body {
        Body::Censor(censor) => Some(censor.action),
        Body::Decision(_) | Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) => None,
    }
}

fn memory_section(
    inputs: &KnowledgeInputs<'_>,
    layer: Layer,
    heading: &str,
    memories: &[&Memory],
    cap: Tokens,
) -> PageSection {
    let heading = CountedText::new(inputs.counter, heading.to_owned());
    // A procedure gets one line here: its block would look like a section.
    let single = |memory: &&Memory| {
        let variants = line_variants(inputs, memory);
        if memory.kind() == MemoryKind::Procedure { LineVariants { summary: None, ..variants } } else { variants }
    };
    let mut selection = LayerSelection::new(layer, heading, memories.iter().map(single).collect());
    selection.fill(cap);
    let shown = memories.iter().zip(&selection.variants).zip(&selection.selected);
    let entries = shown.filter_map(|((memory, variants), selected)| {
        let line = variants.get((*selected)?)?.clone();
        Some(PageEntry { id: Some(memory.id), score: Confidence::FULL, line })
    });
    PageSection { layer, heading: selection.heading.clone(), entries: entries.collect() }
}

/// The heading alone is useful: it names the frame.
fn frame(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> PageSection {
    let frame = inputs.frame_choice.frame;
    let mut lines = vec![format!("{}\n", prompt::fill(prompt::KNOWLEDGE_FRAME, &[("name", &frame.title())]))];
    if !frame.description.trim().is_empty() {
        lines.push(format!("{}\n", frame.description.trim()));
    }
    lines.extend(titled(
        prompt::KNOWLEDGE_CONSIDER,
        frame.questions.iter().map(|question| format!("- {question}\n")),
    ));
    single_section(Layer::Frame, fit_lines(inputs.counter, lines, 1, cap))
}

fn focus(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> PageSection {
    let focus = inputs.focus;
    if focus.is_empty() {
        return single_section(Layer::Focus, None);
    }
    let mut lines = vec![prompt::KNOWLEDGE_FOCUS.to_owned()];
    lines.extend(focus.task.iter().map(|task| format!("- {task}\n")));
    lines.extend(titled(
        prompt::KNOWLEDGE_THREADS,
        focus.threads.iter().map(|thread| format!("- {}\n", thread.text)),
    ));
    single_section(Layer::Focus, fit_lines(inputs.counter, lines, 2, cap))
}

/// Lines under a title, which is joined to the first line so that it never stands alone.
fn titled(title: &str, lines: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    lines.enumerate().map(move |(at, line)| if at == 0 { format!("{title}{line}") } else { line })
}

/// As many lines as fit, but at least `least`, or none.
fn fit_lines(
    counter: &dyn TokenCounter,
    mut lines: Vec<String>,
    least: usize,
    cap: Tokens,
) -> Option<CountedText> {
    while lines.len() >= least {
        let line = CountedText::new(counter, lines.concat());
        if line.tokens <= cap {
            return Some(line);
        }
        lines.pop();
    }
    None
}

fn calibration(inputs: &KnowledgeInputs<'_>, cap: Tokens) -> PageSection {
    let note = inputs.agent.reviews.calibration().map(|calibration| calibration.note());
    let section =
        note.map(|note| CountedText::new(inputs.counter, format!("{}{note}\n", prompt::KNOWLEDGE_CALIBRATION)));
    single_section(Layer::Calibration, section.filter(|line| line.tokens <= cap))
}
