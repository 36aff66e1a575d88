//! The frames there are: the built-in ones, and those that configuration adds or puts in their place.

use super::{Frame, built_in};
use crate::tokens::Tokens;

/// Frames in all, at most.
const FRAMES_MAX: usize = 64;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 40;
/// Longest description, question or word, in characters.
const TEXT_CHARS_MAX: usize = 240;
/// Words or questions of a frame, at most.
const LIST_MAX: usize = 64;
/// The largest total; no context is larger.
const TOTAL_MAX: Tokens = Tokens(1_000_000);

/// The frame that is chosen where nothing calls for one.
pub(super) const DEFAULT: &str = "conversation";

/// The frames there are, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames(Vec<Frame>);

impl Frames {
    /// The six that are always there.
    pub fn built_in() -> Self {
        Self(built_in::frames())
    }

    /// The built-in ones and those of a configuration; one with a name that is taken replaces the frame that has it.
    pub fn with(extra: Vec<Frame>) -> Result<Self, String> {
        let Self(mut frames) = Self::built_in();
        for frame in extra {
            check(&frame)?;
            match frames.iter_mut().find(|known| known.name == frame.name) {
                Some(known) => *known = frame,
                None => frames.push(frame),
            }
        }
        if frames.len() > FRAMES_MAX {
            return Err(format!("there are {} frames; {FRAMES_MAX} is the most", frames.len()));
        }
        Ok(Self(frames))
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.0.iter()
    }

    /// The one with this name.
    pub fn get(&self, name: &str) -> Option<&Frame> {
        self.0.iter().find(|frame| frame.name == name)
    }

    /// The one that is chosen where nothing calls for one.
    pub fn fallback(&self) -> &Frame {
        self.get(DEFAULT).expect("the default frame is built in, and replaced only by one of its name")
    }
}

fn check(frame: &Frame) -> Result<(), String> {
    let named_well = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let length = frame.name.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&length) || !frame.name.chars().all(named_well) {
        return Err(format!(
            "'{}' is no name for a frame; use 1 to {NAME_CHARS_MAX} letters, digits, '-' or '_'",
            frame.name.escape_debug().take(NAME_CHARS_MAX).collect::<String>()
        ));
    }
    let name = &frame.name;
    if frame.name.trim() != frame.name || frame.name.to_lowercase() != frame.name {
        return Err(format!("the name of the frame '{name}' must be in lower case, without spaces around it"));
    }
    for (what, texts) in [("words", &frame.words), ("questions", &frame.questions)] {
        if texts.len() > LIST_MAX {
            return Err(format!("the frame '{name}' has {} {what}; {LIST_MAX} is the most", texts.len()));
        }
    }
    for text in frame.words.iter().chain(&frame.questions) {
        if !text.chars().any(char::is_alphanumeric) {
            return Err(format!("the frame '{name}' has a word or question without a letter in it"));
        }
    }
    for text in frame.words.iter().chain(&frame.questions).chain([&frame.description]) {
        let length = text.chars().count();
        if length > TEXT_CHARS_MAX {
            return Err(format!(
                "a text of the frame '{name}' has {length} characters; {TEXT_CHARS_MAX} is the most"
            ));
        }
        if text.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) {
            return Err(format!("a text of the frame '{name}' is not on one line"));
        }
    }
    let budgets = frame.budgets;
    let largest = budgets.decisions.max(budgets.facts).max(budgets.procedures).max(budgets.episodes);
    if frame.total > TOTAL_MAX || largest > frame.total {
        return Err(format!(
            "the frame '{name}' allows {largest} tokens to one layer and {} in all; no layer may have more than all, \
             and {TOTAL_MAX} is the most",
            frame.total
        ));
    }
    Ok(())
}
