//! The image: unpacked as a container runtime does, and run in it as its user.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Place, printed, remembers, run_quietly};
use crate::dist::program;

const ENDING: &str = ".oci.tar";
const LIMIT_BYTES: u64 = 40_000_000;
/// A name that only the container's own hosts file has.
const HOST: &str = "provider.test";

/// The blob that a descriptor names.
fn blob(layout: &Path, descriptor: &Value) -> Result<PathBuf> {
    let digest = descriptor["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
    let path = layout.join("blobs/sha256").join(digest.context("a descriptor has no digest")?);
    let sums = printed(Command::new("sha256sum").arg(&path))?;
    ensure!(sums.split(' ').next() == digest, "{} has another digest", path.display());
    Ok(path)
}

fn json(path: &Path) -> Result<Value> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is no JSON", path.display()))
}

#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
pub(super) fn runs(place: &Place) -> Result<()> {
    let (image, layout, root) = (place.package(ENDING)?, place.make("layout")?, place.make("image")?);
    let bytes = image.metadata().map_or(0, |metadata| metadata.len());
    run_quietly(Command::new("tar").arg("-xf").arg(&image).arg("-C").arg(&layout))?;
    let manifest = json(&blob(&layout, &json(&layout.join("index.json"))?["manifests"][0])?)?;
    let layer = blob(&layout, &manifest["layers"][0])?;
    run_quietly(place.as_root("tar").arg("-xzpf").arg(layer).arg("-C").arg(&root))?;
    let config = json(&blob(&layout, &manifest["config"])?)?;
    let config = &config["config"];
    let neap = root.join("usr/bin/neap");
    let is_static = program::is_static(&std::fs::read(&neap).context("the image has no program")?)?;
    if is_static {
        ensure!(bytes <= LIMIT_BYTES, "{bytes} bytes are more than {LIMIT_BYTES}");
    } else {
        // A program for tests gets what the scratch image of a release does without.
        add_libraries(&neap, &root)?;
    }
    ensure!(root.join("etc/ssl/certs/ca-certificates.crt").exists(), "there are no certificates");
    // As a runtime does.
    std::fs::write(root.join("etc/hosts"), format!("127.0.0.1 {HOST}\n")).context("cannot name a host")?;

    let user = config["User"].as_str().context("the image has no user")?;
    let inside = || {
        let mut chroot = place.as_root("chroot");
        if place.is_root {
            chroot.arg(format!("--userspec={user}"));
        }
        chroot.arg(&root).args(texts(&config["Entrypoint"])).env_clear();
        chroot.envs(texts(&config["Env"]).filter_map(|variable| variable.split_once('=')));
        // By which chroot itself is found.
        chroot.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        chroot
    };
    remembers(inside)?;
    asks_a_provider(inside())
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[allow(clippy::disallowed_methods, reason = "a folder in target/ that only this uses")]
fn add_libraries(neap: &Path, root: &Path) -> Result<()> {
    let list = printed(Command::new("ldd").arg(neap))?;
    for path in list.split_whitespace().filter(|word| word.starts_with('/')) {
        let copy = root.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(copy.parent().unwrap_or(root)).context("cannot make a folder for a library")?;
        std::fs::copy(path, &copy).with_context(|| format!("cannot copy {path}"))?;
    }
    Ok(())
}

/// A chat in the image asks a provider by its name: a static program must find hosts, too.
fn asks_a_provider(mut neap: Command) -> Result<()> {
    const END: &str = "end";
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen")?;
    let address = listener.local_addr().context("cannot listen")?;
    let provider = std::thread::spawn(move || {
        let mut asked = Vec::new();
        for connection in listener.incoming() {
            let Ok(mut connection) = connection else { continue };
            let head: Vec<String> = BufReader::new(&connection)
                .lines()
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty())
                .collect();
            if head.first().is_some_and(|line| line == END) {
                break;
            }
            asked.extend(head);
            // The caller may be gone.
            let _ = connection
                .write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        }
        asked
    });
    neap.args(["chat", "--model", "m", "--base-url", &format!("http://{HOST}:{}/v1", address.port())]);
    neap.env("NEAP_API_KEY", "none").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = neap.spawn().context("cannot start a chat")?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(b"hello\n").context("the chat does not read")?;
    }
    let said = child.wait_with_output().context("the chat did not end")?;
    TcpStream::connect(address)
        .and_then(|mut last| last.write_all(format!("{END}\n\n").as_bytes()))
        .context("cannot end")?;
    let Ok(asked) = provider.join() else { bail!("the provider failed") };
    let is_asked = asked.iter().any(|line| line.eq_ignore_ascii_case(&format!("host: {HOST}:{}", address.port())));
    ensure!(is_asked, "{HOST} was not asked, but {asked:?}: {}", String::from_utf8_lossy(&said.stderr));
    Ok(())
}

pub(super) fn is_read(place: &Place) -> Result<()> {
    let image = format!("oci-archive:{}", place.package(ENDING)?.display());
    let about: Value =
        serde_json::from_str(&printed(Command::new("skopeo").args(["inspect", "--config", &image]))?)
            .context("skopeo prints no JSON")?;
    ensure!(about["config"]["Volumes"]["/data"].is_object(), "skopeo sees {about}");
    run_quietly(Command::new("skopeo").args(["inspect", &image])).map(drop)
}
