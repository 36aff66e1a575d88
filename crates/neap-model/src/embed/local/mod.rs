//! The built-in embedder: no key, no network, no download.
//!
//! A sentence encoder of three layers with four-bit weights (its source is in `assets/README.md`), made for
//! English. It reads the first 128 word pieces of a text.

mod encoder;
mod layer;
mod weights;
mod word_pieces;

use std::sync::OnceLock;

use async_trait::async_trait;
use neap_core::recall::Embedding;

use self::encoder::Encoder;
use crate::compute::{INLINE_BYTES_MAX, run_blocking};
use crate::{Embedder, ModelError};

const BATCH_SIZE: usize = 4;
/// The word pieces that are read lie within this many bytes, unless the text is mostly white space.
const TEXT_BYTES_MAX: usize = 16 * 1_024;

/// All instances share one set of weights, loaded with the first text.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalEmbedder;

fn built_in_encoder() -> Result<&'static Encoder, ModelError> {
    static OPEN: OnceLock<Option<Encoder>> = OnceLock::new();
    let encoder = OPEN.get_or_init(Encoder::built_in);
    encoder.as_ref().ok_or_else(|| ModelError::Refused("the built-in embedder's weights are damaged".to_owned()))
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn identity(&self) -> &str {
        "minilm-l3-q4/1"
    }

    fn batch_size(&self) -> usize {
        BATCH_SIZE
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        // Copies the part that the encoder reads, to move it to another thread: even a short text takes milliseconds.
        let texts: Vec<String> =
            texts.iter().map(|text| text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()).collect();
        run_blocking(INLINE_BYTES_MAX, move || {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            Ok(built_in_encoder()?.embeddings(&texts))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
