//! Reads what a statement claims of what, and compares claims in other words: `The timeout of the gateway is 30 s`,
//! `We raised the gateway timeout to 45 s`.

use std::collections::BTreeSet;

use super::Contradiction;
use super::claim_words::{ChangeKind, Relation, change_of, relation_of};
use super::predicate::{GENERIC_NOUNS, is_attribute, is_copula, is_event};
use super::statement::Statement;
use super::value::Value;
use super::word::{Article, SentenceWord, WordClass};

const PREPOSITIONS: &str = "in to at on for by from of as with after";
/// Particles of verbs: `pushed back`, `moved up`.
const VERB_PARTICLES: &str = "back forward up down out over ahead";
/// Words for the end of what takes its time.
const ENDINGS: &str = "end expir timeout";
const MEASURED_WORDS_MIN: usize = 2;
const PERSONS: &str = "i we they you someone he she it our my their";

#[derive(Debug, Clone, PartialEq)]
struct Claim<'a> {
    /// What it is about: the subject and the attribute, in any order.
    topic: BTreeSet<&'a str>,
    relation: Relation,
    /// The verb of a measure, e.g. `takes`.
    verb: Option<&'a str>,
    value: Value<'a>,
    /// The value that it replaces, if it says so.
    was: &'a [SentenceWord],
    change: Option<ChangeKind>,
    is_denied: bool,
}

/// The contradiction between claims in other words.
pub(super) fn contradiction(old: &Statement<'_>, new: &Statement<'_>) -> Option<Contradiction> {
    if new.is_past {
        return None;
    }
    let was = Claim::read(&old.words)?;
    let now = Claim::read(&new.words)?;
    let is_clear = was.is_replaced_by(&now).or_else(|| was.is_contradicted_by(&now, new.is_marked))?;
    let shown = |words: &[SentenceWord]| {
        words.iter().filter(|word| !word.is_empty()).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    let lead = was.topic.iter().next_back().map(|topic| format!("{topic} ")).unwrap_or_default();
    Some(Contradiction {
        is_clear,
        evidence: format!("{lead}{} → {}", shown(was.value.words), shown(now.value.words)),
    })
}

/// Two numbers with the same unit, and all other words the same in any order: `times out after 30 s`, `a timeout of 45 s`.
pub(super) fn measure_conflict(old: &Statement<'_>, new: &Statement<'_>) -> Option<Contradiction> {
    if is_event(&old.words) || is_event(&new.words) || old.is_past || new.is_past {
        return None;
    }
    let ((was, old_unit, old_rest), (now, new_unit, new_rest)) = (measure(&old.words)?, measure(&new.words)?);
    let is_conflict =
        old_unit == new_unit && was.key != now.key && old_rest == new_rest && old_rest.len() >= MEASURED_WORDS_MIN;
    is_conflict.then(|| Contradiction {
        is_clear: false,
        evidence: format!("{} {old_unit} → {} {new_unit}", was.text, now.text),
    })
}

/// The only number, its unit, and the other words.
fn measure(words: &[SentenceWord]) -> Option<(&SentenceWord, &str, BTreeSet<&str>)> {
    let mut numbers = words.iter().enumerate().filter(|(_, word)| word.class == WordClass::Number);
    let (at, number) = numbers.next()?;
    let unit = words.get(at + 1).filter(|word| word.is_unit())?;
    let rest = words
        .iter()
        .enumerate()
        .filter(|(other, word)| *other != at && *other != at + 1 && !word.is_listed(GENERIC_NOUNS));
    let rest = rest.filter(|(_, word)| word.is_value() || word.class == WordClass::Negation);
    let rest = rest.map(|(_, word)| if word.is_listed(ENDINGS) { "timeout" } else { word.key.as_str() });
    numbers.next().is_none().then(|| (number, unit.key.as_str(), rest.collect()))
}

impl<'a> Claim<'a> {
    fn read(words: &'a [SentenceWord]) -> Option<Self> {
        read_replacement(words)
            .or_else(|| read_change(words))
            .or_else(|| read_role(words))
            .or_else(|| read_state(words))
    }

    fn keys(&self) -> Vec<&str> {
        self.value.keys()
    }

    /// All that it says beside its value.
    fn rest(&self) -> BTreeSet<&str> {
        let condition = self.value.condition.iter().filter(|word| word.is_value()).map(|word| word.key.as_str());
        self.topic.iter().copied().chain(condition).collect()
    }

    /// Whether the newer names this claim's value as the one that it replaces.
    fn is_replaced_by(&self, now: &Claim<'_>) -> Option<bool> {
        // A thing that is called something else now.
        let value: BTreeSet<&str> = self.keys().into_iter().collect();
        let renames = now.relation == Relation::Name || now.change == Some(ChangeKind::Rename);
        if self.relation == Relation::Name && renames && now.topic == value && now.keys() != self.keys() {
            return Some(true);
        }
        let was: Vec<&str> = now.was.iter().filter(|word| word.is_value()).map(|word| word.key.as_str()).collect();
        if was.is_empty() || was != self.keys() || now.keys() == self.keys() {
            return None;
        }
        let (old_rest, new_rest) = (self.rest(), now.rest());
        let bears = new_rest.is_subset(&old_rest) || !old_rest.is_empty() && old_rest.is_subset(&new_rest);
        let suits = now.change.is_none_or(|change| change.changes(self.relation));
        (bears && suits && self.change.is_none()).then_some(true)
    }

    /// Whether the newer says another value of the same.
    fn is_contradicted_by(&self, now: &Claim<'_>, is_marked: bool) -> Option<bool> {
        let is_comparable = self.topic == now.topic
            && !self.topic.is_empty()
            && !self.is_denied
            && !now.is_denied
            && self.change.is_none()
            && !self.value.is_empty()
            && !now.value.is_empty()
            && !self.value.is_equal(&now.value)
            && self.value.condition_keys() == now.value.condition_keys();
        if !is_comparable {
            return None;
        }
        let is_number = self.value.is_number() && now.value.is_number();
        if let Some(change) = now.change {
            let is_at_home = change == ChangeKind::Move && self.relation == Relation::Home;
            let suits = change.changes(self.relation) && (is_at_home || self.value.is_of_one_kind(&now.value));
            return (suits && (change != ChangeKind::Resize || is_number)).then_some(true);
        }
        if !self.value.is_of_one_kind(&now.value) || self.verb != now.verb {
            return None;
        }
        let has_attribute = self.topic.iter().any(|key| is_attribute(&SentenceWord::plain(key)));
        match (self.relation, now.relation) {
            (Relation::Is, Relation::Is) => (has_attribute || is_number).then_some(true),
            (Relation::At | Relation::When, Relation::At | Relation::When) => self.value.is_date().then_some(true),
            (Relation::Home, Relation::Home)
            | (Relation::Work, Relation::Work)
            | (Relation::Name, Relation::Name)
            | (Relation::Made, Relation::Made) => Some(true),
            (
                Relation::Measure | Relation::Has | Relation::Is,
                Relation::Measure | Relation::Has | Relation::Is,
            ) => is_number.then_some(false),
            (Relation::Use, Relation::Use) => (is_marked && !self.value.condition.is_empty()).then_some(false),
            (
                Relation::Is
                | Relation::At
                | Relation::Name
                | Relation::Home
                | Relation::Work
                | Relation::When
                | Relation::Use
                | Relation::Made
                | Relation::Has
                | Relation::Measure,
                _,
            ) => None,
        }
    }
}

/// The content words of a subject.
fn topic(words: &[SentenceWord]) -> BTreeSet<&str> {
    let is_topic = |word: &&SentenceWord| {
        word.is_value() && !word.is_listed(GENERIC_NOUNS) || word.is_listed("i my our your his her their we")
    };
    words.iter().filter(is_topic).map(|word| word.key.as_str()).collect()
}

fn value_after(words: &[SentenceWord]) -> Value<'_> {
    let first = words.iter().position(|word| word.is_value()).unwrap_or(words.len());
    Value::of(&words[first..])
}

/// `We replaced Jira with Linear for tickets`, `Linear replaced Jira`, `We use Linear instead of Jira`.
fn read_replacement(words: &[SentenceWord]) -> Option<Claim<'_>> {
    let find = |key: &str, from: usize| (from..words.len()).find(|at| words[*at].is(key));
    let (value, was, after, topic_words): (&[SentenceWord], &[SentenceWord], &[SentenceWord], &[SentenceWord]);
    if let Some(verb) = find("replac", 1) {
        if words[..verb].iter().any(|word| is_copula(word) || word.is_listed("been get got")) {
            return None;
        }
        let tail = &words[verb + 1..];
        match find("with", verb).or_else(|| find("by", verb)) {
            Some(with) => {
                (was, value, topic_words) = (&words[verb + 1..with], &words[with + 1..], &[]);
                after = &[];
            }
            None => {
                let old = Value::of(tail);
                (value, was, after, topic_words) = (&words[..verb], old.words, old.condition, &[]);
            }
        }
    } else {
        let at = find("instead", 1).filter(|at| words.get(at + 1).is_some_and(|word| word.is("of")))?;
        let verb = (0..at).rev().find(|at| relation_of(&words[*at]).is_some() || is_copula(&words[*at]))?;
        let old = Value::of(&words[at + 2..]);
        (value, was, after) = (&words[verb + 1..at], old.words, old.condition);
        topic_words = &words[..verb];
    }
    let value = if after.is_empty() { value_after(value) } else { Value { words: value, condition: after } };
    Some(Claim {
        topic: topic(topic_words)
            .into_iter()
            .filter(|key| !PERSONS.split(' ').any(|person| person == *key))
            .collect(),
        relation: Relation::Use,
        verb: None,
        value,
        was,
        change: None,
        is_denied: false,
    })
}

/// `The limit was raised from 100 to 250`, `We moved the wedding to August`.
fn read_change(words: &[SentenceWord]) -> Option<Claim<'_>> {
    let (verb, change) =
        words.iter().enumerate().skip(1).find_map(|(at, word)| change_of(word).map(|kind| (at, kind)))?;
    let tail = &words[verb + 1..];
    let goal = if change == ChangeKind::Rewrite { "in" } else { "to" };
    let to = tail.iter().rposition(|word| word.is(goal));
    let from = tail.iter().position(|word| word.is("from"));
    let bare = change == ChangeKind::Rename && to.is_none();
    let (object, was) = match (from, to) {
        (Some(from), Some(to)) if from < to => (&tail[..from], &tail[from + 1..to]),
        (_, Some(to)) => (&tail[..to], &tail[..0]),
        // `has been renamed Boulder`
        (_, None) if bare => (&tail[..0], &tail[..0]),
        (_, None) => return None,
    };
    let value = value_after(&tail[to.map_or(0, |to| to + 1)..]);
    let subject = topic(&words[..verb]);
    let object: BTreeSet<&str> =
        topic(object).into_iter().filter(|key| !VERB_PARTICLES.split(' ').any(|p| p == *key)).collect();
    // An agent changes an object; without an object, the subject itself changed.
    let is_agent = subject.iter().all(|key| PERSONS.split(' ').any(|person| person == *key));
    let topic = match (object.is_empty(), is_agent) {
        (false, _) => object,
        (true, false) => subject,
        (true, true) if words[..verb].iter().any(|word| word.is_listed("i he she")) => subject,
        (true, true) => BTreeSet::new(),
    };
    let is_denied = words.iter().any(|word| word.class == WordClass::Negation);
    Some(Claim { topic, relation: Relation::Is, verb: None, value, was, change: Some(change), is_denied })
}

/// `Bo Ek is the new CEO of Acme`: names before, a role behind.
fn read_role(words: &[SentenceWord]) -> Option<Claim<'_>> {
    let at = words.iter().position(is_copula).filter(|at| *at > 0)?;
    let (holder, role) = (&words[..at], &words[at + 1..]);
    let is_named = holder.iter().all(|word| word.class == WordClass::Name || word.class == WordClass::StopWord);
    let first = role.first().filter(|word| word.article == Article::Definite || word.is_listed("my our"))?;
    let is_denied = words.iter().any(|word| word.class == WordClass::Negation);
    let has_role = role.iter().any(is_attribute);
    let is_place = first.is_listed(PREPOSITIONS);
    let claim = Claim {
        topic: topic(role),
        relation: Relation::Is,
        verb: None,
        value: Value { words: holder, condition: &[] },
        was: &[],
        change: None,
        is_denied,
    };
    (is_named && has_role && !is_place).then_some(claim)
}

/// `The timeout of the gateway is 30 s`, `Tim lives in Oslo`, `timeout: 30 s`.
fn read_state(words: &[SentenceWord]) -> Option<Claim<'_>> {
    let is_verb = |at: &usize| {
        let word = &words[*at];
        (is_copula(word) && !word.is("'s") || relation_of(word).is_some() && word.class != WordClass::Name)
            && *at > 0
    };
    // A noun may look like a verb: `the limit is`.
    let is_plain_copula = |at: &usize| *at > 0 && is_copula(&words[*at]) && !words[*at].is("'s");
    let mut at = (0..words.len()).find(is_plain_copula).or_else(|| (0..words.len()).find(is_verb))?;
    // `is called`, `is based`: the participle tells.
    let participle = (at + 1..words.len().min(at + 3)).find(|next| {
        is_copula(&words[at])
            && relation_of(&words[*next]).is_some()
            && words[at + 1..*next].iter().all(|w| !w.is_value())
    });
    let copula = is_copula(&words[at]);
    at = participle.unwrap_or(at);
    let (subject, tail) = (&words[..at], &words[at + 1..]);
    let relation = match relation_of(&words[at]) {
        Some(Relation::When) if !copula && !words[at].is("happen") => return None,
        Some(Relation::Work) if !tail.first().is_some_and(|word| word.is_listed("at for by")) => return None,
        Some(Relation::Home) if !tail.first().is_some_and(|word| word.is_listed("in at on near")) => return None,
        Some(Relation::Made) if !copula => return None,
        Some(relation) => relation,
        None if tail.first().is_some_and(|word| word.is_listed("in at on")) => Relation::At,
        None => Relation::Is,
    };
    if is_event(&words[..=at]) && !copula || words[..at].iter().any(|word| word.is_listed("was were had")) {
        return None;
    }
    let value = value_after(tail);
    let topic = topic(subject);
    let verb = (relation == Relation::Measure).then_some(words[at].key.as_str());
    let is_denied = words.iter().any(|word| word.class == WordClass::Negation);
    Some(Claim { topic, relation, verb, value, was: &[], change: None, is_denied })
}
