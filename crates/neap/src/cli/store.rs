//! `neap store`: the data store as a whole.

use clap::{Args, Subcommand};

use super::{AccessArgs, OptionalSessionArgs};

#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    pub(crate) what: StoreSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum StoreSubcommand {
    /// Check the store, the session folders and the connected agents; changes nothing
    ///
    /// Of each agent that is found it says whether it is connected, to which program, and when it was last heard.
    /// Exit code 0: clean. 1: `neap store rebuild` can repair it. 2: something is damaged.
    Doctor(OptionalSessionArgs),
    /// Rebuild derived tables and session folders from the event streams
    ///
    /// Never shortens anything: where a session's folder has more than the store, it is left alone, the store's
    /// copy is written beside it, and `neap session import` imports the folder. Where the database file is
    /// damaged, it is left alone too, and everything readable in it goes into a new data directory, `salvaged-…`,
    /// inside the old one. Exit code 2: something could not be recovered.
    Rebuild(RebuildArgs),
    /// List the keys that sign tool results, or rotate them
    ///
    /// Every tool result is signed before it is stored, so that altered, moved or replayed results are detected
    /// and refused. The key is made on first use, readable by you alone. To bring your own, put one key a line (32
    /// or more hexadecimal digits; the current one first) into a file of mode 0600 and name it with --key-file or
    /// NEAP_KEY_FILE, or put a single key into NEAP_KEY. Keys are never printed, only their ids.
    Keys(KeysArgs),
    /// Tenants, their keys, and the log of who asked for what (also `neap access`)
    ///
    /// For a server that several people or programs use: each tenant has a store of its own, and a request reaches it
    /// only with one of its keys. Without any key, a server on this machine alone has one tenant, as always.
    #[command(after_long_help = "Example:\n  neap tenant add acme\n  neap key add acme --surface proxy,mcp")]
    Access(AccessArgs),
    /// List all settings with their defaults, or change one of the store
    ///
    /// `neap store settings mask_secrets=off` stores text as it is, secrets included, from then on; by default
    /// keys, tokens and passwords are masked before anything is stored. Settings of a session are changed with
    /// --set on `neap chat`.
    Settings(SettingsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RebuildArgs {
    /// Only this session
    #[arg(long, short, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Continue without files that do not fit: a log or marker that knows more than the database, folders that
    /// have more than the store. They are renamed to `….aside-…`, never removed
    #[arg(long)]
    pub(crate) set_aside: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    pub(crate) what: KeysSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeysSubcommand {
    /// List the ids of all keys, the current one first
    List,
    /// Sign with a new key from now on; older keys still verify
    ///
    /// To retire an old key for good, remove its line from the key file: the last line is the oldest key. Results
    /// that it signed stay stored and readable; `neap store doctor` then reports that it cannot verify them.
    Rotate,
}

#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// A setting of the store to change, e.g. mask_secrets=off
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) set: Option<String>,
}
