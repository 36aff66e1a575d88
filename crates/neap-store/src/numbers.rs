//! The number of a text says whose it is: the stream in the upper half, then one bit
//! that is set for messages, then the number of the effort or the place of the event. An agent has no efforts: there
//! the lower half is four bits for a kind of memories and where search finds them (a shelf), then the memory's number.
//! So one session's texts of one kind are one range, and no table is needed to tell what a number means. Of two texts, the one with
//! the higher number is the newer: its stream began later, or it came later in the same.

use neap_core::memory::{MemoryId, MemoryKind};

use crate::recall::Place;

const STREAM_SHIFT: u32 = 32;
const MESSAGE: i64 = 1 << 31;
/// A memory's number is below this; above it is its shelf.
const SHELF_SHIFT: u32 = 27;
const SHELVES_SHIFT: u32 = STREAM_SHIFT - SHELF_SHIFT;
const KINDS_OF_MEMORIES: i64 = MemoryKind::ALL.len() as i64;

/// The numbers of a session's texts of both kinds: first and last.
pub(crate) fn all_texts(stream: i64) -> (i64, i64) {
    (stream << STREAM_SHIFT, (stream << STREAM_SHIFT) | (MESSAGE | (MESSAGE - 1)))
}

/// The numbers that a session's efforts may have.
pub(crate) fn effort_texts(stream: i64) -> (i64, i64) {
    (stream << STREAM_SHIFT, (stream << STREAM_SHIFT) | (MESSAGE - 1))
}

/// The numbers that a session's messages may have.
pub(crate) fn message_texts(stream: i64) -> (i64, i64) {
    (message_text(stream, 0), message_text(stream, MESSAGE - 1))
}

/// The number of the text that an event says.
pub(crate) fn message_text(stream: i64, seq: i64) -> i64 {
    assert!((0..MESSAGE).contains(&seq), "a stream has fewer than two thousand million events");
    (stream << STREAM_SHIFT) | MESSAGE | seq
}

/// The number of an effort's text, from 0.
pub(crate) fn effort_text(stream: i64, nth: i64) -> i64 {
    (stream << STREAM_SHIFT) | nth
}

/// Whose text it is.
pub(crate) fn stream_of(text: i64) -> i64 {
    text >> STREAM_SHIFT
}

/// Whether a number is that of what an event says.
pub(crate) fn is_message(text: i64) -> bool {
    text & MESSAGE != 0
}

/// The event that a message's number names.
pub(crate) fn message_seq(text: i64) -> i64 {
    text & (MESSAGE - 1)
}

/// A kind's number; they are stored, so they never change.
pub(crate) fn kind_code(kind: MemoryKind) -> i64 {
    match kind {
        MemoryKind::Decision => 0,
        MemoryKind::Fact => 1,
        MemoryKind::Procedure => 2,
        MemoryKind::Episode => 3,
        MemoryKind::Censor => 4,
    }
}

fn place_code(place: Place) -> i64 {
    match place {
        Place::Current => 0,
        Place::Superseded => 1,
        Place::Aside => 2,
    }
}

/// The number of the shelf where an agent's memories of a kind are that are found in one place.
pub(crate) fn shelf(stream: i64, kind: MemoryKind, place: Place) -> i64 {
    (stream << SHELVES_SHIFT) | (place_code(place) * KINDS_OF_MEMORIES + kind_code(kind))
}

/// The first and the last number that an agent's shelves may have.
pub(crate) fn shelves(stream: i64) -> (i64, i64) {
    let (first, last) = effort_texts(stream);
    (first >> SHELF_SHIFT, last >> SHELF_SHIFT)
}

/// The numbers that the memories of a shelf may have; none has the first.
pub(crate) fn shelf_texts(shelf: i64) -> (i64, i64) {
    (shelf << SHELF_SHIFT, (shelf << SHELF_SHIFT) | i64::from(MemoryId::NUMBER_MAX))
}

/// The numbers of all memories of an agent that are found in these places, the first and those that follow it.
pub(crate) fn searched_texts(stream: i64, places: &[Place]) -> (i64, i64) {
    let code = |place: Option<&Place>| place.map_or(0, |place| place_code(*place)) * KINDS_OF_MEMORIES;
    let shelves = stream << SHELVES_SHIFT;
    let (first, _) = shelf_texts(shelves | code(places.first()));
    let (_, last) = shelf_texts(shelves | (code(places.last()) + KINDS_OF_MEMORIES - 1));
    (first, last)
}

/// The number of a memory's text.
pub(crate) fn memory_text(stream: i64, id: MemoryId, place: Place) -> i64 {
    shelf_texts(shelf(stream, id.kind(), place)).0 | i64::from(id.number())
}

/// The memory that a number of an agent's text names, and where it is found.
pub(crate) fn memory_of(text: i64) -> Option<(MemoryId, Place)> {
    if text & MESSAGE != 0 {
        return None;
    }
    let code = (text >> SHELF_SHIFT) & ((1 << (SHELVES_SHIFT - 1)) - 1);
    let place = Place::ALL.into_iter().find(|place| place_code(*place) == code / KINDS_OF_MEMORIES)?;
    let kind = MemoryKind::ALL.into_iter().find(|kind| kind_code(*kind) == code % KINDS_OF_MEMORIES)?;
    let number = u32::try_from(text & i64::from(MemoryId::NUMBER_MAX)).ok()?;
    MemoryId::new(kind, number).map(|id| (id, place))
}

/// The number of a memory, wherever search finds it.
pub(crate) fn memory_number(id: MemoryId) -> i64 {
    memory_text(0, id, Place::Current)
}

/// The memory with this number.
pub(crate) fn numbered_memory(number: i64) -> Option<MemoryId> {
    memory_of(number).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_memories_say_what_they_are() {
        for kind in MemoryKind::ALL {
            for place in Place::ALL {
                for number in [1, 2, MemoryId::NUMBER_MAX] {
                    let id = MemoryId::new(kind, number).expect("it is a number");
                    let text = memory_text(7, id, place);
                    assert_eq!(memory_of(text), Some((id, place)));
                    let (first, last) = effort_texts(7);
                    assert!((first..=last).contains(&text));
                    let (first, last) = searched_texts(7, &[Place::Current, Place::Superseded]);
                    assert_eq!((first..=last).contains(&text), place != Place::Aside);
                    let (first, last) = shelves(7);
                    assert!((first..=last).contains(&(text >> 27)));
                    assert_eq!(shelf(7, kind, place), text >> 27);
                    assert_eq!(numbered_memory(memory_number(id)), Some(id));
                }
            }
        }
        assert_eq!(memory_of(message_text(7, 12)), None);
        assert_eq!(memory_of(all_texts(7).0), None, "no memory has the number 0");
    }

    #[test]
    fn numbers_of_texts_do_not_overlap() {
        let (first, last) = all_texts(7);
        let (efforts_first, efforts_last) = effort_texts(7);
        let (messages_first, messages_last) = message_texts(7);
        assert_eq!((first, last), (efforts_first, messages_last));
        assert_eq!(efforts_last + 1, messages_first);
        assert_eq!(last + 1, all_texts(8).0);
        assert_eq!(message_seq(message_text(7, 12)), 12);
    }
}
