//! The rowid of a text encodes what it belongs to: the stream in the upper 32 bits, then one bit that is set for
//! messages, then the effort's number or the event's `seq`. An agent has no efforts: its lower half is a shelf
//! (four bits for a kind of memory and its search tier), then the memory's number. So one session's texts of one
//! kind are a contiguous range, and no lookup table is needed. The higher of two rowids is the newer text: its
//! stream began later, or it comes later in the same stream.

use neap_core::memory::{MemoryId, MemoryKind};

use crate::backend::memory_recall::SearchTier;

const STREAM_SHIFT: u32 = 32;
const MESSAGE_BIT: i64 = 1 << 31;
/// A memory's number takes the bits below this, its shelf those above.
const SHELF_SHIFT: u32 = 27;
const SHELVES_SHIFT: u32 = STREAM_SHIFT - SHELF_SHIFT;
const KINDS_OF_MEMORIES: i64 = MemoryKind::ALL.len() as i64;

/// The time and rowid that end a shelf for a page of memories, newest first, which follows the memory `after` with its
/// time. Memories of the same time are ordered by id.
pub fn page_end(shelf: i64, kind: MemoryKind, after: Option<(i64, MemoryId)>) -> (i64, i64) {
    let (first, last) = shelf_rowid_range(shelf);
    match after {
        None => (i64::MAX, last),
        Some((at, id)) if kind == id.kind() => (at, first + i64::from(id.number()) - 1),
        Some((at, id)) => (at, if kind < id.kind() { last } else { first }),
    }
}

/// First and last rowid of a session's texts.
pub fn text_range(stream: i64) -> (i64, i64) {
    (stream << STREAM_SHIFT, (stream << STREAM_SHIFT) | (MESSAGE_BIT | (MESSAGE_BIT - 1)))
}

pub fn effort_range(stream: i64) -> (i64, i64) {
    (stream << STREAM_SHIFT, (stream << STREAM_SHIFT) | (MESSAGE_BIT - 1))
}

pub fn message_range(stream: i64) -> (i64, i64) {
    (message_rowid(stream, 0), message_rowid(stream, MESSAGE_BIT - 1))
}

pub fn message_rowid(stream: i64, seq: i64) -> i64 {
    assert!((0..MESSAGE_BIT).contains(&seq), "a stream has fewer than two thousand million events");
    (stream << STREAM_SHIFT) | MESSAGE_BIT | seq
}

/// `nth` counts efforts from 0.
pub fn effort_rowid(stream: i64, nth: i64) -> i64 {
    (stream << STREAM_SHIFT) | nth
}

pub fn stream_of(text: i64) -> i64 {
    text >> STREAM_SHIFT
}

pub fn is_message(text: i64) -> bool {
    text & MESSAGE_BIT != 0
}

pub fn message_seq(text: i64) -> i64 {
    text & (MESSAGE_BIT - 1)
}

/// Stored, so the codes must never change.
pub fn kind_code(kind: MemoryKind) -> i64 {
    match kind {
        MemoryKind::Decision => 0,
        MemoryKind::Fact => 1,
        MemoryKind::Procedure => 2,
        MemoryKind::Episode => 3,
        MemoryKind::Censor => 4,
    }
}

fn tier_code(tier: SearchTier) -> i64 {
    match tier {
        SearchTier::Current => 0,
        SearchTier::Superseded => 1,
        SearchTier::Hidden => 2,
    }
}

/// The shelf of an agent's memories of one kind and tier.
pub fn shelf(stream: i64, kind: MemoryKind, tier: SearchTier) -> i64 {
    (stream << SHELVES_SHIFT) | (tier_code(tier) * KINDS_OF_MEMORIES + kind_code(kind))
}

/// First and last shelf of an agent.
pub fn shelf_range(stream: i64) -> (i64, i64) {
    let (first, last) = effort_range(stream);
    (first >> SHELF_SHIFT, last >> SHELF_SHIFT)
}

/// First and last rowid on a shelf; no memory has the first, since numbers begin at 1.
pub fn shelf_rowid_range(shelf: i64) -> (i64, i64) {
    (shelf << SHELF_SHIFT, (shelf << SHELF_SHIFT) | i64::from(MemoryId::NUMBER_MAX))
}

/// First and last rowid of an agent's memories of these tiers, which are adjacent.
pub fn searched_range(stream: i64, tiers: &[SearchTier]) -> (i64, i64) {
    let code = |tier: Option<&SearchTier>| tier.map_or(0, |tier| tier_code(*tier)) * KINDS_OF_MEMORIES;
    let shelves = stream << SHELVES_SHIFT;
    let (first, _) = shelf_rowid_range(shelves | code(tiers.first()));
    let (_, last) = shelf_rowid_range(shelves | (code(tiers.last()) + KINDS_OF_MEMORIES - 1));
    (first, last)
}

pub fn memory_rowid(stream: i64, id: MemoryId, tier: SearchTier) -> i64 {
    shelf_rowid_range(shelf(stream, id.kind(), tier)).0 | i64::from(id.number())
}

/// The memory and tier that an agent's rowid names.
pub fn memory_at_rowid(text: i64) -> Option<(MemoryId, SearchTier)> {
    if text & MESSAGE_BIT != 0 {
        return None;
    }
    let code = (text >> SHELF_SHIFT) & ((1 << (SHELVES_SHIFT - 1)) - 1);
    let tier = SearchTier::ALL.into_iter().find(|tier| tier_code(*tier) == code / KINDS_OF_MEMORIES)?;
    let kind = MemoryKind::ALL.into_iter().find(|kind| kind_code(*kind) == code % KINDS_OF_MEMORIES)?;
    let number = u32::try_from(text & i64::from(MemoryId::NUMBER_MAX)).ok()?;
    MemoryId::new(kind, number).map(|id| (id, tier))
}

/// A memory's number within its agent, whatever its tier.
pub fn memory_number(id: MemoryId) -> i64 {
    memory_rowid(0, id, SearchTier::Current)
}

pub fn memory_from_number(number: i64) -> Option<MemoryId> {
    memory_at_rowid(number).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_memories_say_what_they_are() {
        for kind in MemoryKind::ALL {
            for tier in SearchTier::ALL {
                for number in [1, 2, MemoryId::NUMBER_MAX] {
                    let id = MemoryId::new(kind, number).expect("it is a number");
                    let text = memory_rowid(7, id, tier);
                    assert_eq!(memory_at_rowid(text), Some((id, tier)));
                    let (first, last) = effort_range(7);
                    assert!((first..=last).contains(&text));
                    let (first, last) = searched_range(7, &[SearchTier::Current, SearchTier::Superseded]);
                    assert_eq!((first..=last).contains(&text), tier != SearchTier::Hidden);
                    let (first, last) = shelf_range(7);
                    assert!((first..=last).contains(&(text >> 27)));
                    assert_eq!(shelf(7, kind, tier), text >> 27);
                    assert_eq!(memory_from_number(memory_number(id)), Some(id));
                }
            }
        }
        assert_eq!(memory_at_rowid(message_rowid(7, 12)), None);
        assert_eq!(memory_at_rowid(text_range(7).0), None, "no memory has the number 0");
    }

    #[test]
    fn numbers_of_texts_do_not_overlap() {
        let (first, last) = text_range(7);
        let (efforts_first, efforts_last) = effort_range(7);
        let (messages_first, messages_last) = message_range(7);
        assert_eq!((first, last), (efforts_first, messages_last));
        assert_eq!(efforts_last + 1, messages_first);
        assert_eq!(last + 1, text_range(8).0);
        assert_eq!(message_seq(message_rowid(7, 12)), 12);
    }
}
