//! Memories made from templates with slots, by kind of memory.

use std::collections::BTreeMap;

use neap_core::memory::{
    Body, Censor, CensorAction, CensorPattern, CensorSide, Confidence, Decision, Episode, Fact, Outcome,
    Procedure, Reason, Stakes,
};

use super::topics::Topic;
use crate::measure::Rng;

/// One template or list of words per line, as `group|text`. `{Thing}` is `{thing}` with a capital.
const TEMPLATES: &str = include_str!("templates.txt");
/// The slots by which a question finds a memory.
const SLOTS: [&str; 4] = ["thing", "thing2", "option", "option2"];
const WORK_FIELDS: [&str; 7] = ["data", "infra", "backend", "frontend", "security", "business", "team"];

pub(super) fn group(name: &str) -> Vec<&'static str> {
    TEMPLATES.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('|')).collect()
}

/// A memory's body and the slots of its topic that it uses.
#[derive(Clone)]
pub(crate) struct Statement {
    pub(crate) body: Body,
    pub(crate) slots: Vec<&'static str>,
}

struct Words {
    by_slot: BTreeMap<&'static str, &'static str>,
    n: u64,
}

impl Words {
    fn draw(rng: &mut Rng, topic: &Topic) -> Self {
        let (thing, thing2) = rng.two(&topic.things);
        let (option, option2) = rng.two(&topic.options);
        let (doing, doing2) = rng.two(&topic.doings);
        let (trouble, name) = (rng.pick(&topic.troubles), rng.pick(&topic.names));
        let place = if WORK_FIELDS.contains(&topic.field) { "place at work" } else { "place in life" };
        let [person, month, place, unit] = ["person", "month", place, "unit"]
            .map(|list| rng.pick(&group(list).iter().flat_map(|words| words.split(", ")).collect::<Vec<_>>()));
        let pairs = [
            [("thing", thing), ("thing2", thing2), ("option", option), ("option2", option2)],
            [("doing", doing), ("doing2", doing2), ("trouble", trouble), ("name", name)],
            [("person", person), ("month", month), ("place", place), ("unit", unit)],
        ];
        Self { by_slot: pairs.into_iter().flatten().collect(), n: rng.between(2, 480) }
    }

    fn get(&self, slot: &str) -> &'static str {
        self.by_slot.get(slot).copied().unwrap_or_default()
    }

    fn fill(&self, template: &str) -> String {
        let mut filled = String::new();
        for part in template.split('{') {
            let Some((slot, text)) = part.split_once('}') else {
                filled.push_str(part);
                continue;
            };
            let lower = slot.to_lowercase();
            let word = if slot == "n" { self.n.to_string() } else { self.get(&lower).to_owned() };
            filled.push_str(&if lower == slot { word } else { capital(&word) });
            filled.push_str(text);
        }
        filled
    }

    fn fill_all(&self, name: &str) -> Vec<String> {
        group(name).into_iter().map(|template| self.fill(template)).collect()
    }

    fn fill_any(&self, rng: &mut Rng, name: &str) -> String {
        self.fill(rng.pick(&group(name)))
    }

    fn slots_in(&self, template: &str) -> Vec<&'static str> {
        let used = SLOTS.into_iter().filter(|slot| template.contains(&format!("{{{slot}}}")));
        used.map(|slot| self.get(slot)).collect()
    }
}

fn draw_confidence(rng: &mut Rng, low: u64, high: u64) -> Confidence {
    Confidence::from_thousandths(rng.between(low, high) as u16).unwrap_or(Confidence::FULL)
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

pub(crate) fn fact(rng: &mut Rng, topic: &Topic) -> Statement {
    let words = Words::draw(rng, topic);
    let (subject, template) = rng.pick(&group("fact")).split_once('|').unwrap_or_default();
    let confidence = draw_confidence(rng, 550, 1_000);
    let content = capital(&words.fill(template));
    let body = Body::Fact(Fact::new(words.get(subject), content, confidence));
    Statement { body, slots: words.slots_in(template) }
}

pub(crate) fn decision(rng: &mut Rng, topic: &Topic) -> Statement {
    let words = Words::draw(rng, topic);
    let template = rng.pick(&group("decision"));
    let reasons = words.fill_all("decision reason").into_iter().cycle().skip(rng.between(0, 4) as usize);
    let reasons = reasons.take(rng.between(1, 3) as usize).map(Reason::parse).collect();
    let (outcome, notes) = match rng.between(1, 100) {
        1..=45 => (Outcome::Success, format!("{{Thing2}} got better by {} percent.", rng.between(5, 70))),
        46..=60 => (Outcome::Partial, "Better, but {trouble} now and then.".to_owned()),
        61..=72 => (Outcome::Failure, "After two weeks {person} went back to {option2}.".to_owned()),
        _ => (Outcome::Pending, String::new()),
    };
    let context = words.fill_any(rng, "decision context");
    let decision = Decision::new(words.fill(template), draw_confidence(rng, 500, 950));
    let body = Body::Decision(Decision {
        context,
        reasons,
        category: rng.pick(&["architecture", "process", "money", "people", "everyday"]).to_owned(),
        stakes: rng.pick(&[Stakes::Low, Stakes::Medium, Stakes::Medium, Stakes::High]),
        alternatives: rng.chance(60).then(|| words.get("option2").to_owned()).into_iter().collect(),
        outcome,
        outcome_notes: words.fill(&notes),
        ..decision
    });
    Statement { body, slots: words.slots_in(template) }
}

pub(crate) fn episode(rng: &mut Rng, topic: &Topic) -> Statement {
    let words = Words::draw(rng, topic);
    let template = rng.pick(&group("episode"));
    let outcome = words.fill_any(rng, "episode outcome");
    let lessons = words.fill_any(rng, "episode lessons");
    let body = Body::Episode(Episode {
        detail: words.fill_all("episode detail").concat(),
        participants: rng.chance(70).then(|| words.get("person").to_owned()).into_iter().collect(),
        minutes: rng.chance(60).then(|| rng.between(10, 300) as u32),
        outcome,
        lessons: lessons.split("; ").filter(|lesson| !lesson.is_empty()).map(str::to_owned).collect(),
        ..Episode::new(words.fill(template))
    });
    Statement { body, slots: words.slots_in(template) }
}

/// At most one procedure per activity of a topic.
pub(crate) fn procedure(rng: &mut Rng, topic: &Topic, which: usize) -> Statement {
    let mut words = Words::draw(rng, topic);
    words.by_slot.insert("doing", topic.doings[which % topic.doings.len()]);
    let steps = if rng.chance(50) { words.fill_all("procedure step") } else { Vec::new() };
    let core_patterns = words.fill_all("procedure pattern");
    let body = Body::Procedure(Procedure { core_patterns, steps, ..Procedure::new(words.fill("{Doing}")) });
    Statement { body, slots: vec![words.get("thing"), words.get("thing2")] }
}

pub(crate) fn censor(rng: &mut Rng, topic: &Topic) -> Statement {
    let words = Words::draw(rng, topic);
    let verb = rng.pick(&["delete", "promise", "overwrite", "publish"]);
    let pattern = CensorPattern::Words(format!("{verb} {}", words.fill("{thing} {option}")));
    let side = rng.pick(&[CensorSide::Input, CensorSide::Output, CensorSide::ToolCall]);
    let action = rng.pick(&[CensorAction::Steer, CensorAction::Steer, CensorAction::Refuse]);
    let body = Body::Censor(Censor::new(pattern, side, action, words.fill_all("censor").concat()));
    Statement { body, slots: vec![words.get("thing"), words.get("option")] }
}
