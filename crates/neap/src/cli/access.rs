//! `neap access`: tenants, keys and the audit log.

use clap::{Args, Subcommand, ValueEnum};
use neap_core::base::access::{KeyId, Level, Surface, TenantName};
use neap_core::base::ids::{AgentId, Stamp};

use crate::dates;

#[derive(Debug, Args)]
pub(crate) struct AccessArgs {
    #[command(subcommand)]
    pub(crate) what: AccessSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccessSubcommand {
    /// Add, list and remove tenants
    Tenant(TenantArgs),
    /// Add, list, rotate and revoke keys
    Key(KeyArgs),
    /// Show who asked for what, newest first
    ///
    /// Changes by anybody, reads by administrators, what was refused, and these commands. Names and ids, never text.
    Audit(AuditArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TenantArgs {
    #[command(subcommand)]
    pub(crate) what: TenantSubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TenantSubcommand {
    /// Add one, with a store of its own
    Add(AddTenantArgs),
    /// List them
    List,
    /// Remove one with all its data, for good
    Remove(RemoveTenantArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AddTenantArgs {
    /// Lower-case letters, digits and hyphens
    #[arg(value_name = "NAME")]
    pub(crate) name: TenantName,
    /// Take over the data in its folder, where somebody put them
    #[arg(long)]
    pub(crate) adopt: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveTenantArgs {
    #[arg(value_name = "NAME")]
    pub(crate) name: TenantName,
    /// Repeat the name to remove it for good
    #[arg(long, value_name = "NAME")]
    pub(crate) confirm: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    pub(crate) what: KeySubcommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeySubcommand {
    /// Make a key; it is printed once
    Add(AddKeyArgs),
    /// List keys, never their secrets
    List(ListKeysArgs),
    /// Replace a key's secret; the old one holds for a while
    Rotate(RotateKeyArgs),
    /// Let a key open nothing more, at once
    Revoke(RevokeKeyArgs),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LevelName {
    /// Look, and change nothing
    Read,
    /// Record and change as well
    Write,
    /// Erase as well
    Admin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SurfaceName {
    /// Conversations, in the API
    Sessions,
    /// Memories, in the API
    Memories,
    /// The OpenAI- and Anthropic-compatible proxy
    Proxy,
    /// /mcp
    Mcp,
}

impl From<LevelName> for Level {
    fn from(name: LevelName) -> Self {
        match name {
            LevelName::Read => Level::Read,
            LevelName::Write => Level::Write,
            LevelName::Admin => Level::Admin,
        }
    }
}

impl From<SurfaceName> for Surface {
    fn from(name: SurfaceName) -> Self {
        match name {
            SurfaceName::Sessions => Surface::Sessions,
            SurfaceName::Memories => Surface::Memories,
            SurfaceName::Proxy => Surface::Proxy,
            SurfaceName::Mcp => Surface::Mcp,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct AddKeyArgs {
    /// Tenant that it opens; `local` for the data directory's own data
    #[arg(value_name = "TENANT")]
    pub(crate) tenant: TenantName,
    /// What you call it
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) label: String,
    /// What its holder may do
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LevelName::Write)]
    pub(crate) scope: LevelName,
    /// Where, separated by commas
    #[arg(long, value_name = "SURFACE", value_enum, value_delimiter = ',', default_values_t = [SurfaceName::Sessions, SurfaceName::Memories, SurfaceName::Proxy, SurfaceName::Mcp])]
    pub(crate) surface: Vec<SurfaceName>,
    /// Agent whose memories it opens, and no other's [default: that of the server]
    #[arg(long, value_name = "NAME", value_parser = agent_id)]
    pub(crate) for_agent: Option<AgentId>,
    /// Until when it holds: a day, a timestamp, or so long from now (90d, 12h)
    #[arg(long, value_name = "WHEN", value_parser = Moment::parse)]
    pub(crate) expires: Option<Moment>,
    /// Requests in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Bytes of requests' bodies in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) bytes: Option<u64>,
    /// Answers that are sent at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) streams: Option<u64>,
    /// Bytes of its tenant's store beyond which it only reads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) stored_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct ListKeysArgs {
    /// Only this tenant's
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<TenantName>,
}

#[derive(Debug, Args)]
pub(crate) struct RotateKeyArgs {
    /// Its id, as `neap key list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: KeyId,
    /// How long the old secret still holds, such as 30m, 24h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_duration_ms, default_value = "24h")]
    pub(crate) overlap: i64,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeKeyArgs {
    /// Its id, as `neap key list` shows it
    #[arg(value_name = "ID")]
    pub(crate) id: KeyId,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only this tenant's
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<TenantName>,
    /// Only what was done with this key
    #[arg(long, value_name = "ID")]
    pub(crate) key: Option<KeyId>,
    /// Entries before this number, the `next` of the page before
    #[arg(long, value_name = "NUMBER")]
    pub(crate) before: Option<u64>,
    /// Most entries
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(crate) limit: u64,
}

/// A time, or how long from now it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    At(Stamp),
    AfterMs(i64),
}

impl Moment {
    fn parse(text: &str) -> Result<Self, String> {
        parse_duration_ms(text).map(Moment::AfterMs).or_else(|_| dates::parse_end(text).map(Moment::At))
    }

    pub(crate) fn from(self, now: Stamp) -> Stamp {
        match self {
            Moment::At(at) => at,
            Moment::AfterMs(ms) => Stamp(now.0.saturating_add(ms)),
        }
    }
}

fn agent_id(name: &str) -> Result<AgentId, String> {
    AgentId::from_name(name).map_err(|error| error.to_string())
}

/// `30m`, `24h`, `7d`.
fn parse_duration_ms(text: &str) -> Result<i64, String> {
    const UNITS: [(char, i64); 4] = [('s', 1_000), ('m', 60_000), ('h', 3_600_000), ('d', 86_400_000)];
    let parsed = UNITS.iter().find_map(|(unit, ms)| {
        let number = text.trim().strip_suffix(*unit)?;
        number.parse::<u32>().ok().and_then(|number| i64::from(number).checked_mul(*ms))
    });
    parsed.ok_or_else(|| format!("'{text}' is no time; write it as 30m, 24h or 7d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_duration_ms("30m"), Ok(1_800_000));
        assert_eq!(parse_duration_ms("0s"), Ok(0));
        for wrong in ["", "m", "-1h", "1w", "1.5h", "99999999999d"] {
            assert!(parse_duration_ms(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Moment::parse("2d").map(|moment| moment.from(Stamp(5))), Ok(Stamp(172_800_005)));
        assert_eq!(Moment::parse("1970-01-02").map(|moment| moment.from(Stamp(5))), Ok(Stamp(172_800_000)));
    }
}
