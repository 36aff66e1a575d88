//! What a request's path tells: the wire format, the purpose, and on some platforms the model.

use neap_core::client::{Endpoint, WireApi};

use crate::caller::percent_decoded;

/// By the end of the path.
const ENDPOINTS: [(&str, WireApi, Endpoint); 6] = [
    ("/chat/completions", WireApi::Chat, Endpoint::Generate),
    ("/responses", WireApi::Responses, Endpoint::Generate),
    ("/responses/compact", WireApi::Responses, Endpoint::Compact),
    ("/responses/input_tokens", WireApi::Responses, Endpoint::CountTokens),
    ("/messages", WireApi::Messages, Endpoint::Generate),
    ("/messages/count_tokens", WireApi::Messages, Endpoint::CountTokens),
];

/// Anthropic's models at Vertex AI: `…/publishers/anthropic/models/<model>:rawPredict`, whose body is one of Messages
/// without the model. Other publishers have other bodies.
const VERTEX_MODELS: &str = "/publishers/anthropic/models";
const VERTEX_METHODS: [&str; 2] = ["rawPredict", "streamRawPredict"];
/// Stands for the model where tokens are counted.
const VERTEX_COUNT: &str = "count-tokens";

/// Azure OpenAI: `/openai/deployments/<name>/…`.
const AZURE_DEPLOYMENTS: &str = "deployments";
/// Bedrock: `/model/<id>/<operation>`.
const BEDROCK_MODEL: &str = "model";
const BEDROCK_OPERATIONS: [&str; 5] =
    ["invoke", "invoke-with-response-stream", "converse", "converse-stream", "count-tokens"];

/// The wire format and purpose of a path; `None` if its requests carry no history that Neap may change.
pub fn parse_endpoint(path: &str) -> Option<(WireApi, Endpoint)> {
    let path = without_session(path)?;
    // Providers use prefixes of their own: `/v1`, `/api/v1`, `/openai/deployments/<model>`. Messages of a thread
    // are another protocol.
    let known = ENDPOINTS.iter().find(|(end, ..)| path.ends_with(end) && !path.contains("/threads/"));
    let known = known.map(|(_, api, endpoint)| (*api, *endpoint));
    known.or_else(|| {
        let is_count = vertex_model(path)?.eq_ignore_ascii_case(VERTEX_COUNT);
        Some((WireApi::Messages, if is_count { Endpoint::CountTokens } else { Endpoint::Generate }))
    })
}

/// The model that a path names, as its vendor calls it; platforms that name it there omit it in the body.
pub fn model_in_path(path: &str) -> Option<String> {
    let path = without_session(path)?;
    if let Some(model) = vertex_model(path) {
        return Some(percent_decoded(model).into_owned()).filter(|model| model != VERTEX_COUNT);
    }
    let segments: Vec<&str> = path.split('/').collect();
    segments.windows(3).find_map(|three| match three {
        [AZURE_DEPLOYMENTS, name, _] => Some(percent_decoded(name).into_owned()),
        [BEDROCK_MODEL, id, operation] if BEDROCK_OPERATIONS.contains(operation) => Some(bedrock_model(id)),
        _ => None,
    })
}

/// The path without its query and the session that it begins with; `None` if there is nothing else.
fn without_session(path: &str) -> Option<&str> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    match path.strip_prefix("/s/") {
        Some(rest) => rest.find('/').map(|at| &rest[at..]),
        None => Some(path),
    }
}

/// Ignores case: a path is compared in lower case, too.
fn vertex_model(path: &str) -> Option<&str> {
    let (models, call) = path.rsplit_once('/')?;
    let (model, method) = call.rsplit_once(':')?;
    let is_raw = VERTEX_METHODS.iter().any(|name| name.eq_ignore_ascii_case(method));
    (is_raw && !model.is_empty() && models.to_ascii_lowercase().ends_with(VERTEX_MODELS)).then_some(model)
}

/// Of `us.anthropic.claude-sonnet-4-20250514-v1:0`, or an ARN that ends with it, `claude-sonnet-4-20250514`. Parts
/// without a digit are a region and a vendor.
fn bedrock_model(id: &str) -> String {
    let id = percent_decoded(id);
    let mut name = id.rsplit('/').next().unwrap_or_default();
    while let Some((before, rest)) = name.split_once('.')
        && !before.bytes().any(|byte| byte.is_ascii_digit())
    {
        name = rest;
    }
    let is_version = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    match name.rsplit_once("-v") {
        Some((model, version)) if is_version(version) => model.to_owned(),
        Some(_) | None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Option<(WireApi, Endpoint)> = Some((WireApi::Messages, Endpoint::Generate));
    const CHAT: Option<(WireApi, Endpoint)> = Some((WireApi::Chat, Endpoint::Generate));

    /// Every path of a platform: what it is treated as, and the model that it names.
    #[test]
    fn platforms_have_paths_of_their_own() {
        let vertex = |call: &str| format!("/v1/projects/p/locations/us-east5/publishers/anthropic/models/{call}");
        let table = [
            ("/openai/deployments/My-GPT/chat/completions?api-version=2024-10-21", CHAT, Some("My-GPT")),
            ("/openai/deployments/gpt-4o/extensions/chat/completions", CHAT, Some("gpt-4o")),
            ("/openai/deployments/gpt-4o/completions?api-version=1", None, Some("gpt-4o")),
            ("/openai/deployments/ada/embeddings", None, Some("ada")),
            ("/openai/v1/chat/completions", CHAT, None),
            ("/openai/v1/responses", Some((WireApi::Responses, Endpoint::Generate)), None),
            ("/openai/responses?api-version=preview", Some((WireApi::Responses, Endpoint::Generate)), None),
            ("/anthropic/v1/messages", ANSWER, None),
            (&vertex("claude-sonnet-4@20250514:rawPredict"), ANSWER, Some("claude-sonnet-4@20250514")),
            (&vertex("claude-sonnet-4%4020250514:streamRawPredict"), ANSWER, Some("claude-sonnet-4@20250514")),
            (&vertex("claude-opus-4:rawpredict"), ANSWER, Some("claude-opus-4")),
            (&format!("/s/desk{}", vertex("claude-opus-4:rawPredict")), ANSWER, Some("claude-opus-4")),
            (&vertex("count-tokens:rawPredict"), Some((WireApi::Messages, Endpoint::CountTokens)), None),
            (&vertex("claude-opus-4:predict"), None, None),
            (&vertex(":rawPredict"), None, None),
            ("/v1/projects/p/locations/l/publishers/mistralai/models/large:rawPredict", None, None),
            ("/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-pro:generateContent", None, None),
            ("/v1/projects/p/locations/l/endpoints/openapi/chat/completions", CHAT, None),
            ("/model/anthropic.claude-3-5-haiku-20241022-v1:0/invoke", None, Some("claude-3-5-haiku-20241022")),
            (
                "/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/invoke-with-response-stream",
                None,
                Some("claude-sonnet-4-20250514"),
            ),
            (
                "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-opus-4-1-20250805-v1%3A0/converse",
                None,
                Some("claude-opus-4-1-20250805"),
            ),
            ("/model/openai.gpt-4.1/converse-stream", None, Some("gpt-4.1")),
            ("/model/some/other", None, None),
            ("/v1/models", None, None),
        ];
        for (path, endpoint, model) in table {
            assert_eq!((parse_endpoint(path), model_in_path(path).as_deref()), (endpoint, model), "{path}");
        }
    }
}
