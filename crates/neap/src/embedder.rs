//! Who tells what texts mean, for search: from the environment.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use neap_engine::EngineBuilder;
use neap_model::client::{Api, ApiKey, BaseUrl};
use neap_model::embed::{EndpointEmbedder, EndpointOptions, FileEmbedder, LocalEmbedder};
use neap_model::{Embedder, ModelError};

use crate::env;
use crate::out::{self, Failure};

/// The one that comes with the program.
const BUILT_IN: &str = "built-in";
/// How long a question may wait for an embedder that is elsewhere.
const QUESTION_LIMIT: Duration = Duration::from_secs(2);
/// The same where hooks wait for the answer, which are gone when they have waited for three times as long.
const HURRIED_LIMIT: Duration = Duration::from_millis(100);
/// What is embedded to see whether there is an answer.
const A_WORD: &str = "neap";
/// How long that may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The embedder that is chosen.
#[derive(Clone)]
pub(crate) struct Chosen {
    pub(crate) embedder: Arc<dyn Embedder>,
    /// What it is called where it is chosen.
    pub(crate) name: String,
    /// Whether it is asked over a network, where an answer may take its time.
    is_elsewhere: bool,
}

impl Chosen {
    fn here(embedder: impl Embedder + 'static, name: impl Into<String>) -> Self {
        Self { embedder: Arc::new(embedder), name: name.into(), is_elsewhere: false }
    }

    /// Whether it is the one that comes with the program.
    pub(crate) fn is_built_in(&self) -> bool {
        self.name == BUILT_IN
    }

    /// Whether it answers: the length of its embeddings, or why not.
    pub(crate) async fn answers(&self) -> Result<usize, ModelError> {
        let made = tokio::time::timeout(ANSWER_LIMIT, self.embedder.embed(&[A_WORD])).await;
        let made = made.unwrap_or(Err(ModelError::TimedOut(ANSWER_LIMIT)))?;
        Ok(made.first().map_or(0, |embedding| embedding.values().len()))
    }
}

/// The one that the environment names; none if search is to go by words alone.
pub(crate) fn choose() -> Result<Option<Chosen>, Failure> {
    let named = env::text(env::NEAP_EMBEDDER).unwrap_or_default();
    match named.trim() {
        "" | BUILT_IN => Ok(Some(Chosen::here(LocalEmbedder, BUILT_IN))),
        "none" => Ok(None),
        url if url.starts_with("http://") || url.starts_with("https://") => endpoint(url).map(Some),
        path if path.contains(['/', '\\']) => file(Path::new(path)).map(Some),
        other => Err(Failure::new(format!("{} cannot be '{}'", env::NEAP_EMBEDDER, out::clean(other))).hint(
            "it is 'built-in', an address as http://localhost:8080/v1, a file or folder as ./weights, or 'none' to search by words alone",
        )),
    }
}

/// A model of embeddings at an address.
fn endpoint(url: &str) -> Result<Chosen, Failure> {
    let base_url =
        BaseUrl::parse(url).map_err(|error| Failure::new(format!("{}: {error}", env::NEAP_EMBEDDER)))?;
    let model =
        env::text(env::NEAP_EMBEDDER_MODEL).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let model = model.ok_or_else(|| {
        Failure::new("an embedder at an address needs the name of its model")
            .hint(format!("put it into {}, e.g. nomic-embed-text", env::NEAP_EMBEDDER_MODEL))
    })?;
    let name = format!("{model} at {base_url}");
    let mut options = EndpointOptions::new(base_url, model);
    options.key = key(&options.base_url)?;
    let embedder = EndpointEmbedder::new(options).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Chosen { embedder: Arc::new(embedder), name, is_elsewhere: true })
}

/// The key for an address. One that was given for embeddings is the user's own choice; the maker's goes only where nobody else can
/// read it on the way. A key that was given for the model that answers is not sent here: that may be another provider's.
fn key(base_url: &BaseUrl) -> Result<Option<ApiKey>, Failure> {
    if let Some(key) = env::text(env::NEAP_EMBEDDER_KEY) {
        return Ok(Some(ApiKey::new(key)));
    }
    let found = env::text(env::OPENAI_API_KEY).filter(|_| base_url.is_private()).map(ApiKey::new);
    if found.is_none() && BaseUrl::parse(Api::OpenAi.home()).is_ok_and(|home| home.host() == base_url.host()) {
        return Err(Failure::new(format!("{} wants a key", base_url.host())).hint(format!(
            "put it into {} or {}",
            env::NEAP_EMBEDDER_KEY,
            env::OPENAI_API_KEY
        )));
    }
    Ok(found)
}

/// Weights in a file.
fn file(path: &Path) -> Result<Chosen, Failure> {
    let embedder = FileEmbedder::new(path).map_err(|error| {
        Failure::new(format!("{}: {}", env::NEAP_EMBEDDER, out::clean(&error)))
            .hint("docs/recall.md says what an embedder's files are")
    })?;
    let name = embedder.path().display().to_string();
    Ok(Chosen::here(embedder, name))
}

/// An engine with the embedder that is chosen.
pub(crate) fn with(builder: EngineBuilder, chosen: Option<&Chosen>) -> EngineBuilder {
    match chosen {
        Some(Chosen { embedder, is_elsewhere, .. }) => {
            builder.embedder(embedder.clone()).meaning_limit(is_elsewhere.then_some(QUESTION_LIMIT))
        }
        None => builder,
    }
}

/// An engine whose questions wait less for an embedder: those of hooks, too, where all is over after a second.
pub(crate) fn in_a_hurry(builder: EngineBuilder) -> EngineBuilder {
    builder.meaning_limit(Some(HURRIED_LIMIT))
}
