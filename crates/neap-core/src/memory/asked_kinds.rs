//! The kinds of memory that a question asks for by name: "which decisions …", "what did we decide …", "open questions".

use super::{Body, Memory, MemoryKind, Outcome};
use crate::text::reference::folded_words;
use crate::text::terms::terms;

/// What asks for records rather than speaks of them: "which decisions", "show me the procedures".
const ASKING: [&str; 8] = ["which", "what", "list", "show", "all", "any", "every", "our"];
/// What asks for decisions without an outcome.
const OPEN: [&str; 4] = ["open", "pending", "unresolved", "undecided"];
/// Terms that ask for records and say nothing of what these are about.
const ASKING_TERMS: [&str; 11] =
    ["make", "made", "take", "taken", "show", "list", "give", "tell", "exist", "know", "record"];
/// The noun follows within this many words.
const REACH: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedKinds {
    pub(crate) kinds: Vec<MemoryKind>,
    /// Only decisions whose outcome is not known.
    pub(crate) is_open: bool,
    /// The terms by which the question names them; they are not what it is about.
    naming: Vec<String>,
}

impl AskedKinds {
    /// `None` if the question names no kind.
    pub(crate) fn of(question: &str) -> Option<Self> {
        let words = folded_words(question);
        let mut asked = Self { kinds: Vec::new(), is_open: false, naming: Vec::new() };
        for (at, word) in words.iter().enumerate() {
            let before = &words[at.saturating_sub(REACH)..at];
            let has = |known: &[&str]| before.iter().any(|word| known.contains(&word.as_str()));
            let is_open = has(&OPEN);
            let kind = match word.as_str() {
                "decisions" | "decision" if has(&ASKING) || is_open => MemoryKind::Decision,
                "questions" | "question" if before.last().is_some_and(|last| OPEN.contains(&last.as_str())) => {
                    MemoryKind::Decision
                }
                "decide" | "decided" if asks_what_was_decided(&words, at) => MemoryKind::Decision,
                "procedures" | "procedure" if has(&ASKING) => MemoryKind::Procedure,
                "facts" if has(&ASKING) => MemoryKind::Fact,
                "episodes" if has(&ASKING) => MemoryKind::Episode,
                _ => continue,
            };
            asked.is_open |= is_open;
            asked.naming.extend(terms(word));
            asked.naming.extend(before.iter().filter(|word| OPEN.contains(&word.as_str())).flat_map(|w| terms(w)));
            if !asked.kinds.contains(&kind) {
                asked.kinds.push(kind);
            }
        }
        (!asked.kinds.is_empty()).then_some(asked)
    }

    pub(crate) fn admits(&self, memory: &Memory) -> bool {
        let is_open = match &memory.body {
            Body::Decision(decision) => decision.outcome == Outcome::Pending,
            Body::Fact(_) | Body::Procedure(_) | Body::Episode(_) | Body::Censor(_) => false,
        };
        self.kinds.contains(&memory.kind()) && (!self.is_open || is_open)
    }

    /// Whether a term names a kind.
    pub(crate) fn names(&self, term: &str) -> bool {
        ASKING_TERMS.contains(&term) || self.naming.iter().any(|name| name == term)
    }
}

/// "What did we decide", "which database was decided on"; not "help me decide".
fn asks_what_was_decided(words: &[String], at: usize) -> bool {
    let before = &words[at.saturating_sub(REACH)..at];
    let is_past =
        before.iter().any(|word| matches!(word.as_str(), "did" | "have" | "has" | "was" | "were" | "had"));
    let asks = words[..at].iter().any(|word| matches!(word.as_str(), "what" | "which" | "why" | "when" | "how"));
    is_past && asks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, want: Option<(&[MemoryKind], bool)>) {
        let got = AskedKinds::of(question).map(|asked| (asked.kinds, asked.is_open));
        assert_eq!(got, want.map(|(kinds, is_open)| (kinds.to_vec(), is_open)), "{question}");
    }

    #[test]
    fn a_kind_is_asked_for_by_name() {
        use MemoryKind::{Decision, Episode, Fact, Procedure};
        check("Which decisions did we make about storage?", Some((&[Decision], false)));
        check("What did we decide about the cache?", Some((&[Decision], false)));
        check("Which database was decided on?", Some((&[Decision], false)));
        check("Are there any open decisions?", Some((&[Decision], true)));
        check("open questions on billing", Some((&[Decision], true)));
        check("list all procedures for releases", Some((&[Procedure], false)));
        check("show me the facts and any episodes", Some((&[Fact, Episode], false)));
        for none in
            ["Help me decide", "I decided to go", "Is that a fact?", "a decision tree", "any questions?", ""]
        {
            check(none, None);
        }
        let asked = AskedKinds::of("which open decisions about storage").unwrap();
        assert!(asked.names("decis") && asked.names("open") && !asked.names("storag"));
    }
}
