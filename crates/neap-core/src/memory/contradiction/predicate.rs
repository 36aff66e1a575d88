//! Decides from the words before a slot whether it can hold only one value.

use super::word::{SentenceWord, WordClass};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cardinality {
    /// Only one: another value is a contradiction.
    One,
    /// Possibly only one.
    Unclear,
    /// Several, or the sentences are about different things.
    Many,
}

/// Forms of `to be`: single-valued only where an attribute is named.
const COPULAS: &str = "is are was were be been being 's became becomes remains equals ist";
/// Stems of verbs and participles whose object is of one kind and one at a time.
const SINGLE_VALUED_VERBS: &str = "live resid locat base born die marri name call cost equal expir headquart weigh report belong found \
    head own creat written wrote develop direct perform produc default set due schedul employ appoint elect lead led \
    citizen affili origin made manufactur last take";
/// Verbs whose object may be of many kinds: a preference for one thing says nothing about another kind of thing.
const CATEGORY_VERBS: &str = "prefer choos chose chosen pick run deploy host store switch move work point target assign \
    keep start end close open stand";
/// Those of them that name a place: presumably one at a time.
const LOCATION_VERBS: &str = "run deploy host store";
/// Verbs that take several objects side by side.
const MULTI_VALUED_VERBS: &str = "use like love enjoy speak know has have had own support includ contain visit need requir want \
    read play depend meet met buy bought plan collabor studi see saw attend hate dislik expos provid listen handl allow \
    eat drink tri test add learn fix mention ask said say discuss";
/// Nouns that name a single-valued attribute.
const ATTRIBUTE_NOUNS: &str = "default branch timeout limit port version owner leader manag chair chairperson director head \
    author ceo presid capit languag colour color currenc favourit favorit prefer primari main current deadlin address \
    email phone citi countri birthday age size price budget status databas region provid editor theme timezon unit \
    format date time titl role job employ religion sport posit spous partner locat level mode rate contin \
    headquart founder offici type genr quota cap maximum minimum interv retri threshold window lead temperatur height \
    weight speed name number count total coach king queen govern mayor minist chancellor execut offic secretari field profess occup";
/// Nouns that identify one thing among others of its kind by number or name.
const NUMBERED_NOUNS: &str = "releas issu ticket pr line step chapter phase section port case bug task sprint build \
    room item team server group part page row turn commit";
const PREPOSITIONS: &str = "in to at on by for from of as with under over";
const OPPOSITES: &[&str] = &[
    "up down",
    "enabl disabl",
    "on off",
    "open close",
    "allow forbidden",
    "true fals",
    "activ inact",
    "light dark",
    "tab space",
    "sync async",
    "synchron asynchron",
    "public privat",
    "requir option",
    "before after",
    "alway never",
    "celsius fahrenheit kelvin",
    "metric imperi",
    "tea coffe",
    "monday tuesday wednesday thursday friday saturday sunday",
    "morn afternoon even",
    "left right",
    "high medium low",
    "red green blue yellow black white",
    "merg rebas squash",
    "vegetarian vegan",
];

fn is_listed(list: &str, word: &SentenceWord) -> bool {
    list.split_whitespace().any(|entry| entry == word.key)
}

/// Whether both belong to one group of mutually exclusive words.
pub(super) fn is_opposite(old: &[SentenceWord], new: &[SentenceWord]) -> bool {
    let in_group = |words: &[SentenceWord], group: &str| words.iter().any(|word| is_listed(group, word));
    let is_short = |words: &[SentenceWord]| words.iter().filter(|word| word.is_value()).count() <= 2;
    is_short(old) && is_short(new) && OPPOSITES.iter().any(|group| in_group(old, group) && in_group(new, group))
}

/// Cardinality of the slot between `before` and `after`, filled by `old` and by `new`.
pub(super) fn slot_cardinality(
    before: &[SentenceWord],
    old: &[SentenceWord],
    new: &[SentenceWord],
    after: &[SentenceWord],
    is_number: bool,
) -> Cardinality {
    let is_verb = |word: &SentenceWord| {
        [COPULAS, SINGLE_VALUED_VERBS, CATEGORY_VERBS, MULTI_VALUED_VERBS].iter().any(|list| is_listed(list, word))
    };
    let Some(subject) = before.iter().position(SentenceWord::is_value) else { return Cardinality::Many };
    let last_word = before.iter().rev().find(|word| word.class != WordClass::StopWord);
    let is_numbered = last_word.is_some_and(|word| is_listed(NUMBERED_NOUNS, word));
    // With a verb only after the slot, the slot is part of the sentence's subject.
    let has_predicate =
        before[subject..].iter().skip(1).any(|word| is_verb(word) || is_listed(ATTRIBUTE_NOUNS, word));
    let verb_at = before.iter().rposition(is_verb);
    if verb_at.is_none() && after.iter().any(is_verb) {
        return Cardinality::Many;
    }
    // A copula right after the slot makes it part of the sentence's subject.
    if after.first().is_some_and(|word| is_listed(COPULAS, word)) {
        return Cardinality::Many;
    }
    if [old, new].into_iter().any(is_clause) {
        return Cardinality::Many;
    }
    let attribute = before.iter().rposition(|word| is_listed(ATTRIBUTE_NOUNS, word));
    if is_number {
        let many = verb_at.is_some_and(|at| is_listed(MULTI_VALUED_VERBS, &before[at]));
        let is_subject = is_numbered && (after.iter().any(SentenceWord::is_value) || many);
        return if is_subject { Cardinality::Many } else { Cardinality::One };
    }
    let Some(at) = verb_at.filter(|_| has_predicate) else {
        let has_preposition = before.last().is_some_and(|word| is_listed(PREPOSITIONS, word));
        let named = attribute.is_some_and(|at| at > 0 && at + 1 == before.len());
        let enough = before.iter().filter(|word| word.is_value()).count() >= 2;
        return if enough && (has_preposition || named) { Cardinality::Unclear } else { Cardinality::Many };
    };
    if attribute.is_some_and(|attribute| attribute > at) {
        return Cardinality::One;
    }
    let has_category = after.first().is_some_and(|word| word.is_value());
    let verb = &before[at];
    match () {
        () if is_listed(COPULAS, verb) => {
            let named = attribute.is_some() || before[..at].iter().any(|word| word.key == "of");
            if named { Cardinality::One } else { name_cardinality(old, new) }
        }
        () if is_listed(SINGLE_VALUED_VERBS, verb) => Cardinality::One,
        () if is_listed(CATEGORY_VERBS, verb) => {
            let placed =
                is_listed(LOCATION_VERBS, verb) && before.last().is_some_and(|word| is_listed(PREPOSITIONS, word));
            match (has_category, placed && is_single(old) && is_single(new)) {
                (true, _) => Cardinality::One,
                (false, true) => Cardinality::Unclear,
                (false, false) => name_cardinality(old, new),
            }
        }
        () => Cardinality::Many,
    }
}

/// Whether a slot holds a clause instead of a value: `in Rome` and `by Ann`, `married to Bo` and `employed by Bo`.
fn is_clause(words: &[SentenceWord]) -> bool {
    let is_verb = |word: &SentenceWord| {
        word.class == WordClass::Plain
            && [SINGLE_VALUED_VERBS, CATEGORY_VERBS, MULTI_VALUED_VERBS].iter().any(|list| is_listed(list, word))
    };
    words.first().is_some_and(|first| is_listed(PREPOSITIONS, first) || is_verb(first))
}

fn is_single(words: &[SentenceWord]) -> bool {
    words.iter().filter(|word| word.is_value()).count() == 1
}

/// Names of one kind may exclude each other.
fn name_cardinality(old: &[SentenceWord], new: &[SentenceWord]) -> Cardinality {
    let names = |words: &[SentenceWord]| {
        words.iter().filter(|word| word.is_value()).all(|word| word.class == WordClass::Name)
    };
    if names(old) && names(new) { Cardinality::Unclear } else { Cardinality::Many }
}
