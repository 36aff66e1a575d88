//! The container image, as an OCI layout in a tar file: the program, certificates, a user without rights and a data folder.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::archive::Files;
use super::{Release, sha256};

const USER: u32 = 65_532;
const CERTIFICATES: &str = "etc/ssl/certs/ca-certificates.crt";
const PORT: &str = "6327";

pub(super) fn write(release: &Release) -> Result<()> {
    let contents = root_folder(release)?.tar(release.epoch)?;
    let layer = release.gzip(&contents)?;
    let created = release.time()?.to_string();
    let labels = json!({
        "org.opencontainers.image.title": "neap",
        "org.opencontainers.image.version": release.version,
        "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
        "org.opencontainers.image.vendor": release.publisher.author,
        "org.opencontainers.image.url": release.publisher.homepage(),
    });
    let config = json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": {format!("{PORT}/tcp"): {}},
            "Env": ["PATH=/usr/bin", "HOME=/data", "NEAP_DATA_DIR=/data"],
            "Entrypoint": ["/usr/bin/neap"],
            "Cmd": ["serve", "--listen", format!("0.0.0.0:{PORT}")],
            "Volumes": {"/data": {}},
            "WorkingDir": "/data",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&contents))]},
        "history": [{"created": created, "created_by": "cargo xtask dist"}],
    });

    let mut layout = Files::default();
    layout.add("oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#, 0o644);
    let config = add_blob(&mut layout, "config.v1+json", config.to_string().into_bytes());
    let layer = add_blob(&mut layout, "layer.v1.tar+gzip", layer);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": [layer],
        "annotations": labels,
    });
    let mut manifest = add_blob(&mut layout, "manifest.v1+json", manifest.to_string().into_bytes());
    manifest["platform"] = json!({"architecture": "amd64", "os": "linux"});
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": release.version});
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest],
    });
    layout.add("index.json", index.to_string(), 0o644);
    release.write(&release.name(".oci.tar"), &layout.tar(release.epoch)?)
}

fn root_folder(release: &Release) -> Result<Files> {
    let mut files = Files::default();
    files.add("usr/bin/neap", release.program.clone(), 0o755);
    let certificates = format!("/{CERTIFICATES}");
    let certificates = std::fs::read(&certificates)
        .with_context(|| format!("the image needs {certificates}; hint: install ca-certificates"))?;
    files.add(CERTIFICATES, certificates, 0o644);
    files.add("etc/passwd", format!("neap:x:{USER}:{USER}:neap:/data:/sbin/nologin\n"), 0o644);
    files.add("etc/group", format!("neap:x:{USER}:\n"), 0o644);
    for license in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.md"] {
        files.add(format!("usr/share/doc/neap/{license}"), release.read(license)?, 0o644);
    }
    files.add_folder("data", 0o700, USER);
    files.add_folder("tmp", 0o1777, 0);
    Ok(files)
}

/// The descriptor of what was added.
fn add_blob(layout: &mut Files, kind: &str, content: Vec<u8>) -> Value {
    let digest = sha256(&content);
    let size = content.len();
    layout.add(format!("blobs/sha256/{digest}"), content, 0o644);
    json!({
        "mediaType": format!("application/vnd.oci.image.{kind}"),
        "digest": format!("sha256:{digest}"),
        "size": size,
    })
}
