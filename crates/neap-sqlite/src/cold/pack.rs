//! Compresses one body as one zstd frame; a shared dictionary makes small events shrink too. A packed body is the
//! number of its dictionary, then the frame. Numbers are permanent: a better dictionary gets the next one, and
//! older frames stay readable.

use std::cell::RefCell;
use std::sync::LazyLock;

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// The largest body that is packed; a frame that claims more is damaged.
pub(super) const BODY_BYTES_MAX: usize = 64 << 20;

const DICTIONARY_NUMBER: u8 = 1;
/// What events have in common, the most common last.
const DICTIONARY_1: &[u8] = include_bytes!("dictionary_1.txt");
const LEVEL: i32 = 9;

static ENCODER_DICTIONARY: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARY_1, LEVEL));
static DECODER_DICTIONARY: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(DICTIONARY_1));

thread_local! {
    /// Reused: creating one costs more than unpacking a short body.
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

pub(super) struct Packer(Compressor<'static>);

impl Packer {
    pub(super) fn new() -> std::io::Result<Self> {
        let mut packer = Compressor::with_prepared_dictionary(&ENCODER_DICTIONARY)?;
        packer.include_dictid(false)?;
        Ok(Self(packer))
    }

    /// `None` if packing would not be shorter, or would not give the same bytes back.
    pub(super) fn pack(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        if body.len() > BODY_BYTES_MAX {
            return None;
        }
        let frame = self.0.compress(body).ok()?;
        let packed = [&[DICTIONARY_NUMBER], frame.as_slice()].concat();
        (packed.len() < body.len() && unpack(&packed).is_ok_and(|again| again == body)).then_some(packed)
    }
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, String> {
    match packed.split_first() {
        Some((&DICTIONARY_NUMBER, frame)) => UNPACKER
            .with_borrow_mut(|unpacker| {
                let unpacker = match unpacker {
                    Some(unpacker) => unpacker,
                    None => unpacker.insert(Decompressor::with_prepared_dictionary(&DECODER_DICTIONARY)?),
                };
                unpacker.decompress(frame, BODY_BYTES_MAX)
            })
            .map_err(|e| format!("it cannot be unpacked ({e})")),
        Some((dictionary, _)) => Err(format!("it is packed with dictionary {dictionary}, which is not known")),
        None => Err("it is empty".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pack(body: &[u8]) -> Option<Vec<u8>> {
        Packer::new().expect("a packer can be made").pack(body)
    }

    #[test]
    fn a_body_comes_back() {
        let start = r#"{"type":"turn_started","turn":7,"message":{"role":"user","content":"#;
        for words in ["", "hello", "\0\u{10ffff}", &"many words ".repeat(10_000)] {
            let body = format!("{start}{words:?},\"tokens\":9}}}}");
            let packed = pack(body.as_bytes()).expect("an event is worth it");
            assert!(packed.len() < body.len());
            assert_eq!(unpack(&packed), Ok(body.into_bytes()));
        }
    }

    #[test]
    fn what_would_not_be_shorter_stays() {
        for body in [&b""[..], b"x", b"\x93\x01\xfe\x88\x42\x17\xc0\xd5\x6b\x29"] {
            assert_eq!(pack(body), None);
        }
    }

    /// A frame that would unpack to more than is allowed is refused before memory is allocated.
    #[test]
    fn a_bomb_is_refused() {
        let mut packer = Packer::new().expect("a packer can be made");
        let body = vec![b' '; BODY_BYTES_MAX + 1];
        assert_eq!(packer.pack(&body), None);
        let frame = packer.0.compress(&body).expect("it can be compressed");
        assert!(frame.len() < 1 << 16, "the scene is set");
        assert!(unpack(&[&[DICTIONARY_NUMBER], frame.as_slice()].concat()).is_err());
    }

    /// No flipped bit panics; the checksum judges the result.
    #[test]
    fn damage_is_no_panic() {
        let body =
            br#"{"type":"turn_started","turn":7,"message":{"role":"user","content":"what now?","tokens":9}}"#;
        let packed = pack(body).expect("an event is worth it");
        for bit in 0..packed.len() * 8 {
            let mut harmed = packed.clone();
            harmed[bit / 8] ^= 1 << (bit % 8);
            let _ = unpack(&harmed);
        }
        for cut in 0..packed.len() {
            assert_ne!(unpack(&packed[..cut]), Ok(body.to_vec()), "{cut}");
        }
    }

    /// Stored frames need dictionary 1 unchanged: this is its checksum from when it was made.
    #[test]
    fn a_dictionary_never_changes() {
        assert_eq!((DICTIONARY_1.len(), crc32fast::hash(DICTIONARY_1)), (7_084, 850_434_549));
    }
}
