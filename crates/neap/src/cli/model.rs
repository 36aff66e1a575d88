//! Who answers, as it is typed.

use clap::{Args, ValueEnum};
use neap_model::client::Api;

use crate::env::{NEAP_API, NEAP_BASE_URL, NEAP_MODEL};

/// A protocol by its name.
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
    /// Who answers: a model's name at its provider [default: the built-in offline model]
    #[arg(long, short, env = NEAP_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Where it is, e.g. http://localhost:11434/v1 [default: where its maker offers it]
    #[arg(long, env = NEAP_BASE_URL, hide_env_values = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// How to speak with it [default: by its name]
    #[arg(long, env = NEAP_API, hide_env_values = true, value_enum, value_name = "PROTOCOL")]
    pub(crate) api: Option<ApiName>,
}
