//! The proxy, as it is typed.

use std::net::SocketAddr;

use clap::Args;

use crate::env::{NEAP_LISTEN, NEAP_UPSTREAM};

/// Where requests go.
#[derive(Debug, Args)]
pub(crate) struct UpstreamArgs {
    /// Where all requests go [default: OPENAI_BASE_URL or ANTHROPIC_BASE_URL by a request's kind, else their makers]
    #[arg(long, env = NEAP_UPSTREAM, hide_env_values = true, value_name = "URL")]
    pub(crate) upstream: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen
    #[arg(long, env = NEAP_LISTEN, hide_env_values = true, value_name = "ADDRESS", default_value = "127.0.0.1:6327")]
    pub(crate) listen: SocketAddr,
    /// A name by which clients may call, beside addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) upstream: UpstreamArgs,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<std::ffi::OsString>,
}
