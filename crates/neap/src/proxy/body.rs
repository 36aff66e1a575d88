//! A request's body: read up to a limit, and unpacked up to the same.

use std::future::poll_fn;
use std::io::Read;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use neap_model::compute::{SMALL_BYTES, off_worker};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::Fault;
use super::linger::is_too_slow;

/// The longest body that is taken, packed or unpacked.
pub(crate) const BODY_BYTES_MAX: usize = 16 << 20;

/// Bodies of requests that are held at once, in bytes.
const HELD_BYTES_MAX: usize = 512 << 20;
/// What a body takes of that at a time.
const PIECE_BYTES: usize = 64 << 10;
static ROOM: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(HELD_BYTES_MAX / PIECE_BYTES)));

/// A body as it comes, and the room that it takes until nobody holds it any more.
struct Held {
    bytes: Vec<u8>,
    pieces: Vec<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Held {
    fn take(&mut self, data: &[u8]) -> Result<(), Fault> {
        if self.bytes.len() + data.len() > BODY_BYTES_MAX {
            return Err(Fault::TooLarge);
        }
        self.bytes.extend_from_slice(data);
        while self.pieces.len() * PIECE_BYTES < self.bytes.len() {
            self.pieces.push(ROOM.clone().try_acquire_owned().map_err(|_| Fault::Busy)?);
        }
        Ok(())
    }
}

/// Reads a body.
pub(crate) async fn read(mut body: Body, headers: &HeaderMap) -> Result<Bytes, Fault> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(Fault::TooLarge);
    }
    // What is only announced takes no room.
    let bytes = Vec::with_capacity(announced.unwrap_or(0).min(PIECE_BYTES));
    let mut read = Held { bytes, pieces: Vec::new() };
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| match is_too_slow(&error) {
            true => Fault::TooSlow,
            false => Fault::Unreadable(error.to_string()),
        })?;
        frame.data_ref().map_or(Ok(()), |data| read.take(data))?;
    }
    Ok(Bytes::from_owner(read))
}

/// A body without what it is packed in. A little may unpack to much, so that is done off the async workers.
pub(crate) async fn plain(bytes: Bytes, headers: &HeaderMap) -> Result<Bytes, Fault> {
    if !headers.contains_key(header::CONTENT_ENCODING) {
        return Ok(bytes);
    }
    let headers = headers.clone();
    off_worker(SMALL_BYTES, move || unpacked(bytes, &headers)).await
}

/// Takes off what a body is packed in.
fn unpacked(bytes: Bytes, headers: &HeaderMap) -> Result<Bytes, Fault> {
    let packed = headers.get_all(header::CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let names: Vec<String> =
        packed.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let mut bytes = bytes;
    // What was put on last is taken off first.
    for name in names.iter().rev().filter(|name| !name.is_empty()) {
        let whole = match name.as_str() {
            "identity" => continue,
            "gzip" | "x-gzip" => limited(flate2::read::MultiGzDecoder::new(&bytes[..]))?,
            "zstd" => limited(zstd::stream::read::Decoder::new(&bytes[..]).map_err(unreadable)?)?,
            other => return Err(Fault::Packed(other.to_owned())),
        };
        bytes = whole.into();
    }
    Ok(bytes)
}

fn limited(read: impl Read) -> Result<Vec<u8>, Fault> {
    let mut whole = Vec::new();
    read.take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut whole).map_err(unreadable)?;
    if whole.len() > BODY_BYTES_MAX { Err(Fault::TooLarge) } else { Ok(whole) }
}

fn unreadable(error: std::io::Error) -> Fault {
    Fault::Unreadable(error.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).expect("memory");
        packed.finish().expect("memory")
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        zstd::encode_all(bytes, 1).expect("memory")
    }

    fn check(bytes: Vec<u8>, encoding: &str) -> Result<Vec<u8>, Fault> {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, encoding.parse().expect("a value"))]);
        unpacked(bytes.into(), &headers).map(|bytes| bytes.to_vec())
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let words = b"{\"model\":\"m\"}";
        assert_eq!(check(words.to_vec(), "identity"), Ok(words.to_vec()));
        assert_eq!(check(gzip(words), "GZIP"), Ok(words.to_vec()));
        assert_eq!(check(zstd(words), "zstd"), Ok(words.to_vec()));
        assert_eq!(check(zstd(&gzip(words)), "gzip, zstd"), Ok(words.to_vec()));
        assert_eq!(check(words.to_vec(), "br"), Err(Fault::Packed("br".into())));
        assert!(matches!(check(words.to_vec(), "gzip"), Err(Fault::Unreadable(_))));
        assert!(matches!(check(words.to_vec(), "zstd"), Err(Fault::Unreadable(_))));
    }

    #[test]
    fn a_little_that_unpacks_to_much_is_refused() {
        let most = vec![b'a'; BODY_BYTES_MAX];
        let more = vec![b'a'; BODY_BYTES_MAX + 1];
        assert_eq!(check(zstd(&most), "zstd").map(|bytes| bytes.len()), Ok(BODY_BYTES_MAX));
        assert_eq!(check(zstd(&more), "zstd"), Err(Fault::TooLarge));
        assert_eq!(check(gzip(&more), "gzip"), Err(Fault::TooLarge));
    }
}
