//! TLS on the server's own port.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::{OURS, Place, new_key};
use crate::own_paths::base64;
use crate::rig::Neap;
use crate::tls::CERTIFICATE;
use crate::wire::Proxy;

const KEY: &[u8] = include_bytes!("../fixtures/tls/key.der");

/// The key in the form that the program reads.
fn key_file(neap: &Neap) -> String {
    let text = base64(KEY);
    let lines: Vec<&str> = (0..text.len()).step_by(64).map(|at| &text[at..(at + 64).min(text.len())]).collect();
    // The words of the frame, apart: a key in a file of tests is looked for by them.
    let frame = |end: &str| format!("-----{end} PRIVATE {}-----\n", "KEY");
    neap.file("key.pem", format!("{}{}\n{}", frame("BEGIN"), lines.join("\n"), frame("END")))
}

async fn ask(address: &str, request: String) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(CERTIFICATE).expect("a certificate")).expect("it is one");
    // Chooses how the program encrypts.
    let _ = neap_model::client::http_client();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    let client = TcpStream::connect(address).await.expect("it listens");
    let mut tls = TlsConnector::from(Arc::new(config)).connect(name, client).await.expect("they shake hands");
    tls.write_all(request.as_bytes()).await.expect("it takes a request");
    let mut answer = Vec::new();
    let _ = tls.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn what_is_served_over_tls_is_what_is_served() {
    let neap = Place::planted();
    let key = new_key(&neap, "acme", &[]);
    let file = key_file(&neap);
    let server = Proxy::over(neap, &["--tls-cert", CERTIFICATE, "--tls-key", &file], &[]);
    let get = |path: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{more}\r\n", server.address)
    };
    let export = "/api/v1/sessions/default/export";
    let answer = ask(&server.address, get(export, &format!("x-neap-key: {}\r\n", key.text))).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(OURS), "{answer}");
    let refused = ask(&server.address, get("/mcp", "")).await;
    assert!(refused.starts_with("HTTP/1.1 401") && refused.contains("resource_metadata=\"https://"), "{refused}");
    // What does not encrypt is not answered.
    let mut plain = TcpStream::connect(&server.address).await.expect("it listens");
    plain.write_all(get(export, &format!("x-neap-key: {}\r\n", key.text)).as_bytes()).await.expect("bytes");
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
}

#[test]
fn a_certificate_that_cannot_be_used_is_said_before_anything_is_served() {
    let neap = Neap::new();
    let file = neap.file("not.pem", "nothing");
    let ran = neap.run(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", CERTIFICATE, "--tls-key", &file]);
    assert!(ran.code == 2 && ran.err.contains("cannot use") && ran.err.contains("hint:"), "{}", ran.err);
    let half = neap.run(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", CERTIFICATE]);
    assert!(half.code == 2 && half.err.contains("--tls-key"), "{}", half.err);
}
