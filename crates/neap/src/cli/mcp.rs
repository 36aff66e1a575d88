//! Arguments of `neap mcp`.

use clap::Args;
use neap_core::client::WireApi;

use super::UserWordsTrust;
use super::model::api_parser;
use crate::env::{NEAP_API, NEAP_BASE_URL, NEAP_SESSION, NEAP_SUMMARY_MODEL};

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Session for calls that name none [default: one per client and working folder, or by the client's
    /// conversation id]
    #[arg(long, short, env = NEAP_SESSION, hide_env_values = true, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Agent that starts the server, to know when it was last heard; `neap install` writes it
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) host: Option<String>,
    /// Project of new sessions; `none` for no project [default: NEAP_PROJECT, else the working folder's repository]
    #[arg(long, value_name = "NAME")]
    pub(crate) project: Option<String>,
    /// Author of the user's text in `record_turn`. With `trusted` it counts as the person's, and standing
    /// instructions in it are loaded in every session; only for a host that passes what its user typed
    #[arg(long, value_enum, value_name = "TRUST", default_value_t = UserWordsTrust::Untrusted)]
    pub(crate) user_words: UserWordsTrust,
    /// Model that summarises, by its name at the provider [default: the built-in summariser]
    #[arg(long, env = NEAP_SUMMARY_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) summary_model: Option<String>,
    /// Address of that model, e.g. http://localhost:11434/v1 [default: its provider's]
    #[arg(long, env = NEAP_BASE_URL, hide_env_values = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Protocol of that model [default: by its name]
    #[arg(long, env = NEAP_API, hide_env_values = true, value_parser = api_parser(), value_name = "PROTOCOL")]
    pub(crate) api: Option<WireApi>,
}
