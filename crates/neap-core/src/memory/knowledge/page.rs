//! Renders memories as a page with the headings and order of the seed (003, Step 6).
//!
//! Records bring their rendered lines; this module adds headings and markers. Stored text stands between an
//! opening and a closing marker, and each of its lines begins with `- ` (a procedure's block: with our heading and
//! label), so it can forge neither. Every entry ends in a newline and the next begins with `#`, `-` or a marker,
//! so token counts add up.

use crate::base::ledger::{Layer, LayerTokens};
use crate::base::prompt;
use crate::base::tokens::{TokenCounter, Tokens};
use crate::memory::{Confidence, MemoryId};

/// Where the page goes in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Our own system text: identity, constraints and frame there, recalled memories in a message of records
    /// (docs/decisions/0006-trust.md).
    System,
    /// One block at the end of a prompt whose system text is not ours; all of it is marked as data.
    Tail,
}

/// Layers of the system text: configuration and a person's constraints.
pub(super) const SYSTEM_LAYERS: [Layer; 3] = [Layer::Identity, Layer::Censors, Layer::Frame];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CountedText {
    pub(super) text: String,
    pub(super) tokens: Tokens,
}

impl CountedText {
    pub(super) fn new(counter: &dyn TokenCounter, text: String) -> Self {
        let tokens = counter.count(&text);
        Self { text, tokens }
    }
}

/// The lines of one record, or one whole section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageEntry {
    /// `None` for a section that is not a record.
    pub(super) id: Option<MemoryId>,
    /// Relevance; the lowest leaves first.
    pub(super) score: Confidence,
    pub(super) line: CountedText,
}

impl PageEntry {
    /// Whether the entry brings its own heading.
    pub(super) fn has_heading(&self) -> bool {
        self.line.text.starts_with('#')
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageSection {
    pub(super) layer: Layer,
    pub(super) heading: CountedText,
    pub(super) entries: Vec<PageEntry>,
}

impl PageSection {
    /// Tokens of a section with these lines; the heading is needed only for lines without their own.
    pub(super) fn cost<'a>(heading: &CountedText, lines: impl Iterator<Item = &'a CountedText>) -> Tokens {
        let mut cost = Tokens::ZERO;
        let mut needs_heading = false;
        for line in lines {
            cost += line.tokens;
            needs_heading |= !line.text.starts_with('#');
        }
        if needs_heading { cost + heading.tokens } else { cost }
    }

    pub(super) fn tokens(&self) -> Tokens {
        Self::cost(&self.heading, self.entries.iter().map(|entry| &entry.line))
    }

    /// Entries with their own heading come first; otherwise the others would seem to belong to them.
    fn text(&self) -> String {
        let (headed, plain): (Vec<&PageEntry>, Vec<&PageEntry>) =
            self.entries.iter().partition(|entry| entry.has_heading());
        let heading = if plain.is_empty() { "" } else { self.heading.text.as_str() };
        let texts =
            |entries: Vec<&PageEntry>| entries.iter().map(|entry| entry.line.text.as_str()).collect::<String>();
        format!("{}{heading}{}", texts(headed), texts(plain))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnowledgePage {
    pub(super) placement: Placement,
    pub(super) sections: Vec<PageSection>,
    open: CountedText,
    close: CountedText,
}

impl KnowledgePage {
    pub(super) fn new(counter: &dyn TokenCounter, placement: Placement) -> Self {
        // The message that contains the records adds and pays for its own markers.
        let (open, close) = match placement {
            Placement::System => ("", ""),
            Placement::Tail => (prompt::KNOWLEDGE_TAIL_OPEN, prompt::KNOWLEDGE_TAIL_CLOSE),
        };
        let line = |text: &str| CountedText::new(counter, text.to_owned());
        Self { placement, sections: Vec::new(), open: line(open), close: line(close) }
    }

    pub(super) fn marker_tokens(&self) -> Tokens {
        self.open.tokens + self.close.tokens
    }

    /// Adds a section in layer order, unless it is empty.
    pub(super) fn add(&mut self, section: PageSection) {
        if !section.entries.is_empty() {
            self.sections.push(section);
            self.sections.sort_by_key(|section| section.layer);
        }
    }

    pub(super) fn remove_where(&mut self, is_removed: impl Fn(Layer, &PageEntry) -> bool) {
        for section in &mut self.sections {
            let layer = section.layer;
            section.entries.retain(|entry| !is_removed(layer, entry));
        }
        self.sections.retain(|section| !section.entries.is_empty());
    }

    /// Removes the last entry of a layer; returns whether there was one.
    pub(super) fn pop_entry(&mut self, layer: Layer) -> bool {
        let section = self.sections.iter_mut().find(|section| section.layer == layer);
        let removed = section.and_then(|section| section.entries.pop()).is_some();
        self.sections.retain(|section| !section.entries.is_empty());
        removed
    }

    pub(super) fn record_lines(&self) -> impl Iterator<Item = (MemoryId, &str)> {
        let entries = self.sections.iter().flat_map(|section| &section.entries);
        entries.filter_map(|entry| Some((entry.id?, entry.line.text.as_str())))
    }

    pub(super) fn tokens(&self) -> Tokens {
        self.render().1.total()
    }

    /// The sections and their tokens; the first and the last include the markers.
    pub(super) fn render(&self) -> (Vec<(Layer, String)>, LayerTokens) {
        let first = self.sections.first().map(|section| section.layer);
        let last = self.sections.last().map(|section| section.layer);
        let mut tokens = LayerTokens::default();
        let mut sections = Vec::new();
        for section in &self.sections {
            let mut text = String::new();
            if first == Some(section.layer) {
                text.push_str(&self.open.text);
                tokens.add(section.layer, self.open.tokens);
            }
            text.push_str(&section.text());
            tokens.add(section.layer, section.tokens());
            if last == Some(section.layer) {
                text.push_str(&self.close.text);
                tokens.add(section.layer, self.close.tokens);
            }
            sections.push((section.layer, text));
        }
        (sections, tokens)
    }
}
