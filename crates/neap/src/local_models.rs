//! Finds a model on this machine: `--model auto`.

use std::time::Duration;

use neap_model::client::http_client;
use reqwest::Client;
use serde_json::Value;

use crate::env;
use crate::out::{self, Failure, thousands};

/// Programs that serve models, each at the port it listens on unless it is told otherwise.
const SERVERS: [(&str, u16); 4] =
    [("Ollama", 11_434), ("LM Studio", 1_234), ("llama.cpp", 8_080), ("vLLM", 8_000)];
/// A server on this machine answers at once, and one that is not there refuses.
const TIMEOUT: Duration = Duration::from_millis(800);

pub(crate) struct LocalModel {
    pub(crate) name: String,
    pub(crate) base_url: String,
    /// Prompt and reply together, if the server tells.
    pub(crate) window_tokens: Option<u64>,
}

/// The first model of the first server that has one; of the server at `base_url`, if that is given.
pub(crate) async fn find(base_url: Option<&str>) -> Result<LocalModel, Failure> {
    // A proxy is not on this machine.
    let client = http_client().no_proxy().timeout(TIMEOUT).build();
    let client = client.map_err(|error| Failure::new(format!("cannot create an HTTP client: {error}")))?;
    let places = match base_url {
        Some(url) => vec![(url.to_owned(), url.trim_end_matches('/').to_owned())],
        None => default_places(),
    };
    for (server, base_url) in &places {
        let Some(list) = fetch(&client, &format!("{base_url}/models")).await else { continue };
        let Some(name) = chat_models(&list).next() else { continue };
        let window_tokens = llama_cpp_window(&client, base_url).await;
        let window = window_tokens.map_or_else(String::new, |tokens| format!(", {} tokens", thousands(tokens)));
        out::print_notice(format!("{server} has {}{window}", out::escape_control(name)));
        return Ok(LocalModel { name: name.to_owned(), base_url: base_url.clone(), window_tokens });
    }
    let tried: Vec<String> = places.iter().map(|(server, url)| format!("{server} ({url})")).collect();
    Err(Failure::new(format!("no model answers on this machine: tried {}", tried.join(", ")))
        .hint("start one, e.g. `ollama run llama3.2`, or name its address with --base-url"))
}

fn default_places() -> Vec<(String, String)> {
    // Ollama's own variable, with or without a scheme.
    let ollama = env::var(env::OLLAMA_HOST).map(|host| {
        let host = host.trim_end_matches('/').replace("0.0.0.0", "127.0.0.1");
        let url = if host.contains("://") { host } else { format!("http://{host}") };
        ("Ollama".to_owned(), format!("{url}/v1"))
    });
    let usual = SERVERS.iter().map(|(name, port)| ((*name).to_owned(), format!("http://127.0.0.1:{port}/v1")));
    ollama.into_iter().chain(usual).collect()
}

/// The models that chat, by their names.
fn chat_models(list: &Value) -> impl Iterator<Item = &str> {
    let models = list["data"].as_array().into_iter().flatten();
    models.filter_map(|model| model["id"].as_str()).filter(|id| !id.to_lowercase().contains("embed"))
}

async fn llama_cpp_window(client: &Client, base_url: &str) -> Option<u64> {
    let root = base_url.strip_suffix("/v1").unwrap_or(base_url);
    fetch(client, &format!("{root}/props")).await?["default_generation_settings"]["n_ctx"].as_u64()
}

async fn fetch(client: &Client, url: &str) -> Option<Value> {
    let response = client.get(url).send().await.ok()?.error_for_status().ok()?;
    serde_json::from_str(&response.text().await.ok()?).ok()
}
