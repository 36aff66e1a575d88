//! Names what a message begins.

use super::tables as t;
use super::{Opening, find_opening};
use crate::text::completion::sentences;
use crate::text::phrases::{Phrases, normalize};
use crate::text::reference::is_stop_word;

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

/// At most `words_max` telling words of the sentence that begins the work, or else of the message.
pub fn opening_name(message: &str, words_max: usize) -> Option<String> {
    let text = normalize(message);
    let sentences = sentences(&text);
    let (topic, sentence) = match find_opening(message) {
        Some(Opening { topic, sentence, .. }) => (topic, sentence),
        None => {
            let sentence = sentences.into_iter().find(|sentence| !salient_words(sentence).is_empty())?;
            (after_phrase(&sentence).to_owned(), sentence)
        }
    };
    let first = [&topic, &sentence, &text].into_iter().map(|part| salient_words(part));
    let mut words = first.into_iter().find(|words| !words.is_empty())?;
    words.truncate(words_max);
    Some(words.join(" "))
}

/// The topic follows an opening phrase.
fn after_phrase(sentence: &str) -> &str {
    let tables = [t::HELP, t::NEEDS, t::HOW_TO, t::NEW_TOPIC];
    let end = tables.iter().filter_map(|table| table.find(sentence)).map(|found| found.end).max();
    &sentence[end.unwrap_or(0)..]
}

/// The salient words of a text, in order, without duplicates.
pub fn salient_words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let words = text.split_whitespace().map(without_extension);
    let words = words.flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-'));
    for word in words.map(|w| w.trim_matches(|c: char| !c.is_alphanumeric())) {
        let word = word.strip_suffix("'s").unwrap_or(word);
        let is_salient = word.chars().count() >= 2 && !is_stop_word(word) && !EMPTY_WORDS.has_entry(word);
        if is_salient && !out.iter().any(|known| known == word) {
            out.push(word.to_owned());
        }
    }
    out
}

/// `cart.rs` is named by `cart`.
fn without_extension(word: &str) -> &str {
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric());
    let is_extension = |end: &str| end.len() <= 4 && end.bytes().all(|byte| byte.is_ascii_alphabetic());
    word.rsplit_once('.').filter(|(_, end)| is_extension(end)).map_or(word, |(stem, _)| stem)
}
