//! How an agent sees things: who it is and which frames it has, as its files in the data directory say.

use std::io::Read as _;
use std::path::Path;

use neap_core::frame::{Frame, Frames};
use neap_core::knowledge::Outlook;
use neap_model::bpe::counter_for;
use neap_store::reading;
use serde::Deserialize;

use crate::env::DataDir;
use crate::out::Failure;

/// Longest identity, in tokens.
const IDENTITY_TOKENS_MAX: u64 = 2_000;
/// Longest file that is read at all, in bytes.
const FILE_BYTES_MAX: u64 = 256 * 1_024;
/// How the identity is counted where nothing else is said.
const ENCODING: &str = "o200k_base";

/// The frames of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FramesFile {
    #[serde(default)]
    frame: Vec<Frame>,
}

/// Reads it. Files that are not there say nothing.
pub(crate) fn read(data: &DataDir) -> Result<Outlook, Failure> {
    let folder = data.agent_folder();
    let identity = identity(&folder.join("identity.md"))?;
    let frames = frames(&folder.join("frames.toml"))?;
    Ok(Outlook { identity, frames, ..Outlook::default() })
}

fn identity(path: &Path) -> Result<String, Failure> {
    let Some(text) = text_of(path)? else { return Ok(String::new()) };
    let tokens = counter_for(ENCODING).count(&text);
    if tokens.0 > IDENTITY_TOKENS_MAX {
        return Err(Failure::new(format!(
            "{} has {} tokens; {IDENTITY_TOKENS_MAX} is the most",
            path.display(),
            tokens.0
        ))
        .hint("it stands in every context: say who the agent is, and have it remember the rest"));
    }
    Ok(text)
}

fn frames(path: &Path) -> Result<Frames, Failure> {
    let Some(text) = text_of(path)? else { return Ok(Frames::built_in()) };
    let hint =
        "each frame is a [[frame]] with a name, words and questions; `neap frames decision --json` shows one";
    let file: FramesFile = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Failure::new(format!("line {line} of {}: {}", path.display(), error.message())).hint(hint)
    })?;
    Frames::with(file.frame).map_err(|error| Failure::new(format!("{}: {error}", path.display())).hint(hint))
}

/// A file's text; nothing if it is not there.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>, Failure> {
    let failed = |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", path.display()));
    let Some(file) = reading::open(path).map_err(failed)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(Failure::new(format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display()))
            .hint("make it shorter: it is read whenever the agent is"));
    }
    let wrong = |_| Failure::new(format!("{} is not UTF-8 text", path.display())).hint("save it as UTF-8");
    String::from_utf8(bytes).map(Some).map_err(wrong)
}
