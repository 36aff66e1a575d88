//! The bearer token for `/mcp`, from a file or the environment. Never from the command line, which everybody on
//! the machine can read (`ps`), and never printed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::env::{self, DataDir, NEAP_MCP_TOKEN, NEAP_MCP_TOKEN_FILE};
use crate::files;
use crate::keys;
use crate::out::{self, Failure};

/// Shorter tokens can be guessed, and may occur in ordinary text by chance.
pub(crate) const CHARS_MIN: usize = 16;
const BYTES: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TokenSource {
    Named(PathBuf),
    Environment,
    /// The file in the data directory, created on first use.
    Own(PathBuf),
}

pub(crate) struct McpToken {
    pub(crate) text: String,
    pub(crate) source: TokenSource,
}

/// The first of: a named file, the environment, our own file, created if missing. Without a place for it there is
/// none on this machine alone, where that costs `/mcp`, never the proxy its start.
pub(crate) fn resolve(data: &DataDir, named: Option<&Path>, is_local: bool) -> Result<Option<McpToken>, Failure> {
    if let Some(given) = given(named)? {
        return Ok(Some(given));
    }
    let path = data.own_token_file();
    match load_or_create(&path) {
        Ok(text) => checked(&text, TokenSource::Own(path)).map(Some),
        Err(error) if is_local => {
            out::print_notice(format!("/mcp has no token, so that programs cannot use it: {error}"));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// An existing token from any source; creates none.
pub(crate) fn load_existing(data: &DataDir) -> Result<Option<McpToken>, Failure> {
    let named = env::var(NEAP_MCP_TOKEN_FILE).map(PathBuf::from);
    if let Some(given) = given(named.as_deref())? {
        return Ok(Some(given));
    }
    let path = data.own_token_file();
    read_token_file(&path)?.map(|text| checked(&text, TokenSource::Own(path))).transpose()
}

fn given(named: Option<&Path>) -> Result<Option<McpToken>, Failure> {
    if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
        let text = read_token_file(path)?.ok_or_else(|| {
            Failure::new(format!("there is no token file {}", path.display()))
                .hint(format!("write one: `openssl rand -hex 32 > {}`, mode 0600", path.display()))
        })?;
        return checked(&text, TokenSource::Named(path.to_owned())).map(Some);
    }
    env::var(NEAP_MCP_TOKEN).map(|text| checked(&text, TokenSource::Environment)).transpose()
}

fn checked(text: &str, source: TokenSource) -> Result<McpToken, Failure> {
    let text = text.trim().to_owned();
    if text.chars().count() < CHARS_MIN || text.chars().any(char::is_whitespace) {
        return Err(Failure::new(format!("the token for /mcp has fewer than {CHARS_MIN} characters, or a space"))
            .hint(format!("make one with `openssl rand -hex 32`, in {NEAP_MCP_TOKEN} or in a file that {NEAP_MCP_TOKEN_FILE} names")));
    }
    Ok(McpToken { text, source })
}

pub(crate) fn argument_refused() -> Failure {
    Failure::new("neap accepts no token on the command line: everybody on this machine could read it")
        .hint(format!("put it into a file of mode 0600 and name that with --mcp-token-file, or into {NEAP_MCP_TOKEN}; choose a new one"))
}

pub(crate) fn read_token_file(path: &Path) -> Result<Option<String>, Failure> {
    keys::read_private_file(path, "token", "write a new one into it")
}

pub(crate) fn load_or_create(path: &Path) -> Result<String, Failure> {
    if let Some(text) = read_token_file(path)? {
        return Ok(text);
    }
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| Failure::new(format!("cannot make a token: {error}")))?;
    let mut text = String::new();
    random.iter().for_each(|byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    });
    if let Some(folder) = path.parent() {
        files::create_dir(folder)?;
    }
    // If another process was first, its token wins.
    files::create_atomic(path, format!("{text}\n").as_bytes())?;
    read_token_file(path)?
        .ok_or_else(|| Failure::new(format!("{} was removed while Neap created it", path.display())))
}
