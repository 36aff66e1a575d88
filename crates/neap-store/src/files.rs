//! All file system access of this crate. Files are private to their owner, and replaced atomically.
#![allow(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use neap_core::base::ids::Stamp;

use crate::StoreError;

/// Maps full disks and missing permissions to their own errors; `other` builds the error for the rest.
pub fn io_store_error(path: &Path, error: &io::Error, other: impl FnOnce(PathBuf) -> StoreError) -> StoreError {
    let path = path.to_owned();
    let is = |kinds: &[ErrorKind]| kinds.contains(&error.kind());
    if is(&[ErrorKind::StorageFull, ErrorKind::QuotaExceeded]) {
        StoreError::Full { path }
    } else if is(&[ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem]) {
        StoreError::ReadOnly { path }
    } else {
        other(path)
    }
}

/// Creates a directory and its parents; new ones are private to the owner.
pub fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates an empty private file, unless one exists.
pub fn create_private(path: &Path) -> io::Result<()> {
    match owner_only(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
}

/// Creates an empty private file, and its directory; fails if the file exists.
pub fn create_new(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), create_dir)?;
    owner_only(OpenOptions::new().write(true).create_new(true)).open(path).map(|_| ())
}

/// `None` if there is no file. Refuses all but regular files: a pipe may block, a device may never end.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Without this, opening a pipe blocks until it has a writer.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(e),
    };
    if file.metadata()?.is_file() {
        Ok(Some(file))
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// Reads at most `bytes` bytes from `offset`; nothing if the file does not exist.
pub fn read_at(path: &Path, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let Some(mut file) = open_regular(path)? else { return Ok(Vec::new()) };
    file.seek(SeekFrom::Start(offset))?;
    let mut part = Vec::new();
    file.take(bytes).read_to_end(&mut part)?;
    Ok(part)
}

/// When a file or directory last changed; `None` if unknown.
pub fn modified_at(path: &Path) -> Option<Stamp> {
    let at = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Stamp)
}

/// Overwrites a file, creating it if needed, in one write call and without syncing to disk.
pub fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    refuse_link(path)?;
    let mut file = owner_only(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
    file.write_all(content)?;
    let length = content.len() as u64;
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

pub fn read_start(path: &Path, bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_regular(path)? else { return Ok(None) };
    let mut start = Vec::new();
    file.take(bytes).read_to_end(&mut start)?;
    Ok(Some(start))
}

pub fn file_len(path: &Path) -> io::Result<Option<u64>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata.len())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// New files are readable by their owner only.
pub fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Atomic: after a crash the file has the old or the new content. Identical content is not written again.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if !is_link(path) && read(path, content.len() as u64).ok().flatten().as_deref() == Some(content) {
        return Ok(());
    }
    let temp = temp_path(path)?;
    let written = write_new(&temp, content).and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        let _ = fs::remove_file(&temp);
    }
    written
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = owner_only(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
    file.write_all(content)?;
    // An empty file needs no sync.
    if content.is_empty() { Ok(()) } else { file.sync_all() }
}

/// In the same directory, so that a rename replaces the file in one step.
fn temp_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
    let mut temp = std::ffi::OsString::from(".");
    temp.push(name);
    temp.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temp))
}

/// The whole file, or an error if it is longer than `bytes_max`; `None` if it does not exist.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let content = read_start(path, bytes_max.saturating_add(1))?;
    if content.as_ref().is_some_and(|content| content.len() as u64 > bytes_max) {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {bytes_max} bytes")));
    }
    Ok(content)
}

/// Copies files, under their own names, into a directory that is removed on drop.
pub fn copy_to_temp(paths: &[&Path]) -> io::Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    for path in paths {
        let name = path.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
        let Some(mut from) = open_regular(path)? else { continue };
        let mut to = owner_only(OpenOptions::new().write(true).create_new(true)).open(copy.path().join(name))?;
        io::copy(&mut from, &mut to)?;
    }
    Ok(copy)
}

/// Appends to a file, creating it if needed, and syncs it to disk.
pub fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    refuse_link(path)?;
    let mut file = owner_only(OpenOptions::new().append(true).create(true)).open(path)?;
    file.write_all(content)?;
    file.sync_data()
}

pub fn truncate(path: &Path, bytes: u64) -> io::Result<()> {
    refuse_link(path)?;
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(bytes)?;
    file.sync_data()
}

pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes a directory and everything in it, if it exists. Targets of links stay.
pub fn remove_dir(path: &Path) -> io::Result<()> {
    refuse_link(path)?;
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

/// Fails on a symbolic link: it leads to a place that we were not sent to.
pub fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => {
            Err(io::Error::new(ErrorKind::InvalidInput, format!("{} is a symbolic link", path.display())))
        }
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Waits for an exclusive lock, which is released when the file is dropped or its process ends.
pub fn lock(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    let file = owner_only(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Renames a file or directory; fails if `to` exists.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if file_len(to)?.is_some() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, format!("{} exists already", to.display())));
    }
    fs::rename(from, to)
}

/// Whether the path is a directory, not a link to one.
pub fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The sorted names in a directory; empty if it does not exist.
pub fn list_dir(path: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}
