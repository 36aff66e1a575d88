//! The MCP server, as it is typed.

use clap::Args;

use super::{ApiName, UserWords};
use crate::env::{NEAP_API, NEAP_BASE_URL, NEAP_SESSION, NEAP_SUMMARY_MODEL};

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The session of calls that name none [default: one for each client and working folder, or as the client's own ids say]
    #[arg(long, short, env = NEAP_SESSION, hide_env_values = true, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Whose words `record_turn` brings as the user's: with `trusted` they count as the person's, and what they state to hold
    /// from now on is loaded in every session. Only for a host that passes on what its user typed
    #[arg(long, value_enum, value_name = "TRUST", default_value_t = UserWords::Untrusted)]
    pub(crate) user_words: UserWords,
    /// Who summarises: a model's name at its provider [default: the built-in summariser]
    #[arg(long, env = NEAP_SUMMARY_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) summary_model: Option<String>,
    /// Where that model is, e.g. http://localhost:11434/v1 [default: where its maker offers it]
    #[arg(long, env = NEAP_BASE_URL, hide_env_values = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How to speak with it [default: by its name]
    #[arg(long, env = NEAP_API, hide_env_values = true, value_enum, value_name = "PROTOCOL")]
    pub(crate) api: Option<ApiName>,
}
