//! What can be decided for a store.

use clap::Args;

/// `neap settings`.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// A setting of the store to change, e.g. mask_secrets=off
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) set: Option<String>,
}
