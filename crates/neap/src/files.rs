//! The one place of this crate that changes files: what it makes is for the owner's eyes only.
#![allow(clippy::disallowed_methods, reason = "this is the module that the ban points to")]

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use tempfile::NamedTempFile;

const NOTE_BYTES_MAX: u64 = 16 << 20;

/// Makes a file that must not be there yet.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes a directory and those above it.
pub(crate) fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a file that appears with all of its content or not at all; leaves one that is there as it is.
pub(crate) fn create_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    match prepared(path, content)?.persist_noclobber(path) {
        Ok(_) => sync_folder(path),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

/// Replaces a file whole.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    prepared(path, content)?.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Replaces somebody else's file whole; who may read it stays as it was.
pub(crate) fn rewrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = prepared(path, content)?;
    if let Ok(found) = std::fs::metadata(path) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(path)
}

/// Writes a note that may be lost or torn: whoever reads it can do without.
pub(crate) fn note(path: &Path, content: &[u8]) -> io::Result<()> {
    create_dir(folder(path))?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(content)
}

/// Adds to the end of a log, all at once; gives how long it is. What several processes add does not mix.
pub(crate) fn append(path: &Path, content: &[u8]) -> io::Result<u64> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    Ok(file.metadata()?.len())
}

/// Gives a log another name, in place of whatever had it.
pub(crate) fn rotate(path: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(path, to)
}

/// What such a note says; none if it is not there, is no file, or is far too long.
pub(crate) fn read_note(path: &Path) -> Option<Vec<u8>> {
    let file = neap_store::reading::open(path).ok()??;
    let mut bytes = Vec::new();
    file.take(NOTE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= NOTE_BYTES_MAX).then_some(bytes)
}

/// Keeps others who ask for the same lock waiting until the file is dropped.
pub(crate) fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    file.lock()?;
    Ok(file)
}

/// The same for one who does not wait: none if somebody has it.
pub(crate) fn try_lock(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).ok()?;
    file.try_lock().ok().map(|()| file)
}

/// Gives a folder another name, which nothing may have yet.
pub(crate) fn set_aside(from: &Path, to: &Path) -> io::Result<()> {
    if to.symlink_metadata().is_ok() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, format!("{} exists already", to.display())));
    }
    std::fs::rename(from, to)?;
    sync_folder(to)
}

/// Which file is at a path, whatever it is called: none where there is none, or where that cannot be told.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    return Some((std::os::unix::fs::MetadataExt::dev(&found), std::os::unix::fs::MetadataExt::ino(&found)));
    #[cfg(not(unix))]
    return found.is_file().then_some((0, 0));
}

/// Whether nobody but its owner may read or change a file.
pub(crate) fn is_private(file: &File) -> io::Result<bool> {
    let found = file.metadata()?;
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o077 == 0);
    #[cfg(not(unix))]
    return Ok(found.is_file());
}

/// The content on disk, under a name that is taken away again if it is not used; private from its beginning.
fn prepared(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(folder(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a file, if there is one.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
