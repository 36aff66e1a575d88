//! Makes the packages of a release, and checks each as far as this machine allows.

mod archive;
mod bundle;
mod check;
mod clients;
mod deb;
mod formula;
mod image;
mod program;
mod publisher;
mod sbom;
mod tarball;
mod texts;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::Compression;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::root;
use archive::Files;
use publisher::Publisher;
use texts::Texts;

const USAGE: &str = "usage: cargo xtask dist [--out DIR] [--program PATH] | --check DIR";
const SUMS: &str = "SHA256SUMS";
/// With the headers of the program.
const BEGINNING_BYTES: usize = 4096;

/// What all packages of one release share.
struct Release {
    version: String,
    /// The time of all files: that of the last commit, or SOURCE_DATE_EPOCH.
    epoch: u64,
    level: Compression,
    program: Vec<u8>,
    program_path: PathBuf,
    is_static: bool,
    texts: Texts,
    publisher: Publisher,
    out: PathBuf,
}

/// `dist [--out DIR] [--program PATH]` builds the program unless one is given; `dist --check DIR` only checks packages.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let (mut out, mut program) = (root().join("target/packages"), None);
    let mut args = args.iter();
    while let Some(flag) = args.next() {
        let value = args.next().with_context(|| format!("{flag} needs a value\n{USAGE}"))?;
        match flag.as_str() {
            "--out" => out = PathBuf::from(value),
            "--program" => program = Some(PathBuf::from(value)),
            "--check" => return check(Path::new(value)),
            _ => bail!("{flag} is not known\n{USAGE}"),
        }
    }
    let epoch = epoch()?;
    let program = program.map_or_else(|| program::build(epoch), Ok)?;
    let left_out = make(&program, Texts::of(&program)?, &out, epoch, Compression::default())?;
    print_sizes(&out)?;
    check(&out)?;
    if left_out.is_empty() { Ok(()) } else { bail!("not made: {}", left_out.join("; ")) }
}

fn check(out: &Path) -> Result<()> {
    check::run(out)?.iter().for_each(|note| println!("── not checked: {note}"));
    Ok(())
}

/// Makes the packages of a program that is there in a folder, which is emptied. Returns those that this machine cannot make.
#[allow(clippy::disallowed_methods, reason = "a folder of packages is made anew")]
fn make(program: &Path, texts: Texts, out: &Path, epoch: u64, level: Compression) -> Result<Vec<String>> {
    let started = Instant::now();
    let program = std::path::absolute(program).context("the program's path is empty")?;
    let out = std::path::absolute(out).context("the folder's path is empty")?;
    let is_foreign = |entry: &std::fs::DirEntry| entry.file_name() != SUMS && !out.join(SUMS).exists();
    if std::fs::read_dir(&out)
        .is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|one| is_foreign(&one))))
    {
        bail!("{} has files that are no packages; hint: name an empty folder with --out", out.display());
    }
    // There may be none yet.
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;

    let content = std::fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    let release = Release {
        version: publisher::version()?,
        epoch,
        level,
        is_static: program::is_static(&content)?,
        program: content,
        texts,
        publisher: Publisher::read()?,
        program_path: program,
        out,
    };
    let release = &release;
    let left_out = std::thread::scope(|scope| {
        let makers: [fn(&Release) -> Result<()>; 4] = [deb::write, image::write, bundle::write, sbom::write];
        let makers = makers.map(|write| scope.spawn(move || write(release)));
        tarball::write(release).and_then(|()| formula::write(release))?;
        let left_out = clients::write(release)?;
        for maker in makers {
            maker.join().map_err(|_| anyhow!("making a package panicked"))??;
        }
        anyhow::Ok(left_out)
    })?;
    release.write(SUMS, release.sums()?.as_bytes())?;
    println!("── packages in {}: {} s", release.out.display(), started.elapsed().as_secs());
    Ok(left_out)
}

impl Release {
    fn name(&self, ending: &str) -> String {
        format!("neap-{}-linux-x86_64{ending}", self.version)
    }

    fn time(&self) -> Result<Timestamp> {
        let seconds = i64::try_from(self.epoch).context("the time is too late")?;
        Timestamp::from_second(seconds).context("the time is too late")
    }

    fn gzip(&self, data: &[u8]) -> Result<Vec<u8>> {
        archive::gzip(data, self.level)
    }

    fn tar_gz(&self, files: &Files) -> Result<Vec<u8>> {
        self.gzip(&files.tar(self.epoch)?)
    }

    fn read(&self, path: &str) -> Result<Vec<u8>> {
        std::fs::read(root().join(path)).with_context(|| format!("cannot read {path}"))
    }

    #[allow(clippy::disallowed_methods, reason = "a folder of packages is made anew")]
    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        std::fs::write(self.out.join(name), content).with_context(|| format!("cannot write {name}"))
    }

    /// The digest of a package that is made.
    fn digest_of(&self, name: &str) -> Result<String> {
        Ok(sha256(&std::fs::read(self.out.join(name)).with_context(|| format!("cannot read {name}"))?))
    }

    fn sums(&self) -> Result<String> {
        let mut lines = String::new();
        for (name, _) in listed(&self.out)? {
            lines += &format!("{}  {name}\n", self.digest_of(&name)?);
        }
        Ok(lines)
    }
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The packages of a folder by name, with their sizes.
fn listed(folder: &Path) -> Result<Vec<(String, u64)>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let size = |entry: &std::fs::DirEntry| entry.metadata().map_or(0, |metadata| metadata.len());
    let mut files: Vec<(String, u64)> =
        entries.flatten().map(|entry| (entry.file_name().to_string_lossy().into_owned(), size(&entry))).collect();
    files.sort();
    Ok(files)
}

fn print_sizes(out: &Path) -> Result<()> {
    for (name, bytes) in listed(out)? {
        println!("{bytes:>12} bytes  {name}");
    }
    Ok(())
}

/// Packages of the program that tests use, checked; then, twice and from two places, packages of its first bytes: they are equal.
#[allow(clippy::disallowed_methods, reason = "folders in target/ that only this uses")]
pub(crate) fn test(skips: &Path) -> Result<()> {
    let (folder, epoch) = (root().join("target/package-test"), epoch()?);
    std::fs::create_dir_all(&folder).context("cannot make a folder for packages")?;
    let program = folder.join("neap");
    // What only debuggers need is most of it, and takes long to compress.
    program::strip(&root().join("target/debug/neap"), &program)?;
    let out = folder.join("packages");
    let mut skipped = make(&program, Texts::of(&program)?, &out, epoch, Compression::fast())?;
    skipped.extend(check::run(&out)?);

    let beginning = std::fs::read(&program).context("cannot read the program")?;
    let mut sums = Vec::new();
    for place in ["one", "another/place"] {
        let (copy, out) = (folder.join(place).join("neap"), folder.join(place).join("packages"));
        std::fs::create_dir_all(folder.join(place)).context("cannot make a folder for packages")?;
        std::fs::write(&copy, &beginning[..beginning.len().min(BEGINNING_BYTES)])
            .context("cannot copy the program")?;
        make(&copy, Texts::of(&program)?, &out, epoch, Compression::fast())?;
        sums.push(std::fs::read_to_string(out.join(SUMS)).context("there are no sums")?);
    }
    ensure!(sums[0] == sums[1], "two runs made other packages:\n{}\n{}", sums[0], sums[1]);
    for (number, what) in skipped.iter().enumerate() {
        std::fs::write(skips.join(format!("packages-{number}")), what).context("cannot count a skipped test")?;
    }
    Ok(())
}

/// Of SOURCE_DATE_EPOCH, otherwise of the last commit.
pub(crate) fn epoch() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => program::printed("git", &["log", "-1", "--format=%ct"])?,
    };
    text.parse().with_context(|| format!("{text} is no time in seconds"))
}
