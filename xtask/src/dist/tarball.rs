//! The archive for any Linux: one folder with the program and what belongs to it.

use anyhow::Result;

use super::Release;
use super::archive::Files;

const DOCUMENTS: [&str; 5] = ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "THIRD-PARTY.md"];

pub(super) fn write(release: &Release) -> Result<()> {
    let mut files = Files::default();
    let folder = release.name("");
    files.add(format!("{folder}/neap"), release.program.clone(), 0o755);
    for name in DOCUMENTS {
        files.add(format!("{folder}/{name}"), release.read(name)?, 0o644);
    }
    files.extend(&format!("{folder}/completions"), &release.texts.completions);
    files.extend(&format!("{folder}/man"), &release.texts.manual);
    release.write(&release.name(".tar.gz"), &release.tar_gz(&files)?)
}
