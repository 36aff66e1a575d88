//! Puts the git commit into the binary, where there is one.

use std::process::Command;

fn main() {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|text| !text.is_empty());
    println!("cargo::rustc-env=NEAP_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    if let Some(dir) = git(&["rev-parse", "--absolute-git-dir"]) {
        println!("cargo::rerun-if-changed={dir}/HEAD");
        println!("cargo::rerun-if-changed={dir}/logs/HEAD");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
