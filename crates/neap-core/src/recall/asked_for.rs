//! What a question asks for, besides its topic: the assistant's words, or a decision.

use crate::text::phrases::{Phrases, QUESTIONS, normalize};

/// Longer than this, a message is no question about the past, whatever it contains.
pub(super) const QUESTION_BYTES_MAX: usize = 400;

/// Asks, besides [`QUESTIONS`], without a question mark.
const ALSO_ASKS: Phrases = Phrases("remind me|recall|did|have|had|was|were|whom|whether");

/// What an assistant does with words, said to it.
const SAID_BY_ASSISTANT: Phrases = Phrases(
    "you recommend|you recommended|did you recommend|you suggest|you suggested|did you suggest|you propose|you proposed|\
     you advise|you advised|you mention|you mentioned|you list|you listed|you explain|you explained|you describe|\
     you described|you give me|you gave|you gave me|you write|you wrote|you provide|you provided|you say|you said|\
     you tell me|you told me|you answer|you answered|you come up with|you came up with|you point out|you pointed out|\
     you warn|you warned|you estimate|you estimated|you calculate|you calculated|you find|you found|you created|\
     you generated|you drafted|you shared|you named|you called|you had recommended|you had suggested|\
     your answer|your reply|your suggestion|your suggestions|your recommendation|your recommendations|your advice|\
     your explanation|your list|your estimate|your example|your proposal|your plan",
);

/// What is said of a choice that was made.
const DECIDED: Phrases = Phrases(
    "decide|decided|decision|settle|settled|settle on|agree|agreed|agreement|choose|chose|chosen|choice|pick|picked|\
     go with|went with|going with|gone with|end up|ended up|ending up|opt for|opted for|conclude|concluded|\
     conclusion|final|finally|in the end|resolve|resolved|commit to|committed to",
);

pub(super) fn asks_for_reply(question: &str) -> bool {
    asks_with(question, SAID_BY_ASSISTANT)
}

pub(super) fn asks_for_decision(question: &str) -> bool {
    asks_with(question, DECIDED)
}

/// Whether one of the phrases is in a sentence that asks.
fn asks_with(question: &str, phrases: Phrases) -> bool {
    let asks =
        |sentence: &str| sentence.ends_with('?') || QUESTIONS.begins(sentence) || ALSO_ASKS.begins(sentence);
    question.len() <= QUESTION_BYTES_MAX
        && normalize(question)
            .split_inclusive(['.', '!', '?', ';'])
            .map(str::trim)
            .any(|sentence| asks(sentence) && phrases.occurs_in(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_told_by_the_sentence_that_asks() {
        for (question, for_reply, for_decision) in [
            ("What was the third restaurant you recommended?", true, false),
            ("Hello. Which book did you suggest for the flight", true, false),
            ("Remind me of your advice about the roof", true, false),
            ("I liked your suggestions. What is next?", false, false),
            ("What did I tell you about my sister?", false, false),
            ("Which caterer did we go with?", false, true),
            ("What was decided about the fence", false, true),
            ("In the end, where did I end up parking?", false, true),
            ("We decided on the fence. What do I have to buy?", false, false),
            ("Let's go with the fence.", false, false),
        ] {
            assert_eq!(
                (asks_for_reply(question), asks_for_decision(question)),
                (for_reply, for_decision),
                "{question}"
            );
        }
        let log = format!("what you recommended was this {}", "line of a log ".repeat(40));
        assert!(!asks_for_reply(&log));
    }
}
