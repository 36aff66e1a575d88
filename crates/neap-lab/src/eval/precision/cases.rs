//! Reads `cases.txt`.

use std::collections::BTreeMap;

use neap_core::memory::{Body, Confidence, Decision, Episode, Fact, Procedure};

use crate::LabError;

const CASES: &str = include_str!("cases.txt");

/// Records of one agent, with their keys, and questions about them.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) records: Vec<(String, Body)>,
    pub(super) cases: Vec<Case>,
}

#[derive(Debug)]
pub(super) struct Case {
    pub(super) kind: String,
    pub(super) question: String,
    /// The keys of what bears on it.
    pub(super) wanted: Vec<String>,
    /// Whether it is in the half by which floors are set.
    pub(super) tunes: bool,
}

pub(super) fn worlds() -> Result<Vec<World>, LabError> {
    let mut worlds: Vec<World> = Vec::new();
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for line in CASES.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with("world ") {
            worlds.push(World::default());
            continue;
        }
        let unreadable = || LabError::new(format!("a case cannot be read: {line}"));
        let world = worlds.last_mut().ok_or_else(unreadable)?;
        match line.strip_prefix("? ") {
            Some(case) => {
                let (question, wanted) = case.rsplit_once("=>").ok_or_else(unreadable)?;
                let (kind, question) = question.trim().split_once(' ').ok_or_else(unreadable)?;
                let count = asked.entry(kind.to_owned()).or_default();
                *count += 1;
                world.cases.push(Case {
                    kind: kind.to_owned(),
                    question: question.replace("\\n", "\n"),
                    wanted: wanted.split_whitespace().map(str::to_owned).collect(),
                    tunes: *count % 2 == 1,
                });
            }
            None => world.records.push(record(line).ok_or_else(unreadable)?),
        }
    }
    Ok(worlds)
}

fn record(line: &str) -> Option<(String, Body)> {
    let (key, rest) = line.split_once(' ')?;
    let (kind, text) = rest.split_once(' ')?;
    let body = match kind {
        "fact" => {
            let (subject, content) = text.strip_prefix('[')?.split_once("] ")?;
            Body::Fact(Fact::new(subject, content, Confidence::FULL))
        }
        "decision" => Body::Decision(Decision::new(text.to_owned(), Confidence::FULL)),
        "procedure" => {
            let (name, steps) = text.split_once(": ")?;
            let steps = steps.split("; ").map(str::to_owned).collect();
            Body::Procedure(Procedure { steps, ..Procedure::new(name.to_owned()) })
        }
        "episode" => Body::Episode(Episode::new(text.to_owned())),
        _ => return None,
    };
    Some((key.to_owned(), body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_names_records_of_its_world() {
        let worlds = worlds().expect("they are read");
        let cases = worlds.iter().flat_map(|world| &world.cases);
        let (all, tuning) = cases.fold((0, 0), |(all, tuning), case| (all + 1, tuning + usize::from(case.tunes)));
        assert!(all >= 150 && tuning.abs_diff(all - tuning) <= 10, "{tuning} of {all}");
        for world in &worlds {
            for case in &world.cases {
                let is_known = |key: &String| world.records.iter().any(|(known, _)| known == key);
                assert!(case.wanted.iter().all(is_known), "{}", case.question);
            }
        }
    }
}
