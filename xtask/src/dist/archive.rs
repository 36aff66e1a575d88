//! Archives whose bytes depend on their files alone: sorted, with one time and no names of users.

use std::collections::BTreeMap;
use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// What packages share: a path of the archive, and what is there.
#[derive(Default, Clone)]
pub(super) struct Files(BTreeMap<String, Entry>);

#[derive(Clone)]
struct Entry {
    /// None for a folder.
    content: Option<Vec<u8>>,
    mode: u32,
    owner: u32,
}

impl Files {
    /// With the folders above it.
    pub(super) fn add(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>, mode: u32) {
        let path = path.into();
        for (at, _) in path.match_indices('/') {
            self.0.entry(path[..at].to_owned()).or_insert(Entry { content: None, mode: 0o755, owner: 0 });
        }
        self.0.insert(path, Entry { content: Some(content.into()), mode, owner: 0 });
    }

    pub(super) fn add_folder(&mut self, path: &str, mode: u32, owner: u32) {
        self.0.insert(path.to_owned(), Entry { content: None, mode, owner });
    }

    pub(super) fn extend(&mut self, below: &str, others: &Self) {
        for (path, mode, content) in others.all() {
            self.add(format!("{below}/{path}"), content, mode);
        }
    }

    /// Paths, modes and contents of its files, without folders.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        self.0.iter().filter_map(|(path, entry)| Some((path.as_str(), entry.mode, entry.content.as_deref()?)))
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.all().map(|(path, _, content)| (path, content))
    }

    pub(super) fn tar(&self, epoch: u64) -> Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        for (path, entry) in &self.0 {
            let content = entry.content.as_deref().unwrap_or_default();
            let mut header = Header::new_gnu();
            let kind = if entry.content.is_some() { EntryType::Regular } else { EntryType::Directory };
            header.set_entry_type(kind);
            header.set_mode(entry.mode);
            header.set_uid(entry.owner.into());
            header.set_gid(entry.owner.into());
            header.set_mtime(epoch);
            header.set_size(content.len() as u64);
            let path = if entry.content.is_some() { path.clone() } else { format!("{path}/") };
            tar.append_data(&mut header, &path, content).with_context(|| format!("cannot archive {path}"))?;
        }
        tar.into_inner().context("cannot finish an archive")
    }
}

/// Without a name and a time.
pub(super) fn gzip(data: &[u8], level: Compression) -> Result<Vec<u8>> {
    let mut gzip = GzBuilder::new().operating_system(255).write(Vec::new(), level);
    gzip.write_all(data).and_then(|()| gzip.finish()).context("cannot compress")
}
