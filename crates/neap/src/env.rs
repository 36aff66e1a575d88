//! Every environment variable that Neap reads, and where its data live.

use std::path::{Path, PathBuf};

use neap_core::ids::{AgentId, SessionId};

use crate::out::Failure;

/// Where the data live, if not in the usual place.
pub(crate) const NEAP_DATA_DIR: &str = "NEAP_DATA_DIR";
/// Where the keys are that sign what tools answer, if not in the data directory.
pub(crate) const NEAP_KEY_FILE: &str = "NEAP_KEY_FILE";
/// A key itself, in hexadecimal digits; a file that is named comes first.
pub(crate) const NEAP_KEY: &str = "NEAP_KEY";
/// How much is logged to standard error: a level of detail such as `debug`; nothing by default.
pub(crate) const NEAP_LOG: &str = "NEAP_LOG";
/// Whether a chat shows what is done to the memory, as `--mem-debug` does.
pub(crate) const NEAP_MEM_DEBUG: &str = "NEAP_MEM_DEBUG";
/// The agent that remembers, if not the one called `default`.
pub(crate) const NEAP_AGENT: &str = "NEAP_AGENT";
/// Who tells what texts mean, for search: `built-in`, an address, a file or folder of weights, or `none`.
pub(crate) const NEAP_EMBEDDER: &str = "NEAP_EMBEDDER";
/// The model of embeddings at that address.
pub(crate) const NEAP_EMBEDDER_MODEL: &str = "NEAP_EMBEDDER_MODEL";
/// The key for that address; it comes before the maker's.
pub(crate) const NEAP_EMBEDDER_KEY: &str = "NEAP_EMBEDDER_KEY";
/// Who answers, as `--model` does.
pub(crate) const NEAP_MODEL: &str = "NEAP_MODEL";
/// Who summarises, as `--summary-model` does.
pub(crate) const NEAP_SUMMARY_MODEL: &str = "NEAP_SUMMARY_MODEL";
/// Where the proxy listens, as `--listen` does.
pub(crate) const NEAP_LISTEN: &str = "NEAP_LISTEN";
/// Where the proxy's requests go, as `--upstream` does.
pub(crate) const NEAP_UPSTREAM: &str = "NEAP_UPSTREAM";
/// The longest request that the proxy sends on, as `--budget` does.
pub(crate) const NEAP_BUDGET: &str = "NEAP_BUDGET";
/// How long a hook may take before its agent goes on without it, in milliseconds.
pub(crate) const NEAP_HOOK_LIMIT_MS: &str = "NEAP_HOOK_LIMIT_MS";
/// What callers of /mcp must bring.
pub(crate) const NEAP_MCP_TOKEN: &str = "NEAP_MCP_TOKEN";
/// The file that has it, as `--mcp-token-file` does; it comes first.
pub(crate) const NEAP_MCP_TOKEN_FILE: &str = "NEAP_MCP_TOKEN_FILE";
/// How many callers the proxy serves, as `--callers` does.
pub(crate) const NEAP_CALLERS: &str = "NEAP_CALLERS";
/// Whether /mcp has what the protocol's conformance suite needs as well; in debug builds alone.
#[cfg(debug_assertions)]
pub(crate) const NEAP_MCP_FIXTURE: &str = "NEAP_MCP_FIXTURE";
/// The session of calls over MCP that name none, as `--session` does.
pub(crate) const NEAP_SESSION: &str = "NEAP_SESSION";
/// Where that model is, as `--base-url` does.
pub(crate) const NEAP_BASE_URL: &str = "NEAP_BASE_URL";
/// How to speak with it, as `--api` does.
pub(crate) const NEAP_API: &str = "NEAP_API";
/// The key for whatever provider is asked; it comes before the keys of makers.
pub(crate) const NEAP_API_KEY: &str = "NEAP_API_KEY";
/// The key for providers that speak OpenAI's protocols.
pub(crate) const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
/// Where they are, if not with OpenAI.
pub(crate) const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// The key for providers that speak Anthropic's protocol.
pub(crate) const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
/// A token for them in place of a key.
pub(crate) const ANTHROPIC_AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";
/// Where they are, if not with Anthropic.
pub(crate) const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The usual place is under this one, where it is set.
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// Else under this one.
const HOME: &str = "HOME";

/// Where Claude Code keeps its things, if not in `~/.claude`.
const CLAUDE_CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
/// Where programs are configured, if not in `~/.config`.
const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Where Codex keeps its things, if not in `~/.codex`.
const CODEX_HOME: &str = "CODEX_HOME";

/// Where Claude Code keeps its things.
pub(crate) fn claude_folder() -> Option<PathBuf> {
    place(CLAUDE_CONFIG_DIR).or_else(|| Some(home()?.join(".claude")))
}

/// Where Codex keeps its things.
pub(crate) fn codex_folder() -> Option<PathBuf> {
    place(CODEX_HOME).or_else(|| Some(home()?.join(".codex")))
}

/// Where Claude Code keeps its list of MCP servers, among other things.
pub(crate) fn claude_file() -> Option<PathBuf> {
    Some(place(CLAUDE_CONFIG_DIR).or_else(home)?.join(".claude.json"))
}

/// Where programs are configured.
pub(crate) fn config_folder() -> Option<PathBuf> {
    place(XDG_CONFIG_HOME).or_else(|| Some(home()?.join(".config")))
}

/// The user's home.
pub(crate) fn home() -> Option<PathBuf> {
    place(HOME)
}

fn place(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The directory that holds everything: the database and the session folders.
#[derive(Debug, Clone)]
pub(crate) struct DataDir {
    place: PathBuf,
    key_file: Option<PathBuf>,
    agent: AgentId,
}

/// The key that is given, if one is. What is not text is not a key, and is refused where it is read.
pub(crate) fn key() -> Option<String> {
    text(NEAP_KEY)
}

/// How much is to be logged, if that was said.
pub(crate) fn log() -> Option<String> {
    text(NEAP_LOG)
}

/// What a variable says; one that is empty says nothing.
pub(crate) fn text(name: &str) -> Option<String> {
    let given = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some(given.to_string_lossy().into_owned())
}

impl DataDir {
    /// The one asked for, else the user's; fails where it cannot be.
    pub(crate) fn resolve(
        asked: Option<PathBuf>,
        key_file: Option<PathBuf>,
        agent: &str,
    ) -> Result<Self, Failure> {
        let agent = AgentId::from_name(agent).map_err(|error| {
            Failure::new(format!("cannot use '{}' as an agent's name: {error}", crate::out::clean(agent)))
                .hint("use letters, digits and hyphens")
        })?;
        let under = |name: &str, rest: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(|value| PathBuf::from(value).join(rest))
        };
        let data = asked
            .or_else(|| under(XDG_DATA_HOME, "neap"))
            .or_else(|| under(HOME, ".local/share/neap"))
            .map(|place| Self { place, key_file: key_file.filter(|path| !path.as_os_str().is_empty()), agent })
            .ok_or_else(|| {
                Failure::new("there is no home directory to keep data in")
                    .hint(format!("name one with --data-dir or {NEAP_DATA_DIR}"))
            })?;
        data.check()?;
        Ok(data)
    }

    /// The database.
    pub(crate) fn database(&self) -> PathBuf {
        self.place.join("neap.db")
    }

    /// Who has this locked embeds what was said and answers hooks, for all processes on the store.
    pub(crate) fn index_lock(&self) -> PathBuf {
        self.place.join("index.lock")
    }

    /// The session folders.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.place.join("sessions")
    }

    /// The key file that was named.
    pub(crate) fn key_file(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// The key file that is made if none is named.
    pub(crate) fn own_key_file(&self) -> PathBuf {
        self.place.join("keys").join("envelope.key")
    }

    /// The file with the token for /mcp that is made if none is given and one is needed.
    pub(crate) fn own_token_file(&self) -> PathBuf {
        self.place.join("keys").join("mcp.token")
    }

    /// The agent whose memory is meant.
    pub(crate) fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// What a person configured of that agent.
    pub(crate) fn agent_folder(&self) -> PathBuf {
        self.place.join("agents").join(self.agent.as_str())
    }

    /// What the owner decided for all that is kept here.
    pub(crate) fn settings(&self) -> PathBuf {
        self.place.join("settings.toml")
    }

    /// What the user says of models.
    pub(crate) fn models(&self) -> PathBuf {
        self.place.join("models.toml")
    }

    /// Notes of the hooks: how far transcripts were read, what waits, what went wrong.
    pub(crate) fn hooks(&self) -> PathBuf {
        self.place.join("hooks")
    }

    /// What was typed in chats of a session. Each has its own, so that erasing a session erases it too.
    pub(crate) fn history(&self, session: &SessionId) -> PathBuf {
        self.place.join("history").join(format!("{session}.txt"))
    }

    /// Fails where a file stands in the way of the directory or of one above it.
    fn check(&self) -> Result<(), Failure> {
        match self.place.ancestors().find(|path| path.exists()) {
            Some(path) if !path.is_dir() => Err(Failure::new(format!("{} is not a directory", path.display()))
                .hint(format!("name one with --data-dir or {NEAP_DATA_DIR}"))),
            Some(_) | None => Ok(()),
        }
    }
}
