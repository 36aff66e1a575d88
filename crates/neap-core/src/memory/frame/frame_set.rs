//! The set of frames: built-in ones, plus those that configuration adds or replaces.

use super::{Frame, built_in};
use crate::base::tokens::Tokens;

const FRAMES_MAX: usize = 64;
const NAME_CHARS_MAX: usize = 40;
const TEXT_CHARS_MAX: usize = 240;
const LIST_MAX: usize = 64;
/// No context is larger.
const TOTAL_MAX: Tokens = Tokens(1_000_000);

/// Chosen when nothing else matches.
pub(super) const DEFAULT_FRAME: &str = "conversation";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameSet(Vec<Frame>);

impl FrameSet {
    pub fn built_in() -> Self {
        Self(built_in::frames())
    }

    /// The built-in frames and custom ones; a custom frame replaces the one with its name.
    pub fn with_custom(extra: Vec<Frame>) -> Result<Self, String> {
        let Self(mut frames) = Self::built_in();
        for frame in extra {
            validate(&frame)?;
            match frames.iter_mut().find(|existing| existing.name == frame.name) {
                Some(existing) => *existing = frame,
                None => frames.push(frame),
            }
        }
        if frames.len() > FRAMES_MAX {
            return Err(format!("there are {} frames; the maximum is {FRAMES_MAX}", frames.len()));
        }
        Ok(Self(frames))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Frame> {
        self.0.iter()
    }

    pub fn get(&self, name: &str) -> Option<&Frame> {
        self.0.iter().find(|frame| frame.name == name)
    }

    pub fn default_frame(&self) -> &Frame {
        self.get(DEFAULT_FRAME).expect("the default frame is built in, and replaced only by one of its name")
    }
}

fn validate(frame: &Frame) -> Result<(), String> {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let length = frame.name.chars().count();
    if !(1..=NAME_CHARS_MAX).contains(&length) || !frame.name.chars().all(is_allowed) {
        return Err(format!(
            "'{}' is not a name for a frame; use 1 to {NAME_CHARS_MAX} letters, digits, '-' or '_'",
            frame.name.escape_debug().take(NAME_CHARS_MAX).collect::<String>()
        ));
    }
    let name = &frame.name;
    if frame.name.trim() != frame.name || frame.name.to_lowercase() != frame.name {
        return Err(format!("the name of the frame '{name}' must be in lower case, without spaces around it"));
    }
    for (what, texts) in [("words", &frame.words), ("questions", &frame.questions)] {
        if texts.len() > LIST_MAX {
            return Err(format!("the frame '{name}' has {} {what}; the maximum is {LIST_MAX}", texts.len()));
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
                "a text of the frame '{name}' has {length} characters; the maximum is {TEXT_CHARS_MAX}"
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
            "the frame '{name}' allows {largest} tokens to one layer and {} in all; no layer may have more than \
             all, and the maximum is {TOTAL_MAX}",
            frame.total
        ));
    }
    Ok(())
}
