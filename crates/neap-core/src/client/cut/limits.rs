//! What a cut may keep: what its room, prices and the bound on a conversation's cost allow.

use super::bounds::Bounds;
use super::outline::Outline;
use super::room::Room;
use super::spending::Spending;
use super::stale::FileInWork;
use crate::base::tokens::Tokens;

/// Least that a cut for economy keeps, however large the budget is: what the work in progress needs.
const ECONOMY_TAIL_MIN: Tokens = Tokens(4_000);
/// It keeps this many requests' growth, times the square of the requests in a turn: then cuts that pay are about 15
/// turns apart, since by the prices of `economy` they are the root of 23 times as many requests apart.
const ECONOMY_REQUESTS: u64 = 10;
/// Longer turns count as this many requests.
const TURN_REQUESTS_MAX: u64 = 3;
const ECONOMY_NOTE: Tokens = Tokens(1_000);
/// What a cut leaves for recall at once, where the bound on the cost is close.
const RECALL_RESERVE: Tokens = Tokens(500);

pub(super) struct CutLimits {
    /// Number of leading items that stay.
    pub(super) head: usize,
    pub(super) note: Tokens,
    /// What turns behind the head may take together.
    pub(super) low: Tokens,
    /// What the last turn alone may take.
    pub(super) high: Tokens,
    /// What turns and files in work may take together.
    pub(super) kept_max: Tokens,
    /// What a cut may leave of the whole request under the bound on the cost.
    pub(super) affordable: Tokens,
    /// Whether that allows a tail as long as the other rules do.
    pub(super) is_affordable: bool,
}

impl CutLimits {
    pub(super) fn of(outline: &Outline<'_>, room: &Room, bounds: &Bounds, spending: &Spending) -> Self {
        let head = outline.head_len(room);
        let cached = outline.sizes.range(outline.system_len()..head);
        let new = outline.sizes.range(outline.new_items());
        let allowance = spending.cut_allowance(cached, new);
        // The question of the turn in progress is written in any case.
        let question = outline.question(head);
        let question = outline.sizes.range(question.start..question.end.min(outline.new_items().start));
        let mut note = room.note_budget(allowance.saturating_sub(question));
        if bounds.economy {
            note = note.min(ECONOMY_NOTE);
        }
        let recall = RECALL_RESERVE.min(room.recall_max()).min(Tokens(allowance.0 / 4));
        let affordable = new + allowance.saturating_sub(note + recall);
        let before = cached + note;
        let kept_max = room.kept_max().saturating_sub(before);
        let overhead = room.fixed() + before;
        let full = room.high_water().saturating_sub(overhead);
        let mut low = bounds.prices.tail_tokens(overhead, full, outline.growth_per_request()).min(kept_max);
        if bounds.economy {
            low = economy_tail(outline).min(kept_max);
        }
        let high = kept_max.saturating_sub(reserved_for_files(outline, room.files_max(kept_max))).min(affordable);
        Self {
            head,
            note,
            low: low.min(high),
            high,
            kept_max,
            affordable: room.fixed() + cached + affordable,
            is_affordable: affordable >= low,
        }
    }
}

fn economy_tail(outline: &Outline<'_>) -> Tokens {
    let per_turn = outline.requests_per_turn().clamp(1.0, TURN_REQUESTS_MAX as f64);
    let growth = outline.growth_per_request().0 * ECONOMY_REQUESTS;
    Tokens((growth as f64 * per_turn * per_turn) as u64).max(ECONOMY_TAIL_MIN)
}

/// What the files that were edited lately take, the newest first, as far as `limit` allows.
fn reserved_for_files(outline: &Outline<'_>, limit: Tokens) -> Tokens {
    let new = outline.new_items();
    let edited = outline.stale.in_work.iter().filter(|file| file.is_edited);
    edited.fold(Tokens::ZERO, |sum, file: &FileInWork| {
        let with = sum + outline.file_tokens(file, |at| !new.contains(&at));
        if with <= limit { with } else { sum }
    })
}
