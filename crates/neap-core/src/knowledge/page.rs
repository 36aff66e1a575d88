//! What is known, as text: the seed's headings in the seed's order (003, Step 6).
//!
//! A record's lines were made when it was written; here they only get headings. Stored text stands between an opening and a
//! closing line, and each of its own lines begins with `- ` (a procedure's block: with our heading and our label), so it can
//! forge neither. Every piece ends in a newline and the next begins with `#`, `-` or a mark, so that counts add up.

use crate::ledger::{Layer, LayerTokens};
use crate::memory::{Confidence, MemoryId};
use crate::prompt;
use crate::tokens::{TokenCounter, Tokens};

/// Where the page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Who the agent is, its constraints and its stance in a system text that is ours; all that is recalled among the records,
    /// in a message of their own (DESIGN, decision 21).
    System,
    /// As one block at the end of a prompt whose system text is not ours: all of it is marked as data.
    Tail,
}

/// The layers that are system text where that is ours: configuration, and a person's constraints.
pub(super) const OF_SYSTEM: [Layer; 3] = [Layer::Identity, Layer::Censors, Layer::Frame];

/// A text and what it costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) tokens: Tokens,
}

impl Line {
    pub(super) fn new(counter: &dyn TokenCounter, text: String) -> Self {
        let tokens = counter.count(&text);
        Self { text, tokens }
    }
}

/// Whole lines of one record, or one whole section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The record, if it is one.
    pub(super) id: Option<MemoryId>,
    /// How much it bears on the question: what bears least leaves first.
    pub(super) score: Confidence,
    /// What stands on the page.
    pub(super) line: Line,
}

impl Piece {
    /// Whether it needs no heading of its layer.
    pub(super) fn has_heading(&self) -> bool {
        self.line.text.starts_with('#')
    }
}

/// One layer on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) layer: Layer,
    pub(super) heading: Line,
    pub(super) pieces: Vec<Piece>,
}

impl Part {
    /// What a part with these lines costs; lines that bring a heading need none.
    pub(super) fn cost<'a>(heading: &Line, lines: impl Iterator<Item = &'a Line>) -> Tokens {
        let mut cost = Tokens::ZERO;
        let mut is_headed = false;
        for line in lines {
            cost += line.tokens;
            is_headed |= !line.text.starts_with('#');
        }
        if is_headed { cost + heading.tokens } else { cost }
    }

    pub(super) fn tokens(&self) -> Tokens {
        Self::cost(&self.heading, self.pieces.iter().map(|piece| &piece.line))
    }

    /// Pieces that bring a heading come first: under them, others would seem to be part of them.
    fn text(&self) -> String {
        let (own, under): (Vec<&Piece>, Vec<&Piece>) = self.pieces.iter().partition(|piece| piece.has_heading());
        let heading = if under.is_empty() { "" } else { self.heading.text.as_str() };
        let texts = |pieces: Vec<&Piece>| pieces.iter().map(|piece| piece.line.text.as_str()).collect::<String>();
        format!("{}{heading}{}", texts(own), texts(under))
    }
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) placement: Placement,
    pub(super) parts: Vec<Part>,
    open: Line,
    close: Line,
}

impl Page {
    pub(super) fn new(counter: &dyn TokenCounter, placement: Placement) -> Self {
        // Around records stand the marks of the message that they are in; whoever makes that message pays for them.
        let (open, close) = match placement {
            Placement::System => ("", ""),
            Placement::Tail => (prompt::KNOW_TAIL_OPEN, prompt::KNOW_TAIL_CLOSE),
        };
        let line = |text: &str| Line::new(counter, text.to_owned());
        Self { placement, parts: Vec::new(), open: line(open), close: line(close) }
    }

    /// What the marks cost.
    pub(super) fn marks(&self) -> Tokens {
        self.open.tokens + self.close.tokens
    }

    /// Adds a layer in its place, unless it is empty.
    pub(super) fn add(&mut self, part: Part) {
        if !part.pieces.is_empty() {
            self.parts.push(part);
            self.parts.sort_by_key(|part| part.layer);
        }
    }

    /// Takes the pieces out for which this is so.
    pub(super) fn take_out(&mut self, is_out: impl Fn(Layer, &Piece) -> bool) {
        for part in &mut self.parts {
            let layer = part.layer;
            part.pieces.retain(|piece| !is_out(layer, piece));
        }
        self.parts.retain(|part| !part.pieces.is_empty());
    }

    /// Takes the last piece of a layer out, if there is one.
    pub(super) fn take_last(&mut self, layer: Layer) -> bool {
        let part = self.parts.iter_mut().find(|part| part.layer == layer);
        let taken = part.and_then(|part| part.pieces.pop()).is_some();
        self.parts.retain(|part| !part.pieces.is_empty());
        taken
    }

    /// The records on it, with their lines.
    pub(super) fn records(&self) -> impl Iterator<Item = (MemoryId, &str)> {
        let pieces = self.parts.iter().flat_map(|part| &part.pieces);
        pieces.filter_map(|piece| Some((piece.id?, piece.line.text.as_str())))
    }

    /// The tokens of it.
    pub(super) fn tokens(&self) -> Tokens {
        self.render().1.total()
    }

    /// The sections, and what each costs; the first and the last carry the marks.
    pub(super) fn render(&self) -> (Vec<(Layer, String)>, LayerTokens) {
        let first = self.parts.first().map(|part| part.layer);
        let last = self.parts.last().map(|part| part.layer);
        let mut tokens = LayerTokens::default();
        let mut sections = Vec::new();
        for part in &self.parts {
            let mut text = String::new();
            if first == Some(part.layer) {
                text.push_str(&self.open.text);
                tokens.add(part.layer, self.open.tokens);
            }
            text.push_str(&part.text());
            tokens.add(part.layer, part.tokens());
            if last == Some(part.layer) {
                text.push_str(&self.close.text);
                tokens.add(part.layer, self.close.tokens);
            }
            sections.push((part.layer, text));
        }
        (sections, tokens)
    }
}
