//! What is kept of a text beside its words in the index, the same on every backend: all that a [`Card`] says of it, and which
//! terms it has how often.

use neap_core::ids::{Stamp, TurnNo};
use neap_core::memory::MemoryKind;
use neap_core::project::MemoryRow;
use neap_core::recall::{Card, Query, Text, TextId, TextKey, TextKind};
use neap_core::terms::terms;
use neap_core::tokens::Tokens;

use crate::numbers;
use crate::propose::is_term;

/// A text's card as it is kept, with all of its terms or with what a question wants to know of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CardRow<T = TermTimes> {
    pub(crate) kind: TextKind,
    pub(crate) turn: TurnNo,
    /// See [`Card::nth`]; whoever keeps it counts.
    pub(crate) nth: u64,
    pub(crate) at: Stamp,
    pub(crate) who: Option<String>,
    pub(crate) tokens: Tokens,
    pub(crate) length: u32,
    /// The CRC-32 of the text: an embedding of other words is not one of this text.
    pub(crate) sum: u32,
    pub(crate) terms: T,
}

/// A card as one question sees it: how often it has each term that is asked for.
pub(crate) type Seen = CardRow<Vec<u32>>;

impl CardRow {
    /// What it says to one question.
    pub(crate) fn seen(&self, asked: &Asked) -> Seen {
        let CardRow { kind, turn, nth, at, ref who, tokens, length, sum, ref terms } = *self;
        Seen { kind, turn, nth, at, who: who.clone(), tokens, length, sum, terms: asked.hits(terms.bytes()) }
    }
}

impl Seen {
    /// The card, with whose it is.
    pub(crate) fn card(self, id: TextId, near: Option<f64>) -> Card {
        let Seen { kind, turn, nth, at, who, tokens, length, sum: _, terms: hits } = self;
        Card { id, kind, turn, nth, at, who, tokens, length, hits, near }
    }
}

/// What is asked for, by the hashes of terms; none of what cannot be one.
pub(crate) struct Asked(pub(crate) Vec<Option<u32>>);

impl Asked {
    pub(crate) fn of(query: &Query) -> Self {
        Self(query.terms.iter().map(|term| is_term(term).then(|| term_hash(term))).collect())
    }

    /// How often each is among terms as they are stored.
    pub(crate) fn hits(&self, terms: &[u8]) -> Vec<u32> {
        self.0.iter().map(|hash| hash.map_or(0, |hash| times(terms, hash))).collect()
    }
}

/// The number that stands for a term. It is stored, so it never changes: the CRC-32 of its bytes.
pub(crate) fn term_hash(term: &str) -> u32 {
    crc32fast::hash(term.as_bytes())
}

/// The number that tells one wording of a text from another.
pub(crate) fn text_sum(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}

/// Bytes for each term: its hash, the least byte first, then how often it is there, 255 for more.
const TERM_BYTES: usize = 5;

/// The distinct terms of a text, in the order of their hashes, as bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TermTimes(Vec<u8>);

impl TermTimes {
    /// Of all terms of a text.
    pub(crate) fn of(terms: &[String]) -> Self {
        let mut hashes: Vec<u32> = terms.iter().map(|term| term_hash(term)).collect();
        hashes.sort_unstable();
        let mut bytes = Vec::with_capacity(hashes.len() * TERM_BYTES);
        for same in hashes.chunk_by(|a, b| a == b) {
            bytes.extend_from_slice(&same[0].to_le_bytes());
            bytes.push(u8::try_from(same.len()).unwrap_or(u8::MAX));
        }
        Self(bytes)
    }

    /// From what was stored.
    pub(crate) fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// As it is stored.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// How often a term is there.
    pub(crate) fn times(&self, hash: u32) -> u32 {
        times(&self.0, hash)
    }

    /// Every term once.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u32> {
        self.0.as_chunks::<TERM_BYTES>().0.iter().map(hash_of)
    }
}

fn times(terms: &[u8], hash: u32) -> u32 {
    let (terms, _) = terms.as_chunks::<TERM_BYTES>();
    terms.binary_search_by_key(&hash, hash_of).map_or(0, |at| u32::from(terms[at][TERM_BYTES - 1]))
}

fn hash_of(term: &[u8; TERM_BYTES]) -> u32 {
    let [a, b, c, d, _] = *term;
    u32::from_le_bytes([a, b, c, d])
}

/// A text as it is indexed.
#[derive(Debug, Clone)]
pub(crate) struct Indexed {
    pub(crate) key: TextKey,
    /// Its terms, joined by spaces.
    pub(crate) words: String,
    /// Its card but for its place.
    pub(crate) row: CardRow,
}

impl Indexed {
    pub(crate) fn of(text: &Text) -> Self {
        let Text { key, kind, turn, at, who, tokens, text } = text;
        let all = terms(text);
        let row = CardRow {
            kind: *kind,
            turn: *turn,
            nth: 0,
            at: *at,
            who: who.clone(),
            tokens: *tokens,
            length: u32::try_from(all.len()).unwrap_or(u32::MAX),
            sum: text_sum(text),
            terms: TermTimes::of(&all),
        };
        Self { key: key.clone(), words: all.join(" "), row }
    }

    /// A memory's text; none if search does not find it.
    pub(crate) fn of_memory(row: &MemoryRow) -> Option<Self> {
        let memory = &row.memory;
        memory.status.is_searched().then(|| {
            Self::of(&Text {
                key: TextKey::Memory(memory.id),
                kind: TextKind::Memory(memory.kind()),
                turn: TurnNo(0),
                at: memory.created,
                who: None,
                tokens: memory.lines.summary_tokens,
                text: row.text.as_str().into(),
            })
        })
    }
}

/// From here on the numbers of kinds are those of memories.
const MEMORIES: i64 = 8;

/// A kind's number. They are stored, so they never change.
pub(crate) fn kind_number(kind: TextKind) -> i64 {
    match kind {
        TextKind::User => 0,
        TextKind::Assistant => 1,
        TextKind::Tool => 2,
        TextKind::System => 3,
        TextKind::Span => 4,
        TextKind::Effort => 5,
        TextKind::Memory(kind) => MEMORIES + numbers::kind_code(kind),
    }
}

/// The kind with this number.
pub(crate) fn numbered_kind(number: i64) -> Option<TextKind> {
    match number {
        0 => Some(TextKind::User),
        1 => Some(TextKind::Assistant),
        2 => Some(TextKind::Tool),
        3 => Some(TextKind::System),
        4 => Some(TextKind::Span),
        5 => Some(TextKind::Effort),
        _ => {
            let is_it = |kind: &MemoryKind| MEMORIES + numbers::kind_code(*kind) == number;
            MemoryKind::ALL.into_iter().find(is_it).map(TextKind::Memory)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_counted() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let times = TermTimes::of(&words("b a c a ошибка"));
        for (term, n) in [("a", 2), ("b", 1), ("c", 1), ("ошибка", 1), ("d", 0), ("", 0)] {
            assert_eq!(times.times(term_hash(term)), n, "{term}");
        }
        assert_eq!(times.hashes().count(), 4);
        assert_eq!(TermTimes::from_bytes(times.bytes().to_vec()), times);
        assert_eq!(TermTimes::of(&vec!["a".to_owned(); 1_000]).times(term_hash("a")), 255);
        assert_eq!(TermTimes::of(&[]).times(term_hash("a")), 0);
        // What is cut short is no panic.
        assert_eq!(TermTimes::from_bytes(vec![1, 2, 3]).times(7), 0);
    }

    /// Stored: a change would lose every term there is.
    #[test]
    fn hashes_are_for_ever() {
        assert_eq!((term_hash("canari"), term_hash("ошибка")), (0x207b_6105, 0xc910_1eba));
    }

    #[test]
    fn kinds_have_their_numbers() {
        let of_memories = MemoryKind::ALL.map(TextKind::Memory);
        let plain = [
            TextKind::User,
            TextKind::Assistant,
            TextKind::Tool,
            TextKind::System,
            TextKind::Span,
            TextKind::Effort,
        ];
        for kind in plain.into_iter().chain(of_memories) {
            assert_eq!(numbered_kind(kind_number(kind)), Some(kind));
        }
        assert_eq!((numbered_kind(-1), numbered_kind(6), numbered_kind(99)), (None, None, None));
    }
}
