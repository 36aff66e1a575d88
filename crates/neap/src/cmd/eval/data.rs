//! Conversations with questions, as they are written down: one a line, plain or compressed.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use neap_store::reading::{self, LINE_BYTES_MAX, Line, Lines};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::out::Failure;

/// Somebody's conversation over time.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Conversation {
    pub(crate) turns: Vec<Turn>,
    #[serde(default)]
    pub(crate) questions: Vec<Question>,
}

/// Something that was said.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Turn {
    /// Others name it by this.
    #[serde(default, deserialize_with = "as_text")]
    pub(crate) id: String,
    /// On which occasion.
    #[serde(default)]
    pub(crate) session: i64,
    /// To which of several pieces of work it belongs, where that is known.
    #[serde(default)]
    pub(crate) project: Option<String>,
    /// When, in any words.
    #[serde(default)]
    pub(crate) time: String,
    #[serde(default)]
    pub(crate) who: String,
    pub(crate) text: String,
}

/// What is asked about it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) q: String,
    #[serde(default)]
    pub(crate) cat: String,
    #[serde(default)]
    pub(crate) time: String,
    /// Only what was said on earlier occasions counts.
    #[serde(default)]
    pub(crate) before: Option<i64>,
    /// The turns that answer it.
    #[serde(default, deserialize_with = "as_texts")]
    pub(crate) evidence: Vec<String>,
    /// The answer, or all ways to write it.
    #[serde(default, deserialize_with = "as_texts")]
    pub(crate) answer: Vec<String>,
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn as_text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(text(&Value::deserialize(from)?))
}

fn as_texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(all) => all.iter().map(text).collect(),
        one @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => vec![text(&one)],
    })
}

/// Reads a file; a line that cannot be read is named.
pub(crate) fn read(path: &Path) -> Result<Vec<Conversation>, Failure> {
    let failed = |error: String| Failure::new(format!("{}: {error}", path.display()));
    let opened = reading::open(path).map_err(|error| failed(error.to_string()))?;
    let mut file = BufReader::new(opened.ok_or_else(|| failed("there is no such file".to_owned()))?);
    let is_gzip = file.fill_buf().map_err(|error| failed(error.to_string()))?.starts_with(&[0x1f, 0x8b]);
    let plain: Box<dyn Read> = if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    let mut all = Vec::new();
    for (at, line) in Lines::new(BufReader::new(plain), LINE_BYTES_MAX).enumerate() {
        let line = match line.map_err(|error| failed(error.to_string()))? {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => line,
            Line::TooLong { bytes } => return Err(failed(format!("line {} has {bytes} bytes", at + 1))),
        };
        let conversation = serde_json::from_slice(&line).map_err(|error| {
            failed(format!("line {}: {error}", at + 1))
                .hint("a conversation a line: {\"id\", \"turns\": [{\"id\", \"session\", \"time\", \"who\", \"text\"}], \"questions\": [{\"q\", \"cat\", \"evidence\"}]}")
        })?;
        all.push(conversation);
    }
    Ok(all)
}
