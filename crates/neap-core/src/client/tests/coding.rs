//! What a cut keeps of a coding session: nothing stale, and the files that are worked on. Checked from what is sent.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::drive::{Drive, Sent};
use super::*;
use crate::client::RenderedHistory;

/// The last turns whose files stay.
const RECENT: usize = 10;
/// Shorter results are not worth a line.
const SHORT: u64 = 160;

#[derive(Debug, Clone, Copy)]
enum Step {
    Read(u8),
    Edit(u8),
    Write(u8),
    Run(u8),
    Say,
    Turn,
}

fn step() -> impl Strategy<Value = (Step, u16)> {
    let file = 0_u8..6;
    let step = prop_oneof![
        4 => file.clone().prop_map(Step::Read),
        3 => file.clone().prop_map(Step::Edit),
        1 => file.prop_map(Step::Write),
        2 => (0_u8..4).prop_map(Step::Run),
        1 => Just(Step::Say),
        4 => Just(Step::Turn),
    ];
    (step, prop_oneof![3 => 20_u16..120, 3 => 120_u16..600, 1 => 600_u16..900])
}

fn call_of(id: &str, name: &str, arguments: &serde_json::Value) -> HistoryItem {
    let call = ToolCall { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_string() };
    item(Speaker::Assistant, vec![ContentBlock::Thinking, ContentBlock::ToolCall(call)])
}

fn lines(step: usize, words: u16) -> String {
    format!("s{step} ").repeat(usize::from(words))
}

/// What is known of a session: written here from its steps, not from its messages.
#[derive(Default)]
struct Known {
    files: BTreeMap<u8, KnownFile>,
    commands: BTreeMap<u8, usize>,
    /// Items with a content that was read again, overwritten or asked again since.
    replaced: BTreeSet<usize>,
    turn: usize,
}

#[derive(Default)]
struct KnownFile {
    /// The item with its newest content.
    content: Option<usize>,
    is_edited_since: bool,
    /// The turn that changed it last.
    edited: Option<usize>,
}

impl Known {
    /// A step whose call is at `at` and whose result follows.
    fn note(&mut self, step: Step, at: usize) {
        match step {
            Step::Read(file) => {
                let file = self.files.entry(file).or_default();
                self.replaced.extend(file.content.replace(at + 1));
                file.is_edited_since = false;
            }
            Step::Write(file) => {
                let file = self.files.entry(file).or_default();
                self.replaced.extend(file.content.replace(at));
                (file.is_edited_since, file.edited) = (false, Some(self.turn));
            }
            Step::Edit(file) => {
                let file = self.files.entry(file).or_default();
                (file.is_edited_since, file.edited) = (true, Some(self.turn));
            }
            Step::Run(command) => self.replaced.extend(self.commands.insert(command, at + 1)),
            Step::Say | Step::Turn => {}
        }
    }

    fn is_in_work(&self, file: &KnownFile) -> bool {
        file.edited.is_some_and(|turn| turn + RECENT >= self.turn)
    }

    /// Items with the newest content of files that were edited lately.
    fn in_work(&self) -> BTreeSet<usize> {
        self.files.values().filter(|file| self.is_in_work(file)).filter_map(|file| file.content).collect()
    }

    /// Items with a content that is stale by now.
    fn stale(&self) -> BTreeSet<usize> {
        let changed = self.files.values().filter(|file| file.is_edited_since && !self.is_in_work(file));
        changed.filter_map(|file| file.content).chain(self.replaced.iter().copied()).collect()
    }
}

/// The items that are sent as they are, thinking aside.
fn verbatim(request: &ClientRequest, sent: &RenderedHistory) -> BTreeSet<usize> {
    let is_whole = |part: &HistoryPart| match part {
        HistoryPart::Item { at, omitted, shortened, .. } => {
            let is_thinking = |nth: &usize| matches!(request.items[*at].blocks[*nth], ContentBlock::Thinking);
            (shortened.is_empty() && omitted.iter().all(is_thinking)).then_some(*at)
        }
        HistoryPart::Note { .. } => None,
    };
    sent.parts.iter().filter_map(is_whole).collect()
}

fn check_cut(drive: &Drive, known: &Known, sent: &RenderedHistory) -> Result<(), TestCaseError> {
    let request = &drive.request;
    let verbatim = verbatim(request, sent);
    let stale = known.stale();
    let tokens = |at: usize| request.items[at].tokens.0;
    let omitted = (0..request.items.len()).find(|at| !verbatim.contains(at) && !stale.contains(at));
    for at in stale.iter().filter(|at| omitted.is_some() && verbatim.contains(*at)) {
        prop_assert!(tokens(*at) < SHORT, "item {at} is stale and sent, item {omitted:?} is not");
    }
    // What is kept for certain: half of the room less the note, the first question, and a tenth for the newest turns.
    let room = drive.bounds.budget.0 - request.fixed_tokens.0;
    let newest: u64 = (request.items.len().saturating_sub(2)..request.items.len()).map(tokens).sum();
    let allowed = (room * 28 / 100).saturating_sub(tokens(0) + newest);
    let in_work = known.in_work();
    // With the other half of each pair, and all edits.
    let is_edit = |at: &usize| request.items[*at].text().starts_with("edited");
    let edits = (1..request.items.len()).filter(is_edit).map(|at| tokens(at - 1) + tokens(at));
    let pairs =
        in_work.iter().map(|at| tokens(at - 1) + tokens(*at) + tokens((at + 1).min(request.items.len() - 1)));
    let wanted: u64 = pairs.chain(edits).sum();
    if wanted <= allowed {
        for at in &in_work {
            prop_assert!(verbatim.contains(at), "the newest content of a file in work, item {at}, was omitted");
        }
    }
    Ok(())
}

fn converse(steps: &[(Step, u16)], budget: u64, fixed: u64) -> Result<(usize, usize), TestCaseError> {
    let mut drive = Drive::new(fixed, Bounds::new(Tokens(budget)));
    drive.note_words = 60;
    let mut known = Known::default();
    let mut before: Option<RenderedHistory> = None;
    let mut checked = 0;
    // A file is as long as it was written, or first read.
    let mut sizes: BTreeMap<u8, u16> = BTreeMap::new();
    drive.request.items.push(user("set it up, and then go on with it"));
    for (nth, (step, words)) in steps.iter().enumerate() {
        let at = drive.request.items.len();
        let id = format!("c{nth}");
        let result = |text: &str| answers(&id, text);
        let (call, answer) = match step {
            Step::Read(file) => {
                let text = lines(nth, *sizes.entry(*file).or_insert(*words));
                (call_of(&id, "Read", &json!({"file_path": format!("/r/{file}.rs")})), result(&text))
            }
            Step::Edit(file) => {
                let arguments =
                    json!({"file_path": format!("/r/{file}.rs"), "old_string": "a", "new_string": "b"});
                (call_of(&id, "Edit", &arguments), result("edited"))
            }
            Step::Write(file) => {
                sizes.insert(*file, *words);
                let arguments = json!({"file_path": format!("/r/{file}.rs"), "content": lines(nth, *words)});
                (call_of(&id, "Write", &arguments), result("written"))
            }
            Step::Run(command) => {
                let arguments = json!({"command": format!("make {command}"), "description": format!("d{nth}")});
                (call_of(&id, "Bash", &arguments), result(&lines(nth, *words)))
            }
            Step::Say => (assistant("so far so good"), user("go on")),
            Step::Turn => (assistant("done with that"), user(&format!("question {nth}"))),
        };
        drive.request.items.extend([call, answer]);
        known.turn += usize::from(matches!(step, Step::Say | Step::Turn));
        known.note(*step, at);
        let sent = match drive.send() {
            Sent::AsBefore(sent) => {
                if let Some(before) = &before {
                    prop_assert_eq!(
                        &sent.parts[..before.parts.len()],
                        &before.parts[..],
                        "only a cut changes anything"
                    );
                }
                sent
            }
            Sent::NewCut(sent) => {
                check_cut(&drive, &known, &sent)?;
                checked += known.in_work().len();
                sent
            }
            Sent::Refused { needed, .. } => {
                return Err(TestCaseError::fail(format!("refused: {needed} of {budget}")));
            }
        };
        prop_assert!(sent.tokens <= drive.bounds.budget);
        before = Some(sent);
    }
    Ok((drive.cuts, checked))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_omits_what_is_stale_and_keeps_what_is_worked_on(
        steps in prop::collection::vec(step(), 20..120),
        budget in 5_000_u64..20_000,
        fixed_percent in 2_u64..80,
    ) {
        converse(&steps, budget, budget * fixed_percent / 100)?;
    }
}

/// So that the property above is about something.
#[test]
fn generated_sessions_are_cut_while_files_are_worked_on() {
    let mut dice = super::drive::Dice(7);
    let steps: Vec<(Step, u16)> = (0..400)
        .map(|_| {
            let file = dice.below(6) as u8;
            let steps = [Step::Read(file), Step::Edit(file), Step::Run(file), Step::Turn];
            (steps[dice.below(4) as usize], 100 + dice.below(300) as u16)
        })
        .collect();
    let (cuts, in_work) = converse(&steps, 12_000, 1_000).expect("it holds");
    assert!(cuts >= 4 && in_work >= 2 * cuts, "{cuts} cuts, {in_work} files");
}
