//! Which records a recall gives, whatever their similarities, ages and statuses.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const DAY: i64 = 86_400_000;
const FLOOR: u64 = 450;

proptest! {
    /// What is at the floor and within 85 % of the best is given; if nothing is, the nearest three, marked.
    #[test]
    fn hits_bear_on_the_question_or_are_the_nearest_and_say_so(
        records in proptest::collection::vec((0..700_u64, 0..900_i64, proptest::bool::weighted(0.3)), 1..20),
        lists: bool,
    ) {
        let mut agent = Agent::new();
        agent.say(fact("", "the kettle is blue", person()));
        let mut found = RecallResponse::default();
        for (at, (similarity, age, is_superseded)) in records.iter().enumerate() {
            let (id, created) = (get(&format!("f{}", at + 1)), Stamp((1_000 - age) * DAY));
            let status = if *is_superseded { Status::Superseded } else { Status::New };
            found.memories.push(Memory { id, created, updated: created, status, ..agent.one("f1") });
            found.similarities.insert(id, Confidence::try_from(*similarity as f64 / 1_000.0).unwrap());
        }
        let request = RecallRequest::new(vec!["zebra".to_owned()], Vec::new());
        let limits = HitLimits { max: 100, project: None, superseded: false, lists };
        let hits = rank_hits("zebra", &request, &found, limits, Stamp(1_000 * DAY));

        let mut current: Vec<u64> = records.iter().filter(|record| !record.2).map(|record| record.0).collect();
        current.sort_unstable_by(|a, b| b.cmp(a));
        let best = current.first().copied().unwrap_or(0);
        let (wanted, is_nearest): (Vec<u64>, bool) = if best >= FLOOR {
            let of_best = (best as f64 * 0.85).round() as u64;
            (current.into_iter().filter(|similarity| *similarity >= FLOOR.max(of_best)).collect(), false)
        } else {
            (current.into_iter().take(3).collect(), true)
        };
        let similarity = |hit: &MemoryHit| found.similarities[&hit.id].thousandths();
        let mut given: Vec<u64> = hits.iter().map(similarity).collect();
        given.sort_unstable_by(|a, b| b.cmp(a));
        prop_assert_eq!(given, wanted);
        prop_assert!(hits.iter().all(|hit| hit.is_nearest == is_nearest));
        prop_assert_eq!(hits.iter().map(|hit| hit.id).collect::<BTreeSet<_>>().len(), hits.len());
    }
}
