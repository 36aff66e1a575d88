//! What agents' files were like before Neap was installed into them, so that taking it out leaves every byte as it was.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::json_edit;
use crate::env::DataDir;
use crate::files;
use crate::out::{self, Failure};

/// By path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct BeforeInstall(BTreeMap<String, FileBefore>);

/// One file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FileBefore {
    exists: bool,
    /// All of it, if it said nothing.
    blank: Option<String>,
    /// The objects and lists that entries of ours are put into, and the text of those that were empty.
    containers: BTreeMap<String, Option<String>>,
}

impl BeforeInstall {
    /// Nothing if it cannot be read: then what is left empty is taken for ours.
    pub(super) fn load(data: &DataDir) -> Self {
        let read = files::read_best_effort(&data.installed_file());
        read.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub(super) fn save(&self, data: &DataDir) -> Result<(), Failure> {
        let path = data.installed_file();
        if self.0.is_empty() {
            return Ok(files::remove(&path)?);
        }
        files::create_dir(data.root())?;
        Ok(files::replace(&path, out::json_text(self)?.as_bytes())?)
    }

    pub(super) fn get(&self, path: &Path) -> Option<&FileBefore> {
        self.0.get(&*path.to_string_lossy())
    }

    pub(super) fn set(&mut self, path: &Path, before: Option<FileBefore>) {
        let path = path.to_string_lossy().into_owned();
        match before {
            Some(before) => self.0.insert(path, before),
            None => self.0.remove(&path),
        };
    }
}

impl FileBefore {
    pub(super) fn new(text: Option<&str>, containers: &[Vec<&str>]) -> Self {
        let blank = text.filter(|text| is_blank(text)).map(str::to_owned);
        let found = containers.iter().filter_map(|path| {
            let range = json_edit::find(text?, path)?;
            let inner = text?.get(range)?;
            Some((path.join("/"), is_empty_container(inner).then(|| inner.to_owned())))
        });
        let containers = if blank.is_none() { found.collect() } else { BTreeMap::new() };
        Self { exists: text.is_some(), blank, containers }
    }

    /// Takes out a container that is empty now, or leaves it as it was.
    pub(super) fn restore_container(before: Option<&Self>, text: &str, path: &[&str]) -> String {
        let Some(range) = json_edit::find(text, path).filter(|range| is_empty_container(&text[range.clone()]))
        else {
            return text.to_owned();
        };
        match before.and_then(|before| before.containers.get(&path.join("/"))) {
            None => json_edit::remove(text, path),
            Some(None) => text.to_owned(),
            Some(Some(was)) => format!("{}{was}{}", &text[..range.start], &text[range.end..]),
        }
    }

    /// The whole file, once nothing of ours is in it; `None` if there was none.
    pub(super) fn restore_file(before: Option<&Self>, text: String) -> Option<String> {
        if !is_blank(&text) {
            return Some(text);
        }
        match before {
            Some(Self { blank: Some(was), .. }) => Some(was.clone()),
            Some(Self { exists: true, .. }) => Some(text),
            Some(_) | None => None,
        }
    }
}

/// Whether a file says nothing: it is empty, or has braces alone.
fn is_blank(text: &str) -> bool {
    let said: String = text.split_whitespace().collect();
    said.is_empty() || said == "{}"
}

fn is_empty_container(text: &str) -> bool {
    let said: String = text.split_whitespace().collect();
    said == "{}" || said == "[]"
}
