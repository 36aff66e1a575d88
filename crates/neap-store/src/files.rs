//! The one place of this crate that touches the file system: files for the owner's eyes only, replaced whole or
//! not at all.
#![allow(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use neap_core::ids::Stamp;

use crate::StoreError;

/// The error by what a caller can do about it; `other` names the rest.
pub(crate) fn named(path: &Path, error: &io::Error, other: impl FnOnce(PathBuf) -> StoreError) -> StoreError {
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

/// Makes a directory and those above it; new ones are closed to others.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes an empty file closed to others, unless there is one.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    match private(OpenOptions::new().write(true).create_new(true)).open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e),
    }
}

/// Makes an empty file closed to others, and a directory for it, where there is none.
pub(crate) fn create_new(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), create_dir)?;
    private(OpenOptions::new().write(true).create_new(true)).open(path).map(|_| ())
}

/// A file to read; none if there is no file. What is no regular file is refused: a pipe that nobody writes to would be waited for, and a
/// device may never end.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Without this, opening a pipe waits for whoever writes to it.
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

/// A part of a file, as much of it as there is; nothing if there is no file.
pub(crate) fn read_at(path: &Path, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let Some(mut file) = open(path)? else { return Ok(Vec::new()) };
    file.seek(SeekFrom::Start(offset))?;
    let mut part = Vec::new();
    file.take(bytes).read_to_end(&mut part)?;
    Ok(part)
}

/// When a file or directory last changed; none if that cannot be told.
pub(crate) fn changed(path: &Path) -> Option<Stamp> {
    let at = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Stamp)
}

/// Writes over the beginning of a file, which is made if need be, in one system call and without waiting for the disk.
pub(crate) fn overwrite(path: &Path, content: &[u8]) -> io::Result<()> {
    refuse_link(path)?;
    let mut file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
    file.write_all(content)?;
    let length = content.len() as u64;
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

/// The first bytes of a file, as many as fit or as it has; none if there is no file.
pub(crate) fn read_start(path: &Path, bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else { return Ok(None) };
    let mut start = Vec::new();
    file.take(bytes).read_to_end(&mut start)?;
    Ok(Some(start))
}

/// A file's length; none if there is no file.
pub(crate) fn size(path: &Path) -> io::Result<Option<u64>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Puts new content in a file's place: after a crash there is the old or the new, whole. A file that has the
/// content already is left alone, which spares the wait for the disk.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if !is_link(path) && read(path, content.len() as u64).ok().flatten().as_deref() == Some(content) {
        return Ok(());
    }
    let temp = beside(path)?;
    let written = write_new(&temp, content).and_then(|()| fs::rename(&temp, path));
    if written.is_err() {
        let _ = fs::remove_file(&temp);
    }
    written
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private(OpenOptions::new().write(true).create(true).truncate(true)).open(path)?;
    file.write_all(content)?;
    // What is empty is whole already.
    if content.is_empty() { Ok(()) } else { file.sync_all() }
}

/// A name in the same directory, so that a rename replaces in one step.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
    let mut temp = std::ffi::OsString::from(".");
    temp.push(name);
    temp.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(temp))
}

/// The whole of a file, if it is no longer than `bytes_max`; none if there is no file.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    let content = read_start(path, bytes_max.saturating_add(1))?;
    if content.as_ref().is_some_and(|content| content.len() as u64 > bytes_max) {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is longer than {bytes_max} bytes")));
    }
    Ok(content)
}

/// Copies of files, under their own names, in a directory that is removed when it is dropped.
pub(crate) fn copy_of(paths: &[&Path]) -> io::Result<tempfile::TempDir> {
    let copy = tempfile::tempdir()?;
    for path in paths {
        let name = path.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
        let Some(mut from) = open(path)? else { continue };
        let mut to = private(OpenOptions::new().write(true).create_new(true)).open(copy.path().join(name))?;
        io::copy(&mut from, &mut to)?;
    }
    Ok(copy)
}

/// Adds to the end of a file, which is made if need be, and waits until it is on disk.
pub(crate) fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    refuse_link(path)?;
    let mut file = private(OpenOptions::new().append(true).create(true)).open(path)?;
    file.write_all(content)?;
    file.sync_data()
}

/// Cuts a file to a length that it had before.
pub(crate) fn truncate(path: &Path, bytes: u64) -> io::Result<()> {
    refuse_link(path)?;
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(bytes)?;
    file.sync_data()
}

/// Removes a file, if there is one.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes a directory with all in it, if there is one. What links point to stays.
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    refuse_link(path)?;
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// A path that is a symbolic link leads to where we were not sent.
pub(crate) fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            Err(io::Error::new(ErrorKind::InvalidInput, format!("{} is a symbolic link", path.display())))
        }
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Waits until no other process holds the lock, which is let go when the file is dropped or its process ends.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    refuse_link(path)?;
    let file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
    file.lock()?;
    Ok(file)
}

/// Gives a file or directory another name, which nothing may have yet.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if size(to)?.is_some() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, format!("{} exists already", to.display())));
    }
    fs::rename(from, to)
}

/// Whether the path is a directory, and not a link to one.
pub(crate) fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// The names in a directory, in order; none if there is no directory.
pub(crate) fn names(path: &Path) -> io::Result<Vec<String>> {
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

/// The path without links and dots, if it exists.
pub(crate) fn resolve(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}
