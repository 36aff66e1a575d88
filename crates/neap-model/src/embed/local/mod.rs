//! The embedder that comes with the program: no key, no network, no file to fetch.
//!
//! A sentence encoder of three layers with four-bit weights (`assets/README.md` says whose). It looks at the
//! first 128 word pieces of a text. English is what it was made for. Others of its kind are read from files ([`FileEmbedder`]).

mod encoder;
mod file;
mod layer;
mod pieces;
mod weights;

use std::sync::OnceLock;

use async_trait::async_trait;
use neap_core::recall::Embedding;

use self::encoder::Encoder;
pub use self::file::FileEmbedder;
use crate::compute::{SMALL_BYTES, off_worker};
use crate::{Embedder, ModelError};

/// Texts that are embedded without a look up.
const TOGETHER: usize = 4;
/// The pieces that are looked at are within so many bytes of a text, unless it is mostly white space.
const HEAD_BYTES: usize = 16 * 1_024;

/// The built-in embedder. All of them share one set of weights, opened when the first text is embedded.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalEmbedder;

/// The weights, opened once.
fn encoder() -> Result<&'static Encoder, ModelError> {
    static OPEN: OnceLock<Option<Encoder>> = OnceLock::new();
    let open = OPEN.get_or_init(Encoder::built_in);
    open.as_ref().ok_or_else(|| ModelError::Refused("the built-in embedder's weights are damaged".to_owned()))
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn identity(&self) -> &str {
        "minilm-l3-q4/1"
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        let texts = heads(texts);
        off_worker(SMALL_BYTES, move || Ok(encoder()?.embeddings(&as_strs(&texts)))).await
    }
}

/// What an encoder looks at of texts, to be taken elsewhere: even a short text takes it milliseconds.
fn heads(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| text[..text.floor_char_boundary(HEAD_BYTES)].to_owned()).collect()
}

fn as_strs(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests;
