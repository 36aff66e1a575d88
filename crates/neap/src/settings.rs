//! Settings of a store, in its data directory.

use std::io::ErrorKind;

use neap_core::text::secrets::Masking;
use serde::{Deserialize, Serialize};

use crate::env::DataDir;
use crate::files;
use crate::out::{self, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct StoreSettings {
    /// Mask secrets before anything is stored.
    pub(crate) mask_secrets: bool,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { mask_secrets: true }
    }
}

pub(crate) const DOCS: &[(&str, &str)] = &[(
    "mask_secrets",
    "Whether keys, tokens and passwords are masked before anything is stored (docs/secrets.md)",
)];

impl StoreSettings {
    /// The defaults where there is no file.
    pub(crate) fn read(data: &DataDir) -> Result<Self, Failure> {
        let path = data.settings_file();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Failure::new(format!("cannot read {}: {error}", path.display()))),
        };
        toml::from_str(&text).map_err(|error| {
            let reason = error.message().lines().next().unwrap_or_default().to_owned();
            Failure::new(format!("cannot parse {}: {}", path.display(), out::escape_control(&reason)))
                .hint("it may have a line such as `mask_secrets = false`; without the file, the defaults apply")
        })
    }

    pub(crate) fn masking(self) -> Masking {
        if self.mask_secrets { Masking::On } else { Masking::Off }
    }

    pub(crate) fn entries(self) -> [(&'static str, bool); 1] {
        [("mask_secrets", self.mask_secrets)]
    }

    /// Changes a setting; applies to what is stored from then on.
    pub(crate) fn set(mut self, data: &DataDir, key: &str, value: &str) -> Result<Self, Failure> {
        let is_on = match value.trim().to_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => true,
            "off" | "false" | "no" | "0" => false,
            _ => {
                return Err(Failure::new(format!("'{}' is neither on nor off", out::escape_control(value)))
                    .hint("write it as mask_secrets=off"));
            }
        };
        match key.trim().to_lowercase().replace('-', "_").as_str() {
            "mask_secrets" => self.mask_secrets = is_on,
            _ => {
                return Err(Failure::new(format!("'{}' is not a setting of a store", out::escape_control(key)))
                    .hint(
                        "the store's one setting is mask_secrets; all others belong to a session: --set \
                         key=value on `neap chat`",
                    ));
            }
        }
        let path = data.settings_file();
        if let Some(folder) = path.parent() {
            files::create_dir(folder)?;
        }
        let lines: String = self.entries().iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        files::replace(&path, lines.as_bytes())?;
        Ok(self)
    }
}
