//! `neap lab proof`: every expectation of the design holds, alone and together.

use crate::rig::Neap;
use serde_json::Value;

/// Runs proofs and gives how many rows each had; all of them must be as expected.
#[track_caller]
fn check(args: &[&str]) -> Vec<(String, usize)> {
    let neap = Neap::new();
    let proofs = neap.json(&[&["lab", "proof"], args].concat());
    assert!(!neap.data().exists(), "a proof leaves nothing behind");
    let proofs = proofs.as_array().expect("a list of proofs");
    let rows = |proof: &Value| {
        let rows = proof["rows"].as_array().expect("rows");
        for row in rows {
            assert_eq!(row["ok"], true, "{row}");
        }
        assert_eq!(proof["ok"], true);
        (proof["slice"].as_str().expect("a name").to_owned(), rows.len())
    };
    proofs.iter().map(rows).collect()
}

#[test]
fn all_slices_hold_and_each_holds_alone() {
    let all = check(&["all"]);
    assert_eq!(all, check(&[]), "all is the default");
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["slice1", "slice2", "slice3", "slice4"]);
    for (name, rows) in &all {
        assert_eq!(check(&[name]), [(name.clone(), *rows)]);
        assert!(*rows > 4, "{name} has {rows} rows");
    }
}

#[test]
fn for_people_each_row_says_ok_and_the_end_says_how_many() {
    let neap = Neap::new();
    let rows: usize = check(&["all"]).iter().map(|(_, rows)| rows).sum();
    let said = neap.ok(&["lab", "proof", "all"]);
    assert_eq!(said.lines().filter(|line| line.ends_with("  ok")).count(), rows, "{said}");
    assert!(said.contains(&format!("all {rows} expectations hold\n")), "{said}");
    assert!(!said.contains("FAILED"), "{said}");
}
