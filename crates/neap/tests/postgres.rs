//! The program on a Postgres server: machines of one person share what is stored.
#![allow(clippy::disallowed_methods, reason = "a skip is written down")]

use crate::rig::Neap;

/// A database that does not exist yet, on the server of `cargo xtask test`.
fn new_database() -> Option<&'static str> {
    let Ok(server) = std::env::var("NEAP_TEST_POSTGRES") else {
        assert!(std::env::var_os("NEAP_TEST_STRICT").is_none(), "there is no server");
        if let Some(folder) = std::env::var_os("NEAP_TEST_SKIPS") {
            let file = std::path::Path::new(&folder).join("postgres-program");
            std::fs::write(file, "the program on Postgres: no server").expect("it can be written");
        }
        return None;
    };
    let (address, _) = server.rsplit_once('/').expect("a database");
    Some(Box::leak(format!("{address}/neap_program_{}", std::process::id()).into_boxed_str()))
}

#[test]
fn two_machines_have_one_memory() {
    let Some(url) = new_database() else { return };
    let [one, other] = [(), ()].map(|()| Neap::with(&[("NEAP_STORE", url)]));
    let said = one.chat(&[
        "users get a 401 an hour after login",
        "the fix was to raise the token lifetime to 24 h",
        "it is fixed, that is done",
    ]);
    assert!(said.contains("--- Concluded effort: "), "{said}");
    one.ok(&["remember", "Staging is called heron-42", "--always"]);
    assert!(other.ok(&["search", "token lifetime"]).contains("24 h"));
    assert!(other.ok(&["recall", "heron"]).contains("heron-42"));
    let told = other.chat(&["what was the fix for the login thing?"]);
    assert!(told.contains("raise the token lifetime"), "{told}");
    let sessions = one.json(&["session", "list"]);
    assert_eq!((&sessions[0]["session"], &sessions[0]["turns"]), (&"default".into(), &4.into()), "{sessions}");
    assert!(other.ok(&["store", "doctor"]).contains("clean"));
    assert!(!one.database().exists() && !other.database().exists(), "nothing is kept in a file beside");
    one.ok(&["session", "erase", "default", "--confirm", "default"]);
    assert!(!other.ok(&["search", "token lifetime"]).contains("24 h"));
}

#[test]
fn a_database_that_cannot_be_used_is_named_with_a_hint() {
    let nobody_listens = Neap::with(&[("NEAP_STORE", "postgres://neap:secret@127.0.0.1:1/neap")]);
    for command in [&["session", "list"][..], &["search", "x"], &["remember", "x"], &["chat"]] {
        let ran = nobody_listens.run(command);
        assert_eq!(ran.code, 2, "{command:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("cannot be reached") && ran.err.contains("\nhint: "), "{}", ran.err);
        assert!(!ran.err.contains("secret"), "{}", ran.err);
    }
}
