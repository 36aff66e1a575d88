//! `neap lab proof window`: bounds hold on short runs; time is judged only on long ones, outside of tests.

use crate::rig::Neap;
use serde_json::Value;

#[track_caller]
fn rows(proofs: &Value) -> Vec<Value> {
    let proofs = proofs.as_array().expect("a list of proofs");
    proofs.iter().flat_map(|proof| proof["rows"].as_array().expect("rows").clone()).collect()
}

#[test]
fn a_short_run_holds_every_bound() {
    let neap = Neap::new();
    let proofs = neap.json(&["lab", "proof", "window", "--turns", "20"]);
    assert!(!neap.data().exists(), "a proof leaves nothing behind");
    let rows = rows(&proofs);
    let steps: Vec<&str> = rows.iter().map(|row| row["step"].as_str().expect("a step")).collect();
    assert_eq!(steps, ["9-C", "9-D", "9-E", "10-1", "10-2", "10-2, summaries", "10-3", "10-4", "epochs"]);
    for row in &rows {
        assert_eq!(row["ok"], true, "{row}");
    }
}
