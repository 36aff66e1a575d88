//! Arguments that select a model.

use clap::{Args, ValueEnum};
use neap_model::client::Api;

use crate::env::{NEAP_API, NEAP_BASE_URL, NEAP_MODEL};

/// A provider's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ApiName {
    /// OpenAI Chat Completions, which nearly all servers speak
    Openai,
    /// OpenAI Responses
    Responses,
    /// Anthropic Messages
    Anthropic,
}

impl From<ApiName> for Api {
    fn from(name: ApiName) -> Api {
        match name {
            ApiName::Openai => Api::OpenAi,
            ApiName::Responses => Api::Responses,
            ApiName::Anthropic => Api::Anthropic,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Model that answers, by its name at the provider [default: the built-in offline model]
    #[arg(long, short, env = NEAP_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Address of the model, e.g. http://localhost:11434/v1 [default: its provider's]
    #[arg(long, env = NEAP_BASE_URL, hide_env_values = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Protocol of the model [default: by its name]
    #[arg(long, env = NEAP_API, hide_env_values = true, value_enum, value_name = "PROTOCOL")]
    pub(crate) api: Option<ApiName>,
}
