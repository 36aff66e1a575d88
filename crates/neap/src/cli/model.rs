//! Arguments that select a model.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use neap_core::client::WireApi;
use neap_model::client::{api_name, parse_api};

use crate::env::{NEAP_API, NEAP_BASE_URL, NEAP_MODEL};

/// The provider protocols, by their names in settings.
pub(super) fn api_parser() -> impl TypedValueParser<Value = WireApi> {
    let value = |api: WireApi, help: &'static str| PossibleValue::new(api_name(api)).help(help);
    PossibleValuesParser::new([
        value(WireApi::Chat, "OpenAI Chat Completions, which nearly all servers speak"),
        value(WireApi::Responses, "OpenAI Responses"),
        value(WireApi::Messages, "Anthropic Messages"),
    ])
    .try_map(|name| parse_api(&name))
}

#[derive(Debug, Args)]
pub(crate) struct ModelArgs {
    /// Model that answers, by its name at the provider; auto finds one of Ollama, LM Studio or llama.cpp on this machine
    /// [default: the built-in offline model]
    #[arg(long, short, env = NEAP_MODEL, hide_env_values = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Address of the model, e.g. http://localhost:11434/v1 [default: its provider's]
    #[arg(long, env = NEAP_BASE_URL, hide_env_values = true, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Protocol of the model [default: by its name]
    #[arg(long, env = NEAP_API, hide_env_values = true, value_parser = api_parser(), value_name = "PROTOCOL")]
    pub(crate) api: Option<WireApi>,
}
