//! An embedder behind an address: any server that offers embeddings as OpenAI does.
//!
//! What is pure is apart from what waits: `answer` reads, `courier` asks.

mod answer;
mod courier;

use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use neap_core::recall::Embedding;

use self::courier::Courier;
use crate::client::{ApiKey, BaseUrl, Http, Limits, Retry};
use crate::wire::json::Object;
use crate::{Embedder, ModelError};

/// Texts in one request, at most.
const TOGETHER: usize = 32;
/// What is asked where only the answer's length matters, or whether there is an answer.
const A_WORD: &str = "neap";
/// A text that is too long for a model is halved so many times.
const HALVED_MAX: u32 = 3;

/// Who is asked, and how.
#[derive(Debug, Clone)]
pub struct EndpointOptions {
    /// Where.
    pub base_url: BaseUrl,
    /// The model's name there.
    pub model: String,
    /// The key, if one is needed.
    pub key: Option<ApiKey>,
    /// How long to wait for a connection, and for the whole of an answer.
    pub limits: Limits,
    /// When to ask again.
    pub retry: Retry,
}

impl EndpointOptions {
    /// A model at an address, with usual limits.
    pub fn new(base_url: BaseUrl, model: impl Into<String>) -> Self {
        let limits =
            Limits { connect: Duration::from_secs(5), whole: Duration::from_secs(60), ..Limits::default() };
        let retry = Retry { attempts_max: 2, asked_wait_max: Duration::from_secs(20), ..Retry::default() };
        Self { base_url, model: model.into(), key: None, limits, retry }
    }
}

/// An embedder behind an address. It goes by its model's name and the length of its answers, wherever it is: the same model at
/// another address goes on where the other left off.
pub struct EndpointEmbedder {
    model: String,
    key: Option<ApiKey>,
    courier: Courier,
    known: OnceLock<Known>,
}

/// What the first answer tells.
struct Known {
    identity: String,
    dimensions: usize,
}

impl EndpointEmbedder {
    /// Prepares to ask; no connection is made yet.
    pub fn new(options: EndpointOptions) -> Result<Self, ModelError> {
        let EndpointOptions { base_url, model, key, limits, retry } = options;
        let http = Http::for_embeddings(&base_url, key.as_ref(), limits)?;
        Ok(Self { model, key, courier: Courier::new(http, retry), known: OnceLock::new() })
    }

    /// Asks for the numbers of texts, none of which is blank.
    async fn ask(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let body = Object::new().with("model", &self.model).with("input", texts).to_json().text().to_owned();
        let rows = match self.courier.ask(body).await {
            Ok(bytes) => answer::rows(&bytes, texts.len())?,
            Err(error) => return Err(self.key.as_ref().map_or(error.clone(), |key| key.hidden(error))),
        };
        if let Some(row) = rows.first() {
            let name = || Known { identity: format!("{}/{}", self.model, row.len()), dimensions: row.len() };
            let known = self.known.get_or_init(name).dimensions;
            if row.len() != known {
                let what = format!("embeddings of {} numbers, and of {known} before", row.len());
                return Err(ModelError::Protocol(what));
            }
        }
        Ok(rows)
    }

    /// How many numbers an embedding has.
    async fn dimensions(&self) -> Result<usize, ModelError> {
        if self.known.get().is_none() {
            self.ask(&[A_WORD]).await?;
        }
        Ok(self.known.get().map_or(0, |known| known.dimensions))
    }

    /// Asks for texts together. Where they are refused and a harmless word is not, it is for one of them: each is asked for by
    /// itself, and none holds up the others.
    async fn together(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let error = match self.ask(texts).await {
            Ok(rows) => return Ok(rows),
            Err(error) => error,
        };
        if !is_of_the_text(&error) || self.ask(&[A_WORD]).await.is_err() {
            return Err(error);
        }
        let mut rows = Vec::with_capacity(texts.len());
        for text in texts {
            rows.push(self.alone(text).await?);
        }
        Ok(rows)
    }

    /// Asks for one text, for its beginning where it is too long. One that is refused all the same points nowhere.
    async fn alone(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        for halved in 0..=HALVED_MAX {
            let head = &text[..text.floor_char_boundary(text.len() >> halved)];
            if head.trim().is_empty() {
                break;
            }
            match self.ask(&[head]).await {
                Ok(rows) => return Ok(rows.into_iter().next().unwrap_or_default()),
                Err(ModelError::ContextFull(_)) => {}
                Err(ModelError::Refused(_)) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(vec![0.0; self.dimensions().await?])
    }
}

/// Whether other texts may pass.
fn is_of_the_text(error: &ModelError) -> bool {
    matches!(error, ModelError::Refused(_) | ModelError::ContextFull(_))
}

#[async_trait]
impl Embedder for EndpointEmbedder {
    fn identity(&self) -> &str {
        self.known.get().map_or(&self.model, |known| &known.identity)
    }

    async fn ready(&self) -> Result<(), ModelError> {
        self.dimensions().await.map(drop)
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, ModelError> {
        // Some servers refuse what is blank.
        let said: Vec<&str> = texts.iter().copied().filter(|text| !text.trim().is_empty()).collect();
        let mut rows = Vec::with_capacity(said.len());
        for some in said.chunks(TOGETHER) {
            rows.extend(self.together(some).await?);
        }
        let blank = vec![0.0; if said.len() < texts.len() { self.dimensions().await? } else { 0 }];
        let mut rows = rows.into_iter();
        let of = |text: &&str| match text.trim().is_empty() {
            true => Some(Embedding::of(&blank)),
            false => rows.next().map(|row| Embedding::of(&row)),
        };
        Ok(texts.iter().filter_map(of).collect())
    }
}
