//! Loads the keys that sign tool results. Keys are never printed, not even in errors.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use neap_model::envelope::{Key, KeyError, Keyring, SystemEntropy};
use neap_store::bounded_lines;

use crate::env::{self, DataDir, NEAP_KEY, NEAP_KEY_FILE};
use crate::files;
use crate::out::Failure;

const FILE_BYTES_MAX: u64 = 65_536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    Named(PathBuf),
    Environment,
    /// The file in the data directory, created on first use.
    Own(PathBuf),
}

impl KeySource {
    /// The first of: a named file, the environment, our own file.
    pub(crate) fn of(data: &DataDir) -> Self {
        match data.key_file() {
            Some(path) => KeySource::Named(path.to_owned()),
            None if env::signing_key().is_some() => KeySource::Environment,
            None => KeySource::Own(data.own_key_file()),
        }
    }

    pub(crate) fn describe(&self) -> String {
        match self {
            KeySource::Named(path) | KeySource::Own(path) => path.display().to_string(),
            KeySource::Environment => NEAP_KEY.to_owned(),
        }
    }
}

pub(crate) fn load_existing(data: &DataDir) -> Result<Option<Keyring>, Failure> {
    match KeySource::of(data) {
        KeySource::Named(path) => match read_key_file(&path)? {
            Some(text) => parse(&text, &path).map(Some),
            None => Err(Failure::new(format!("there is no key file {}", path.display())).hint(
                "leave out --key-file and Neap makes a key, or write one: `openssl rand -hex 32`, mode 0600",
            )),
        },
        KeySource::Environment => from_environment().map(Some),
        KeySource::Own(path) => read_key_file(&path)?.map(|text| parse(&text, &path)).transpose(),
    }
}

pub(crate) fn load_or_create(data: &DataDir) -> Result<Keyring, Failure> {
    if let Some(keyring) = load_existing(data)? {
        return Ok(keyring);
    }
    let path = data.own_key_file();
    let key = Key::generate(&SystemEntropy).map_err(key_error)?;
    if let Some(folder) = path.parent() {
        files::create_dir(folder)?;
    }
    let secret = format!("{}\n", key.expose_hex());
    // If another process was first, its key wins.
    files::create_atomic(&path, secret.as_bytes()).map_err(|error| unusable_file(&path, "key", &error))?;
    load_existing(data)?
        .ok_or_else(|| Failure::new(format!("{} was removed while Neap created it", path.display())))
}

/// Makes a new key the signing key; returns its id.
pub(crate) fn rotate(data: &DataDir) -> Result<String, Failure> {
    let path = match KeySource::of(data) {
        KeySource::Named(path) | KeySource::Own(path) => path,
        KeySource::Environment => {
            return Err(Failure::new(format!("the key comes from {NEAP_KEY}, so Neap cannot rotate it"))
                .hint(format!("put the keys into a file, the new one first, and name it with {NEAP_KEY_FILE}")));
        }
    };
    load_or_create(data)?;
    let _lock = files::lock(&path.with_extension("lock")).map_err(|error| unusable_file(&path, "key", &error))?;
    // Another process may have rotated before we got the lock.
    let text = read_key_file(&path)?.unwrap_or_default();
    parse(&text, &path)?;
    let key = Key::generate(&SystemEntropy).map_err(key_error)?;
    let rotated = format!("{}\n{text}", key.expose_hex());
    files::replace(&path, rotated.as_bytes()).map_err(|error| unusable_file(&path, "key", &error))?;
    Ok(key.id().to_owned())
}

fn from_environment() -> Result<Keyring, Failure> {
    let text = env::signing_key().unwrap_or_default();
    let key = parse_key(&text).map_err(|error| {
        Failure::new(format!("{NEAP_KEY} is not a key: {error}")).hint("make one with `openssl rand -hex 32`")
    })?;
    Ok(Keyring::from_keys(key, []))
}

/// One key per line, the current one first; empty lines and `#` comments are skipped.
fn parse(text: &str, path: &Path) -> Result<Keyring, Failure> {
    let mut keys = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let invalid = |error: KeyError| {
            Failure::new(format!("line {} of {} is not a key: {error}", at + 1, path.display()))
                .hint("one key a line, the current one first; make one with `openssl rand -hex 32`")
        };
        keys.push(parse_key(line).map_err(invalid)?);
    }
    let mut keys = keys.into_iter();
    let no_key = || {
        Failure::new(format!("there is no key in {}", path.display()))
            .hint("write one into it with `openssl rand -hex 32`")
    };
    let current = keys.next().ok_or_else(no_key)?;
    Ok(Keyring::from_keys(current, keys))
}

fn parse_key(text: &str) -> Result<Key, KeyError> {
    Key::from_hex(&text.trim().to_ascii_lowercase())
}

fn read_key_file(path: &Path) -> Result<Option<String>, Failure> {
    read_private_file(path, "key", "`neap store keys rotate`")
}

/// Reads a file with a secret of `kind`; `None` if it is missing. Refuses one that others can read; `change` tells
/// how to replace the secret.
pub(crate) fn read_private_file(path: &Path, kind: &str, change: &str) -> Result<Option<String>, Failure> {
    let refuse =
        |problem: &str, hint: String| Err(Failure::new(format!("{} {problem}", path.display())).hint(hint));
    let unreadable = |error: &std::io::Error| unusable_file(path, kind, error);
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !metadata.is_file() {
        return refuse("is not a file", format!("name a file with one {kind} a line"));
    }
    let opened = bounded_lines::open_regular(path).map_err(|error| unreadable(&error))?;
    let Some(file) = opened else { return Ok(None) };
    if !files::is_private(&file)? {
        let hint = format!("make it private: chmod 600 {}; if others may have read it, {change}", path.display());
        return refuse("can be read by others", hint);
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text).map_err(|error| unreadable(&error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return refuse(&format!("is too long for a {kind} file"), format!("name a file with one {kind} a line"));
    }
    // Text that is not UTF-8 fails to parse as a key.
    Ok(Some(String::from_utf8_lossy(&text).into_owned()))
}

fn unusable_file(path: &Path, kind: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot use the {kind} file {}: {error}", path.display()))
        .hint(format!("name another, or give the {kind} in the environment"))
}

fn key_error(error: KeyError) -> Failure {
    Failure::new(format!("cannot make a key: {error}")).hint("give one in NEAP_KEY or with --key-file")
}
