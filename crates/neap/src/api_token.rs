//! The tokens of the HTTP API, in the data directory: one that may change things, one that may only read. The first
//! server makes them.

use std::path::{Path, PathBuf};

use neap_server::access::{ApiToken, TokenScope};

use crate::env::DataDir;
use crate::mcp_token;
use crate::out::{self, Failure};

#[derive(Default)]
pub(crate) struct ApiTokens {
    pub(crate) tokens: Vec<ApiToken>,
    /// Their texts, which must not reach a provider.
    pub(crate) secrets: Vec<String>,
    /// The file of the one that may change things.
    pub(crate) path: PathBuf,
}

pub(crate) fn load_or_create(data: &DataDir) -> Result<ApiTokens, Failure> {
    let (path, read_path) = (data.api_token_file(), data.api_read_token_file());
    let (write, read) = (load(&path)?, load(&read_path)?);
    let tokens = vec![ApiToken::new(&write, TokenScope::Write), ApiToken::new(&read, TokenScope::Read)];
    Ok(ApiTokens { tokens, secrets: vec![write, read], path })
}

/// A disk that is full or read-only costs the API its tokens, never the proxy its start.
pub(crate) fn load_or_none(data: &DataDir) -> ApiTokens {
    load_or_create(data).unwrap_or_else(|error| {
        out::print_notice(format!("the API has no token, so that programs cannot use it: {error}"));
        ApiTokens::default()
    })
}

/// The token that may only read, if a server made one.
pub(crate) fn load_reading(data: &DataDir) -> Result<Option<String>, Failure> {
    let token = mcp_token::read_token_file(&data.api_read_token_file())?;
    Ok(token.map(|token| token.trim().to_owned()))
}

fn load(path: &Path) -> Result<String, Failure> {
    let text = mcp_token::load_or_create(path)?.trim().to_owned();
    if text.chars().count() < mcp_token::CHARS_MIN || text.chars().any(char::is_whitespace) {
        let (path, min) = (path.display(), mcp_token::CHARS_MIN);
        return Err(Failure::new(format!("the token in {path} has fewer than {min} characters, or a space"))
            .hint("remove the file; the next start makes a new one"));
    }
    Ok(text)
}
