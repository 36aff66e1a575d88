//! Chooses the embedder for search from the environment.

use std::sync::Arc;
use std::time::Duration;

use neap_core::client::WireApi;
use neap_engine::EngineBuilder;
use neap_model::client::{ApiKey, BaseUrl, default_base_url};
use neap_model::embed::{EndpointEmbedder, EndpointOptions, LocalEmbedder};
use neap_model::{Embedder, ModelError};

use crate::env;
use crate::out::{self, Failure};

const BUILT_IN: &str = "built-in";
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// For queries of hooks, which give up after three times as long.
const HOOK_QUERY_TIMEOUT: Duration = Duration::from_millis(100);
const PROBE_TEXT: &str = "neap";
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct ChosenEmbedder {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) name: String,
}

impl ChosenEmbedder {
    fn new(embedder: impl Embedder + 'static, name: impl Into<String>) -> Self {
        Self { embedder: Arc::new(embedder), name: name.into() }
    }

    pub(crate) fn is_built_in(&self) -> bool {
        self.name == BUILT_IN
    }

    /// Embeds a test text; returns the embedding's length.
    pub(crate) async fn probe(&self) -> Result<usize, ModelError> {
        let embeddings = tokio::time::timeout(PROBE_TIMEOUT, self.embedder.embed(&[PROBE_TEXT])).await;
        let embeddings = embeddings.unwrap_or(Err(ModelError::TimedOut(PROBE_TIMEOUT)))?;
        Ok(embeddings.first().map_or(0, |embedding| embedding.values().len()))
    }
}

/// The configured embedder; `None` for search by words only.
pub(crate) fn from_env() -> Result<Option<ChosenEmbedder>, Failure> {
    let named = env::var(env::NEAP_EMBEDDER).unwrap_or_default();
    match named.trim() {
        "" | BUILT_IN => Ok(Some(ChosenEmbedder::new(LocalEmbedder, BUILT_IN))),
        "none" => Ok(None),
        url if url.starts_with("http://") || url.starts_with("https://") => endpoint_embedder(url).map(Some),
        other => Err(Failure::new(format!("{} cannot be '{}'", env::NEAP_EMBEDDER, out::escape_control(other)))
            .hint("use 'built-in', a URL such as http://localhost:8080/v1, or 'none' to search by words alone")),
    }
}

fn endpoint_embedder(url: &str) -> Result<ChosenEmbedder, Failure> {
    let base_url =
        BaseUrl::parse(url).map_err(|error| Failure::new(format!("{}: {error}", env::NEAP_EMBEDDER)))?;
    let model =
        env::var(env::NEAP_EMBEDDER_MODEL).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let model = model.ok_or_else(|| {
        Failure::new("an embedder at a URL needs the name of its model")
            .hint(format!("set {}, e.g. to nomic-embed-text", env::NEAP_EMBEDDER_MODEL))
    })?;
    let name = format!("{model} at {base_url}");
    let mut options = EndpointOptions::new(base_url, model);
    options.key = api_key(&options.base_url)?;
    let embedder = EndpointEmbedder::new(options).map_err(|error| Failure::new(error.to_string()))?;
    Ok(ChosenEmbedder::new(embedder, name))
}

/// The key for an address. `NEAP_EMBEDDER_KEY` is the user's explicit choice; OpenAI's is sent only over a private
/// connection. The chat model's key is not used, since it may belong to another provider.
fn api_key(base_url: &BaseUrl) -> Result<Option<ApiKey>, Failure> {
    if let Some(key) = env::var(env::NEAP_EMBEDDER_KEY) {
        return Ok(Some(ApiKey::new(key)));
    }
    let found = env::var(env::OPENAI_API_KEY).filter(|_| base_url.is_private()).map(ApiKey::new);
    if found.is_none()
        && BaseUrl::parse(default_base_url(WireApi::Chat)).is_ok_and(|home| home.host() == base_url.host())
    {
        return Err(Failure::new(format!("{} requires a key", base_url.host())).hint(format!(
            "set {} or {}",
            env::NEAP_EMBEDDER_KEY,
            env::OPENAI_API_KEY
        )));
    }
    Ok(found)
}

pub(crate) fn with_embedder(builder: EngineBuilder, chosen: Option<&ChosenEmbedder>) -> EngineBuilder {
    match chosen {
        Some(chosen) => {
            let timeout = (!chosen.is_built_in()).then_some(QUERY_TIMEOUT);
            builder.embedder(chosen.embedder.clone()).embed_timeout(timeout)
        }
        None => builder,
    }
}

pub(crate) fn with_hook_timeout(builder: EngineBuilder) -> EngineBuilder {
    builder.embed_timeout(Some(HOOK_QUERY_TIMEOUT))
}
