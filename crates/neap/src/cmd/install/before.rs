//! What agents' files were like before Neap was installed into them, so that taking it out leaves every byte as it was.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::json_edit::JsonText;
use super::json_tree::without_mark;
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
    /// `containers`: what entries of ours are put into, and the text of those that are empty.
    pub(super) fn new(text: Option<&str>, containers: BTreeMap<String, Option<String>>) -> Self {
        let blank = text.filter(|text| is_blank(text)).map(str::to_owned);
        let containers = if blank.is_none() { containers } else { BTreeMap::new() };
        Self { exists: text.is_some(), blank, containers }
    }

    /// What is known of a container: `None` if it was not there, and its text if it was empty.
    pub(super) fn container(&self, name: &str) -> Option<&Option<String>> {
        self.containers.get(name)
    }

    /// Takes out a container that is empty now, or leaves it as it was.
    pub(super) fn restore_container(before: Option<&Self>, json: &mut JsonText, path: &[&str]) {
        if !json.container(path).is_some_and(|(_, is_empty)| is_empty) {
            return;
        }
        match before.and_then(|before| before.container(&path.join("/"))) {
            None => json.remove(path),
            Some(None) => false,
            Some(Some(was)) => json.replace(path, was),
        };
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
    let said: String = without_mark(text).split_whitespace().collect();
    said.is_empty() || said == "{}"
}
