//! A page in a prompt: within its room, in its place, and at the end of a prompt that grows.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::page::{OF_SYSTEM, Page, Placement};
use super::{Knowledge, press};
use crate::ledger::{Layer, Ledger};
use crate::message::{Counted, Message};
use crate::tokens::{TokenCounter, Tokens};

impl Knowledge {
    /// The page as far as there is room for it: what bears least leaves first (003, Context Refresh: token pressure).
    pub(crate) fn within(&self, room: Tokens) -> Cow<'_, Self> {
        if self.tokens.total() <= room {
            return Cow::Borrowed(self);
        }
        let mut pressed = self.clone();
        press(&mut pressed, room);
        Cow::Owned(pressed)
    }

    /// Enters it into a ledger.
    pub(crate) fn enter(&self, ledger: &mut Ledger) {
        for (layer, tokens) in self.tokens.entries() {
            ledger.tokens.add(layer, tokens);
        }
        ledger.memories = self.items.iter().map(|item| item.id).collect();
    }

    /// The sections of it that are system text; none where that is not ours.
    pub(crate) fn system(&self) -> Vec<(Layer, String)> {
        match self.page.placement {
            Placement::System => self.sections_of(|layer| OF_SYSTEM.contains(&layer)),
            Placement::Tail => Vec::new(),
        }
    }

    /// The person's preferences and rules, as a section of the records; none where all of it stands elsewhere.
    pub(crate) fn preferences(&self) -> Vec<(Layer, String)> {
        match self.page.placement {
            Placement::System => self.sections_of(|layer| layer == Layer::Profile),
            Placement::Tail => Vec::new(),
        }
    }

    /// What is recalled, as sections of the records; what changes with every question comes last.
    pub(crate) fn records(&self) -> Vec<(Layer, String)> {
        let is_recalled = |layer: Layer| !OF_SYSTEM.contains(&layer) && layer != Layer::Profile;
        let mut sections = match self.page.placement {
            Placement::System => self.sections_of(is_recalled),
            Placement::Tail => Vec::new(),
        };
        sections.sort_by_key(|(layer, _)| (*layer == Layer::Focus, *layer));
        sections
    }

    fn sections_of(&self, is_wanted: impl Fn(Layer) -> bool) -> Vec<(Layer, String)> {
        self.sections.iter().filter(|(layer, _)| is_wanted(*layer)).cloned().collect()
    }

    /// The page as a message of its own, where the system text is not ours.
    pub(crate) fn message(&self, counter: &dyn TokenCounter) -> Option<Counted> {
        match self.page.placement {
            Placement::System => None,
            Placement::Tail if self.sections.is_empty() => None,
            Placement::Tail => Some(Counted::new(counter, Message::user(self.text()))),
        }
    }

    /// Whether a record stands on the page in one of these forms.
    pub(crate) fn has_line(&self, micro: &str, summary: &str) -> bool {
        self.lines().any(|line| line == micro || line == summary)
    }

    /// Every piece of the page as it stands there.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.page.parts.iter().flat_map(|part| &part.pieces).map(|piece| piece.line.text.as_str())
    }

    /// What of it a prompt that grows does not have yet: records and rules that are new to it or changed, another
    /// stance, another task.
    pub(crate) fn addition(&self, counter: &dyn TokenCounter, has: &BTreeSet<String>) -> Option<Counted> {
        let mut page = Page::new(counter, Placement::Tail);
        for part in &self.page.parts {
            let mut part = part.clone();
            part.pieces.retain(|piece| !has.contains(&piece.line.text));
            page.add(part);
        }
        let (sections, _) = page.render();
        let text: String = sections.into_iter().map(|(_, text)| text).collect();
        (!text.is_empty()).then(|| Counted::new(counter, Message::user(text)))
    }
}
