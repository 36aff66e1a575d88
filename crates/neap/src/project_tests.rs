//! Repositories as git makes them, as far as they are read.

use std::path::Path;

use super::*;

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it can be made");
    std::fs::write(path, text).expect("it can be written");
}

/// A repository as git makes it, as far as it is read.
fn repository(directory: &Path, remotes: &[(&str, &str)]) {
    std::fs::create_dir_all(directory.join("objects")).expect("it can be made");
    std::fs::create_dir_all(directory.join("refs")).expect("it can be made");
    write(&directory.join("HEAD"), "ref: refs/heads/main\n");
    let remotes =
        remotes.iter().map(|(name, url)| format!("[remote \"{name}\"]\n\tfetch = +refs\n\turl = {url}\n"));
    write(
        &directory.join("config"),
        &format!("[core]\n\tbare = false\n\turl = x\n{}", remotes.collect::<String>()),
    );
}

fn worktree(at: &Path, common: &Path, name: &str) {
    let own = common.join("worktrees").join(name);
    write(&own.join("commondir"), "../..\n");
    write(&at.join(".git"), &format!("gitdir: {}\n", own.display()));
}

fn found(folder: &Path) -> Option<String> {
    of_folder(folder).map(|project| project.to_string())
}

#[test]
fn every_address_of_a_repository_is_one_project() {
    for (url, want) in [
        ("https://github.com/Ann/Shop.git", "github.com/ann/shop"),
        ("https://ann:s3cretpass@github.com/ann/shop", "github.com/ann/shop"),
        ("ssh://git@github.com:22/ann/shop.git/", "github.com/ann/shop"),
        ("git@github.com:ann/shop.git", "github.com/ann/shop"),
        ("git://github.com/ann/shop?x=1#y", "github.com/ann/shop"),
        ("host.example:shop", "host.example/shop"),
        ("https://gitlab.example:8443/group/sub/shop.git", "gitlab.example/group/sub/shop"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        repository(&folder.path().join(".git"), &[("fork", "https://example.org/x"), ("origin", url)]);
        assert_eq!(found(folder.path()).as_deref(), Some(want), "{url}");
        std::fs::create_dir_all(folder.path().join("src/deep")).expect("it can be made");
        assert_eq!(found(&folder.path().join("src/deep")).as_deref(), Some(want), "a folder inside");
    }
}

#[test]
fn worktrees_clones_and_moved_folders_are_one_project() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    let want = Some("github.com/ann/shop".to_owned());
    let remote = [("origin", "git@github.com:ann/shop.git")];
    repository(&at("main/.git"), &remote);
    worktree(&at("tree"), &at("main/.git"), "tree");
    repository(&at("bare.git"), &remote);
    worktree(&at("of-bare"), &at("bare.git"), "of-bare");
    repository(&at("clone/.git"), &[("origin", &at("main").display().to_string())]);
    repository(&at("clone-of-clone/.git"), &[("origin", &format!("file://{}", at("clone").display()))]);
    for folder in ["main", "tree", "bare.git", "of-bare", "clone", "clone-of-clone"] {
        assert_eq!(found(&at(folder)), want, "{folder}");
    }
    std::fs::rename(at("main"), at("moved")).expect("it can be moved");
    assert_eq!(found(&at("moved")), want);
    // Its `.git` leads nowhere now.
    assert_eq!(found(&at("tree")), None);
    assert_eq!(found(&at("gone")), None);
}

#[test]
fn a_repository_without_a_remote_is_known_by_its_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    repository(&at("a/shop/.git"), &[]);
    repository(&at("b/shop/.git"), &[("one", "https://x.org/1"), ("two", "https://x.org/2")]);
    worktree(&at("tree"), &at("a/shop/.git"), "tree");
    let (a, b) = (found(&at("a/shop")).expect("a project"), found(&at("b/shop")).expect("a project"));
    assert!(a.starts_with("shop-") && b.starts_with("shop-") && a != b, "{a} {b}");
    assert_eq!(found(&at("tree")), Some(a));
    std::fs::create_dir_all(at("plain")).expect("it can be made");
    assert_eq!(found(&at("plain")), None);
}

#[test]
fn a_submodule_is_its_own_project() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    repository(&at("shop/.git"), &[("origin", "https://github.com/ann/shop")]);
    repository(&at("shop/.git/modules/lib"), &[("origin", "https://github.com/ann/lib")]);
    write(&at("shop/lib/.git"), "gitdir: ../.git/modules/lib\n");
    assert_eq!(found(&at("shop/lib")).as_deref(), Some("github.com/ann/lib"));
    assert_eq!(found(&at("shop")).as_deref(), Some("github.com/ann/shop"));
}

#[test]
fn repositories_in_a_circle_end() {
    let dir = tempfile::tempdir().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    repository(&at("one/.git"), &[("origin", &at("two").display().to_string())]);
    repository(&at("two/.git"), &[("origin", &at("one").display().to_string())]);
    assert!(found(&at("one")).is_some());
}
