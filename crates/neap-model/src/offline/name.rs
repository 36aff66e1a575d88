//! Names new efforts and finds the effort that a phrase names.

use std::collections::BTreeSet;

use neap_core::base::ids::EffortId;
use neap_core::text::phrases::{FAILURES, HELP, HOW_TO, NEEDS, NEW_TOPIC, Phrases, normalize};
use neap_core::text::reference::is_stop_word;
use neap_core::text::terms::terms;

use super::phrases::HINTS;

const WORDS_MAX: usize = 3;

/// Words that say that there is work, not what it is about.
const EMPTY_WORDS: Phrases = Phrases(
    "us|help|helping|should|review|need|needs|want|wants|wanted|plan|planning|build|building|make|making|create|write|writing|\
    fix|fixing|debug|start|starting|set|setup|work|works|working|keeps|keep|kept|getting|gets|trying|try|figure|going|go|\
    can't|cannot|won't|doesn't|isn't|don't|didn't|haven't|i'm|i'd|i've|we're|we've|it's|let's|lets|what's|that's|there's|\
    hi|hello|hey|thanks|thank|ok|okay|well|also|new|topic|separately|another|thing|things|unrelated|different|something|\
    someone|somehow|really|always|every|time|today|tomorrow|yesterday|day|week|since|best|way|good|bad|lot|bit|way|using|use|\
    used|one|two|first|next|last|instead|back|switch|continue|with|without|would|like|know|think|see|look|looking|find|\
    finding|tell|show|give|take|takes|come|ask|learn|add|organize|organise|prepare|design|implement|problem|issue|again|\
    whole|much|many|still|even|maybe|actually|currently|right|never|everything|anything|nothing|people|got",
);

/// The first salient words of the sentence that begins the work.
pub(super) fn effort_name(message: &str) -> Option<String> {
    let text = normalize(message);
    let sentences: Vec<&str> = text.split_inclusive(['.', '!', '?', ';']).collect();
    let begins = |s: &&&str| [HELP, NEEDS, HOW_TO, FAILURES, HINTS].iter().any(|table| table.occurs_in(s));
    let sentence =
        sentences.iter().find(begins).or_else(|| sentences.iter().find(|s| !salient_words(s).is_empty()))?;
    // The topic follows an opening phrase, but precedes a complaint.
    let openings = [HELP, NEEDS, HOW_TO, NEW_TOPIC];
    let from = openings.iter().filter_map(|table| table.find(sentence)).map(|found| found.end).max().unwrap_or(0);
    let mut words = salient_words(&sentence[from..]);
    if words.is_empty() {
        words = salient_words(sentence);
    }
    if words.is_empty() {
        words = salient_words(&text);
    }
    words.truncate(WORDS_MAX);
    let name = words.join("-");
    EffortId::from_name(&name).ok().map(String::from)
}

/// The salient words of a text, in order, without duplicates.
pub(super) fn salient_words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    for word in words.map(|w| w.trim_matches(|c: char| !c.is_alphanumeric())) {
        let word = word.strip_suffix("'s").unwrap_or(word);
        let is_salient = word.chars().count() >= 2 && !is_stop_word(word) && !EMPTY_WORDS.has_entry(word);
        if is_salient && !out.iter().any(|known| known == word) {
            out.push(word.to_owned());
        }
    }
    out
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
    fn names_are_the_telling_words() {
        let check =
            |message: &str, want: &str| assert_eq!(effort_name(message).as_deref(), Some(want), "{message}");
        check("login keeps failing", "login-failing");
        check("Hi! Help me plan the kitchen renovation.", "kitchen-renovation");
        check("How do I set up a VPN on my router?", "vpn-router");
        check("I need to debug the auth bug in the mobile app today", "auth-bug-mobile");
        check("My tests are flaky on CI", "tests-flaky-ci");
        check("Let's build a CLI for invoices", "cli-invoices");
        assert_eq!(effort_name("help me"), None);
        assert_eq!(effort_name("???"), None);
    }

    #[test]
    fn a_phrase_names_an_effort_by_its_words() {
        let ids = ["auth-bug", "kitchen-renovation", "ui"];
        assert_eq!(match_effort("the kitchen", ids.into_iter()), Some("kitchen-renovation"));
        assert_eq!(match_effort("Auth Bug", ids.into_iter()), Some("auth-bug"));
        assert_eq!(match_effort("the build", ids.into_iter()), None);
    }
}
