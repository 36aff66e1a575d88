//! A fixed part near the budget: a request is cut to a small tail that holds, or refused, and never now this, now that.

use proptest::prelude::*;

use super::drive::{Drive, Sent};
use super::*;
use crate::client::RenderedHistory;

/// What is added for one request, in shares of the room in per mille, with rare large ones.
fn sizes() -> impl Strategy<Value = (bool, u64, u64)> {
    let size = || prop_oneof![12 => 2_u64..60, 4 => 60_u64..400, 1 => 400_u64..3_000];
    (prop::bool::weighted(0.3), size(), size())
}

fn words(count: u64) -> String {
    "word ".repeat(count.max(1) as usize)
}

#[derive(Default)]
struct Seen {
    before: Option<RenderedHistory>,
    refused: usize,
    grown: u64,
    /// In the last request.
    new: u64,
    sent: usize,
}

impl Seen {
    /// Whether half of the room is free after a cut, or all but the note and what is new. A question is never shortened
    /// to less than 256 tokens for it.
    fn freed_by_cut(&self, drive: &Drive, sent: &RenderedHistory) -> bool {
        let fixed = drive.request.fixed_tokens.0;
        let room = drive.bounds.budget.0 - fixed;
        let around = room / 20 + 256 + 150;
        sent.tokens.0 <= fixed + (room / 2).max(self.new + room * 12 / 100) + around
    }

    fn check(&mut self, drive: &mut Drive) -> Result<(), TestCaseError> {
        let budget = drive.bounds.budget;
        self.sent += 1;
        let sent = match drive.send() {
            Sent::Refused { fixed, needed } => {
                prop_assert!(fixed, "{needed} of {budget}: what can be shortened is never refused");
                prop_assert!(needed > budget, "with the figures");
                self.refused += 1;
                return Ok(());
            }
            Sent::AsBefore(sent) => {
                if let Some(before) = &self.before {
                    prop_assert_eq!(&sent.parts[..before.parts.len()], &before.parts[..], "the prefix stays");
                }
                sent
            }
            Sent::NewCut(sent) => {
                let freed = self.freed_by_cut(drive, &sent);
                prop_assert!(freed, "{} of {budget} after a cut, {:?} new", sent.tokens, self.new);
                sent
            }
        };
        prop_assert_eq!(self.refused, 0, "once refused for its fixed part, refused for good");
        prop_assert!(sent.tokens <= budget, "{} of {budget}", sent.tokens);
        self.before = Some(sent);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn a_cut_holds_or_the_request_is_refused_for_good(
        budget in 4_000_u64..32_000,
        fixed_percent in 50_u64..110,
        added in prop::collection::vec(sizes(), 5..80),
    ) {
        let fixed = budget * fixed_percent / 100;
        let room = budget.saturating_sub(fixed);
        let mut drive = Drive::new(fixed, Bounds::new(Tokens(budget)));
        let mut seen = Seen::default();
        drive.request.items.push(user("begin"));
        seen.check(&mut drive)?;
        for (nth, (is_turn, first, second)) in added.into_iter().enumerate() {
            let [first, second] = [first, second].map(|share| words((room.max(1_000) * share / 1_000).min(20_000)));
            let id = format!("c{nth}");
            let items = match is_turn {
                true => [assistant(&first), user(&second)],
                false => {
                    let (name, arguments) = ("run".to_owned(), format!(r#"{{"a": "{id}"}}"#));
                    let call = ContentBlock::ToolCall(ToolCall { id: id.clone(), name, arguments });
                    [item(Speaker::Assistant, vec![text("so"), call]), answers(&id, &second)]
                }
            };
            seen.new = items.iter().map(|item| item.tokens.0).sum();
            seen.grown += seen.new;
            drive.request.items.extend(items);
            seen.check(&mut drive)?;
        }
        if seen.refused == 0 {
            let allowed = 2 + seen.grown * 4 / room.max(1);
            prop_assert!(drive.cuts as u64 <= allowed, "{} cuts, {} grown, room {room}", drive.cuts, seen.grown);
        } else {
            prop_assert!(fixed * 100 > budget * 90, "refused with {fixed} of {budget} fixed");
        }
    }
}

/// Claude Code's own: 19,000 tokens of system prompt and tools.
#[test]
fn nineteen_thousand_fixed_tokens_are_cut_or_refused() {
    for (budget, is_refused) in [(19_500, true), (20_000, false), (24_000, false), (32_000, false)] {
        let mut drive = Drive::new(19_000, Bounds::new(Tokens(budget)));
        let mut seen = Seen::default();
        for turn in 0..50 {
            drive.request.items.push(user(&words(40)));
            for round in 0..turn % 3 {
                let id = format!("c{turn}.{round}");
                drive.request.items.extend([calls(&id), answers(&id, &words(150 + 40 * round))]);
                seen.new = 400;
                seen.check(&mut drive).expect("it holds");
            }
            drive.request.items.push(assistant(&words(60)));
        }
        assert_eq!(seen.refused > 0, is_refused, "{budget}");
        assert!(is_refused || drive.cuts * 2 <= seen.sent, "{budget}: {} cuts of {}", drive.cuts, seen.sent);
    }
}
