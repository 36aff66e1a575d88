//! `neap access`, and what it changes for a server that runs.

use serde_json::Value;

use super::{OURS, Place, new_key, on_tenant, read_key};
use crate::rig::Neap;
use crate::wait::comes_true;
use crate::wire::Proxy;

#[test]
fn tenants_are_added_listed_and_removed_by_their_name_typed_again() {
    let neap = Neap::new();
    neap.ok(&["access", "tenant", "add", "acme"]);
    let again = neap.run(&["tenant", "add", "acme"]);
    assert!(again.code == 2 && again.err.contains("there is a tenant 'acme' already"), "{}", again.err);
    for bad in ["../x", "A", "local", "", "a/b"] {
        let ran = neap.run(&["access", "tenant", "add", bad]);
        assert_eq!(ran.code, 2, "{bad}: {}", ran.out);
    }
    on_tenant(&neap, "acme", &["chat"], &format!("hello {OURS}"));
    let key = new_key(&neap, "acme", &[]);
    let list = neap.json(&["access", "tenant", "list"]);
    assert_eq!(
        (&list[0]["tenant"], &list[1]["tenant"], &list[1]["keys"]),
        (&"local".into(), &"acme".into(), &1.into())
    );
    let told = neap.ok(&["access", "tenant", "remove", "acme"]);
    assert!(told.contains("1 key, 1 session") && told.contains("--confirm acme"), "{told}");
    let wrong = neap.run(&["access", "tenant", "remove", "acme", "--confirm", "beta"]);
    assert!(wrong.code == 2 && wrong.err.contains("nothing was removed"), "{}", wrong.err);
    assert!(neap.data().join("tenants/acme/neap.db").exists());
    neap.ok(&["access", "tenant", "remove", "acme", "--confirm", "acme"]);
    assert!(!neap.data().join("tenants/acme").exists());
    assert!(neap.run(&["access", "key", "revoke", &key.id]).err.contains("there is no key"));
    assert!(neap.run(&["access", "key", "add", "acme"]).err.contains("there is no tenant 'acme'"));
    // What is left in its folder is nobody's by a mere name.
    std::fs::create_dir_all(neap.data().join("tenants/acme")).expect("a folder");
    assert!(neap.run(&["access", "tenant", "add", "acme"]).err.contains("--adopt"));
    neap.ok(&["access", "tenant", "add", "acme", "--adopt"]);
}

#[test]
fn a_secret_is_shown_once_and_kept_nowhere() {
    let neap = Neap::new();
    let ran = neap.run(&["key", "add", "local", "--label", "laptop"]);
    assert!(ran.err.contains("from now on a server needs a key"), "{}", ran.err);
    let text = ran.out.lines().next().expect("a key").to_owned();
    assert!(text.starts_with("neap_") && text.len() == 82, "{text}");
    let (id, secret) = (&text[5..17], &text[18..]);
    let listed = neap.ok(&["access", "key", "list"]) + &neap.json(&["access", "key", "list"]).to_string();
    assert!(listed.contains(id) && listed.contains("laptop") && !listed.contains(&secret[..16]), "{listed}");
    for file in ["access.db", "access.db-wal"] {
        let bytes = std::fs::read(neap.data().join(file)).unwrap_or_default();
        assert!(!bytes.windows(16).any(|part| part == &secret.as_bytes()[..16]), "{file}");
    }
    let audit = neap.json(&["access", "audit"]).to_string();
    assert!(audit.contains("neap key add") && audit.contains(id) && !audit.contains(&secret[..16]), "{audit}");
}

#[test]
fn a_key_rotates_with_an_overlap_and_is_revoked_at_once() {
    let place = Place::start();
    let neap = &place.server.neap;
    let works = |text: &str| place.ask(text, "GET", "/sessions", None).status;
    let rotate = |overlap: &str| {
        let out = neap.ok(&["access", "key", "rotate", &place.ours.id, "--overlap", overlap, "--json"]);
        read_key(&out)
    };
    let first = place.ours.text.clone();
    assert_eq!(works(&first), 200);
    let second = rotate("1h");
    assert_eq!(second.id, place.ours.id);
    assert_eq!((works(&first), works(&second.text)), (200, 200), "both hold");
    let third = rotate("0s");
    assert_eq!((works(&first), works(&second.text), works(&third.text)), (401, 401, 200));
    neap.ok(&["access", "key", "revoke", &third.id]);
    let refused = place.ask(&third.text, "GET", "/sessions", None);
    assert_eq!((refused.status, &refused.json()["code"]), (401, &"revoked_key".into()));
    assert_eq!(place.ask(&place.theirs.text, "GET", "/sessions", None).status, 200, "others' keys hold");
    let keys = neap.json(&["access", "key", "list", "--tenant", "acme"]);
    assert!(keys[0]["state"] == "revoked" && keys[0]["last_used"].is_number(), "{keys}");
    let again = neap.run(&["access", "key", "rotate", &third.id]);
    assert!(again.err.contains("is revoked"), "{}", again.err);
}

#[test]
fn what_was_asked_is_in_the_audit_log() {
    let place = Place::start();
    let reader = new_key(&place.server.neap, "acme", &["--scope", "read"]);
    assert_eq!(place.ask(&place.ours.text, "GET", "/sessions/default", None).status, 200);
    assert_eq!(place.ask(&reader.text, "GET", "/sessions/default", None).status, 200);
    assert_eq!(place.ask(&reader.text, "DELETE", "/sessions/default?confirm=default", None).status, 403);
    assert_eq!(place.chat(&place.theirs.text, "desk", "hello").status, 200);
    let neap = &place.server.neap;
    let of = |args: &[&str]| neap.json(&[&["access", "audit"], args].concat())["items"].clone();
    assert!(
        comes_true(|| of(&["--tenant", "beta"]).to_string().contains("proxy POST")),
        "it is written in a moment"
    );
    let admin = of(&["--key", &place.ours.id]);
    assert!(admin.to_string().contains("GET /sessions/{session}"), "an admin's reading: {admin}");
    assert!(admin[0]["ids"] == "default" && admin[0]["tenant"] == "acme", "{admin}");
    let read = of(&["--key", &reader.id]);
    assert_eq!(read.as_array().map(Vec::len), Some(1), "the refusal alone: {read}");
    assert!(read.to_string().contains("refused: not of this scope"), "{read}");
    let beta = of(&["--tenant", "beta"]).to_string();
    assert!(beta.contains("proxy POST") && beta.contains("desk") && !beta.contains("acme"), "{beta}");
    let whole = of(&["--limit", "1000"]).to_string();
    assert!(!whole.contains(OURS) && !whole.contains("hello"), "names and ids, never text: {whole}");
    let page: Value = neap.json(&["access", "audit", "--limit", "1"]);
    let next = page["next"].to_string();
    let after: Value = neap.json(&["access", "audit", "--limit", "1", "--before", &next]);
    assert!(after["items"][0]["number"].as_u64() < page["items"][0]["number"].as_u64());
}

/// A data directory of one person's goes on as it was, and its keys open it when there are some.
#[test]
fn the_data_directory_itself_is_the_local_tenant() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none")]);
    neap.chat(&[&format!("hello {OURS}")]);
    let key = new_key(&neap, "local", &[]);
    let server = Proxy::over(neap, &[], &[]);
    let answer = server.ask("GET", "/api/v1/sessions/default/export", &[("x-neap-key", &key.text)], b"");
    assert!(answer.status == 200 && answer.text().contains(OURS), "{}", answer.text());
    assert!(server.wait_for_log("every request needs a key").contains("other tokens open nothing"));
}

#[test]
fn a_server_for_others_without_a_key_does_not_start() {
    let ran = Neap::new().run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("neap key add") && ran.err.contains("--without-keys"), "{}", ran.err);
}

#[test]
fn a_browser_is_let_in_as_the_key_that_asked_for_the_link() {
    let place = Place::start();
    let made = place.server.ask("POST", "/ui/link", &[("x-neap-key", &place.ours.text)], b"");
    assert_eq!(made.status, 201, "{}", made.text());
    let entered = place.server.ask("GET", made.text().trim(), &[], b"");
    assert_eq!(entered.status, 303);
    let cookie =
        entered.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_owned();
    let read = |path: &str| place.server.ask("GET", path, &[("cookie", &cookie)], b"");
    assert_eq!(read("/ui/").status, 200);
    let export = read("/api/v1/sessions/default/export").text();
    assert!(export.contains(OURS) && !export.contains(super::THEIRS), "{export}");
    place.server.neap.ok(&["access", "key", "revoke", &place.ours.id]);
    assert_eq!(read("/api/v1/sessions").status, 401, "the cookie ends with its key");
}
