//! Finds where a person says that work is over, in a clause that nothing takes back.

use std::sync::LazyLock;

use regex::Regex;

use super::phrases::{Phrases, normalize};
use super::reference::is_stop_word;

/// Whom a person addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addressee {
    /// An agent at its own work: "close it" may mean a file, "done" may answer the agent's request, and a thing
    /// that is done by its name may be a part of the work.
    Agent,
    /// A model whose work is the efforts themselves.
    EffortKeeper,
}

/// A clause that says that work is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What is over, in content words; empty for the work in hand.
    pub object: Vec<String>,
    /// The text after the clause, [`normalize`]d.
    pub rest: String,
}

const CLAUSE_WORDS_MAX: usize = 12;

/// Says it of the work in hand.
static OF_WORK: LazyLock<Regex> =
    LazyLock::new(|| state_after("(?:that|this|it|all|everything)(?:'s| is| are)?|we(?:'re| are)|i(?:'m| am)"));

/// Says it of what stands before.
static OF_SUBJECT: LazyLock<Regex> = LazyLock::new(|| state_after("is|are|has been|have been"));

fn state_after(words: &str) -> Regex {
    let pattern = format!(r"(?-u)\b(?:{words}) (?:now |all )?(?:{})\b", STATES.0);
    Regex::new(&pattern).expect("the pattern is valid")
}

/// Every match of the patterns contains one of these: a cheap filter, since compiling a pattern takes longer than
/// reading a message.
const STATES: Phrases = Phrases("fixed|solved|resolved|done|finished|sorted|merged|shipped");

/// The same in other words.
const CLAIMS: Phrases = Phrases(
    "that fixed it|this fixed it|that solved it|this solved it|that did it|this did it|that did the trick|fixed it|\
     solved it|resolved it|problem solved|problem resolved|issue solved|issue resolved|case closed|works now|\
     works perfectly|i'm all set|we're all set|that's all for this",
);

/// The rest of the clause is what is over: "I'm done with lunch" says nothing of the work.
const OF_REST: Phrases = Phrases(
    "done with|finished with|i've finished|we've finished|wrap up|wrap it up|wrap this up|wrap that up|\
     you can close it|you can close this",
);

/// Orders to a model that keeps efforts.
const KEEPER_ORDERS: Phrases = Phrases(
    "close it|close this|close that|close the|please close|can you close|could you close|we can close|you can close|\
     let's close|mark it as|mark this as|conclude",
);

/// Clauses that say it on their own, unless they follow a colon.
const KEEPER_ALONE: Phrases =
    Phrases("done|resolved|finished|sorted|solved|fixed|closed|complete|completed|close");

/// A sentence with one of these says that the work is not over, or not yet.
const NOT_OVER: Phrases = Phrases(
    "not|isn't|aren't|wasn't|haven't|hasn't|don't|doesn't|didn't|won't|never done|never fixed|never finished|\
     never resolved|still|almost|nearly|until|unless|once|when|if|before|will be|should|must|to be|need|needs|\
     have to|want to|trying to|going to|gonna|about to|half|later|tomorrow|on hold|pause|instead|for now|but|yet|\
     except|next step",
);

/// The next sentence takes the claim back.
const TAKES_BACK: Phrases = Phrases("still|not done|not yet|but");

/// A question that begins so asks for something to be done.
const ASKS_TO: Phrases = Phrases("can you|could you|can we|could we|shall we|please");

/// Words that name no object.
const GENERIC: Phrases = Phrases(
    "issue|problem|bug|task|work|effort|one|topic|project|plan|everything|case|job|great|perfect|cool|nice|thank|\
     thanks|ok|okay|well|alright|hey|hi|us|resolved|fixed|closed|complete|finished|think|guess|finally|already|\
     really|today|whole|thing",
);

/// The first clause of a message that says that work is over. A question in the message means that it goes on.
pub fn find_completion(message: &str, addressee: Addressee) -> Option<Completion> {
    let sentences = sentences(message);
    if sentences.iter().any(|sentence| is_question(sentence) && !ASKS_TO.begins(sentence)) {
        return None;
    }
    sentences.iter().enumerate().find_map(|(at, sentence)| {
        let (object, after) = completed_in(sentence, addressee)?;
        let next = sentences.get(at + 1).map_or("", String::as_str);
        if NOT_OVER.occurs_in(sentence) || TAKES_BACK.occurs_in(next) {
            return None;
        }
        let rest = format!("{after} {}", sentences[at + 1..].join(" ")).trim().to_owned();
        Some(Completion { object, rest })
    })
}

/// The sentences of a message, [`normalize`]d. A mark inside a word ends none: `cart.rs` is one word.
pub(super) fn sentences(message: &str) -> Vec<String> {
    let (mut sentences, mut start) = (Vec::new(), 0);
    for (at, mark) in message.match_indices(['.', '!', '?', ';', '\n']) {
        let end = at + mark.len();
        if mark == "\n" || message[end..].chars().next().is_none_or(char::is_whitespace) {
            sentences.push(normalize(&message[start..end]));
            start = end;
        }
    }
    sentences.push(normalize(&message[start..]));
    sentences
}

/// A closing bracket, a quote or another mark may follow the question mark.
fn is_question(sentence: &str) -> bool {
    sentence.rsplit(char::is_alphanumeric).next().is_some_and(|end| end.contains('?'))
}

/// The object of the first clause that says so, and the sentence after it.
fn completed_in(sentence: &str, addressee: Addressee) -> Option<(Vec<String>, &str)> {
    let to_keeper = addressee == Addressee::EffortKeeper;
    let (mut rest, mut follows_colon) = (sentence, false);
    while !rest.is_empty() {
        let (clause, after) = rest.split_once([',', ':', '–', '—']).unwrap_or((rest, ""));
        let bare = clause.trim_matches(|c: char| !c.is_alphanumeric());
        // After a colon the word is a value: `position: fixed`.
        if to_keeper && !follows_colon && KEEPER_ALONE.has_entry(bare) {
            return Some((Vec::new(), after));
        }
        let object = clause_object(bare, is_question(sentence), to_keeper).map(|text| content_words(&text));
        if let Some(object) = object.filter(|it| to_keeper || it.is_empty()) {
            return Some((object, after));
        }
        follows_colon = rest[clause.len()..].starts_with(':');
        rest = after;
    }
    None
}

/// `bare` is a clause without the marks around it.
fn clause_object(bare: &str, asks: bool, to_keeper: bool) -> Option<String> {
    if bare.split_whitespace().count() > CLAUSE_WORDS_MAX {
        return None;
    }
    let order = KEEPER_ORDERS.find(bare).filter(|_| to_keeper);
    if let Some(found) = order.or_else(|| OF_REST.find(bare)) {
        return Some(format!("{} {}", &bare[..found.start], &bare[found.end..]));
    }
    if asks {
        return None;
    }
    let may_match = STATES.occurs_in(bare);
    if CLAIMS.occurs_in(bare) || (may_match && OF_WORK.is_match(bare)) {
        return Some(String::new());
    }
    let subject = if may_match { OF_SUBJECT.find(bare) } else { None };
    subject.map(|found| bare[..found.start()].to_owned())
}

fn content_words(object: &str) -> Vec<String> {
    let words = object.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    let stems = words.map(|word| word.split('\'').next().unwrap_or_default());
    let names =
        |word: &&str| word.chars().any(char::is_alphanumeric) && !is_stop_word(word) && !GENERIC.has_entry(word);
    stems.filter(names).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, to_agent: bool, object: Option<&str>) {
        assert_eq!(find_completion(message, Addressee::Agent).is_some(), to_agent, "{message}");
        let found = find_completion(message, Addressee::EffortKeeper).map(|found| found.object.join(" "));
        assert_eq!(found.as_deref(), object, "{message}");
    }

    #[test]
    fn work_is_over_where_a_clause_says_so() {
        for message in [
            "It is fixed: the limit was 9. Done.",
            "I restarted the server and it’s fixed",
            "It's not pretty. That fixed it, thanks!",
            "everything is merged now",
            "Wonderful – the login works now",
            "could you wrap this up?",
            "The problem is solved",
        ] {
            check(message, true, Some(""));
        }
        check("Done with this one!", true, Some(""));
        check("The login bug has been fixed", false, Some("login"));
        check("I'm done with lunch", false, Some("lunch"));
        check("The index is done. All done!", true, Some("index"));
        check("cart.rs is done", false, Some("cart rs"));
    }

    #[test]
    fn it_goes_on_where_one_asks_denies_or_takes_back() {
        for message in [
            "That fixed it. Why did it happen?",
            "can you check that it's fixed?",
            "I don't think it's done",
            "That's done. It still fails on Android.",
            "The DNS name resolved to 10.0.0.1",
            "it's almost done",
            "I changed promise.done",
            "(That fixed it. But why?)",
        ] {
            check(message, false, None);
        }
    }

    /// An agent is told of files that it may close, and answered that its requests are done.
    #[test]
    fn orders_to_close_are_for_the_keeper_of_efforts() {
        check("please close this", false, Some(""));
        check("close the kitchen renovation", false, Some("kitchen renovation"));
        check("Done: I restarted it", false, Some(""));
        check("I restarted it, done", false, Some(""));
        check("position: fixed", false, None);
    }

    #[test]
    fn what_follows_is_kept() {
        let found = find_completion("That fixed it, thanks! Now  help me.", Addressee::Agent);
        assert_eq!(found.map(|found| found.rest).as_deref(), Some("thanks! now help me."));
    }
}
