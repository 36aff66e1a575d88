//! Decides from the words before a slot whether it can hold only one value.

use super::word::{Article, SentenceWord, WordClass};

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
const COPULAS: &str = "is are am was were be been being 's became becomes remains equals ist";
/// Stems of verbs and participles whose object is of one kind and one at a time.
const SINGLE_VALUED_VERBS: &str = "live resid locat base born die marri name call cost equal expir headquart weigh report belong found \
    head own creat written wrote develop direct perform produc default set due schedul employ appoint elect lead led \
    citizen affili origin made manufactur last take";
/// Those of them whose object is single only in the passive: one makes many things, each is made by one.
const MADE_VERBS: &str = "own found head creat written wrote develop direct perform produc elect lead led appoint employ made \
    manufactur affili take";
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
    weight speed name number count total coach king queen govern mayor minist chancellor execut offic secretari field profess occup room floor pier gate seat doctor supplier bank supervisor caterer captain chief";
/// Nouns that identify one thing among others of its kind by number or name.
const NUMBERED_NOUNS: &str = "releas issu ticket pr line step chapter phase section port case bug task sprint build \
    room item team server group part page row turn commit";
const PREPOSITIONS: &str = "in to at on by for from of as with under over";
/// Words that hardly narrow what they stand beside.
pub(super) const GENERIC_NOUNS: &str = "servic system app applic tool modul compon instanc set valu new current";
/// Past tense of what is done again and again; what was measured once is an event, not a state.
const PAST_VERBS: &str = "ran sold grew bought made spent took went saw got won lost wrote read came gave paid met built hit cut \
    fell rose sent kept held left felt taught drove flew ate drank broke began became rang sang swam threw stood sat slept";
/// Words that exclude each other whatever is said of them; the sides of each group.
const OPPOSITES: &[&[&str]] = &[
    &["up", "down broken"],
    &["enabl activ", "disabl inact"],
    &["on", "off"],
    &["open reopen", "close"],
    &["allow permit", "forbidden forbid prohibit ban"],
    &["true", "fals"],
    &["sync synchron", "async asynchron"],
    &["public", "privat"],
    &["requir mandatori compulsori", "option voluntari"],
    &["like love enjoy ador", "dislik hate detest loath"],
    &["accept", "reject refus"],
    &["includ", "exclud"],
    &["work", "broken"],
    &["clean", "pollut dirti"],
    &["alway", "never"],
    &["draft", "final"],
    &["green", "red"],
    &["singl unmarri", "marri engag", "divorc"],
];
/// Values of one kind: of a single-valued predicate, one at a time.
const KINDS: &[&[&str]] = &[
    &["light", "dark"],
    &["tab", "space"],
    &["celsius", "fahrenheit", "kelvin"],
    &["metric", "imperi"],
    &["tea", "coffe"],
    &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"],
    &["morn", "afternoon", "even", "night"],
    &["left", "right"],
    &["high", "medium", "low"],
    &["before", "after"],
    &["green", "red", "blue", "yellow", "black", "white"],
    &["merg", "rebas", "squash"],
    &["vegetarian", "vegan"],
    &["short brief", "long detail"],
];

/// Names of things of one kind, of which one may prefer one, or several.
const LIKELY_KINDS: &[&[&str]] = &[
    &["vim", "neovim", "emac", "nano", "helix", "vscode"],
    &["maco", "mac", "window", "linux"],
    &["postgr", "mysql", "sqlite"],
    &["python", "rust", "go", "java", "kotlin", "swift", "typescript"],
];

fn is_listed(list: &str, word: &SentenceWord) -> bool {
    word.is_listed(list)
}

/// Whether both belong to one group of mutually exclusive words, on different sides of it.
pub(super) fn is_exclusive(old: &[SentenceWord], new: &[SentenceWord], kinds_too: bool) -> bool {
    let is_short = |words: &[SentenceWord]| words.iter().filter(|word| word.is_value()).count() <= 2;
    let kinds = if kinds_too { KINDS } else { &[] };
    is_short(old) && is_short(new) && OPPOSITES.iter().chain(kinds).any(|group| are_apart(old, new, group))
}

fn is_likely_kind(old: &[SentenceWord], new: &[SentenceWord]) -> bool {
    LIKELY_KINDS.iter().any(|group| are_apart(old, new, group))
}

fn are_apart(old: &[SentenceWord], new: &[SentenceWord], group: &[&str]) -> bool {
    let side =
        |words: &[SentenceWord]| group.iter().position(|side| words.iter().any(|word| is_listed(side, word)));
    // `likes jazz` and `dislikes coriander` are no opposites.
    let others = |words: &[SentenceWord]| {
        let rest = words.iter().filter(|word| word.is_value() && !group.iter().any(|side| is_listed(side, word)));
        rest.map(|word| word.key.clone()).collect::<Vec<_>>()
    };
    let (old_rest, new_rest) = (others(old), others(new));
    let is_alike = old_rest == new_rest || old_rest.is_empty() || new_rest.is_empty();
    match (side(old), side(new)) {
        (Some(old), Some(new)) => old != new && is_alike,
        (Some(_) | None, Some(_) | None) => false,
    }
}
pub(super) fn is_verb(word: &SentenceWord) -> bool {
    [COPULAS, SINGLE_VALUED_VERBS, CATEGORY_VERBS, MULTI_VALUED_VERBS].iter().any(|list| is_listed(list, word))
}

pub(super) fn is_copula(word: &SentenceWord) -> bool {
    is_listed(COPULAS, word)
}

/// Whether a word names an attribute of which a thing has one.
pub(super) fn is_attribute(word: &SentenceWord) -> bool {
    is_listed(ATTRIBUTE_NOUNS, word)
}

/// What happened once, as `sold`, `reduced`; but not `is based`, `was born`.
pub(super) fn is_event(before: &[SentenceWord]) -> bool {
    let verb = before.iter().enumerate().rev().find(|(at, word)| {
        *at > 0
            && word.class == WordClass::Plain
            && (word.is_listed(PAST_VERBS) || word.text.ends_with("ed") && !word.text.ends_with("eed"))
    });
    verb.is_some_and(|(at, word)| !is_listed(SINGLE_VALUED_VERBS, word) && !before[..at].iter().any(is_auxiliary))
}

fn is_auxiliary(word: &SentenceWord) -> bool {
    is_copula(word) || word.is_listed("get got has have had can may must should will would")
}

/// Cardinality of the slot between `before` and `after`, filled by the older and by the newer value.
pub(super) fn slot_cardinality(
    before: &[SentenceWord],
    sides: [&[SentenceWord]; 2],
    after: &[SentenceWord],
    is_marked: bool,
) -> Cardinality {
    let [old, new] = sides;
    let is_number = sides.into_iter().all(|words| words.iter().any(|word| word.class == WordClass::Number));
    let can_be_subject = |word: &SentenceWord| word.is_value() || word.is_listed("i we you my our your");
    let Some(subject) = before.iter().position(can_be_subject) else { return Cardinality::Many };
    // A verb right after the slot makes it part of the sentence's subject.
    let verb_at = before.iter().rposition(is_verb).filter(|at| *at > subject);
    let is_subject = after.first().is_some_and(|word| is_copula(word) && !word.is("am"));
    if is_subject || verb_at.is_none() && after.iter().any(is_verb) {
        return Cardinality::Many;
    }
    if is_exclusive(old, new, false)
        && !before.iter().any(|word| word.class == WordClass::Negation)
        && (verb_at.is_some() || old.iter().chain(new).any(is_verb))
    {
        return Cardinality::One;
    }
    let was = verb_at.is_some_and(|at| before[at].is_listed("was were"));
    // What is not so here may not be so there, either.
    let is_denied = before.iter().any(|word| word.class == WordClass::Negation);
    if was || is_denied || is_event(before) || [old, new].into_iter().any(is_clause) {
        return Cardinality::Many;
    }
    let attribute = before.iter().rposition(is_attribute);
    if is_number {
        return number_cardinality(before, after, verb_at, attribute);
    }
    let Some(at) = verb_at else {
        let has_preposition = before.last().is_some_and(|word| is_listed(PREPOSITIONS, word));
        let named = attribute.is_some_and(|at| at > 0 && at + 1 == before.len())
            && after.is_empty()
            && is_single(old)
            && is_single(new);
        let enough = before.iter().filter(|word| word.is_value()).count() >= 2;
        return if enough && (has_preposition || named) { Cardinality::Unclear } else { Cardinality::Many };
    };
    verb_cardinality(before, at, sides, after, is_marked)
}

/// A number behind a verb measures something. Behind a noun of which there are many it says which one is meant.
fn number_cardinality(
    before: &[SentenceWord],
    after: &[SentenceWord],
    verb_at: Option<usize>,
    attribute: Option<usize>,
) -> Cardinality {
    let last_word = before.iter().rev().find(|word| !word.is_empty());
    let is_numbered = last_word.is_some_and(|word| is_listed(NUMBERED_NOUNS, word));
    let many = verb_at.is_some_and(|at| is_listed(MULTI_VALUED_VERBS, &before[at]));
    let of_the_subject = is_numbered && (after.iter().any(SentenceWord::is_value) || many);
    match (of_the_subject, verb_at.is_some(), attribute.is_some_and(|at| at + 1 == before.len())) {
        (true, _, _) => Cardinality::Many,
        (false, true, _) | (false, false, true) => Cardinality::One,
        // `sessions expire after 30 minutes`: whatever the verb is, it is in the same words.
        (false, false, false) => {
            let words = before.iter().filter(|word| word.is_value()).count();
            let ends_so = before
                .last()
                .is_some_and(|word| is_listed(PREPOSITIONS, word) || word.is_listed("after before until"));
            if words >= 2 && (ends_so || last_word.is_some_and(|word| word.text.ends_with('s'))) {
                Cardinality::One
            } else {
                Cardinality::Many
            }
        }
    }
}

fn verb_cardinality(
    before: &[SentenceWord],
    at: usize,
    [old, new]: [&[SentenceWord]; 2],
    after: &[SentenceWord],
    is_marked: bool,
) -> Cardinality {
    let verb = &before[at];
    let of_attribute = before[at + 1..].iter().rposition(is_attribute).map(|found| at + 1 + found);
    let is_possession = is_copula(verb) || verb.is_listed("has have had set");
    if let Some(found) = of_attribute
        && (is_possession
            || before.get(found + 1).is_some_and(|word| word.is("of"))
            || !is_listed(MULTI_VALUED_VERBS, verb))
    {
        return Cardinality::One;
    }
    let is_of_kind = is_exclusive(old, new, true);
    // Whatever it is: only now, and in the place of the other.
    let replaced =
        if is_marked && is_single(old) && is_single(new) { Cardinality::Unclear } else { Cardinality::Many };
    let has_category = after.first().is_some_and(|word| word.is_value());
    let plain_between = before[at + 1..].iter().any(|word| word.is_value());
    match () {
        () if is_listed(MADE_VERBS, verb) && !before[..at].iter().any(is_copula) => Cardinality::Many,
        () if is_listed(SINGLE_VALUED_VERBS, verb) || is_of_kind && !is_listed(MULTI_VALUED_VERBS, verb) => {
            Cardinality::One
        }
        () if is_copula(verb) && plain_between => replaced,
        () if is_copula(verb) => {
            match (names_attribute(&before[..at]), before.last().map(|word| is_listed(PREPOSITIONS, word))) {
                (true, _) => Cardinality::One,
                // `is in Oslo`: at one place, at one time.
                (false, Some(true)) => Cardinality::One,
                (false, Some(false) | None) if is_indefinite(old) || is_indefinite(new) => Cardinality::Many,
                (false, Some(false) | None) => name_cardinality(old, new),
            }
        }
        () if is_listed(CATEGORY_VERBS, verb) => {
            let placed =
                is_listed(LOCATION_VERBS, verb) && before.last().is_some_and(|word| is_listed(PREPOSITIONS, word));
            match (has_category, placed && is_single(old) && is_single(new)) {
                (true, _) => Cardinality::One,
                (false, true) => Cardinality::Unclear,
                (false, false) if is_likely_kind(old, new) => Cardinality::Unclear,
                (false, false) if verb.is_listed("prefer choos chose chosen pick") => Cardinality::Many,
                (false, false) => name_cardinality(old, new),
            }
        }
        () if verb.is_listed("use meet run drive order buy host") => replaced,
        () => Cardinality::Many,
    }
}

/// Whether the subject is an attribute of something: `the default branch`, `the author of Dune`. One of several is not.
fn names_attribute(subject: &[SentenceWord]) -> bool {
    let is_part = subject.iter().any(|word| word.is_listed("1 some part most other each every member"));
    let is_head = |at: usize| subject.get(at + 1).is_none_or(|next| !next.is_value());
    let named = (0..subject.len()).any(|at| is_attribute(&subject[at]) && is_head(at));
    !is_part
        && (named
            || subject.iter().any(|word| word.is("of"))
                && subject.first().is_some_and(|word| word.article == Article::Definite))
}

fn is_indefinite(words: &[SentenceWord]) -> bool {
    words.first().is_some_and(|word| word.article == Article::Indefinite)
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
