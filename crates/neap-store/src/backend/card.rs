//! A text's index card, the same on every backend: what a [`Candidate`] needs, and the count of each term.

use neap_core::base::ids::{Stamp, TurnNo};
use neap_core::base::tokens::Tokens;
use neap_core::memory::MemoryKind;
use neap_core::recall::{Candidate, IndexedText, Query, TextId, TextKey, TextKind};
use neap_core::session::project::MemoryRow;
use neap_core::text::terms::terms;

use crate::backend::candidates::is_term;
use crate::backend::rowids;

/// A stored card, with all its terms or (as [`QueryCard`]) with the counts of a query's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardRow<T = TermCounts> {
    pub kind: TextKind,
    pub turn: TurnNo,
    /// See [`Candidate::position`]; the backend assigns it.
    pub nth: u64,
    pub at: Stamp,
    pub who: Option<String>,
    pub tokens: Tokens,
    pub length: u32,
    /// CRC-32 of the text; an embedding with another checksum is stale.
    pub checksum: u32,
    pub terms: T,
}

/// A card with the count of each of the query's terms.
pub type QueryCard = CardRow<Vec<u32>>;

impl CardRow {
    pub fn for_query(&self, query: &QueryTerms) -> QueryCard {
        let CardRow { kind, turn, nth, at, ref who, tokens, length, checksum, ref terms } = *self;
        QueryCard {
            kind,
            turn,
            nth,
            at,
            who: who.clone(),
            tokens,
            length,
            checksum,
            terms: query.hits(terms.bytes()),
        }
    }
}

impl QueryCard {
    pub fn card(self, id: TextId, similarity: Option<f64>) -> Candidate {
        let QueryCard { kind, turn, nth, at, who, tokens, length, checksum: _, terms: hits } = self;
        let project = None;
        Candidate {
            id,
            kind,
            turn,
            position: nth,
            at,
            project,
            speaker: who,
            tokens,
            term_count: length,
            hits,
            similarity,
        }
    }
}

/// The hashes of a query's terms; `None` for one that cannot be in the index.
pub struct QueryTerms(pub Vec<Option<u32>>);

impl QueryTerms {
    pub fn of(query: &Query) -> Self {
        Self(query.terms.iter().map(|term| is_term(term).then(|| term_hash(term))).collect())
    }

    pub fn hits(&self, terms: &[u8]) -> Vec<u32> {
        self.0.iter().map(|hash| hash.map_or(0, |hash| term_count(terms, hash))).collect()
    }
}

/// CRC-32 of the term. Stored, so it must never change.
pub fn term_hash(term: &str) -> u32 {
    crc32fast::hash(term.as_bytes())
}

pub fn text_checksum(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}

/// Bytes per term: its hash, little-endian, then its count, saturating at 255.
const TERM_BYTES: usize = 5;

/// A text's distinct terms, sorted by hash, encoded as bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermCounts(Vec<u8>);

impl TermCounts {
    pub fn of(terms: &[String]) -> Self {
        let mut hashes: Vec<u32> = terms.iter().map(|term| term_hash(term)).collect();
        hashes.sort_unstable();
        let mut bytes = Vec::with_capacity(hashes.len() * TERM_BYTES);
        for same in hashes.chunk_by(|a, b| a == b) {
            bytes.extend_from_slice(&same[0].to_le_bytes());
            bytes.push(u8::try_from(same.len()).unwrap_or(u8::MAX));
        }
        Self(bytes)
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn count(&self, hash: u32) -> u32 {
        term_count(&self.0, hash)
    }

    pub fn hashes(&self) -> impl Iterator<Item = u32> {
        self.0.as_chunks::<TERM_BYTES>().0.iter().map(hash_of)
    }
}

fn term_count(terms: &[u8], hash: u32) -> u32 {
    let (terms, _) = terms.as_chunks::<TERM_BYTES>();
    terms.binary_search_by_key(&hash, hash_of).map_or(0, |at| u32::from(terms[at][TERM_BYTES - 1]))
}

fn hash_of(term: &[u8; TERM_BYTES]) -> u32 {
    let [a, b, c, d, _] = *term;
    u32::from_le_bytes([a, b, c, d])
}

#[derive(Debug, Clone)]
pub struct IndexEntry {
    pub key: TextKey,
    /// The terms, joined by spaces.
    pub words: String,
    pub row: CardRow,
}

impl IndexEntry {
    pub fn of(text: &IndexedText) -> Self {
        let IndexedText { key, kind, turn, at, speaker, tokens, text } = text;
        let all = terms(text);
        let row = CardRow {
            kind: *kind,
            turn: *turn,
            nth: 0,
            at: *at,
            who: speaker.clone(),
            tokens: *tokens,
            length: u32::try_from(all.len()).unwrap_or(u32::MAX),
            checksum: text_checksum(text),
            terms: TermCounts::of(&all),
        };
        Self { key: key.clone(), words: all.join(" "), row }
    }

    /// A memory's text, or `None` if search must not find it.
    pub fn of_memory(row: &MemoryRow) -> Option<Self> {
        let memory = &row.memory;
        memory.status.is_searchable().then(|| {
            Self::of(&IndexedText {
                key: TextKey::Memory(memory.id),
                kind: TextKind::Memory(memory.kind()),
                turn: TurnNo(0),
                at: memory.created,
                speaker: None,
                tokens: memory.lines.summary_tokens,
                text: row.text.as_str().into(),
            })
        })
    }
}

const MEMORY_KINDS_FROM: i64 = 8;

/// Stored, so the numbers must never change.
pub fn kind_number(kind: TextKind) -> i64 {
    match kind {
        TextKind::User => 0,
        TextKind::Assistant => 1,
        TextKind::Tool => 2,
        TextKind::System => 3,
        TextKind::Span => 4,
        TextKind::Effort => 5,
        TextKind::Memory(kind) => MEMORY_KINDS_FROM + rowids::kind_code(kind),
    }
}

pub fn kind_from_number(number: i64) -> Option<TextKind> {
    match number {
        0 => Some(TextKind::User),
        1 => Some(TextKind::Assistant),
        2 => Some(TextKind::Tool),
        3 => Some(TextKind::System),
        4 => Some(TextKind::Span),
        5 => Some(TextKind::Effort),
        _ => {
            let is_it = |kind: &MemoryKind| MEMORY_KINDS_FROM + rowids::kind_code(*kind) == number;
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
        let times = TermCounts::of(&words("b a c a ошибка"));
        for (term, n) in [("a", 2), ("b", 1), ("c", 1), ("ошибка", 1), ("d", 0), ("", 0)] {
            assert_eq!(times.count(term_hash(term)), n, "{term}");
        }
        assert_eq!(times.hashes().count(), 4);
        assert_eq!(TermCounts::from_bytes(times.bytes().to_vec()), times);
        assert_eq!(TermCounts::of(&vec!["a".to_owned(); 1_000]).count(term_hash("a")), 255);
        assert_eq!(TermCounts::of(&[]).count(term_hash("a")), 0);
        assert_eq!(TermCounts::from_bytes(vec![1, 2, 3]).count(7), 0);
    }

    /// The hash is stored: a change would lose every indexed term.
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
            assert_eq!(kind_from_number(kind_number(kind)), Some(kind));
        }
        assert_eq!((kind_from_number(-1), kind_from_number(6), kind_from_number(99)), (None, None, None));
    }
}
