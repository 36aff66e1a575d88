//! Templates with slots, by kind of memory.

use neap_core::memory::{
    Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact, Outcome,
    Procedure, Reason, ReasonKind, Stakes,
};

use super::rng::CorpusRng;
use super::topics::Topic;

const PEOPLE: [&str; 14] = [
    "Tim", "Mara", "Jonas", "Aylin", "Priya", "Luca", "Sofia", "Henrik", "Noor", "Elena", "Ben", "Yuki", "Carlos",
    "Greta",
];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WORK_PLACES: [&str; 8] = [
    "in staging",
    "in production",
    "for Acme",
    "for the Berlin office",
    "in the EU region",
    "for new customers",
    "on weekends",
    "since the last release",
];
const LIFE_PLACES: [&str; 8] = [
    "at home",
    "at Grandma's",
    "in winter",
    "in summer",
    "on weekends",
    "for four people",
    "near the station",
    "since the holidays",
];
const UNITS: [&str; 7] = ["minutes", "percent", "items", "euros", "hours", "points", "days"];

/// A memory's body and the slots of its topic that it uses.
#[derive(Clone)]
pub(crate) struct Statement {
    pub(crate) body: Body,
    pub(crate) slots: Vec<&'static str>,
}

struct Words {
    thing: &'static str,
    thing2: &'static str,
    option: &'static str,
    option2: &'static str,
    trouble: &'static str,
    doing: &'static str,
    doing2: &'static str,
    name: &'static str,
    person: &'static str,
    month: &'static str,
    place: &'static str,
    unit: &'static str,
    n: u64,
}

fn draw_words(rng: &mut CorpusRng, topic: &Topic) -> Words {
    let (thing, thing2) = rng.two(&topic.things);
    let (option, option2) = rng.two(&topic.options);
    let (doing, doing2) = rng.two(&topic.doings);
    let is_work =
        matches!(topic.field, "data" | "infra" | "backend" | "frontend" | "security" | "business" | "team");
    Words {
        thing,
        thing2,
        option,
        option2,
        trouble: rng.pick(&topic.troubles),
        doing,
        doing2,
        name: rng.pick(&topic.names),
        person: rng.pick(&PEOPLE),
        month: rng.pick(&MONTHS),
        place: rng.pick(if is_work { &WORK_PLACES } else { &LIFE_PLACES }),
        unit: rng.pick(&UNITS),
        n: rng.between(2, 480),
    }
}

fn draw_confidence(rng: &mut CorpusRng, low: u64, high: u64) -> Confidence {
    Confidence::from_thousandths(rng.between(low, high) as u16).unwrap_or(Confidence::FULL)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

pub(crate) fn fact(rng: &mut CorpusRng, topic: &Topic) -> Statement {
    let w = draw_words(rng, topic);
    let Words { thing, thing2, option, option2, trouble, doing, name, person, month, place, unit, n, .. } = w;
    let (subject, content, slots) = match rng.between(0, 15) {
        0 => (thing, format!("{person} looks after {thing} {place}"), vec![thing]),
        1 => (thing, format!("{thing} changed in {month} when {person} had to {doing}"), vec![thing]),
        2 => (option, format!("{option} costs {n} euros a month {place}"), vec![option]),
        3 => (option, format!("{option} only pays if {thing} is in order first"), vec![option, thing]),
        4 => (thing, format!("When {trouble}, {thing} is what to look at first"), vec![thing]),
        5 => (option, format!("{person} prefers {option} to {option2} {place}"), vec![option, option2]),
        6 => (thing, format!("{thing} {place} came to {n} {unit} in {month}"), vec![thing]),
        7 => (thing, format!("{} {n} times in {month}, mostly because of {thing}", capital(trouble)), vec![thing]),
        8 => (name, format!("It took {person} {n} minutes to {doing} {place}"), vec![]),
        9 => (name, format!("{name} depends on {thing} and {thing2}"), vec![thing, thing2]),
        10 => (thing, format!("{person}'s notes on {thing} are in DOC-{n}"), vec![thing]),
        11 => (thing, format!("The limit for {thing} {place} is {n} {unit}"), vec![thing]),
        12 => (option, format!("{option} does not go well with {thing} {place}"), vec![option, thing]),
        13 => (name, format!("Somebody has to {doing} every {month}, last time it was {person}"), vec![]),
        14 => (thing, format!("Ask {person} before anyone changes {thing} {place}"), vec![thing]),
        _ => (option2, format!("{option2} was ruled out for {name} because of {thing}"), vec![option2, thing]),
    };
    let confidence = draw_confidence(rng, 550, 1_000);
    let body = Body::Fact(Fact::new(subject, capital(&content), confidence));
    Statement { body, slots }
}

pub(crate) fn decision(rng: &mut CorpusRng, topic: &Topic) -> Statement {
    let w = draw_words(rng, topic);
    let Words { thing, thing2, option, option2, trouble, doing, doing2, name, person, month, place, n, .. } = w;
    let (description, slots) = match rng.between(0, 8) {
        0 | 1 => (format!("Chose {option} over {option2} for {thing}"), vec![option, option2, thing]),
        2 => (format!("{} before {month} comes", capital(doing)), vec![]),
        3 => (format!("Keep {thing} as it is until {month}"), vec![thing]),
        4 => (format!("Use {option} for {name} {place}"), vec![option]),
        5 => (format!("Let {person} take over {thing} {place}"), vec![thing]),
        6 => (format!("Spend {n} euros on {option} {place}"), vec![option]),
        7 => (format!("Put off {option} and {doing} first"), vec![option]),
        _ => (format!("Replace {option2} with {option} {place}"), vec![option, option2]),
    };
    let reasons = [
        (ReasonKind::Evidence, format!("{} {n} times in {month}", capital(trouble))),
        (ReasonKind::Analysis, format!("{} makes {thing2} simpler", capital(option))),
        (ReasonKind::Experience, format!("{person} met the same with {option2}")),
        (ReasonKind::Constraint, format!("{} must be settled by {month}", capital(thing2))),
        (ReasonKind::Preference, format!("{person} would rather {doing2}")),
    ];
    let from = rng.between(0, 4) as usize;
    let reasons = reasons.into_iter().cycle().skip(from).take(rng.between(1, 3) as usize);
    let (outcome, outcome_notes) = match rng.between(1, 100) {
        1..=45 => (Outcome::Success, format!("{} got better by {} percent.", capital(thing2), rng.between(5, 70))),
        46..=60 => (Outcome::Partial, format!("Better, but {trouble} now and then.")),
        61..=72 => (Outcome::Failure, format!("After two weeks {person} went back to {option2}.")),
        _ => (Outcome::Pending, String::new()),
    };
    let context = match rng.between(0, 2) {
        0 => format!("It came up when {trouble}."),
        1 => format!("Part of the plans for {name} in {month}."),
        _ => String::new(),
    };
    let reasons = reasons.map(|(kind, text)| Reason { kind, text }).collect();
    let decision = Decision::new(description, draw_confidence(rng, 500, 950));
    let body = Body::Decision(Decision {
        context,
        reasons,
        category: rng.pick(&["architecture", "process", "money", "people", "everyday"]).to_owned(),
        stakes: rng.pick(&[Stakes::Low, Stakes::Medium, Stakes::Medium, Stakes::High]),
        alternatives: if rng.chance(60) { vec![option2.to_owned()] } else { Vec::new() },
        outcome,
        outcome_notes,
        ..decision
    });
    Statement { body, slots }
}

pub(crate) fn episode(rng: &mut CorpusRng, topic: &Topic) -> Statement {
    let w = draw_words(rng, topic);
    let Words { thing, thing2, option, trouble, doing, doing2, name, person, month, place, unit, n, .. } = w;
    let (summary, slots) = match rng.between(0, 5) {
        0 => (format!("Sat down with {person} to {doing}"), vec![]),
        1 => (format!("Talked about {thing} and {option}"), vec![thing, option]),
        2 => (format!("{}, so we had to {doing}", capital(trouble)), vec![]),
        3 => (format!("Tried {option} for {thing} {place}"), vec![option, thing]),
        4 => (format!("Looked into why {trouble}"), vec![]),
        _ => (format!("Went through {thing} {place} once more"), vec![thing]),
    };
    let outcome = match rng.between(0, 4) {
        0 => format!("{option} stays for now"),
        1 => format!("{person} follows up on {thing2}"),
        2 => format!("agreed to {doing2}"),
        3 => format!("nothing conclusive about {thing}"),
        _ => String::new(),
    };
    let lessons = match rng.between(0, 3) {
        0 => vec![format!("look at {thing2} first")],
        1 => vec![format!("do not {doing} on a Friday"), format!("tell {person} early")],
        _ => Vec::new(),
    };
    let detail = format!(
        "It began in {month} with {name}: {trouble}. {person} had {n} {unit} written down for {thing}, and nobody \
         could say whether {option} would help. In the end we said we would {doing2} and see about {thing2} later."
    );
    let body = Body::Episode(Episode {
        detail,
        participants: if rng.chance(70) { vec![person.to_owned()] } else { Vec::new() },
        minutes: rng.chance(60).then(|| rng.between(10, 300) as u32),
        outcome,
        lessons,
        ..Episode::new(summary)
    });
    Statement { body, slots }
}

/// At most one procedure per activity of a topic.
pub(crate) fn procedure(rng: &mut CorpusRng, topic: &Topic, which: usize) -> Statement {
    let w = draw_words(rng, topic);
    let Words { thing, thing2, option, trouble, person, name, .. } = w;
    let doing = topic.doings[which % topic.doings.len()];
    let patterns = vec![
        format!("Look at {thing} before you begin"),
        format!("Tell {person} and wait for an answer"),
        format!("Stop when {trouble}"),
        format!("Write down {thing2} afterwards"),
    ];
    let steps = if rng.chance(50) {
        vec![format!("Open {name}"), format!("Compare with {option}"), capital(doing), "Say so".to_owned()]
    } else {
        Vec::new()
    };
    let body = Body::Procedure(Procedure { core_patterns: patterns, steps, ..Procedure::new(capital(doing)) });
    Statement { body, slots: vec![thing, thing2] }
}

pub(crate) fn censor(rng: &mut CorpusRng, topic: &Topic) -> Statement {
    let w = draw_words(rng, topic);
    let Words { thing, option, person, month, name, .. } = w;
    let verb = rng.pick(&["delete", "promise", "overwrite", "publish"]);
    let pattern = CensorPattern::Words(format!("{verb} {thing} {option}"));
    let side = rng.pick(&[CensorSide::Input, CensorSide::Output, CensorSide::ToolCall]);
    let action = rng.pick(&[CensorAction::Steer, CensorAction::Steer, CensorAction::Refuse]);
    let reason = format!("{person} regretted it for {name} in {month}");
    let body = Body::Censor(Censor::new(pattern, side, action, reason));
    Statement { body, slots: vec![thing, option] }
}
