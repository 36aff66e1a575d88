//! Who publishes, and under which version: from `Cargo.toml`, for all packages.

use anyhow::{Context, Result, bail};
use toml::Table;

use crate::root;

pub(super) struct Publisher {
    pub(super) author: String,
    domain: String,
}

impl Publisher {
    pub(super) fn read() -> Result<Self> {
        let workspace = workspace()?;
        let text = |key: &str| {
            let value = workspace.get("metadata")?.get("publisher")?.get(key)?.as_str()?;
            Some(value.to_owned())
        };
        match (text("author"), text("domain")) {
            (Some(author), Some(domain)) => Ok(Self { author, domain }),
            _ => bail!("Cargo.toml has no author and domain in [workspace.metadata.publisher]"),
        }
    }

    pub(super) fn email(&self) -> String {
        format!("neap@{}", self.domain)
    }

    pub(super) fn homepage(&self) -> String {
        format!("https://{}", self.domain)
    }

    /// Where a package of a release will be.
    pub(super) fn address_of(&self, version: &str, name: &str) -> String {
        format!("{}/releases/{version}/{name}", self.homepage())
    }
}

pub(super) fn version() -> Result<String> {
    let workspace = workspace()?;
    let version = workspace.get("package").and_then(|package| package.get("version")?.as_str());
    Ok(version.context("Cargo.toml has no version")?.to_owned())
}

fn workspace() -> Result<Table> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let mut manifest: Table = text.parse().context("cannot read Cargo.toml")?;
    match manifest.remove("workspace") {
        Some(toml::Value::Table(workspace)) => Ok(workspace),
        _ => bail!("Cargo.toml is not that of a workspace"),
    }
}
