//! What can hold only one value at a time, told by the words before it.

use super::word::{Sort, Word};

/// Whether a place can hold more than one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Only one: another value contradicts.
    One,
    /// It may be only one.
    Unclear,
    /// Several, or the two are about different things.
    Many,
}

/// Being: `is`, `are`. What follows can hold one value only where an attribute is named.
const BEING: &str = "is are was were be been being 's became becomes remains equals ist";
/// Verbs and participles (stems) whose object is of one sort and one at a time.
const ONE: &str = "live resid locat base born die marri name call cost equal expir headquart weigh report belong found \
    head own creat written wrote develop direct perform produc default set due schedul employ appoint elect lead led \
    citizen affili origin made manufactur last take";
/// Verbs whose object may be of many sorts: preferring one thing says nothing about another sort of thing.
const OF_A_SORT: &str = "prefer choos chose chosen pick run deploy host store switch move work point target assign \
    keep start end close open stand";
/// Of these, verbs that say where something is: one place at a time, as far as one can tell.
const PLACED: &str = "run deploy host store";
/// Verbs that several objects stand beside each other with.
const MANY: &str = "use like love enjoy speak know has have had own support includ contain visit need requir want \
    read play depend meet met buy bought plan collabor studi see saw attend hate dislik expos provid listen handl allow \
    eat drink tri test add learn fix mention ask said say discuss";
/// Nouns that name an attribute: it has one value.
const ATTRIBUTE: &str = "default branch timeout limit port version owner leader manag chair chairperson director head \
    author ceo presid capit languag colour color currenc favourit favorit prefer primari main current deadlin address \
    email phone citi countri birthday age size price budget status databas region provid editor theme timezon unit \
    format date time titl role job employ religion sport posit spous partner locat level mode rate contin \
    headquart founder offici type genr quota cap maximum minimum interv retri threshold window lead temperatur height \
    weight speed name number count total coach king queen govern mayor minist chancellor execut offic secretari field profess occup";
/// Nouns that tell one thing from others of its sort, by number or name.
const TELLING_APART: &str = "releas issu ticket pr line step chapter phase section port case bug task sprint build \
    room item team server group part page row turn commit";
const PREPOSITIONS: &str = "in to at on by for from of as with under over";
/// Words of which only one can hold.
const OPPOSED: &[&str] = &[
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

fn is_in(list: &str, word: &Word) -> bool {
    list.split_whitespace().any(|entry| entry == word.key)
}

/// Whether both are of one sort of which only one can hold.
pub(super) fn opposed(old: &[Word], new: &[Word]) -> bool {
    let in_group = |words: &[Word], group: &str| words.iter().any(|word| is_in(group, word));
    let own = |words: &[Word]| words.iter().filter(|word| word.is_value()).count() <= 2;
    own(old) && own(new) && OPPOSED.iter().any(|group| in_group(old, group) && in_group(new, group))
}

/// Whether the place between `before` and `after` can hold only one value, of which `old` and `new` are two.
pub(super) fn holds(before: &[Word], old: &[Word], new: &[Word], after: &[Word], is_number: bool) -> Holds {
    let verb = |word: &Word| [BEING, ONE, OF_A_SORT, MANY].iter().any(|list| is_in(list, word));
    let Some(subject) = before.iter().position(Word::is_value) else { return Holds::Many };
    let near = before.iter().rev().find(|word| word.sort != Sort::Small);
    let apart = near.is_some_and(|word| is_in(TELLING_APART, word));
    // A verb only after the slot: the slot is part of what the sentence is about.
    let leads = before[subject..].iter().skip(1).any(|word| verb(word) || is_in(ATTRIBUTE, word));
    let told = before.iter().rposition(verb);
    if told.is_none() && after.iter().any(verb) {
        return Holds::Many;
    }
    // What is then said of it makes the slot part of what the sentence is about.
    if after.first().is_some_and(|word| is_in(BEING, word)) {
        return Holds::Many;
    }
    if [old, new].into_iter().any(says_more) {
        return Holds::Many;
    }
    let attribute = before.iter().rposition(|word| is_in(ATTRIBUTE, word));
    if is_number {
        let many = told.is_some_and(|at| is_in(MANY, &before[at]));
        let is_subject = apart && (after.iter().any(Word::is_value) || many);
        return if is_subject { Holds::Many } else { Holds::One };
    }
    let Some(at) = told.filter(|_| leads) else {
        let led = before.last().is_some_and(|word| is_in(PREPOSITIONS, word));
        let named = attribute.is_some_and(|at| at > 0 && at + 1 == before.len());
        let enough = before.iter().filter(|word| word.is_value()).count() >= 2;
        return if enough && (led || named) { Holds::Unclear } else { Holds::Many };
    };
    if attribute.is_some_and(|attribute| attribute > at) {
        return Holds::One;
    }
    let of_one_sort = after.first().is_some_and(|word| word.is_value());
    let verb = &before[at];
    match () {
        () if is_in(BEING, verb) => {
            let named = attribute.is_some() || before[..at].iter().any(|word| word.key == "of");
            if named { Holds::One } else { alike(old, new) }
        }
        () if is_in(ONE, verb) => Holds::One,
        () if is_in(OF_A_SORT, verb) => {
            let placed = is_in(PLACED, verb) && before.last().is_some_and(|word| is_in(PREPOSITIONS, word));
            match (of_one_sort, placed && is_single(old) && is_single(new)) {
                (true, _) => Holds::One,
                (false, true) => Holds::Unclear,
                (false, false) => alike(old, new),
            }
        }
        () => Holds::Many,
    }
}

/// Whether what stands in a slot is no bare value: `in Rome` and `by Ann`, `married to Bo` and `employed by Bo`.
fn says_more(words: &[Word]) -> bool {
    let verb =
        |word: &Word| word.sort == Sort::Plain && [ONE, OF_A_SORT, MANY].iter().any(|list| is_in(list, word));
    words.first().is_some_and(|first| is_in(PREPOSITIONS, first) || verb(first))
}

fn is_single(words: &[Word]) -> bool {
    words.iter().filter(|word| word.is_value()).count() == 1
}

/// Values that look to be of one sort may exclude each other.
fn alike(old: &[Word], new: &[Word]) -> Holds {
    let names = |words: &[Word]| words.iter().filter(|word| word.is_value()).all(|word| word.sort == Sort::Name);
    if names(old) && names(new) { Holds::Unclear } else { Holds::Many }
}
