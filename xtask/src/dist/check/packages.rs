//! The packages that are installed in a folder.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Place, printed, run_quietly, works};
use crate::dist::{SUMS, listed};

pub(super) fn digests(place: &Place) -> Result<()> {
    run_quietly(Command::new("sha256sum").args(["--check", "--strict", SUMS]).current_dir(&place.out))?;
    let sums = std::fs::read_to_string(place.out.join(SUMS)).context("there are no sums")?;
    for (name, _) in listed(&place.out)? {
        ensure!(name == SUMS || sums.contains(&format!("  {name}\n")), "{name} has no digest");
    }
    Ok(())
}

/// The folder in the archive.
fn unpacked(place: &Place) -> Result<std::path::PathBuf> {
    let archive = place.package(".tar.gz")?;
    let folder = place.make("archive")?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy().replace(".tar.gz", "");
    if !folder.join(&name).exists() {
        run_quietly(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&folder))?;
    }
    Ok(folder.join(name))
}

pub(super) fn archive(place: &Place) -> Result<()> {
    works(&unpacked(place)?.join("neap"), &place.make("archive-data")?)
}

pub(super) fn bash(place: &Place) -> Result<()> {
    let script = unpacked(place)?.join("completions/neap.bash");
    let asked =
        "source \"$1\"; COMP_WORDS=(neap sess); COMP_CWORD=1; _neap neap sess neap; echo \"${COMPREPLY[@]}\"";
    let offered = printed(Command::new("bash").args(["-euc", asked, "bash"]).arg(&script))?;
    ensure!(offered.trim() == "session", "bash offers {offered:?}");
    Ok(())
}

/// Every page, without a warning.
pub(super) fn manual(place: &Place) -> Result<()> {
    let mut pages = std::fs::read_dir(unpacked(place)?.join("man")).context("there is no manual")?;
    let mut man = Command::new("man");
    man.args(["--warnings=all", "--local-file"]).envs([
        ("MANWIDTH", "100"),
        ("LC_ALL", "C.UTF-8"),
        ("MANPAGER", "cat"),
    ]);
    let shown = run_quietly(pages.try_fold(&mut man, |man, page| page.map(|page| man.arg(page.path())))?)?;
    let (text, warnings) = (String::from_utf8_lossy(&shown.stdout), String::from_utf8_lossy(&shown.stderr));
    ensure!(warnings.is_empty(), "{warnings}");
    for part in ["SYNOPSIS", "--data-dir", "neap-session-list", "neap chat --session work"] {
        ensure!(text.contains(part), "the manual does not have {part}");
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
pub(super) fn deb(place: &Place) -> Result<()> {
    let (package, root) = (place.package(".deb")?, place.make("deb")?);
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"] {
        place.make(&format!("deb/{folder}"))?;
    }
    for file in ["status", "available"] {
        std::fs::write(root.join("var/lib/dpkg").join(file), "").context("cannot write for dpkg")?;
    }
    let dpkg = || {
        let mut dpkg = place.as_root("dpkg");
        // The folder has no other packages, such as a C library.
        dpkg.arg("--root").arg(&root).args(["--force-depends", "--log=/dev/null"]);
        dpkg
    };
    run_quietly(dpkg().arg("--install").arg(&package))?;
    works(&root.join("usr/bin/neap"), &place.make("deb-data")?)?;
    for path in
        ["share/man/man1/neap-chat.1.gz", "share/bash-completion/completions/neap", "share/doc/neap/copyright"]
    {
        ensure!(root.join("usr").join(path).exists(), "{path} is not installed");
    }
    run_quietly(dpkg().args(["--purge", "neap"]))?;
    ensure!(!root.join("usr/bin/neap").exists(), "the program is still there");
    Ok(())
}

pub(super) fn wheel(place: &Place) -> Result<()> {
    let (wheel, folder) = (place.package(".whl")?, place.make("wheel")?);
    run_quietly(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    let pip = ["-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"];
    run_quietly(Command::new(folder.join("bin/python")).args(pip).arg(&wheel))?;
    works(&folder.join("bin/neap"), &place.make("wheel-data")?)
}

#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
pub(super) fn npm(place: &Place) -> Result<()> {
    let (app, data) = (place.make("npm")?, place.make("npm-data")?);
    std::fs::write(app.join("package.json"), "{\"type\": \"module\"}").context("cannot write a package")?;
    std::fs::write(app.join("app.js"), APP).context("cannot write a program")?;
    let tarballs = listed(&place.out)?.into_iter().filter(|(name, _)| name.ends_with(".tgz"));
    let mut npm = Command::new("npm");
    npm.args(["install", "--offline", "--silent", "--no-audit", "--no-fund"]);
    run_quietly(npm.args(tarballs.map(|(name, _)| place.out.join(name))).current_dir(&app))?;
    works(&app.join("node_modules/.bin/neap"), &data)?;
    let mut node = Command::new("node");
    node.arg("app.js").current_dir(&app).env("NEAP_DATA_DIR", &data).env_remove("NEAP_BIN");
    let said = printed(&mut node)?;
    ensure!(said.contains("The certificate is called heron-17."), "it found {said:?}");
    Ok(())
}

/// It finds its program, starts a server, and ends it.
const APP: &str = r#"import { Neap } from "neap";
const neap = await Neap.connect();
await neap.recordTurn("app", "what is the certificate called?", "The certificate is called heron-17.");
console.log(JSON.stringify(await neap.search("certificate")));
await neap.close();
"#;

pub(super) fn bundle(place: &Place) -> Result<()> {
    let (bundle, folder) = (place.package(".mcpb")?, place.make("bundle")?);
    // As hosts do, by what the archive says of each file's mode.
    let unpack = "import os, sys, zipfile\nwith zipfile.ZipFile(sys.argv[1]) as bundle:\n  for entry in bundle.infolist():\n    \
                  os.chmod(bundle.extract(entry, sys.argv[2]), entry.external_attr >> 16)";
    run_quietly(Command::new("python3").args(["-c", unpack]).arg(&bundle).arg(&folder))?;
    works(&folder.join("server/neap"), &place.make("bundle-data")?)
}

pub(super) fn formula(place: &Place) -> Result<()> {
    let formula = place.package(".rb")?;
    let text = std::fs::read_to_string(&formula).context("there is no formula")?;
    let archive = place.package(".tar.gz")?;
    let sums = printed(Command::new("sha256sum").arg(&archive))?;
    let digest = sums.split(' ').next().unwrap_or_default();
    ensure!(text.contains(&format!("sha256 \"{digest}\"")), "the formula has another digest");
    run_quietly(Command::new("ruby").arg("-c").arg(&formula)).map(drop)
}
