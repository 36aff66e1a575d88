//! Places a page in a prompt: fits it into the available tokens, splits it by section, and renders deltas.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::page::{KnowledgePage, Placement, SYSTEM_LAYERS};
use super::{Knowledge, shrink_to};
use crate::base::ledger::{Layer, Ledger};
use crate::base::message::{CountedMessage, Message};
use crate::base::tokens::{TokenCounter, Tokens};

impl Knowledge {
    /// The page reduced to `room` tokens; the least relevant memories leave first (003, Context Refresh).
    pub(crate) fn fit_within(&self, room: Tokens) -> Cow<'_, Self> {
        if self.tokens.total() <= room {
            return Cow::Borrowed(self);
        }
        let mut trimmed = self.clone();
        shrink_to(&mut trimmed, room);
        Cow::Owned(trimmed)
    }

    pub(crate) fn record_in_ledger(&self, ledger: &mut Ledger) {
        for (layer, tokens) in self.tokens.entries() {
            ledger.tokens.add(layer, tokens);
        }
        ledger.memories = self.items.iter().map(|item| item.id).collect();
    }

    /// Sections for our system text; none if it is not ours.
    pub(crate) fn system_sections(&self) -> Vec<(Layer, String)> {
        match self.page.placement {
            Placement::System => self.sections_of(|layer| SYSTEM_LAYERS.contains(&layer)),
            Placement::Tail => Vec::new(),
        }
    }

    /// Preferences and rules, as a section of the records; none for a tail page.
    pub(crate) fn preference_sections(&self) -> Vec<(Layer, String)> {
        match self.page.placement {
            Placement::System => self.sections_of(|layer| layer == Layer::Profile),
            Placement::Tail => Vec::new(),
        }
    }

    /// Recalled memories, as sections of the records; the focus, which changes most often, comes last.
    pub(crate) fn record_sections(&self) -> Vec<(Layer, String)> {
        let is_recalled = |layer: Layer| !SYSTEM_LAYERS.contains(&layer) && layer != Layer::Profile;
        let mut sections = match self.page.placement {
            Placement::System => self.sections_of(is_recalled),
            Placement::Tail => Vec::new(),
        };
        sections.sort_by_key(|(layer, _)| (*layer == Layer::Focus, *layer));
        sections
    }

    fn sections_of(&self, includes: impl Fn(Layer) -> bool) -> Vec<(Layer, String)> {
        self.sections.iter().filter(|(layer, _)| includes(*layer)).cloned().collect()
    }

    /// The page as a message of its own, if the system text is not ours.
    pub(crate) fn tail_message(&self, counter: &dyn TokenCounter) -> Option<CountedMessage> {
        match self.page.placement {
            Placement::System => None,
            Placement::Tail if self.sections.is_empty() => None,
            Placement::Tail => Some(CountedMessage::new(counter, Message::user(self.text()))),
        }
    }

    /// Whether the page shows a record in one of these forms.
    pub(crate) fn has_line(&self, micro: &str, summary: &str) -> bool {
        self.lines().any(|line| line == micro || line == summary)
    }

    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.page.sections.iter().flat_map(|section| &section.entries).map(|entry| entry.line.text.as_str())
    }

    /// What a growing prompt does not contain yet: new or changed records and rules, another frame, another task.
    pub(crate) fn delta_message(
        &self,
        counter: &dyn TokenCounter,
        sent: &BTreeSet<String>,
    ) -> Option<CountedMessage> {
        let mut page = KnowledgePage::new(counter, Placement::Tail);
        for section in &self.page.sections {
            let mut section = section.clone();
            section.entries.retain(|entry| !sent.contains(&entry.line.text));
            page.add(section);
        }
        let (sections, _) = page.render();
        let text: String = sections.into_iter().map(|(_, text)| text).collect();
        (!text.is_empty()).then(|| CountedMessage::new(counter, Message::user(text)))
    }
}
