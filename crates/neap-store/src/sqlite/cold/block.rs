//! A run of events as one text: a line for each, the milliseconds since the one before it and then its body. The
//! first line has the time itself. Places need not be written: they follow one another.

use std::ops::RangeInclusive;

use memchr::memchr;
use neap_core::event::Recorded;
use neap_core::ids::{Seq, Stamp};

use super::pack::{Packer, unpack};
use crate::Stored;

/// A block that is being written.
#[derive(Default, PartialEq)]
pub(super) struct Draft {
    text: Vec<u8>,
    /// The place of the first event, then of the last.
    places: Option<(i64, i64)>,
    at: i64,
    kinds: Vec<String>,
}

/// A block as it lies in its row.
pub(super) struct Packed {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) sum: u32,
    /// The kinds of its events, each once, between spaces.
    pub(super) kinds: String,
    pub(super) body: Vec<u8>,
}

impl Draft {
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether an event at this place would follow without a gap.
    pub(super) fn goes_on_with(&self, seq: i64) -> bool {
        self.places.is_none_or(|(_, last)| last + 1 == seq)
    }

    /// Adds the next event; its body has no line break.
    pub(super) fn add(&mut self, seq: i64, at: i64, kind: String, body: &[u8]) {
        let since = if self.is_empty() { at } else { at.wrapping_sub(self.at) };
        self.text.extend_from_slice(format!("{since} ").as_bytes());
        self.text.extend_from_slice(body);
        self.text.push(b'\n');
        self.places = Some((self.places.map_or(seq, |(first, _)| first), seq));
        self.at = at;
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// The block packed; none where that would not give the same bytes again.
    pub(super) fn pack(&self, packer: &mut Packer) -> Option<Packed> {
        let (first, last) = self.places?;
        let body = packer.pack(&self.text)?;
        let kinds = format!(" {} ", self.kinds.join(" "));
        Some(Packed { first, last, sum: sum(first, last, &self.text), kinds, body })
    }
}

fn sum(first: i64, last: i64, text: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&first.to_le_bytes());
    sum.update(&last.to_le_bytes());
    sum.update(text);
    sum.finalize()
}

/// A block that is being read. What is damaged is damaged as a whole.
pub(in crate::sqlite) struct Block {
    first: i64,
    last: i64,
    lines: Result<Lines, String>,
}

struct Lines {
    text: Vec<u8>,
    /// The time of each event, and where its body begins and ends.
    bodies: Vec<(i64, usize, usize)>,
}

impl Block {
    pub(in crate::sqlite) fn read(first: i64, last: i64, kept: i64, body: &[u8]) -> Self {
        Self { first, last, lines: lines(first, last, kept, body) }
    }

    /// In the place of blocks that cannot be found.
    pub(in crate::sqlite) fn lost(first: i64, last: i64) -> Self {
        Self { first, last, lines: Err("the page of the file with its block is damaged".to_owned()) }
    }

    /// Whether it is what was written.
    pub(in crate::sqlite) fn is_whole(&self) -> bool {
        self.lines.as_ref().is_ok_and(|lines| lines.bodies.len() as i64 == self.last - self.first + 1)
    }

    /// The places of its events.
    pub(in crate::sqlite) fn places(&self) -> RangeInclusive<i64> {
        self.first..=self.last
    }

    /// The event at a place that it has.
    pub(in crate::sqlite) fn event(&self, seq: i64) -> Stored {
        match self.understood(seq) {
            Ok(recorded) => Stored::Event(recorded),
            Err(why) => Stored::Damaged { seq: Seq(seq as u64), why },
        }
    }

    /// The place, time and body of each of its events; none if it is damaged.
    pub(super) fn bodies(&self) -> Option<impl Iterator<Item = (i64, i64, &[u8])>> {
        let Lines { text, bodies } = self.lines.as_ref().ok()?;
        Some(self.places().zip(bodies).map(|(seq, &(at, start, end))| (seq, at, &text[start..end])))
    }

    fn understood(&self, seq: i64) -> Result<Recorded, String> {
        let Lines { text, bodies } = self.lines.as_ref().map_err(Clone::clone)?;
        let place = usize::try_from(seq - self.first).ok().and_then(|at| bodies.get(at));
        let &(at, start, end) = place.ok_or("it is not in its block")?;
        let event =
            serde_json::from_slice(&text[start..end]).map_err(|e| format!("it cannot be understood ({e})"))?;
        Ok(Recorded { seq: Seq(seq as u64), at: Stamp(at), event })
    }
}

fn lines(first: i64, last: i64, kept: i64, body: &[u8]) -> Result<Lines, String> {
    let text = unpack(body)?;
    if i64::from(sum(first, last, &text)) != kept {
        return Err("the checksum of its block does not match".to_owned());
    }
    let mut bodies = Vec::new();
    let (mut start, mut at) = (0, 0_i64);
    while start < text.len() {
        let length = memchr(b'\n', &text[start..]).map_or(text.len() - start, |end| end + 1);
        let line = &text[start..start + length];
        let number = memchr(b' ', line);
        let since = number.and_then(|end| std::str::from_utf8(&line[..end]).ok()?.parse::<i64>().ok());
        let (Some(number), Some(since)) = (number, since) else {
            return Err("its block cannot be understood".to_owned());
        };
        at = at.wrapping_add(since);
        bodies.push((at, start + number + 1, start + length - 1));
        start += length;
    }
    Ok(Lines { text, bodies })
}

#[cfg(test)]
mod tests {
    use neap_core::event::Event;

    use super::*;

    fn packed(times: &[i64]) -> Packed {
        let mut draft = Draft::default();
        for (n, at) in times.iter().enumerate() {
            let seq = n as i64 + 7;
            assert!(draft.goes_on_with(seq) && (n == 0 || !draft.goes_on_with(seq + 1)));
            let body = serde_json::to_vec(&Event::Scrubbed { events: n as u64 }).expect("an event is JSON");
            draft.add(seq, *at, "scrubbed".to_owned(), &body);
        }
        draft.pack(&mut Packer::new().expect("a packer can be made")).expect("a block is worth it")
    }

    #[test]
    fn events_come_back_with_their_places_and_times() {
        for times in [vec![5, 5, 9, 3], vec![-1, i64::MIN, i64::MAX, 0], vec![1_771_178_400_000; 128]] {
            let Packed { first, last, sum, kinds, body } = packed(&times);
            assert_eq!((first, last, kinds.as_str()), (7, 6 + times.len() as i64, " scrubbed "));
            let block = Block::read(first, last, i64::from(sum), &body);
            for (n, at) in times.iter().enumerate() {
                let seq = Seq(n as u64 + 7);
                let event = Event::Scrubbed { events: n as u64 };
                assert_eq!(block.event(seq.0 as i64), Stored::Event(Recorded { seq, at: Stamp(*at), event }));
            }
        }
    }

    /// A block that is moved, cut or changed is damaged, and nothing panics.
    #[test]
    fn damage_is_found() {
        let Packed { first, last, sum, body, .. } = packed(&[1, 2, 3]);
        let is_damaged =
            |block: Block| block.places().all(|seq| matches!(block.event(seq), Stored::Damaged { .. }));
        let kept = i64::from(sum);
        assert!(!is_damaged(Block::read(first, last, kept, &body)), "the scene is set");
        assert!(is_damaged(Block::read(first + 1, last, kept, &body)));
        assert!(is_damaged(Block::read(first, last + 1, kept, &body)));
        assert!(is_damaged(Block::read(first, last, kept ^ 1, &body)));
        for cut in 0..body.len() {
            assert!(is_damaged(Block::read(first, last, kept, &body[..cut])), "{cut}");
        }
    }
}
