//! The token that whoever calls `/mcp` must bring: from a file or the environment, never from the command line, which everybody on a
//! machine can read (`ps`). It is never printed.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::env::{self, DataDir, NEAP_MCP_TOKEN, NEAP_MCP_TOKEN_FILE};
use crate::files;
use crate::keys;
use crate::out::Failure;

/// Shorter ones can be guessed, and are found by chance in what people say.
const CHARS_MIN: usize = 16;
/// Bytes of one that is made here.
const BYTES: usize = 32;

/// Where the token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In a file that was named.
    Named(PathBuf),
    /// In the environment.
    Environment,
    /// In our own file; made on first use.
    Own(PathBuf),
}

/// A token, and where it was found.
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) source: Source,
}

/// The token: from a named file first, then from the environment. Beyond this machine there is always one: else our own file has it, made
/// if there is none yet.
pub(crate) fn find(data: &DataDir, named: Option<&Path>, is_local: bool) -> Result<Option<Token>, Failure> {
    let (text, source) = if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
        let text = private_text(path)?.ok_or_else(|| {
            Failure::new(format!("there is no token file {}", path.display()))
                .hint(format!("write one: `openssl rand -hex 32 > {}`, mode 0600", path.display()))
        })?;
        (text, Source::Named(path.to_owned()))
    } else if let Some(text) = env::text(NEAP_MCP_TOKEN) {
        (text, Source::Environment)
    } else if !is_local {
        let path = data.own_token_file();
        (own(&path)?, Source::Own(path))
    } else {
        return Ok(None);
    };
    let text = text.trim().to_owned();
    if text.chars().count() < CHARS_MIN || text.chars().any(char::is_whitespace) {
        return Err(Failure::new(format!("the token for /mcp has fewer than {CHARS_MIN} characters, or a space in it"))
            .hint(format!("make one with `openssl rand -hex 32`, in {NEAP_MCP_TOKEN} or in a file that {NEAP_MCP_TOKEN_FILE} names")));
    }
    Ok(Some(Token { text, source }))
}

/// A token that is there already, wherever it may be; none is made.
pub(crate) fn known(data: &DataDir) -> Result<Option<String>, Failure> {
    let named = env::text(NEAP_MCP_TOKEN_FILE).map(PathBuf::from);
    if let Some(token) = find(data, named.as_deref(), true)? {
        return Ok(Some(token.text));
    }
    Ok(private_text(&data.own_token_file())?.map(|text| text.trim().to_owned()))
}

/// What to tell whoever gives a token on the command line.
pub(crate) fn not_on_the_command_line() -> Failure {
    Failure::new("a token on the command line can be read by everybody on this machine, so it is not taken")
        .hint(format!("put it into a file of mode 0600 and name that with --mcp-token-file, or into {NEAP_MCP_TOKEN}; choose a new one"))
}

fn private_text(path: &Path) -> Result<Option<String>, Failure> {
    keys::private_text(path, "token", "write another one into it")
}

/// The token in our own file.
fn own(path: &Path) -> Result<String, Failure> {
    if let Some(text) = private_text(path)? {
        return Ok(text);
    }
    let mut random = [0; BYTES];
    getrandom::fill(&mut random).map_err(|error| Failure::new(format!("cannot make a token: {error}")))?;
    let mut text = String::new();
    random.iter().for_each(|byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    });
    if let Some(folder) = path.parent() {
        files::create_dir(folder)?;
    }
    // If another process was faster, its token is the token.
    files::create_whole(path, format!("{text}\n").as_bytes())?;
    private_text(path)?.ok_or_else(|| Failure::new(format!("{} was removed while it was made", path.display())))
}
