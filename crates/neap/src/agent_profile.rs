//! Loads an agent's identity and frames from its folder in the data directory.

use std::path::Path;

use neap_core::memory::frame::{Frame, FrameSet};
use neap_core::memory::knowledge::AgentProfile;
use neap_model::bpe::counter_for;
use serde::Deserialize;

use crate::env::DataDir;
use crate::files;
use crate::out::Failure;

const IDENTITY_TOKENS_MAX: u64 = 2_000;
const FILE_BYTES_MAX: u64 = 256 * 1_024;
const ENCODING: &str = "o200k_base";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FramesFile {
    #[serde(default)]
    frame: Vec<Frame>,
}

/// Missing files yield an empty identity and the built-in frames.
pub(crate) fn load(data: &DataDir) -> Result<AgentProfile, Failure> {
    let folder = data.agent_folder();
    let identity = read_identity(&folder.join("identity.md"))?;
    let frames = read_frames(&folder.join("frames.toml"))?;
    Ok(AgentProfile { identity, frames, ..AgentProfile::default() })
}

fn read_identity(path: &Path) -> Result<String, Failure> {
    let Some(text) = read_text(path)? else { return Ok(String::new()) };
    let tokens = counter_for(ENCODING).count(&text);
    if tokens.0 > IDENTITY_TOKENS_MAX {
        return Err(Failure::new(format!(
            "{} has {} tokens; the maximum is {IDENTITY_TOKENS_MAX}",
            path.display(),
            tokens.0
        ))
        .hint("every context includes it: keep only who the agent is, and store the rest with `neap remember`"));
    }
    Ok(text)
}

fn read_frames(path: &Path) -> Result<FrameSet, Failure> {
    let Some(text) = read_text(path)? else { return Ok(FrameSet::built_in()) };
    let hint = "each frame is a [[frame]] with a name, words and questions; `neap memory frames decision --json` shows one";
    let file: FramesFile = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Failure::new(format!("line {line} of {}: {}", path.display(), error.message())).hint(hint)
    })?;
    FrameSet::with_custom(file.frame)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())).hint(hint))
}

pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Failure> {
    files::read_text(path, FILE_BYTES_MAX, "make it shorter: Neap reads it whenever it loads the agent")
}
