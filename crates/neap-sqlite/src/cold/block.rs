//! A block is a run of events as one text: a line for each, with the milliseconds since the previous event (the
//! first line: its time) and the event's body. The `seq` of each follows from its position.

use std::ops::RangeInclusive;

use memchr::memchr;
use neap_core::base::ids::{Seq, Stamp};
use neap_core::session::event::RecordedEvent;

use super::pack::{Packer, unpack};
use neap_store::StoredEvent;

#[derive(Default, PartialEq)]
pub(super) struct BlockDraft {
    text: Vec<u8>,
    seqs: Option<(i64, i64)>,
    at: i64,
    kinds: Vec<String>,
}

pub(super) struct PackedBlock {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) checksum: u32,
    /// The distinct kinds of its events, between spaces.
    pub(super) kinds: String,
    pub(super) body: Vec<u8>,
}

impl BlockDraft {
    pub(super) fn is_empty(&self) -> bool {
        self.seqs.is_none()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether an event with this `seq` follows without a gap.
    pub(super) fn is_followed_by(&self, seq: i64) -> bool {
        self.seqs.is_none_or(|(_, last)| last + 1 == seq)
    }

    /// The body must not contain a line break.
    pub(super) fn add(&mut self, seq: i64, at: i64, kind: String, body: &[u8]) {
        let since = if self.is_empty() { at } else { at.wrapping_sub(self.at) };
        self.text.extend_from_slice(format!("{since} ").as_bytes());
        self.text.extend_from_slice(body);
        self.text.push(b'\n');
        self.seqs = Some((self.seqs.map_or(seq, |(first, _)| first), seq));
        self.at = at;
        if !self.kinds.contains(&kind) {
            self.kinds.push(kind);
        }
    }

    /// `None` if packing would not save space or not give the same bytes back.
    pub(super) fn pack(&self, packer: &mut Packer) -> Option<PackedBlock> {
        let (first, last) = self.seqs?;
        let body = packer.pack(&self.text)?;
        let kinds = format!(" {} ", self.kinds.join(" "));
        Some(PackedBlock { first, last, checksum: checksum(first, last, &self.text), kinds, body })
    }
}

fn checksum(first: i64, last: i64, text: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&first.to_le_bytes());
    sum.update(&last.to_le_bytes());
    sum.update(text);
    sum.finalize()
}

/// A block read back; damage anywhere damages all of it.
pub(crate) struct Block {
    first: i64,
    last: i64,
    lines: Result<BlockLines, String>,
}

struct BlockLines {
    text: Vec<u8>,
    /// The time of each event, and where its body begins and ends.
    bodies: Vec<(i64, usize, usize)>,
}

impl Block {
    pub(crate) fn read(first: i64, last: i64, stored_sum: i64, body: &[u8]) -> Self {
        Self { first, last, lines: parse_lines(first, last, stored_sum, body) }
    }

    /// Stands in for blocks that cannot be found.
    pub(crate) fn lost(first: i64, last: i64) -> Self {
        Self { first, last, lines: Err("the page of the file with its block is damaged".to_owned()) }
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.lines.as_ref().is_ok_and(|lines| lines.bodies.len() as i64 == self.last - self.first + 1)
    }

    pub(crate) fn seqs(&self) -> RangeInclusive<i64> {
        self.first..=self.last
    }

    pub(crate) fn event(&self, seq: i64) -> StoredEvent {
        match self.parse_event(seq) {
            Ok(recorded) => StoredEvent::Whole(recorded),
            Err(why) => StoredEvent::Damaged { seq: Seq(seq as u64), why },
        }
    }

    /// The `seq`, time and body of each event; `None` if the block is damaged.
    pub(super) fn bodies(&self) -> Option<impl Iterator<Item = (i64, i64, &[u8])>> {
        let BlockLines { text, bodies } = self.lines.as_ref().ok()?;
        Some(self.seqs().zip(bodies).map(|(seq, &(at, start, end))| (seq, at, &text[start..end])))
    }

    fn parse_event(&self, seq: i64) -> Result<RecordedEvent, String> {
        let BlockLines { text, bodies } = self.lines.as_ref().map_err(Clone::clone)?;
        let span = usize::try_from(seq - self.first).ok().and_then(|at| bodies.get(at));
        let &(at, start, end) = span.ok_or("it is not in its block")?;
        let event = serde_json::from_slice(&text[start..end]).map_err(|e| format!("it cannot be parsed ({e})"))?;
        Ok(RecordedEvent { seq: Seq(seq as u64), at: Stamp(at), event })
    }
}

fn parse_lines(first: i64, last: i64, stored_sum: i64, body: &[u8]) -> Result<BlockLines, String> {
    let text = unpack(body)?;
    if i64::from(checksum(first, last, &text)) != stored_sum {
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
            return Err("its block cannot be parsed".to_owned());
        };
        at = at.wrapping_add(since);
        bodies.push((at, start + number + 1, start + length - 1));
        start += length;
    }
    Ok(BlockLines { text, bodies })
}

#[cfg(test)]
mod tests {
    use neap_core::session::event::{Event, SessionEvent};

    use super::*;

    fn packed(times: &[i64]) -> PackedBlock {
        let mut draft = BlockDraft::default();
        for (n, at) in times.iter().enumerate() {
            let seq = n as i64 + 7;
            assert!(draft.is_followed_by(seq) && (n == 0 || !draft.is_followed_by(seq + 1)));
            let body = serde_json::to_vec(&Event::Session(SessionEvent::Scrubbed { events: n as u64 }))
                .expect("an event is JSON");
            draft.add(seq, *at, "scrubbed".to_owned(), &body);
        }
        draft.pack(&mut Packer::new().expect("a packer can be made")).expect("a block is worth it")
    }

    #[test]
    fn events_come_back_with_their_places_and_times() {
        for times in [vec![5, 5, 9, 3], vec![-1, i64::MIN, i64::MAX, 0], vec![1_771_178_400_000; 128]] {
            let PackedBlock { first, last, checksum, kinds, body } = packed(&times);
            assert_eq!((first, last, kinds.as_str()), (7, 6 + times.len() as i64, " scrubbed "));
            let block = Block::read(first, last, i64::from(checksum), &body);
            for (n, at) in times.iter().enumerate() {
                let seq = Seq(n as u64 + 7);
                let event = Event::Session(SessionEvent::Scrubbed { events: n as u64 });
                assert_eq!(
                    block.event(seq.0 as i64),
                    StoredEvent::Whole(RecordedEvent { seq, at: Stamp(*at), event })
                );
            }
        }
    }

    /// A moved, truncated or changed block is damaged, and nothing panics.
    #[test]
    fn damage_is_found() {
        let PackedBlock { first, last, checksum, body, .. } = packed(&[1, 2, 3]);
        let is_damaged =
            |block: Block| block.seqs().all(|seq| matches!(block.event(seq), StoredEvent::Damaged { .. }));
        let stored_sum = i64::from(checksum);
        assert!(!is_damaged(Block::read(first, last, stored_sum, &body)), "the scene is set");
        assert!(is_damaged(Block::read(first + 1, last, stored_sum, &body)));
        assert!(is_damaged(Block::read(first, last + 1, stored_sum, &body)));
        assert!(is_damaged(Block::read(first, last, stored_sum ^ 1, &body)));
        for cut in 0..body.len() {
            assert!(is_damaged(Block::read(first, last, stored_sum, &body[..cut])), "{cut}");
        }
    }
}
