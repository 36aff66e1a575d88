//! Finds what settled a matter: who asks what was decided wants the message that decided it, which rarely repeats the
//! matter's words, and not the many that weighed it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{RankWeights, Ranked, TextId};
use crate::text::phrases::{Phrases, normalize};

/// How far from the best texts a decision is looked for, in messages.
pub(super) const DISTANCE: u64 = 24;
/// Best messages that are looked at.
const MESSAGES_MAX: usize = 160;
/// A message settles with its first or its last sentences.
const END_BYTES: usize = 600;

/// Says that a choice is made, or tells what was done about it.
const SETTLES: Phrases = Phrases(
    "decided|we decide|i decide|it's decided|settled|settle on|settle for|agreed|we agree|let's go with|\
     let us go with|lets go with|we go with|we'll go with|we will go with|i'll go with|i will go with|i go with|\
     going with|go with|went with|we are going with|let's do|let's use|let's take|let's keep|let's stick|\
     let's stay with|let's make it|let's pick|we'll use|we will use|we'll take|we will take|we'll do|we'll stay|\
     we'll keep|we take|we use|i'm going with|i'll take|it is then|it's then|then it is|so it is|is it then|\
     is the one|is what we'll do|is what we do|that settles|made up my mind|made our minds up|\
     we've chosen|we have chosen|i've chosen|i chose|we chose|we picked|i picked|final answer|final call|\
     it's final|is final|finalized|locked in|signed off|approved|sold on|done deal|it's a deal|ok, so we|okay, so we|\
     resolved to|resolved that|concluded|the winner is|wins|opted for|opt for|we commit to|committed to|\
     ordered|booked|reserved|signed|bought|confirmed|accepted|rejected|ruled out|told them yes|said yes|yes to|\
     please book|please order|please go ahead|go ahead with|no more talk|no further discussion|done discussing",
);

/// Says that something is open.
const UNSETTLED: Phrases = Phrases(
    "not|never|yet|nothing|nobody|no one|none|need to|needs to|have to|has to|undecided|whether|might|may|could|would|should|\
     haven't|hasn't|isn't|aren't|wasn't|didn't|can't|couldn't|won't",
);

/// The best messages, whose words tell whether they settle something.
pub(super) fn best_messages(ranked: &[Ranked]) -> Vec<TextId> {
    let messages = ranked.iter().filter(|ranked| ranked.candidate.position > 0);
    messages.take(MESSAGES_MAX).map(|ranked| ranked.candidate.id.clone()).collect()
}

/// Raises messages that settle something, as far as their conversation is about the question.
pub(super) fn raise_decisions(
    ranked: &mut [Ranked],
    weights: &RankWeights,
    ids: &[TextId],
    texts: &[Option<Arc<str>>],
) {
    let settling = ids.iter().zip(texts).filter(|(_, text)| text.as_deref().is_some_and(settles));
    let settling: BTreeSet<&TextId> = settling.map(|(id, _)| id).collect();
    for ranked in ranked.iter_mut().filter(|ranked| settling.contains(&ranked.candidate.id)) {
        let factor = weights.decision * ranked.factors.conversation;
        ranked.factors.decision = factor;
        ranked.score += factor;
    }
}

/// Whether a sentence at its beginning or its end says that something is settled.
fn settles(text: &str) -> bool {
    let text = text.trim();
    let head = &text[..text.floor_char_boundary(END_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(END_BYTES))..];
    let says_so =
        |sentence: &str| !sentence.ends_with('?') && SETTLES.occurs_in(sentence) && !UNSETTLED.occurs_in(sentence);
    [head, tail]
        .iter()
        .any(|end| normalize(end).split_inclusive(['.', '!', '?', ';']).any(|part| says_so(part.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_settled_is_told_at_an_end() {
        for (text, is_settled) in [
            ("Okay, let's go with the green one.", true),
            ("Tuesday it is then", true),
            ("Shall we say it is decided?", false),
            ("The green one costs less, the red one lasts.", false),
            ("We still need a decision on the hallway.", false),
            ("Nothing is agreed yet.", false),
            ("It is a great deal of work.", false),
            ("We might go with blue.", false),
            ("Is it not late? We decided on blue. Are you fine with it?", true),
        ] {
            assert_eq!(settles(text), is_settled, "{text}");
        }
        let long = format!("{}We decided to wait. {}", "a ".repeat(400), "b ".repeat(400));
        assert!(!settles(&long), "in the midst of a long text it may be about anything");
    }
}
