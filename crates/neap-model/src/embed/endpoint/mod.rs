//! Embeddings from any server with an OpenAI-compatible `/embeddings` endpoint. `response` parses,
//! `request_thread` performs the requests.

mod request_thread;
mod response;

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use neap_core::recall::Embedding;

use self::request_thread::RequestThread;
use crate::client::{ApiKey, BaseUrl, Http, RetryPolicy, Timeouts};
use crate::wire::json::Object;
use crate::{Embedder, ModelError};

const BATCH_MAX: usize = 32;
/// Embedded to learn the dimensions, or whether the server answers at all.
const PROBE_TEXT: &str = "neap";
/// How often a text that is too long for the model is halved.
const HALVINGS_MAX: u32 = 3;

#[derive(Debug, Clone)]
pub struct EndpointOptions {
    pub base_url: BaseUrl,
    pub model: String,
    pub key: Option<ApiKey>,
    /// Only `connect` and `total` apply.
    pub timeouts: Timeouts,
    pub retry: RetryPolicy,
}

impl EndpointOptions {
    pub fn new(base_url: BaseUrl, model: impl Into<String>) -> Self {
        let timeouts =
            Timeouts { connect: Duration::from_secs(5), total: Duration::from_secs(60), ..Timeouts::default() };
        let retry =
            RetryPolicy { attempts_max: 2, retry_after_max: Duration::from_secs(20), ..RetryPolicy::default() };
        Self { base_url, model: model.into(), key: None, timeouts, retry }
    }
}

/// Identified by model name and dimensions, not address: the same model elsewhere continues the index.
pub struct EndpointEmbedder {
    model: String,
    key: Option<ApiKey>,
    requests: RequestThread,
    info: OnceLock<EndpointInfo>,
}

/// Known from the first response.
struct EndpointInfo {
    identity: String,
    dimensions: usize,
}

impl EndpointEmbedder {
    /// Makes no connection yet.
    pub fn new(options: EndpointOptions) -> Result<Self, ModelError> {
        let EndpointOptions { base_url, model, key, timeouts, retry } = options;
        let http = Http::for_embeddings(&base_url, key.as_ref(), timeouts)?;
        Ok(Self { model, key, requests: RequestThread::new(http, retry), info: OnceLock::new() })
    }

    /// None of the texts may be blank.
    async fn request_rows(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let body = Object::new().with("model", &self.model).with("input", texts).to_json().text().to_owned();
        let rows = match self.requests.send(body).await {
            Ok(bytes) => response::parse_rows(&bytes, texts.len())?,
            Err(error) => return Err(self.key.as_ref().map_or(error.clone(), |key| key.redact_error(error))),
        };
        if let Some(row) = rows.first() {
            let name =
                || EndpointInfo { identity: format!("{}/{}", self.model, row.len()), dimensions: row.len() };
            let known = self.info.get_or_init(name).dimensions;
            if row.len() != known {
                let message = format!("embeddings of {} dimensions, earlier ones of {known}", row.len());
                return Err(ModelError::Protocol(message));
            }
        }
        Ok(rows)
    }

    async fn dimensions(&self) -> Result<usize, ModelError> {
        if self.info.get().is_none() {
            self.request_rows(&[PROBE_TEXT]).await?;
        }
        Ok(self.info.get().map_or(0, |info| info.dimensions))
    }

    /// Embeds texts together. If the batch is refused but a harmless word is not, embeds them one by one, so that
    /// a bad text does not block the others.
    async fn embed_batch(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let error = match self.request_rows(texts).await {
            Ok(rows) => return Ok(rows),
            Err(error) => error,
        };
        if !is_text_specific(&error) || self.request_rows(&[PROBE_TEXT]).await.is_err() {
            return Err(error);
        }
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            rows.push(self.embed_one(text).await?);
        }
        Ok(rows)
    }

    /// Halves a text that is too long. One that is still refused gets the zero vector.
    async fn embed_one(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        for halved in 0..=HALVINGS_MAX {
            let head = &text[..text.floor_char_boundary(text.len() >> halved)];
            if head.trim().is_empty() {
                break;
            }
            match self.request_rows(&[head]).await {
                Ok(rows) => return Ok(rows.into_iter().next().unwrap_or_default()),
                Err(ModelError::ContextFull(_)) => {}
                Err(ModelError::Refused(_)) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(vec![0.0; self.dimensions().await?])
    }
}

fn is_text_specific(error: &ModelError) -> bool {
    matches!(error, ModelError::Refused(_) | ModelError::ContextFull(_))
}

#[async_trait]
impl Embedder for EndpointEmbedder {
    fn identity(&self) -> &str {
        self.info.get().map_or(&self.model, |info| &info.identity)
    }

    async fn prepare(&self) -> Result<(), ModelError> {
        self.dimensions().await.map(drop)
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        // Some servers reject blank texts.
        let non_blank: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
        let mut rows = Vec::with_capacity(non_blank.len());
        for batch in non_blank.chunks(BATCH_MAX) {
            rows.extend(self.embed_batch(batch).await?);
        }
        let blank = vec![0.0; if non_blank.len() < texts.len() { self.dimensions().await? } else { 0 }];
        let mut rows = rows.into_iter();
        let embedding_of = |text: &&str| match text.trim().is_empty() {
            true => Some(Embedding::quantize(&blank)),
            false => rows.next().map(|row| Embedding::quantize(&row)),
        };
        Ok(texts.iter().filter_map(embedding_of).collect())
    }
}
