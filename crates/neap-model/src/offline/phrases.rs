//! Phrases by which the model recognizes what a user wants. Those that begin and end work are the core's
//! ([`neap_core::text::opening`], [`neap_core::text::completion`]).

use neap_core::text::phrases::Phrases;

/// Greetings and thanks: every word of the message must be one of these.
pub(super) const COURTESY: Phrases = Phrases(
    "hi|hello|hey|good|morning|evening|afternoon|night|thanks|thank|you|thx|ty|so|much|very|a|lot|ok|okay|cool|great|\
     nice|awesome|perfect|wonderful|excellent|bye|goodbye|cheers|see|later|there|yes|no|yep|nope|sure|fine|alright|\
     got|it|that|helps|is|makes|sense|welcome|lol|haha|how|are|doing|today|i'm|it's|i|appreciate|sounds|for|the|\
     your|help",
);

pub(super) const STATUS: Phrases = Phrases(
    "what are we working on|what am i working on|what were we working on|what's open|what is open|which efforts|\
     list efforts|list the efforts|list my efforts|show efforts|show my efforts|effort status|show status|\
     status please|open efforts|what's active|what is active|what's on my plate",
);

/// Asks about the past.
pub(super) const RECALL: Phrases = Phrases(
    "what did we|what did i|what did you|what have we|remind me|do you remember|remember when|remember what|\
     remember how|what was|what were|how did we|how did i|how was the|when did we|why did we|where did we|\
     which did we|did we|did i tell you|have we|last time|we talked about|we discussed|we decided|so far|\
     what do we know|summarize what|sum up what|who did we|how many did we|how much did we|how long did it",
);

/// A reminder for the future is no question about the past.
pub(super) const NOT_RECALL: Phrases =
    Phrases("remind me to|remind me at|remind me in|remind me on|remind me tomorrow");

/// Asks about the past even where no question is asked.
pub(super) const REMINDS: Phrases =
    Phrases("remind me|do you remember|remember what|remember how|what do we know");

/// Asks for more than a summary holds.
pub(super) const DETAIL: Phrases = Phrases(
    "exact|exactly|detail|details|detailed|precise|precisely|verbatim|word for word|command|which|how many|how much|\
     how long|how often|what number|what port|what version|version|number|step by step|full log|the log|error code|\
     flag|parameter|setting|value|price|cost|date|when",
);

/// Asks how something was solved, or what it was.
pub(super) const FIX: Phrases = Phrases(
    "the fix|the solution|the cause|root cause|the reason|the culprit|what fixed|what solved|what helped|what caused|\
     did we fix|did we solve|did i fix|did i solve|did you fix|was it fixed|was that fixed|was fixed|was solved|\
     was resolved|what was wrong|was the problem|was the issue",
);

/// Asks for the person's own words, and names nothing.
pub(super) const SAID: Phrases = Phrases(
    "what did i say|what did i just say|what did i tell you|what have i said|what have i told you|what i said|\
     what was my last message|what did i write|what did i ask",
);

pub(super) const NUMBER: Phrases = Phrases(
    "how many|how much|how long|how often|number|port|version|when|date|price|cost|code|value|exactly|exact",
);

/// Returns to known work.
pub(super) const RESUME: Phrases = Phrases(
    "back to|return to|continue with|continue on|continue the|carry on with|resume|reopen|re-open|pick up|go on with",
);

/// Switches to other work; to new work only if the message says so.
pub(super) const SWITCH: Phrases = Phrases(
    "switch to|switch over to|move on to|move over to|let's work on|work on|let's focus on|focus on|let's look at|\
     let's talk about|let's do|let's go to|let's tackle|let's turn to",
);

/// Filler that may precede a switch.
pub(super) const LEAD_IN: Phrases = Phrases(
    "ok|okay|now|so|and|then|please|let's|lets|let us|can we|could we|can you|i want to|i'd like to|we should|go|get|\
     going|actually|well|thanks|alright|great|put this on hold|pause this|this|,",
);

/// A message that begins so is a question, whatever its last character.
pub(super) const QUESTIONS: Phrases = Phrases(
    "what|what's|how|who|who's|when|where|which|why|is|are|do|does|did|can|could|should|would|was|were|show|tell|\
     give|list|explain|write|translate|summarize|summarise|calculate|describe|define|find|look up|please show|\
     please tell|please explain",
);

pub(super) fn has_only(text: &str, table: Phrases) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).all(|w| table.has_entry(w))
}
