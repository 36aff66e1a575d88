//! Hooks in worktrees of one repository and in another one: what is said in a project is told there, and elsewhere only
//! where it bears strongly, by its project's name.
#![allow(clippy::disallowed_methods, reason = "tests make and break files on purpose")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::disk::skip;
use crate::hook::hook;
use crate::rig::Neap;

fn git(folder: &Path, args: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]);
    git.args(args).output().is_ok_and(|ran| ran.status.success())
}

/// Two worktrees of one repository, and a third folder; `None` without git.
fn repositories(place: &Path) -> Option<[PathBuf; 3]> {
    let [shop, tree, barn] = ["shop", "tree", "barn"].map(|name| place.join(name));
    for (folder, url) in
        [(&shop, "https://ann:tr0ub4dor-and-3@github.com/Ann/Shop.git"), (&barn, "git@github.com:ann/barn.git")]
    {
        std::fs::create_dir_all(folder).expect("a folder");
        let is_made = git(folder, &["init", "-q"]) && git(folder, &["remote", "add", "origin", url]);
        (is_made && git(folder, &["commit", "-q", "--allow-empty", "-m", "first"])).then_some(())?;
    }
    git(&shop, &["worktree", "add", "-q", "-b", "other", "../tree"]).then_some([shop, tree, barn])
}

fn event(name: &str, session: &str, folder: &Path, more: &Value) -> Value {
    let mut event = json!({"hook_event_name": name, "session_id": session, "cwd": folder});
    event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    event
}

fn prompt(session: &str, folder: &Path, id: &str, text: &str) -> Value {
    event("UserPromptSubmit", session, folder, &json!({"prompt": text, "prompt_id": id}))
}

#[test]
fn what_is_said_in_a_project_is_told_in_its_worktrees_and_hardly_elsewhere() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none"), ("NEAP_PROJECT", "")]);
    let Some([shop, tree, barn]) = repositories(neap.place()) else {
        return skip("hooks in worktrees", "there is no git");
    };
    let work = "Please fix the login: users get a 401 an hour after they signed in.";
    hook(&neap, &[], &prompt("s1", &shop, "p1", "The heron database listens on port 9417."));
    hook(&neap, &[], &prompt("s1", &shop, "p2", work));
    let told = hook(&neap, &[], &prompt("s2", &tree, "p3", "Which port has the heron database?"));
    assert!(told.contains("9417") && !told.contains("from project"), "{told}");
    let told = hook(&neap, &[], &prompt("s3", &barn, "p4", "Which port has the heron database?"));
    assert!(told.contains("9417") && told.contains("from project github.com/ann/shop"), "{told}");
    let told = hook(
        &neap,
        &[],
        &prompt("s3", &barn, "p5", "The sheep pass the gate, and a heron stands on that port of the river"),
    );
    assert!(!told.contains("9417"), "one shared name is not enough: {told}");
    let start =
        |folder: &Path| hook(&neap, &[], &event("SessionStart", "s9", folder, &json!({"source": "startup"})));
    let (here, there) = (start(&tree), start(&barn));
    assert!(here.contains("claude-code-s1") && !there.contains("claude-code-s1"), "{here}\n{there}");

    let sessions: Value = serde_json::from_str(&neap.ok(&["session", "list", "--json"])).expect("JSON");
    let project = |name: &str| {
        let all = sessions.as_array().expect("a list");
        let info = all.iter().find(|info| info["session"] == format!("claude-code-{name}")).expect("it is there");
        info["project"].as_str().unwrap_or("none").to_owned()
    };
    assert_eq!(
        ["s1", "s2", "s3"].map(project),
        ["github.com/ann/shop", "github.com/ann/shop", "github.com/ann/barn"]
    );
    let found = |project: &str| neap.ok(&["search", "heron database", "--project", project]);
    assert!(found("github.com/ann/shop").contains("9417") && !found("github.com/ann/barn").contains("listens on"));
    assert!(found("all").contains("9417"));
    let listed = neap.ok(&["session", "list", "--project", "github.com/ann/barn"]);
    assert!(listed.contains("claude-code-s3") && !listed.contains("claude-code-s1"), "{listed}");
    for file in ["neap.db", "neap.db-wal"] {
        let bytes = std::fs::read(neap.data().join(file)).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains("tr0ub4dor"), "no password is stored: {file}");
    }
}

#[test]
fn memories_belong_to_projects_or_to_the_person() {
    let neap = Neap::with(&[("NEAP_EMBEDDER", "none"), ("NEAP_PROJECT", "shop")]);
    neap.ok(&["remember", "the staging database is called heron", "--subject", "staging database"]);
    neap.ok(&[
        "remember",
        "the staging database is called otter",
        "--subject",
        "staging database",
        "--project",
        "barn",
    ]);
    neap.ok(&["remember", "Answer in French", "--always"]);
    let listed = neap.ok(&["memory", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let project = |id: &str| {
        let all = listed.as_array().expect("a list");
        all.iter().find(|memory| memory["id"] == id).expect("it is there")["project"].as_str().map(str::to_owned)
    };
    assert_eq!(["f1", "f2", "f3"].map(project), [Some("shop".to_owned()), Some("barn".to_owned()), None]);
    assert!(listed.as_array().expect("a list").iter().all(|memory| memory["status"] != "superseded"), "{listed}");
    let recalled = |project: &str| neap.ok(&["recall", "staging database", "--project", project]);
    assert!(recalled("shop").contains("heron") && !recalled("shop").contains("otter"));
    assert!(recalled("barn").contains("otter") && !recalled("barn").contains("heron"));
    assert!(recalled("all").contains("heron") && recalled("all").contains("otter"));
    let asked = neap.ok(&["recall", "staging database called"]);
    assert!(asked.contains("heron") && asked.contains("otter") && asked.contains("from project barn"), "{asked}");
    let context = neap.ok(&["context", "which database has the river?", "--project", "barn"]);
    assert!(context.contains("French") && !context.contains("heron"), "{context}");
    neap.ok(&["memory", "edit", "f1", "--project", "none"]);
    assert!(recalled("barn").contains("heron"), "it is the person's now");
}
