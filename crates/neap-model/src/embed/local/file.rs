//! The user's own weights: a file in the format of the built-in ones, with its vocabulary beside it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use neap_core::recall::Embedding;
use sha2::{Digest as _, Sha256};

use super::encoder::Encoder;
use super::weights::TensorFile;
use super::word_pieces::WordPieces;
use super::{BATCH_SIZE, as_strs, truncate_texts};
use crate::compute::{INLINE_BYTES_MAX, run_blocking};
use crate::{Embedder, ModelError};

const VOCABULARY: &str = "vocab.txt";
const EXTENSION: &str = "safetensors";
/// Digest bytes in an identity.
const DIGEST_BYTES: usize = 6;
/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Loads its weights with the first text. The identity is the file name and a digest of the content.
pub struct FileEmbedder(Arc<WeightFiles>);

struct WeightFiles {
    weights: PathBuf,
    vocabulary: PathBuf,
    loaded: OnceLock<Result<LoadedEncoder, ModelError>>,
}

struct LoadedEncoder {
    identity: String,
    encoder: Encoder,
}

impl FileEmbedder {
    /// A weights file, or a folder with exactly one. The files must exist, but are read only when needed.
    pub fn new(path: &Path) -> Result<Self, String> {
        let weights = if path.is_dir() { find_weights(path)? } else { path.to_owned() };
        if !weights.is_file() {
            return Err(format!("there is no file at {}", weights.display()));
        }
        let vocabulary = weights.with_file_name(VOCABULARY);
        if !vocabulary.is_file() {
            return Err(format!("there is no {VOCABULARY} beside {}", weights.display()));
        }
        Ok(Self(Arc::new(WeightFiles { weights, vocabulary, loaded: OnceLock::new() })))
    }

    pub fn path(&self) -> &Path {
        &self.0.weights
    }

    /// Reads the files on a blocking thread: they can be large.
    async fn load(&self) -> Result<&LoadedEncoder, ModelError> {
        if self.0.loaded.get().is_none() {
            let files = self.0.clone();
            let load = tokio::task::spawn_blocking(move || files.load().map(drop));
            load.await.map_err(|error| ModelError::Unusable(error.to_string()))??;
        }
        self.0.load()
    }
}

impl WeightFiles {
    fn load(&self) -> Result<&LoadedEncoder, ModelError> {
        let load = || LoadedEncoder::load(&self.weights, &self.vocabulary).map_err(ModelError::Unusable);
        self.loaded.get_or_init(load).as_ref().map_err(Clone::clone)
    }
}

fn find_weights(folder: &Path) -> Result<PathBuf, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == EXTENSION)).collect();
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), _) => Err(format!("{} has several .{EXTENSION} files: name one", folder.display())),
        (None, _) => Err(format!("{} has no .{EXTENSION} file", folder.display())),
    }
}

impl LoadedEncoder {
    fn load(weights: &Path, vocabulary: &Path) -> Result<Self, String> {
        let (bytes, words) = (read_file(weights)?, read_file(vocabulary)?);
        let mut digest = Sha256::new();
        for part in [&bytes, &words] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        let digest: String =
            digest.finalize().iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
        let name = weights.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let is_not = |path: &Path, what: &str| format!("{} is not {what}", path.display());
        let pieces = std::str::from_utf8(&words).ok().and_then(WordPieces::parse).ok_or_else(|| {
            is_not(vocabulary, "a vocabulary of word pieces with [UNK], [CLS], [SEP] at 100 to 102")
        })?;
        let tensors = TensorFile::parse(&bytes).ok_or_else(|| is_not(weights, "a whole safetensors file"))?;
        let encoder = Encoder::from_tensors(&tensors, pieces).ok_or_else(|| {
            is_not(weights, "an encoder like the built-in one: 384 wide, four bits a weight, as many word pieces as its vocabulary")
        })?;
        Ok(Self { identity: format!("{name}/{digest}"), encoder })
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let error_text = |error: std::io::Error| format!("{}: {error}", path.display());
    let metadata = std::fs::metadata(path).map_err(error_text)?;
    if !metadata.is_file() {
        // Reading a pipe would block.
        return Err(format!("{} is not a file", path.display()));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(format!("{} is larger than {} MiB", path.display(), FILE_BYTES_MAX >> 20));
    }
    std::fs::read(path).map_err(error_text)
}

#[async_trait]
impl Embedder for FileEmbedder {
    fn identity(&self) -> &str {
        self.0.loaded.get().and_then(|encoder| encoder.as_ref().ok()).map_or("", |encoder| &encoder.identity)
    }

    async fn prepare(&self) -> Result<(), ModelError> {
        self.load().await.map(drop)
    }

    fn batch_size(&self) -> usize {
        BATCH_SIZE
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        self.load().await?;
        let (files, texts) = (self.0.clone(), truncate_texts(texts));
        run_blocking(INLINE_BYTES_MAX, move || Ok(files.load()?.encoder.embeddings(&as_strs(&texts)))).await
    }
}
