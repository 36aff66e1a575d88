//! Evaluation data: one conversation with questions per line of JSON, plain or gzipped.

use std::io::BufReader;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use neap_store::bounded_lines::{self, LINE_BYTES_MAX, json_lines};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::LabError;

#[derive(Debug, Clone, Deserialize)]
pub struct Conversation {
    pub(crate) turns: Vec<Turn>,
    #[serde(default)]
    pub(crate) questions: Vec<Question>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Turn {
    /// Named by [`Question::evidence`].
    #[serde(default, deserialize_with = "as_text")]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) session: i64,
    /// The piece of work it belongs to, where known.
    #[serde(default)]
    pub(crate) project: Option<String>,
    /// In any format that `parse_timestamp` understands.
    #[serde(default)]
    pub(crate) time: String,
    #[serde(default)]
    pub(crate) who: String,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) q: String,
    #[serde(default)]
    pub(crate) cat: String,
    #[serde(default)]
    pub(crate) time: String,
    /// Only earlier sessions count.
    #[serde(default)]
    pub(crate) before: Option<i64>,
    #[serde(default, deserialize_with = "as_texts")]
    pub(crate) evidence: Vec<String>,
    /// The answer, or its accepted spellings.
    #[serde(default, deserialize_with = "as_texts")]
    pub(crate) answer: Vec<String>,
}

fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn as_text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(value_text(&Value::deserialize(from)?))
}

fn as_texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(all) => all.iter().map(value_text).collect(),
        one @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![value_text(&one)],
    })
}

/// Reads a file; an error names the line.
pub fn read(path: &Path) -> Result<Vec<Conversation>, LabError> {
    let failed = |error: String| LabError::new(format!("{}: {error}", path.display()));
    let mut file = bounded_lines::open_input(path).map_err(|error| failed(error.to_string()))?;
    let is_gzip = file.fill_buf().map_err(|error| failed(error.to_string()))?.starts_with(&[0x1f, 0x8b]);
    let plain = if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { file };
    let conversation = |(at, parsed): (usize, Result<Conversation, String>)| {
        parsed.map_err(|error| {
            failed(format!("line {at}: {error}"))
                .hint("a conversation a line: {\"id\", \"turns\": [{\"id\", \"session\", \"time\", \"who\", \"text\"}], \"questions\": [{\"q\", \"cat\", \"evidence\"}]}")
        })
    };
    json_lines(plain, LINE_BYTES_MAX).map(conversation).collect()
}
