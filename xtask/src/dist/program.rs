//! The program of a release: linked statically against musl, the same bytes wherever the repository lies.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::clients::can_run;
use crate::root;
use crate::test::run_timed;

/// Runs on every Linux of its processor. A static glibc would load parts of its own version at run time to find hosts.
pub(super) const TARGET: &str = "x86_64-unknown-linux-musl";
/// By the names that build scripts look for.
const COMPILERS: [&str; 2] = ["musl-gcc", "x86_64-linux-musl-gcc"];
const PROGRAM_HEADERS_AT: usize = 32;
const X86_64: u16 = 62;
const PT_INTERP: u32 = 3;

/// Takes many minutes of processor time.
pub(super) fn build(epoch: u64) -> Result<PathBuf> {
    let installed = printed("rustc", &["--print", "sysroot"])?;
    if !Path::new(&installed).join("lib/rustlib").join(TARGET).exists() {
        bail!("Rust has no libraries for {TARGET}; hint: rustup target add {TARGET}");
    }
    if !COMPILERS.iter().any(|compiler| can_run(compiler, &["--version"])) {
        bail!("there is no C compiler for musl; hint: install Debian's musl-tools, or one named {}", COMPILERS[1]);
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).context("there is no home folder")?;
    // Paths of this machine stand in messages of panics and of assertions in C.
    let places = [(root(), "/neap"), (home, "/cargo")];
    let flags =
        |flag: &str| places.each_ref().map(|(from, to)| format!("{flag}={}={to}", from.display())).join(" ");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--package", "neap", "--profile", "dist", "--target", TARGET]);
    cargo.arg("--target-dir").arg(root().join("target"));
    cargo.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS", flags("--remap-path-prefix"));
    cargo.env("CFLAGS_x86_64_unknown_linux_musl", flags("-ffile-prefix-map"));
    cargo.env("CARGO_INCREMENTAL", "0").env("SOURCE_DATE_EPOCH", epoch.to_string());
    // Those of the caller would change the bytes.
    cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("CFLAGS");
    run_timed(&format!("cargo build --profile dist --target {TARGET}"), &mut cargo)?;
    Ok(root().join("target").join(TARGET).join("dist/neap"))
}

/// A copy without what only debuggers need.
pub(super) fn strip(program: &Path, copy: &Path) -> Result<()> {
    let (program, copy) = (program.display().to_string(), copy.display().to_string());
    printed("strip", &["--output-file", &copy, &program]).map(drop)
}

/// Whether an ELF program for x86-64 needs no loader.
pub(super) fn is_static(program: &[u8]) -> Result<bool> {
    let is_ours = program.starts_with(b"\x7fELF\x02\x01") && number(program, 18, 2) == Some(X86_64.into());
    if !is_ours {
        bail!("packages are made of a program for Linux on x86-64");
    }
    let (start, size, count) =
        (number(program, PROGRAM_HEADERS_AT, 8), number(program, 54, 2), number(program, 56, 2));
    let (Some(start), Some(size), Some(count)) = (start, size, count) else { bail!("the program is cut off") };
    let kinds = (0..count).map(|nth| number(program, (start + nth * size) as usize, 4));
    Ok(!kinds.into_iter().any(|kind| kind == Some(PT_INTERP.into())))
}

fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// What a command printed, trimmed.
pub(super) fn printed(program: &str, args: &[&str]) -> Result<String> {
    let ran = Command::new(program).args(args).current_dir(root()).output();
    let ran = ran.with_context(|| format!("cannot run {program}"))?;
    if !ran.status.success() {
        bail!("{program} {} failed: {}", args.join(" "), String::from_utf8_lossy(&ran.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned())
}
