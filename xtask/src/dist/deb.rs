//! The Debian package: an `ar` archive of what it is and what it installs.

use anyhow::Result;
use flate2::Compression;

use super::Release;
use super::archive::{Files, gzip};

pub(super) fn write(release: &Release) -> Result<()> {
    let mut installed = Files::default();
    installed.add("usr/bin/neap", release.program.clone(), 0o755);
    for (name, page) in release.texts.manual.contents() {
        installed.add(format!("usr/share/man/man1/{name}.gz"), gzip(page, Compression::best())?, 0o644);
    }
    let completions = [
        ("neap.bash", "bash-completion/completions/neap"),
        ("_neap", "zsh/vendor-completions/_neap"),
        ("neap.fish", "fish/vendor_completions.d/neap.fish"),
    ];
    for (name, script) in release.texts.completions.contents() {
        if let Some((_, path)) = completions.iter().find(|(known, _)| *known == name) {
            installed.add(format!("usr/share/{path}"), script, 0o644);
        }
    }
    let documents =
        [("changelog.gz", changelog(release)?.into_bytes()), ("NEWS.gz", release.read("CHANGELOG.md")?)];
    for (name, text) in documents {
        installed.add(format!("usr/share/doc/neap/{name}"), gzip(&text, Compression::best())?, 0o644);
    }
    installed.add("usr/share/doc/neap/copyright", copyright(release)?, 0o644);

    let mut about = Files::default();
    about.add("control", control(release, &installed), 0o644);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", release.tar_gz(&about)?),
        ("data.tar.gz", release.tar_gz(&installed)?),
    ];
    release.write(&format!("neap_{}_amd64.deb", release.version), &ar(&members, release.epoch))
}

fn control(release: &Release, installed: &Files) -> String {
    let kib: usize = installed.contents().map(|(_, content)| content.len().div_ceil(1024)).sum();
    let needs = if release.is_static { "" } else { "Depends: libc6, libgcc-s1\n" };
    let publisher = &release.publisher;
    format!(
        "Package: neap\nVersion: {}\nArchitecture: amd64\nMaintainer: {} <{}>\nInstalled-Size: {kib}\n{needs}\
         Recommends: ca-certificates\nSection: utils\nPriority: optional\nHomepage: {}\n\
         Description: bounded context and long-term memory for LLM agents\n {}\n",
        release.version,
        publisher.author,
        publisher.email(),
        publisher.homepage(),
        "Neap keeps the context of an agent's model within a token budget, and its whole\n history within reach: \
         as a chat, a proxy, an MCP server and hooks of agents."
    )
}

/// In Debian's form, which has no room for more than what came with the version.
fn changelog(release: &Release) -> Result<String> {
    let (publisher, version) = (&release.publisher, &release.version);
    let time = release.time()?.strftime("%a, %d %b %Y %H:%M:%S +0000");
    Ok(format!(
        "neap ({version}) unstable; urgency=medium\n\n  * What is new is in NEWS.gz.\n\n -- {} <{}>  {time}\n",
        publisher.author,
        publisher.email()
    ))
}

fn copyright(release: &Release) -> Result<String> {
    let mut text =
        format!("Neap, by {}. Licensed under Apache-2.0 or MIT, at your choice.\n", release.publisher.author);
    for name in ["LICENSE-MIT", "THIRD-PARTY.md"] {
        text.push('\n');
        text.push_str(&String::from_utf8_lossy(&release.read(name)?));
    }
    Ok(text + "\nThe Apache License is in /usr/share/common-licenses/Apache-2.0.\n")
}

/// Each file behind sixty bytes that say its name, time, owners, mode and length.
fn ar(members: &[(&str, Vec<u8>)], epoch: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let length = content.len();
        archive.extend_from_slice(format!("{name:<16}{epoch:<12}0     0     100644  {length:<10}`\n").as_bytes());
        archive.extend_from_slice(content);
        if length % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}
