//! Names new efforts and finds the effort that a phrase names.

use std::collections::BTreeSet;

use neap_core::base::ids::EffortId;
use neap_core::text::opening::opening_name;
use neap_core::text::terms::terms;

const WORDS_MAX: usize = 3;

/// The first salient words of the sentence that begins the work, as an id.
pub(super) fn effort_name(message: &str) -> Option<String> {
    let name = opening_name(message, WORDS_MAX)?;
    EffortId::from_name(&name).ok().map(String::from)
}

/// The id that a phrase names best; most of the id's words must be in it.
pub(super) fn match_effort<'a>(phrase: &str, ids: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let phrase_terms: BTreeSet<String> = terms(phrase).into_iter().collect();
    let mut best: Option<(f64, &str)> = None;
    for id in ids {
        let words: BTreeSet<String> = terms(id).into_iter().collect();
        let shared = words.intersection(&phrase_terms).count();
        if shared == 0 {
            continue;
        }
        let of_id = shared as f64 / words.len() as f64;
        let of_phrase = shared as f64 / phrase_terms.len() as f64;
        let similarity = of_id.max(of_phrase) + 0.1 * of_id;
        if similarity >= 0.5 && best.is_none_or(|(before, _)| similarity > before) {
            best = Some((similarity, id));
        }
    }
    best.map(|(_, id)| id)
}

pub(super) fn is_mentioned(id: &str, text: &str) -> bool {
    let text_terms: BTreeSet<String> = terms(text).into_iter().collect();
    let words = terms(id);
    !words.is_empty() && words.iter().all(|word| text_terms.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_names_an_effort_by_its_words() {
        let ids = ["auth-bug", "kitchen-renovation", "ui"];
        assert_eq!(match_effort("the kitchen", ids.into_iter()), Some("kitchen-renovation"));
        assert_eq!(match_effort("Auth Bug", ids.into_iter()), Some("auth-bug"));
        assert_eq!(match_effort("the build", ids.into_iter()), None);
    }
}
