//! Weights of one's own: a file in the form of the built-in ones, with its vocabulary beside it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use neap_core::recall::Embedding;
use sha2::{Digest as _, Sha256};

use super::encoder::Encoder;
use super::pieces::Pieces;
use super::weights::Weights;
use super::{TOGETHER, as_strs, heads};
use crate::compute::{SMALL_BYTES, off_worker};
use crate::{Embedder, ModelError};

/// The vocabulary's name.
const VOCABULARY: &str = "vocab.txt";
/// How a weights file's name ends.
const ENDING: &str = "safetensors";
/// So many bytes of the digest are in a name.
const DIGEST_BYTES: usize = 6;
/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// An encoder whose weights are in a file. They are read when the first text is embedded; it goes by the file's name and a digest
/// of what is in it.
pub struct FileEmbedder(Arc<Files>);

struct Files {
    weights: PathBuf,
    vocabulary: PathBuf,
    open: OnceLock<Result<Open, ModelError>>,
}

struct Open {
    identity: String,
    encoder: Encoder,
}

impl FileEmbedder {
    /// The weights at a path: a file, or a folder with one such file in it. Says what is missing; what is in the files is looked
    /// at when it is first needed.
    pub fn new(path: &Path) -> Result<Self, String> {
        let weights = if path.is_dir() { only_weights(path)? } else { path.to_owned() };
        if !weights.is_file() {
            return Err(format!("there is no file at {}", weights.display()));
        }
        let vocabulary = weights.with_file_name(VOCABULARY);
        if !vocabulary.is_file() {
            return Err(format!("there is no {VOCABULARY} beside {}", weights.display()));
        }
        Ok(Self(Arc::new(Files { weights, vocabulary, open: OnceLock::new() })))
    }

    /// Where the weights are.
    pub fn path(&self) -> &Path {
        &self.0.weights
    }

    /// What is in the files. They are read on a thread that may wait for the disk: they can be large, and whoever asks may have
    /// others to answer.
    async fn open(&self) -> Result<&Open, ModelError> {
        if self.0.open.get().is_none() {
            let files = self.0.clone();
            let reading = tokio::task::spawn_blocking(move || files.open().map(drop));
            reading.await.map_err(|error| ModelError::Unusable(error.to_string()))??;
        }
        self.0.open()
    }
}

impl Files {
    fn open(&self) -> Result<&Open, ModelError> {
        let open = || Open::read(&self.weights, &self.vocabulary).map_err(ModelError::Unusable);
        self.open.get_or_init(open).as_ref().map_err(Clone::clone)
    }
}

/// The one weights file of a folder.
fn only_weights(folder: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == ENDING)).collect();
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), _) => Err(format!("{} has several .{ENDING} files: name one", folder.display())),
        (None, _) => Err(format!("{} has no .{ENDING} file", folder.display())),
    }
}

impl Open {
    fn read(weights: &Path, vocabulary: &Path) -> Result<Self, String> {
        let (bytes, words) = (bytes(weights)?, bytes(vocabulary)?);
        let mut digest = Sha256::new();
        for part in [&bytes, &words] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let digest: String =
            digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let name = weights.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let is_none = |path: &Path, what: &str| format!("{} is not {what}", path.display());
        let pieces = std::str::from_utf8(&words).ok().and_then(Pieces::read).ok_or_else(|| {
            is_none(vocabulary, "a vocabulary of word pieces with [UNK], [CLS], [SEP] at 100 to 102")
        })?;
        let tensors = Weights::open(&bytes).ok_or_else(|| is_none(weights, "a whole safetensors file"))?;
        let encoder = Encoder::read(&tensors, pieces).ok_or_else(|| {
            is_none(weights, "an encoder like the built-in one: 384 wide, four bits a weight, as many word pieces as its vocabulary")
        })?;
        Ok(Self { identity: format!("{name}/{digest}"), encoder })
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let found = std::fs::metadata(path).map_err(told)?;
    if !found.is_file() {
        // A pipe would be waited for.
        return Err(format!("{} is not a file", path.display()));
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(format!("{} is larger than {} MiB", path.display(), FILE_BYTES_MAX >> 20));
    }
    std::fs::read(path).map_err(told)
}

#[async_trait]
impl Embedder for FileEmbedder {
    fn identity(&self) -> &str {
        self.0.open.get().and_then(|open| open.as_ref().ok()).map_or("", |open| &open.identity)
    }

    async fn ready(&self) -> Result<(), ModelError> {
        self.open().await.map(drop)
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        self.open().await?;
        let (files, texts) = (self.0.clone(), heads(texts));
        off_worker(SMALL_BYTES, move || Ok(files.open()?.encoder.embeddings(&as_strs(&texts)))).await
    }
}
