//! All changes that this crate makes to files. New files and folders are readable by their owner only.
#![allow(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use neap_store::bounded_lines;
use neap_store::files::owner_only;
pub(crate) use neap_store::files::{create_dir, remove};
use tempfile::NamedTempFile;

use crate::out::Failure;

const BEST_EFFORT_BYTES_MAX: u64 = 16 << 20;

/// A small file of text; `None` if there is none. `hint` says what to do about one that is too large.
pub(crate) fn read_text(path: &Path, bytes_max: u64, hint: &'static str) -> Result<Option<String>, Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot read {}: {error}", path.display()));
    let Some(file) = bounded_lines::open_regular(path).map_err(failed)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::new(format!("{} is larger than {bytes_max} bytes", path.display())).hint(hint));
    }
    let not_text = |_| Failure::new(format!("{} is not UTF-8 text", path.display())).hint("save it as UTF-8");
    String::from_utf8(bytes).map(Some).map_err(not_text)
}

/// Fails if the file exists.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    owner_only(OpenOptions::new().write(true).create_new(true)).open(path)
}

/// Creates a file atomically; leaves an existing one unchanged.
pub(crate) fn create_atomic(path: &Path, content: &[u8]) -> io::Result<()> {
    match write_temp(path, content)?.persist_noclobber(path) {
        Ok(_) => sync_folder(path),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    write_temp(path, content)?.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Replaces another program's file atomically, keeping its permissions.
pub(crate) fn replace_keeping_mode(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = write_temp(path, content)?;
    if let Ok(metadata) = std::fs::metadata(path) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Writes a file that may be lost or torn: readers can do without it.
pub(crate) fn write_best_effort(path: &Path, content: &[u8]) -> io::Result<()> {
    create_dir(parent_folder(path))?;
    owner_only(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?.write_all(content)
}

/// Appends to a log in one write, so that processes do not interleave; returns the new length.
pub(crate) fn append(path: &Path, content: &[u8]) -> io::Result<u64> {
    let mut file = owner_only(OpenOptions::new().append(true).create(true)).open(path)?;
    file.write_all(content)?;
    Ok(file.metadata()?.len())
}

/// Renames a file, replacing an existing one.
pub(crate) fn rename(path: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(path, to)
}

/// Reads a file of [`write_best_effort`]; `None` if it is missing, not a regular file, or too long.
pub(crate) fn read_best_effort(path: &Path) -> Option<Vec<u8>> {
    let file = neap_store::bounded_lines::open_regular(path).ok()??;
    let mut bytes = Vec::new();
    file.take(BEST_EFFORT_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= BEST_EFFORT_BYTES_MAX).then_some(bytes)
}

pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let file = open_lock(path)?;
    file.lock()?;
    Ok(file)
}

/// Like [`lock`], but returns `None` instead of waiting.
pub(crate) fn try_lock(path: &Path) -> Option<File> {
    let file = open_lock(path).ok()?;
    file.try_lock().ok().map(|()| file)
}

fn open_lock(path: &Path) -> io::Result<File> {
    owner_only(OpenOptions::new().write(true).create(true).truncate(false)).open(path)
}

/// Renames a folder; fails if the new name exists.
pub(crate) fn rename_no_clobber(from: &Path, to: &Path) -> io::Result<()> {
    neap_store::files::rename(from, to)?;
    sync_folder(to)
}

/// Device and inode of a file; `None` if unknown.
pub(crate) fn file_id(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    return Some((std::os::unix::fs::MetadataExt::dev(&metadata), std::os::unix::fs::MetadataExt::ino(&metadata)));
    #[cfg(not(unix))]
    return metadata.is_file().then_some((0, 0));
}

pub(crate) fn is_private(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077 == 0);
    #[cfg(not(unix))]
    return Ok(metadata.is_file());
}

/// A synced temporary file beside `path`, private from the start and removed unless persisted.
fn write_temp(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(parent_folder(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(parent_folder(path))?.sync_all() } else { Ok(()) }
}

fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
