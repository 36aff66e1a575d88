//! `neap lab proof memory`: bounds hold on a small corpus; shares and times are judged only on the whole one, outside of tests.

use crate::rig::Neap;

#[test]
fn a_small_corpus_holds_every_bound() {
    let neap = Neap::new();
    let proofs = neap.json(&["lab", "proof", "memory", "--percent", "4"]);
    assert!(!neap.data().exists(), "a proof leaves nothing behind");
    let rows = proofs[0]["rows"].as_array().expect("rows");
    let steps: Vec<&str> = rows.iter().map(|row| row["step"].as_str().expect("a step")).collect();
    let halves = ["relevance", "precision", "used"];
    let want: Vec<&str> = ["corpus", "budget", "utilisation"]
        .into_iter()
        .chain(halves)
        .chain(halves)
        .chain(["foreign", "cold", "warm", "refresh", "used"])
        .collect();
    assert_eq!(steps, want);
    for row in rows {
        assert_eq!(row["ok"], true, "{row}");
    }
    let about = rows[0]["measured"].as_str().expect("what was written");
    assert!(about.starts_with("352 records in 120 topics"), "{about}");
}

/// The same seed, the same corpus, the same choices: only times differ.
#[test]
fn a_proof_gives_the_same_figures_again() {
    let figures = || {
        let neap = Neap::new();
        let mut proofs = neap.json(&["lab", "proof", "memory", "--percent", "2"]);
        let rows = proofs[0]["rows"].as_array_mut().expect("rows");
        rows.retain(|row| !["cold", "warm"].contains(&row["step"].as_str().expect("a step")));
        proofs
    };
    assert_eq!(figures(), figures());
}
