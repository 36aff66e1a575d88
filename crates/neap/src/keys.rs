//! The keys that sign what tools answer: where they come from. They are never printed, whatever goes wrong.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use neap_model::envelope::{Key, KeyError, Keyring, SystemEntropy};
use neap_store::reading;

use crate::env::{self, DataDir, NEAP_KEY, NEAP_KEY_FILE};
use crate::files;
use crate::out::Failure;

/// Longest key file that is read.
const FILE_BYTES_MAX: u64 = 65_536;

/// Where the keys are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// In a file that was named.
    Named(PathBuf),
    /// In the environment.
    Environment,
    /// In our own file; made on first use.
    Own(PathBuf),
}

impl Source {
    /// A named file first, then the environment, then our own file.
    pub(crate) fn of(data: &DataDir) -> Self {
        match data.key_file() {
            Some(path) => Source::Named(path.to_owned()),
            None if env::key().is_some() => Source::Environment,
            None => Source::Own(data.own_key_file()),
        }
    }

    /// For people.
    pub(crate) fn describe(&self) -> String {
        match self {
            Source::Named(path) | Source::Own(path) => path.display().to_string(),
            Source::Environment => NEAP_KEY.to_owned(),
        }
    }
}

/// The keys; none if they would have to be made first.
pub(crate) fn existing(data: &DataDir) -> Result<Option<Keyring>, Failure> {
    match Source::of(data) {
        Source::Named(path) => match read(&path)? {
            Some(text) => parse(&text, &path).map(Some),
            None => Err(Failure::new(format!("there is no key file {}", path.display()))
                .hint("leave out --key-file to have a key made, or write one: `openssl rand -hex 32`, mode 0600")),
        },
        Source::Environment => from_environment().map(Some),
        Source::Own(path) => read(&path)?.map(|text| parse(&text, &path)).transpose(),
    }
}

/// The keys, made if there are none.
pub(crate) fn load(data: &DataDir) -> Result<Keyring, Failure> {
    if let Some(keyring) = existing(data)? {
        return Ok(keyring);
    }
    let path = data.own_key_file();
    let key = Key::generate(&SystemEntropy).map_err(wrong)?;
    if let Some(folder) = path.parent() {
        files::create_dir(folder)?;
    }
    let secret = format!("{}\n", key.expose_hex());
    // If another process was faster, its key is the key.
    files::create_whole(&path, secret.as_bytes()).map_err(|error| unreadable(&path, "key", &error))?;
    existing(data)?.ok_or_else(|| Failure::new(format!("{} was removed while it was made", path.display())))
}

/// Has a new key sign from now on; returns its id.
pub(crate) fn rotate(data: &DataDir) -> Result<String, Failure> {
    let path = match Source::of(data) {
        Source::Named(path) | Source::Own(path) => path,
        Source::Environment => {
            return Err(Failure::new(format!("the key is given by {NEAP_KEY} and cannot be changed here"))
                .hint(format!("put the keys into a file, the new one first, and name it with {NEAP_KEY_FILE}")));
        }
    };
    load(data)?;
    let _lock = files::lock(&path.with_extension("lock")).map_err(|error| unreadable(&path, "key", &error))?;
    // Read again: another process may have rotated before the lock was ours.
    let text = read(&path)?.unwrap_or_default();
    parse(&text, &path)?;
    let key = Key::generate(&SystemEntropy).map_err(wrong)?;
    let rotated = format!("{}\n{text}", key.expose_hex());
    files::replace(&path, rotated.as_bytes()).map_err(|error| unreadable(&path, "key", &error))?;
    Ok(key.id().to_owned())
}

fn from_environment() -> Result<Keyring, Failure> {
    let text = env::key().unwrap_or_default();
    let key = key(&text).map_err(|error| {
        Failure::new(format!("{NEAP_KEY} is not a key: {error}")).hint("make one with `openssl rand -hex 32`")
    })?;
    Ok(Keyring::of(key, []))
}

/// A key a line, the current one first; empty lines and those that begin with # are left out.
fn parse(text: &str, path: &Path) -> Result<Keyring, Failure> {
    let mut keys = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |error: KeyError| {
            Failure::new(format!("line {} of {} is not a key: {error}", at + 1, path.display()))
                .hint("one key a line, the current one first; make one with `openssl rand -hex 32`")
        };
        keys.push(key(line).map_err(wrong)?);
    }
    let mut keys = keys.into_iter();
    let none = || {
        Failure::new(format!("there is no key in {}", path.display()))
            .hint("write one into it with `openssl rand -hex 32`")
    };
    let current = keys.next().ok_or_else(none)?;
    Ok(Keyring::of(current, keys))
}

fn key(text: &str) -> Result<Key, KeyError> {
    Key::from_hex(&text.trim().to_ascii_lowercase())
}

/// What is in a key file, if there is one and only its owner can read it.
fn read(path: &Path) -> Result<Option<String>, Failure> {
    private_text(path, "key", "`neap keys rotate`")
}

/// What is in a file that holds a secret of some kind, if there is one and only its owner can read it. If others could, the secret is to
/// be changed.
pub(crate) fn private_text(path: &Path, kind: &str, change: &str) -> Result<Option<String>, Failure> {
    let wrong = |what: &str, hint: String| Err(Failure::new(format!("{} {what}", path.display())).hint(hint));
    let unreadable = |error: &std::io::Error| unreadable(path, kind, error);
    let found = match std::fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !found.is_file() {
        return wrong("is not a file", format!("name a file with one {kind} a line"));
    }
    let opened = reading::open(path).map_err(|error| unreadable(&error))?;
    let Some(file) = opened else { return Ok(None) };
    if !files::is_private(&file)? {
        let hint = format!("make it private: chmod 600 {}; if others may have read it, {change}", path.display());
        return wrong("can be read by others", hint);
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(|error| unreadable(&error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return wrong(&format!("is too long for a {kind} file"), format!("name a file with one {kind} a line"));
    }
    // What is not text is not a key either, and is refused as such.
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

fn unreadable(path: &Path, kind: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use the {kind} file {}: {error}", path.display()))
        .hint(format!("name another, or give the {kind} in the environment"))
}

fn wrong(error: KeyError) -> Failure {
    Failure::new(format!("cannot make a key: {error}")).hint("give one in NEAP_KEY or with --key-file")
}
