//! `--expect ID`: what became of a text that a search should have found.

use std::process::ExitCode;

use neap_core::recall::Expectation;
use serde_json::json;

use crate::out::{self, BOLD, Failure};

pub(crate) fn print(id: &str, found: &Expectation, scores: &str, json: bool) -> Result<ExitCode, Failure> {
    out::print_answer(json, &json!({"expected": id, "outcome": found}), || {
        let place = found.place.map_or_else(String::new, |place| format!(", place {place}"));
        let mut text = format!("{BOLD}{}{BOLD:#} {}{place}\n", out::escape_control(id), found.stage.explain());
        if let Some(score) = found.score {
            text.push_str(&format!("  {score:.3} = {scores}\n"));
        }
        if found.score.is_some() {
            let shared = if found.shared.is_empty() { "none".to_owned() } else { found.shared.join(", ") };
            let similarity = found.similarity.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.3}"));
            text.push_str(&format!(
                "  shared words: {}; likeness of meaning: {similarity}\n",
                out::escape_control(&shared)
            ));
        }
        text
    })
}
