//! A page in a prompt: within its room, in its place, and at the end of a prompt that grows.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::fill::kind;
use super::page::{Page, Placement};
use super::{Knowledge, press};
use crate::ledger::{Layer, Ledger};
use crate::memory::MemoryId;
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

    /// The page as sections of the system text; none where that is not ours.
    pub(crate) fn system(&self) -> Vec<(Layer, String)> {
        match self.page.placement {
            Placement::System => self.sections.clone(),
            Placement::Tail => Vec::new(),
        }
    }

    /// The page as a message of its own, where the system text is not ours.
    pub(crate) fn message(&self, counter: &dyn TokenCounter) -> Option<Counted> {
        match self.page.placement {
            Placement::System => None,
            Placement::Tail if self.sections.is_empty() => None,
            Placement::Tail => Some(Counted::new(counter, Message::user(self.text()))),
        }
    }

    /// What of it a prompt that grows does not have yet: records that are new to it, and the stance if it changed.
    pub(crate) fn addition(
        &self,
        counter: &dyn TokenCounter,
        has: &BTreeSet<MemoryId>,
        frame: &str,
    ) -> Option<Counted> {
        let mut page = Page::new(counter, Placement::Tail);
        let recalled = |layer: Layer| kind(layer).is_some();
        let stance = |layer: Layer| layer == Layer::Frame && frame != self.frame;
        for part in self.page.parts.iter().filter(|part| recalled(part.layer) || stance(part.layer)) {
            let mut part = part.clone();
            part.pieces.retain(|piece| piece.id.is_none_or(|id| !has.contains(&id)));
            page.add(part);
        }
        let (sections, _) = page.render();
        let text: String = sections.into_iter().map(|(_, text)| text).collect();
        (!text.is_empty()).then(|| Counted::new(counter, Message::user(text)))
    }
}
