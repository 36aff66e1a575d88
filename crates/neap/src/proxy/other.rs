//! Requests that are not about a history that we read: what of them a model would be given.

use neap_model::wire::json::{Object, member};

use super::path::spellings;

/// Endpoints whose bodies no chat model is given as its context.
const NO_CONTEXT: [&str; 17] = [
    "/embeddings",
    "/files",
    "/uploads",
    "/batches",
    "/moderations",
    "/audio/",
    "/images/",
    "/videos",
    "/vector_stores",
    "/fine_tuning",
    "/rerank",
    "/tokenize",
    "/evals",
    "/containers",
    "/organization",
    "/conversations",
    "/realtime",
];

/// The texts that a model would be given, each as its context: all of the body, as far as we know; each request of a batch; none
/// where no model reads it so, whichever way the path is read.
pub(crate) fn prompts_in<'a>(path: &str, body: &'a str) -> Vec<&'a str> {
    let spellings = spellings(path);
    if spellings.iter().all(|path| path.ends_with("/messages/batches")) {
        return batch(body).unwrap_or_else(|| vec![body]);
    }
    let is_no_context = spellings.iter().all(|path| NO_CONTEXT.iter().any(|name| path.contains(name)));
    if is_no_context { Vec::new() } else { vec![body] }
}

/// The requests of a batch, each with all that its model is given.
fn batch(body: &str) -> Option<Vec<&str>> {
    let requests = member(body, "requests")?;
    // Whether it can be taken apart at all.
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
            "/v1/completions",
            "/v1/something/new",
            "/model/some/invoke",
            "/v1/threads/t/messages",
            "/v1/files/../completions",
            "/v1/files%2F..%2Fcompletions",
        ] {
            assert_eq!(prompts_in(path, body), [body], "{path}");
        }
        for path in ["/v1/embeddings", "/V1//Embeddings/", "/v1/files", "/v1/audio/transcriptions", "/v1/batches"]
        {
            assert!(prompts_in(path, body).is_empty(), "{path}");
        }
        let batch = r#"{"requests":[{"custom_id":"a","params":{}},{"custom_id":"b"}]}"#;
        let each = [r#"{"custom_id":"a","params":{}}"#, r#"{"custom_id":"b"}"#];
        assert_eq!(prompts_in("/v1/messages/batches", batch), each);
        assert_eq!(prompts_in("/v1/messages/batches", "{broken"), ["{broken"]);
    }
}
