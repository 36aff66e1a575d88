//! Finds the prompts in requests that are not histories Neap reads, so that a budget can be applied to them.

use neap_model::wire::json::{Object, find_member};

use super::path::normalized_readings;

/// Endpoints whose bodies no chat model reads as its context.
const NO_PROMPT_PATHS: [&str; 17] = [
    "/embeddings", "/files", "/uploads", "/batches", "/moderations", "/audio/", "/images/", "/videos",
    "/vector_stores", "/fine_tuning", "/rerank", "/tokenize", "/evals", "/containers", "/organization",
    "/conversations", "/realtime",
];

/// Types of bodies that no chat model reads as its context, at any endpoint.
const NO_PROMPT_TYPES: [&str; 4] = ["multipart/", "audio/", "image/", "video/"];

/// Where a body may have prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PromptPlace {
    Nowhere,
    WholeBody,
    /// One in each request of the batch.
    Batch,
}

impl PromptPlace {
    /// An endpoint counts as one without prompts only if every reading of the path agrees.
    fn of(path: &str, content_type: &str) -> Self {
        let readings = normalized_readings(path);
        let kind = content_type.trim_start().to_ascii_lowercase();
        if readings.iter().all(|path| path.ends_with("/messages/batches")) {
            return Self::Batch;
        }
        let is_without = readings.iter().all(|path| NO_PROMPT_PATHS.iter().any(|name| path.contains(name)))
            || NO_PROMPT_TYPES.iter().any(|name| kind.starts_with(name));
        if is_without { Self::Nowhere } else { Self::WholeBody }
    }
}

pub(crate) fn may_have_prompt(path: &str, content_type: &str) -> bool {
    PromptPlace::of(path, content_type) != PromptPlace::Nowhere
}

/// The prompts in a body.
pub(crate) fn prompt_texts<'a>(path: &str, content_type: &str, body: &'a str) -> Vec<&'a str> {
    match PromptPlace::of(path, content_type) {
        PromptPlace::Nowhere => Vec::new(),
        PromptPlace::WholeBody => vec![body],
        PromptPlace::Batch => batch_requests(body).unwrap_or_else(|| vec![body]),
    }
}

fn batch_requests(body: &str) -> Option<Vec<&str>> {
    let requests = find_member(body, "requests")?;
    // Rejects a body that is not one JSON object.
    Object::parse(body).ok()?;
    let values: Vec<&serde_json::value::RawValue> = serde_json::from_str(requests).ok()?;
    Some(values.into_iter().map(serde_json::value::RawValue::get).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_would_read_is_looked_at() {
        let body = r#"{"prompt":"x"}"#;
        for path in [
            "/v1/completions", "/v1/something/new", "/model/some/invoke", "/v1/threads/t/messages",
            "/v1/files/../completions", "/v1/files%2F..%2Fcompletions",
        ] {
            assert_eq!(prompt_texts(path, "", body), [body], "{path}");
        }
        for path in ["/v1/embeddings", "/V1//Embeddings/", "/v1/files", "/v1/audio/transcriptions", "/v1/batches"]
        {
            assert!(prompt_texts(path, "", body).is_empty(), "{path}");
        }
        for (kind, is_read) in
            [("multipart/form-data; boundary=x", false), ("Audio/mpeg", false), ("text/plain", true)]
        {
            assert_eq!(may_have_prompt("/v1/something/new", kind), is_read, "{kind}");
            assert!(!may_have_prompt("/v1/files", kind));
        }
        let batch = r#"{"requests":[{"custom_id":"a","params":{}},{"custom_id":"b"}]}"#;
        let each = [r#"{"custom_id":"a","params":{}}"#, r#"{"custom_id":"b"}"#];
        assert_eq!(prompt_texts("/v1/messages/batches", "", batch), each);
        assert_eq!(prompt_texts("/v1/messages/batches", "", "{broken"), ["{broken"]);
    }
}
