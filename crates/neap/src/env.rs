//! The environment variables that Neap reads, other than those that move agents' files (`agent_folders`), and the layout
//! of the data directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use neap_core::base::access::TenantName;
use neap_core::base::ids::{AgentId, SessionId};
use neap_postgres::PostgresStore;

use crate::database;
use crate::out::Failure;

/// Same as `--data-dir`.
pub(crate) const NEAP_DATA_DIR: &str = "NEAP_DATA_DIR";
/// Same as `--store`.
pub(crate) const NEAP_STORE: &str = "NEAP_STORE";
/// Same as `--key-file`.
pub(crate) const NEAP_KEY_FILE: &str = "NEAP_KEY_FILE";
/// A signing key in hexadecimal; a key file takes precedence.
pub(crate) const NEAP_KEY: &str = "NEAP_KEY";
/// Log level for standard error, such as `debug`; off by default.
pub(crate) const NEAP_LOG: &str = "NEAP_LOG";
/// Same as `--mem-debug`.
pub(crate) const NEAP_MEM_DEBUG: &str = "NEAP_MEM_DEBUG";
/// Same as `--agent`.
pub(crate) const NEAP_AGENT: &str = "NEAP_AGENT";
/// Same as `--project`, but for a search the other projects stay in sight.
pub(crate) const NEAP_PROJECT: &str = "NEAP_PROJECT";
/// The embedder for search: `built-in`, a URL, or `none`.
pub(crate) const NEAP_EMBEDDER: &str = "NEAP_EMBEDDER";
/// The embedding model at that URL.
pub(crate) const NEAP_EMBEDDER_MODEL: &str = "NEAP_EMBEDDER_MODEL";
/// The key for that URL; takes precedence over the provider's.
pub(crate) const NEAP_EMBEDDER_KEY: &str = "NEAP_EMBEDDER_KEY";
/// Same as `--model`.
pub(crate) const NEAP_MODEL: &str = "NEAP_MODEL";
/// Same as `--summary-model`.
pub(crate) const NEAP_SUMMARY_MODEL: &str = "NEAP_SUMMARY_MODEL";
/// Same as `--listen`.
pub(crate) const NEAP_LISTEN: &str = "NEAP_LISTEN";
/// Same as `--upstream`.
pub(crate) const NEAP_UPSTREAM: &str = "NEAP_UPSTREAM";
/// Same as `--budget`.
pub(crate) const NEAP_BUDGET: &str = "NEAP_BUDGET";
/// Milliseconds that a hook may take before its agent continues without it.
pub(crate) const NEAP_HOOK_LIMIT_MS: &str = "NEAP_HOOK_LIMIT_MS";
/// The bearer token for `/mcp`.
pub(crate) const NEAP_MCP_TOKEN: &str = "NEAP_MCP_TOKEN";
/// Same as `--mcp-token-file`; takes precedence over [`NEAP_MCP_TOKEN`].
pub(crate) const NEAP_MCP_TOKEN_FILE: &str = "NEAP_MCP_TOKEN_FILE";
/// Same as `--callers`.
pub(crate) const NEAP_AUDIT_DAYS: &str = "NEAP_AUDIT_DAYS";
pub(crate) const NEAP_TLS_CERT: &str = "NEAP_TLS_CERT";
pub(crate) const NEAP_TLS_KEY: &str = "NEAP_TLS_KEY";
/// Serves other machines although no key is configured.
pub(crate) const NEAP_WITHOUT_KEYS: &str = "NEAP_WITHOUT_KEYS";
pub(crate) const NEAP_CALLERS: &str = "NEAP_CALLERS";
/// Adds what the MCP conformance suite needs to `/mcp`.
pub(crate) const NEAP_MCP_FIXTURE: &str = "NEAP_MCP_FIXTURE";
/// Same as `--session` of `neap mcp`.
pub(crate) const NEAP_SESSION: &str = "NEAP_SESSION";
/// Same as `--base-url`.
pub(crate) const NEAP_BASE_URL: &str = "NEAP_BASE_URL";
/// Same as `--api`.
pub(crate) const NEAP_API: &str = "NEAP_API";
/// Key for any provider; takes precedence over the provider's own.
pub(crate) const NEAP_API_KEY: &str = "NEAP_API_KEY";
/// Key for OpenAI-compatible providers.
pub(crate) const OPENAI_API_KEY: &str = "OPENAI_API_KEY";
pub(crate) const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";
/// Where Ollama listens, in its own variable.
pub(crate) const OLLAMA_HOST: &str = "OLLAMA_HOST";
/// An older name of [`OPENAI_BASE_URL`] that some programs still read.
pub(crate) const OPENAI_API_BASE: &str = "OPENAI_API_BASE";
pub(crate) const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
/// A bearer token instead of [`ANTHROPIC_API_KEY`].
pub(crate) const ANTHROPIC_AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";
pub(crate) const ANTHROPIC_BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// Columns of the terminal, as a shell exports them.
pub(crate) const COLUMNS: &str = "COLUMNS";
pub(crate) const TERM: &str = "TERM";
pub(crate) const HOME: &str = "HOME";
/// Where the system looks for a program that is named without a folder.
const PATH: &str = "PATH";
/// Replaces `~/.config`.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// The data directory: the store, session folders, keys and settings.
#[derive(Debug, Clone)]
pub(crate) struct DataDir {
    root: PathBuf,
    key_file: Option<PathBuf>,
    agent: AgentId,
    /// Where the store is, if not in a file here.
    store_url: Option<String>,
    database: Option<PostgresStore>,
}

/// Not validated here: a value that is not UTF-8 is refused when the key is parsed.
pub(crate) fn signing_key() -> Option<String> {
    var(NEAP_KEY)
}

pub(crate) fn log_level() -> Option<String> {
    var(NEAP_LOG)
}

/// The program that opens a link in a browser, if there is a screen.
pub(crate) fn url_opener() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    (var("DISPLAY").is_some() || var("WAYLAND_DISPLAY").is_some()).then_some("xdg-open")
}

/// Whether a variable whose name begins like this has a value.
pub(crate) fn has_prefix(prefix: &str) -> bool {
    std::env::vars_os().any(|(name, value)| name.to_string_lossy().starts_with(prefix) && !value.is_empty())
}

/// The value of a variable; an empty one counts as unset.
pub(crate) fn var(name: &str) -> Option<String> {
    Some(var_os(name)?.to_string_lossy().into_owned())
}

/// The same, whether or not it is UTF-8.
pub(crate) fn var_os(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The file of a program as the system would find it.
pub(crate) fn find_program(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let folders = var_os(PATH)?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

impl DataDir {
    /// `requested`, or the user's default data directory.
    pub(crate) fn resolve(
        requested: Option<PathBuf>,
        key_file: Option<PathBuf>,
        agent: &str,
    ) -> Result<Self, Failure> {
        let agent = AgentId::from_name(agent).map_err(|error| {
            Failure::new(format!("cannot use '{}' as an agent's name: {error}", crate::out::escape_control(agent)))
                .hint("use letters, digits and hyphens")
        })?;
        let under = |name: &str, rest: &str| var_os(name).map(|value| PathBuf::from(value).join(rest));
        let data = requested
            .or_else(|| under(XDG_DATA_HOME, "neap"))
            .or_else(|| under(HOME, ".local/share/neap"))
            .map(|root| {
                let key_file = key_file.filter(|path| !path.as_os_str().is_empty());
                Self { root, key_file, agent, store_url: var(NEAP_STORE), database: None }
            })
            .ok_or_else(|| {
                Failure::new("cannot choose a data directory: there is no home directory")
                    .hint(format!("name one with --data-dir or {NEAP_DATA_DIR}"))
            })?;
        data.check_is_directory()?;
        Ok(data)
    }

    /// With the store that `--store` or the environment names. It is connected to by [`connected`](Self::connected).
    pub(crate) fn with_store(self, url: Option<String>) -> Result<Self, Failure> {
        let store_url = url.or(self.store_url);
        store_url.as_deref().map(database::check_url).transpose()?;
        Ok(Self { store_url, ..self })
    }

    /// Connects to the store's database, if it is in one.
    pub(crate) async fn connected(self) -> Result<Self, Failure> {
        let database = match &self.store_url {
            Some(url) => Some(database::open(url).await?),
            None => None,
        };
        Ok(Self { database, ..self })
    }

    /// The URL may have a password.
    pub(crate) fn store_url(&self) -> Option<&str> {
        self.store_url.as_deref()
    }

    pub(crate) fn database(&self) -> Option<&PostgresStore> {
        self.database.as_ref()
    }

    /// The same for one tenant: a data directory of its own, with a key of its own for tool results.
    pub(crate) fn of_tenant(&self, tenant: &TenantName, agent: Option<&AgentId>) -> Self {
        let agent = agent.unwrap_or(&self.agent).clone();
        match tenant.is_local() {
            true => Self { agent, ..self.clone() },
            false => Self {
                root: self.root.join("tenants").join(tenant.as_str()),
                key_file: None,
                agent,
                store_url: self.store_url.clone(),
                database: self.database.as_ref().map(|store| store.of_tenant(tenant.clone())),
            },
        }
    }

    /// Tenants, keys and the audit log.
    pub(crate) fn access_file(&self) -> PathBuf {
        self.root.join("access.db")
    }

    pub(crate) fn database_file(&self) -> PathBuf {
        self.root.join("neap.db")
    }

    /// Whoever holds this lock embeds new text and serves hooks for all processes on the store.
    pub(crate) fn index_lock(&self) -> PathBuf {
        self.root.join("index.lock")
    }

    /// Held by the background process that embeds what was imported.
    pub(crate) fn embedding_lock(&self) -> PathBuf {
        self.root.join("embedding.lock")
    }

    /// Arguments that point another process of ours at the same data.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec!["--agent".into(), self.agent.as_str().into()];
        arguments.extend(["--data-dir".into(), self.root.clone().into_os_string()]);
        arguments.extend(self.key_file.iter().flat_map(|path| ["--key-file".into(), path.into()]));
        arguments
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Marks that an import was offered, whatever the answer was.
    pub(crate) fn import_offer_file(&self) -> PathBuf {
        self.root.join("import-offered")
    }

    /// What agents' files were before Neap was installed into them.
    pub(crate) fn installed_file(&self) -> PathBuf {
        self.root.join("installed.json")
    }

    /// When agents were last heard: a file for each.
    pub(crate) fn heard_folder(&self) -> PathBuf {
        self.hooks_folder().join("heard")
    }

    pub(crate) fn sessions_folder(&self) -> PathBuf {
        self.root.join("sessions")
    }

    pub(crate) fn key_file(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// The key file created where none is named.
    pub(crate) fn own_key_file(&self) -> PathBuf {
        self.root.join("keys").join("envelope.key")
    }

    /// The `/mcp` token file created where none is given.
    pub(crate) fn own_token_file(&self) -> PathBuf {
        self.root.join("keys").join("mcp.token")
    }

    /// The token of the HTTP API.
    pub(crate) fn api_token_file(&self) -> PathBuf {
        self.root.join("keys").join("api.token")
    }

    /// The token of the HTTP API that may only read.
    pub(crate) fn api_read_token_file(&self) -> PathBuf {
        self.root.join("keys").join("api-read.token")
    }

    pub(crate) fn agent(&self) -> &AgentId {
        &self.agent
    }

    pub(crate) fn agent_folder(&self) -> PathBuf {
        self.root.join("agents").join(self.agent.as_str())
    }

    pub(crate) fn settings_file(&self) -> PathBuf {
        self.root.join("settings.toml")
    }

    pub(crate) fn models_file(&self) -> PathBuf {
        self.root.join("models.toml")
    }

    /// Hook state: transcript positions, the spool and the error log.
    pub(crate) fn hooks_folder(&self) -> PathBuf {
        self.root.join("hooks")
    }

    /// A session's chat input history. One per session, so that erasing the session erases it.
    pub(crate) fn history_file(&self, session: &SessionId) -> PathBuf {
        self.root.join("history").join(format!("{session}.txt"))
    }

    /// Fails if the directory or a parent of it is a file.
    fn check_is_directory(&self) -> Result<(), Failure> {
        match self.root.ancestors().find(|path| path.exists()) {
            Some(path) if !path.is_dir() => Err(Failure::new(format!("{} is not a directory", path.display()))
                .hint(format!("name one with --data-dir or {NEAP_DATA_DIR}"))),
            Some(_) | None => Ok(()),
        }
    }
}
