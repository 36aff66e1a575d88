//! The MCP bundle, a zip archive, and what a registry of MCP servers is told of it.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use serde_json::{Value, json};

use super::Release;
use super::archive::Files;

pub(super) fn write(release: &Release) -> Result<()> {
    let mut manifest = read(release, "packaging/mcpb/manifest.json")?;
    // It has the program of one platform.
    manifest["compatibility"]["platforms"] = json!(["linux"]);
    if let Some(config) = manifest["server"]["mcp_config"].as_object_mut() {
        config.remove("platform_overrides");
    }
    let mut files = Files::default();
    files.add("manifest.json", format!("{manifest:#}\n"), 0o644);
    files.add("server/neap", release.program.clone(), 0o755);
    let name = release.name(".mcpb");
    release.write(&name, &zip(&files, release.level)?)?;

    let mut server = read(release, "packaging/server.json")?;
    server["packages"] = json!([{
        "registryType": "mcpb",
        "identifier": release.publisher.address_of(&release.version, &name),
        "version": release.version,
        "fileSha256": release.digest_of(&name)?,
        "transport": {"type": "stdio"},
    }]);
    release.write("server.json", format!("{server:#}\n").as_bytes())
}

fn read(release: &Release, path: &str) -> Result<Value> {
    serde_json::from_slice(&release.read(path)?).with_context(|| format!("{path} is no JSON"))
}

/// Compressed files, all of 1980, the first year that a zip archive can name.
fn zip(files: &Files, level: Compression) -> Result<Vec<u8>> {
    let (mut archive, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    for (path, mode, content) in files.all() {
        let mut deflate = DeflateEncoder::new(Vec::new(), level);
        let packed = deflate.write_all(content).and_then(|()| deflate.finish()).context("cannot compress")?;
        let mut crc = Crc::new();
        crc.update(content);
        let mut about = Vec::new();
        // Version 2.0, no flags, deflated, midnight of 1980-01-01.
        about.extend([20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0]);
        about.extend(crc.sum().to_le_bytes());
        about.extend(length(&packed)?.to_le_bytes());
        about.extend(length(content)?.to_le_bytes());
        about.extend(u16::try_from(path.len())?.to_le_bytes());
        about.extend([0, 0]);

        let start = length(&archive)?;
        archive.extend(b"PK\x03\x04");
        archive.extend(&about);
        archive.extend(path.bytes());
        archive.extend(packed);

        // Made on Unix, so that the mode counts.
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(about);
        directory.extend([0; 6]);
        directory.extend(((0o100_000 | mode) << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(path.bytes());
        count += 1;
    }
    let start = length(&archive)?;
    let size = length(&directory)?;
    archive.extend(directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend(size.to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    Ok(archive)
}

fn length(bytes: &[u8]) -> Result<u32> {
    u32::try_from(bytes.len()).context("too large for a zip archive")
}
