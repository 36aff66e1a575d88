//! Reads and decompresses request bodies, both up to the same limit; of a body that is only forwarded, its beginning.

use std::future::poll_fn;
use std::io::Read;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, header};
use neap_model::compute::{INLINE_BYTES_MAX, run_blocking};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::drain_body::is_body_timeout;
use super::error::ProxyError;

/// Longest body that is read, compressed or not, in bytes: above what providers take of a history (Anthropic 32 MB,
/// OpenAI 50 MB of images).
pub(crate) const BODY_BYTES_MAX: usize = 64 << 20;
/// A body up to this length is read before any of it is forwarded.
const START_BYTES_MAX: usize = 64 << 10;

const BUFFERED_BYTES_MAX: usize = 512 << 20;
const PERMIT_BYTES: usize = 64 << 10;
static BODY_MEMORY: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(BUFFERED_BYTES_MAX / PERMIT_BYTES)));

/// A body with the memory permits that it holds until it is dropped.
struct BufferedBody {
    bytes: Vec<u8>,
    permits: Vec<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for BufferedBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl BufferedBody {
    fn append(&mut self, data: &[u8]) -> Result<(), ProxyError> {
        if self.bytes.len() + data.len() > BODY_BYTES_MAX {
            return Err(ProxyError::TooLarge);
        }
        self.bytes.extend_from_slice(data);
        while self.permits.len() * PERMIT_BYTES < self.bytes.len() {
            self.permits.push(BODY_MEMORY.clone().try_acquire_owned().map_err(|_| ProxyError::Busy)?);
        }
        Ok(())
    }
}

pub(crate) async fn read(mut body: Body, headers: &HeaderMap) -> Result<Bytes, ProxyError> {
    let announced =
        headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES_MAX) {
        return Err(ProxyError::TooLarge);
    }
    // A client may announce any length, so it does not decide how much is allocated.
    let bytes = Vec::with_capacity(announced.unwrap_or(0).min(PERMIT_BYTES));
    let mut read = BufferedBody { bytes, permits: Vec::new() };
    while let Some(data) = next_data(&mut body).await? {
        read.append(&data)?;
    }
    Ok(Bytes::from_owner(read))
}

/// A body whose rest has not arrived yet.
pub(crate) struct StartedBody {
    pub(crate) start: Bytes,
    pub(crate) rest: Body,
}

pub(crate) enum ReceivedBody {
    Whole(Bytes),
    Started(StartedBody),
}

/// Reads a body that ends soon, or the beginning of a longer one.
pub(crate) async fn read_start(mut body: Body) -> Result<ReceivedBody, ProxyError> {
    let mut start = Vec::new();
    while let Some(data) = next_data(&mut body).await? {
        start.extend_from_slice(&data);
        if start.len() > START_BYTES_MAX {
            return Ok(ReceivedBody::Started(StartedBody { start: start.into(), rest: body }));
        }
    }
    Ok(ReceivedBody::Whole(start.into()))
}

/// The next bytes of a body; `None` at its end.
async fn next_data(body: &mut Body) -> Result<Option<Bytes>, ProxyError> {
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
        if let Ok(data) = frame.map_err(|error| read_error(&error))?.into_data() {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

pub(crate) fn read_error(error: &axum::Error) -> ProxyError {
    match is_body_timeout(error) {
        true => ProxyError::BodyTimeout,
        false => ProxyError::Unreadable(error.to_string()),
    }
}

/// Undoes `Content-Encoding`. A small body may decompress to a large one, so this runs off the async workers.
pub(crate) async fn decoded(bytes: Bytes, headers: &HeaderMap) -> Result<Bytes, ProxyError> {
    if !headers.contains_key(header::CONTENT_ENCODING) {
        return Ok(bytes);
    }
    let headers = headers.clone();
    run_blocking(INLINE_BYTES_MAX, move || decompress(bytes, &headers)).await
}

fn decompress(bytes: Bytes, headers: &HeaderMap) -> Result<Bytes, ProxyError> {
    let values = headers.get_all(header::CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let names: Vec<String> =
        values.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let mut bytes = bytes;
    // The encoding applied last is undone first.
    for name in names.iter().rev().filter(|name| !name.is_empty()) {
        let output = match name.as_str() {
            "identity" => continue,
            "gzip" | "x-gzip" => read_limited(flate2::read::MultiGzDecoder::new(&bytes[..]))?,
            "zstd" => read_limited(zstd::stream::read::Decoder::new(&bytes[..]).map_err(unreadable)?)?,
            other => return Err(ProxyError::UnsupportedEncoding(other.to_owned())),
        };
        bytes = output.into();
    }
    Ok(bytes)
}

fn read_limited(read: impl Read) -> Result<Vec<u8>, ProxyError> {
    let mut whole = Vec::new();
    read.take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut whole).map_err(unreadable)?;
    if whole.len() > BODY_BYTES_MAX { Err(ProxyError::TooLarge) } else { Ok(whole) }
}

fn unreadable(error: std::io::Error) -> ProxyError {
    ProxyError::Unreadable(error.to_string())
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

    fn check(bytes: Vec<u8>, encoding: &str) -> Result<Vec<u8>, ProxyError> {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, encoding.parse().expect("a value"))]);
        decompress(bytes.into(), &headers).map(|bytes| bytes.to_vec())
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let words = b"{\"model\":\"m\"}";
        assert_eq!(check(words.to_vec(), "identity"), Ok(words.to_vec()));
        assert_eq!(check(gzip(words), "GZIP"), Ok(words.to_vec()));
        assert_eq!(check(zstd(words), "zstd"), Ok(words.to_vec()));
        assert_eq!(check(zstd(&gzip(words)), "gzip, zstd"), Ok(words.to_vec()));
        assert_eq!(check(words.to_vec(), "br"), Err(ProxyError::UnsupportedEncoding("br".into())));
        assert!(matches!(check(words.to_vec(), "gzip"), Err(ProxyError::Unreadable(_))));
        assert!(matches!(check(words.to_vec(), "zstd"), Err(ProxyError::Unreadable(_))));
    }

    #[test]
    fn a_little_that_unpacks_to_much_is_refused() {
        let most = vec![b'a'; BODY_BYTES_MAX];
        let more = vec![b'a'; BODY_BYTES_MAX + 1];
        assert_eq!(check(zstd(&most), "zstd").map(|bytes| bytes.len()), Ok(BODY_BYTES_MAX));
        assert_eq!(check(zstd(&more), "zstd"), Err(ProxyError::TooLarge));
        assert_eq!(check(gzip(&more), "gzip"), Err(ProxyError::TooLarge));
    }
}
