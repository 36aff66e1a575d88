//! What the rules do to the efforts of a conversation.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::base::ids::{StreamId, TurnNo};
use crate::base::tokens::Tokens;
use crate::client::enter_effort;
use crate::session::effort::Summary;
use crate::session::event::{EffortEvent, SessionEvent};

const WORK: &str = "Users get a 401 an hour after login, help me find out why";
const OTHER: &str = "New topic: the nightly backup of the billing database fails";
const CHATTER: &str = "Which planet has the most moons?";
const DONE: &str = "That fixed it, we are done with this.";

/// Says messages to a model that calls something in the turns that are marked; gives what the rules did, and in
/// which turn they took over.
fn run(turns: &[(&str, bool)]) -> (Vec<(usize, RuleAction)>, Option<usize>) {
    let (state, mut rules) = (SessionState::default(), EffortRules::default());
    let (mut done, mut since) = (Vec::new(), None);
    for (at, (message, has_called)) in turns.iter().enumerate() {
        done.extend(
            rules.observe_message(&state, message, Stamp(at as i64)).into_iter().map(|action| (at, action)),
        );
        let (action, took_over) = rules.observe_end(&state, *has_called);
        done.extend(action.map(|action| (at, action)));
        since = since.or(took_over.then_some(at));
    }
    (done, since)
}

#[test]
fn the_rules_take_over_from_a_model_that_calls_nothing() {
    let (done, since) = run(&[(WORK, false), (CHATTER, false), (OTHER, false), (CHATTER, false), (WORK, false)]);
    assert_eq!(since, Some(2), "{done:?}");
    let at: Vec<usize> = done.iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [2, 4], "what was missed at once, what comes before its turn: {done:?}");
    assert!(matches!(&done[0].1, RuleAction::Enter(name) if name.contains("backup")), "{done:?}");
}

#[test]
fn a_model_that_calls_keeps_its_efforts_itself() {
    let turns = [(WORK, false), (CHATTER, true), (OTHER, false), (WORK, true), (OTHER, true), (DONE, false)];
    assert_eq!(run(&turns), (Vec::new(), None));
}

#[test]
fn talk_alone_is_no_miss() {
    assert_eq!(run(&[(CHATTER, false); 40]), (Vec::new(), None));
}

/// A conversation whose efforts the rules keep, with a state that follows them.
struct Kept {
    state: SessionState,
    rules: EffortRules,
    at: i64,
    opened: Vec<String>,
}

impl Kept {
    fn new() -> Self {
        let mut state = SessionState::default();
        let session = StreamId::parse("main").expect("an id");
        let created = SessionEvent::Created {
            session,
            encoding: "words".into(),
            policy: Default::default(),
            imported_from: None,
        };
        state.record(Stamp(1), created);
        let rules = EffortRules { has_taken_over: true, ..EffortRules::default() };
        Self { state, rules, at: 1, opened: Vec::new() }
    }

    fn say(&mut self, message: &str) {
        self.at += 60_000;
        let before = self.rules.observe_message(&self.state, message, Stamp(self.at));
        before.into_iter().for_each(|action| self.apply(message, action));
        let (after, _) = self.rules.observe_end(&self.state, false);
        after.into_iter().for_each(|action| self.apply(message, action));
    }

    fn apply(&mut self, message: &str, action: RuleAction) {
        let event = match action {
            RuleAction::Enter(name) => {
                let event = enter_effort(&self.state, &name);
                if matches!(event, Some(EffortEvent::Opened { .. })) {
                    self.opened.push(format!("{name}: {message}"));
                }
                event
            }
            RuleAction::Close => self.state.active_effort().map(|active| EffortEvent::Concluded {
                id: active.id.clone(),
                summary: Summary { text: "Done.".to_owned(), tokens: Tokens(3), at: None },
                turn: TurnNo(1),
                next_active: None,
                provisional: false,
                receipt: None,
            }),
        };
        if let Some(event) = event {
            self.state.record(Stamp(self.at), event);
        }
    }
}

const PIECES: &[&str] = &[
    "Users get a 401 an hour after login. I want to fix that.",
    "The monthly report takes 9 seconds to load.",
    "The nightly backup of the billing database fails.",
    "We need to move our mail to another provider.",
    "The printer jams.",
    "Help me plan the summer party of the office.",
    "The search should understand synonyms.",
    "I'm building a shed behind the garage.",
    "Let's design a logo for the bakery.",
    "The mobile app crashes when the camera opens.",
    "Please translate the manual into Portuguese.",
    "I want to learn how to bake sourdough bread.",
];
/// Figures, files and troubles of the work in hand, with a number and a file.
const DETAILS: &[&str] = &[
    "In step {n} it reads {n}00 rows and takes {n}0 ms.",
    "{file} line {n} compares with < instead of <=.",
    "It fails again with error {n} in {file}.",
    "The log shows {n} errors after midnight.",
    "Then the second process crashes while {file} is open.",
    "The token service answers in {n} ms, but the clock of the server is {n} seconds late.",
    "We get a 500 from {file} every night.",
    "The cookie is missing and its path is /app/{n}.",
    "I looked at {file}; it has {n} unused settings and one of them is wrong.",
    "The third test times out after {n} s.",
    "Now the disk of the build machine is full, with {n} GB of logs.",
    "There is a strange warning about {n} deprecated calls.",
    "I changed {file} and now {n} tests fail.",
    "The customers in Lyon see an empty page since version {n}.",
    "Fix the comparison in {file}, please.",
    "We should rename the column first, it is {n} characters long.",
    "What does line {n} of {file} do?",
];
const FILES: &[&str] = &["auth.rs", "report.sql", "cron.yaml", "index.html", "notes.txt"];
const ENDS: &[&str] = &[
    "That fixed it, we are done with this.",
    "This is solved now, thanks!",
    "All done.",
    "That did the trick.",
    "It is done now.",
];
const TALK: &[&str] = &[
    "Hello!",
    "What do you think of tea?",
    "It rains today.",
    "Tell me a joke.",
    "Thanks!",
    "Which planet has the most moons?",
    "I like mountain huts.",
    "Good morning. Did you sleep well?",
    "Which colour has the sky?",
];
const ANNOUNCED: &[&str] = &["New topic:", "Next task:", "Something else.", "Unrelated:"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// As many efforts as pieces of work, whatever their details.
    #[test]
    fn details_of_the_work_in_hand_open_nothing(
        pieces in Just((0..PIECES.len()).collect::<Vec<_>>()).prop_shuffle(),
        count in 1..=6usize,
        details in vec(vec((0..DETAILS.len(), 0..FILES.len(), 2..90u32), 0..12), 6),
        talk in vec((0..TALK.len(), 0..4usize), 6),
        ends in vec((0..ENDS.len(), 0..10u32), 6),
        announced in 0..ANNOUNCED.len(),
    ) {
        let mut kept = Kept::new();
        let mut is_ended = true;
        for at in 0..count {
            // Without an end before it, work is announced.
            let piece = PIECES[pieces[at]];
            let said = if is_ended { piece.to_owned() } else { format!("{} {piece}", ANNOUNCED[announced]) };
            kept.say(&said);
            prop_assert_eq!(kept.opened.len(), at + 1, "{}: {:?}", said, kept.opened);
            for (detail, file, number) in &details[at] {
                let detail = DETAILS[*detail].replace("{n}", &number.to_string()).replace("{file}", FILES[*file]);
                kept.say(&detail);
                prop_assert_eq!(kept.opened.len(), at + 1, "{}", detail);
            }
            is_ended = ends[at].1 > 1;
            if is_ended {
                kept.say(ENDS[ends[at].0]);
                prop_assert!(kept.state.active_effort().is_none(), "{}", ENDS[ends[at].0]);
            }
            let (first, length) = talk[at];
            for nth in 0..length {
                kept.say(TALK[(first + nth) % TALK.len()]);
            }
            prop_assert_eq!(kept.opened.len(), at + 1, "talk: {:?}", kept.opened);
        }
    }
}

/// Work that is asked for in plain words, or stated after a long pause, begins beside what is in hand.
#[test]
fn other_work_begins_where_it_is_asked_for_or_after_a_pause() {
    let mut kept = Kept::new();
    kept.say(PIECES[0]);
    kept.say("Let's plan a surprise party for my grandmother's birthday in June.");
    assert_eq!(kept.opened.len(), 2, "{:?}", kept.opened);
    let trouble = "The kitchen tap leaks and the cupboard below it smells.";
    kept.say(trouble);
    assert_eq!(kept.opened.len(), 2, "a trouble may belong to what is in hand: {:?}", kept.opened);
    kept.at += 5 * 3_600 * 1_000;
    kept.say("The garden hose drips and the pump makes a noise.");
    assert_eq!(kept.opened.len(), 3, "{:?}", kept.opened);
}

#[test]
fn one_message_may_end_work_and_begin_other() {
    let mut kept = Kept::new();
    kept.say(PIECES[0]);
    kept.say("That fixed it, thanks! New topic: the nightly backup fails.");
    assert_eq!(kept.opened.len(), 2, "{:?}", kept.opened);
    assert_eq!(kept.state.efforts().filter(|effort| effort.is_concluded()).count(), 1);
}
