//! Phrase tables for recognizing intents, and their matching.
//!
//! A table is one string of phrases separated by `|`. A phrase matches whole words; with a trailing `*`, word
//! prefixes. English, with the most common openings in German and Chinese.

/// Greetings and thanks: every word of the message must be one of these.
pub(super) const COURTESY: &str = "hi|hello|hey|hallo|good|morning|evening|afternoon|night|guten|tag|moin|thanks|thank|\
    you|thx|ty|danke|so|much|very|a|lot|ok|okay|cool|great|nice|awesome|perfect|wonderful|excellent|bye|goodbye|cheers|see|\
    later|there|yes|no|yep|nope|sure|fine|alright|got|it|that|helps|is|makes|sense|welcome|lol|haha|how|are|doing|today|\
    i'm|it's|i|appreciate|sounds|for|the|your|help|谢谢|你好|好的|再见";

pub(super) const STATUS: &str = "what are we working on|what am i working on|what were we working on|what's open|\
    what is open|which efforts|list efforts|list the efforts|list my efforts|show efforts|show my efforts|effort status|\
    show status|status please|open efforts|what's active|what is active|what's on my plate|woran arbeiten wir";

pub(super) const RECALL: &str = "what did we|what did i|what did you|what have we|remind me|do you remember|\
    remember when|remember what|remember how|what was|what were|how did we|how did i|how was the|when did we|why did we|\
    where did we|which did we|did we|did i tell you|have we|last time|we talked about|we discussed|we decided|so far|what do we know|summarize what|sum up what|who did we|\
    how many did we|how much did we|how long did it|was haben wir|wie haben wir|weißt du noch|erinnerst du|之前|上次|我们是怎么";

/// A reminder for the future is no question about the past.
pub(super) const NOT_RECALL: &str = "remind me to|remind me at|remind me in|remind me on|remind me tomorrow";

/// Asks for more than a summary holds.
pub(super) const DETAIL: &str = "exact|exactly|detail*|precise|precisely|verbatim|word for word|command|which|\
    how many|how much|how long|how often|what number|what port|what version|version|number|step by step|full log|\
    the log|error code|flag|parameter|setting|value|price|cost|date|when|genau|具体|多少";

pub(super) const NUMBER: &str = "how many|how much|how long|how often|number|port|version|when|date|price|cost|code|\
    value|exactly|exact|wie viel*|wann|多少|几";

/// Says that the work is over; the rest of the clause is the object.
pub(super) const CLOSE: &str = "we're done|we are done|i'm done|i am done|all done|it's done|it is done|this is done|\
    that's done|that is done|is done|are done|mark it as done|mark this as done|all sorted|it's sorted|that's sorted|\
    is sorted|is resolved|are resolved|it's resolved|that's resolved|has been resolved|all resolved|issue resolved|\
    problem resolved|resolved it|we're finished|we are finished|i'm finished|i am finished|it's finished|is finished|\
    are finished|that's finished|all finished|we've finished|i've finished|wrap up|wrap this up|wrap it up|wrap that up|\
    that fixed it|this fixed it|fixed it|it's fixed|is fixed|that solved it|solved it|is solved|it's solved|\
    problem solved|case closed|close it|close this|close that|close the effort|please close|we can close|you can close|\
    can you close|let's close|close the|mark it as|mark this as|done with|that's all for this|\
    i'm all set|we're all set|conclude|that did it|that did the trick|ist erledigt|ist fertig|alles erledigt|\
    wir sind fertig|hat sich erledigt|搞定了|解决了|完成了";

/// Clauses that say so on their own.
pub(super) const CLOSE_ALONE: &str = "done|resolved|finished|sorted|solved|fixed|closed|complete|completed|\
    close|wrap up|erledigt|fertig|搞定|完成";

/// Cancels [`CLOSE`].
pub(super) const NOT_CLOSE: &str = "not|isn't|aren't|wasn't|haven't|hasn't|don't|doesn't|didn't|won't|never done|never fixed|never finished|never resolved|still|\
    almost|nearly|until|unless|once|when|if|before|will be|should be|must be|to be|need to|needs to|have to|want to|\
    trying to|going to|gonna|about to|half|later|on hold|pause|instead|for now|but|what's next|what next|next step|\
    now what|yet|except|noch nicht|nicht|还没|没有";

pub(super) const PAUSE: &str = "later|on hold|pause|paused|park this|park it|take a break|tomorrow|for now|not now|\
    another day|come back to this|come back to it|next week|brb|später|morgen";

/// Returns to known work.
pub(super) const RESUME: &str = "back to|return to|continue with|continue on|continue the|carry on with|resume|\
    reopen|re-open|pick up|go on with|zurück zu|weiter mit|继续";

/// Switches to other work; to new work only if the message says so.
pub(super) const SWITCH: &str = "switch to|switch over to|move on to|move over to|let's work on|work on|let's focus on|\
    focus on|let's look at|let's talk about|let's do|let's go to|let's tackle|let's turn to|wechseln zu|wechsle zu";

/// Filler that may precede a switch.
pub(super) const LEAD_IN: &str = "ok|okay|now|so|and|then|please|let's|lets|let us|can we|could we|can you|i want to|\
    i'd like to|we should|go|get|going|actually|well|thanks|alright|great|put this on hold|pause this|this|,";

pub(super) const BEGIN: &str = "help me|help with|can you help|could you help|i need help|let's build|let's plan|\
    let's make|let's write|let's create|let's design|let's start|let's fix|let's debug|let's set up|let's figure out|\
    let's migrate|let's organi*|let's prepare|let's implement|let's add|let's refactor|let's work on|i need to|i want to|\
    i'd like to|i would like to|i have to|i'm trying to|i am trying to|we need to|we should|review my|we want to|we have to|i'm planning|\
    i am planning|i'm building|i'm working on|we're building|help us|i can't decide|deciding between|hilf mir|ich muss|\
    ich möchte|ich will|wir müssen|帮我|我需要|我想|我们需要";

/// Begins other work while some is active: asks for help, or for something to be made.
pub(super) const BEGIN_ELSEWHERE: &str = "help me|can you help|could you help|i need help|let's build|let's plan|\
    let's write|let's create|let's design|let's start|let's organi*|let's prepare|i want to plan|i want to build|\
    i also need|i also want|we also need|i'm planning|i need to plan|i need to write|i need to prepare|i need to organi*|\
    hilf mir|帮我";

/// Announces a new topic.
pub(super) const NEW_TOPIC: &str = "new topic|separately|another thing|unrelated|different topic|something else|\
    new project|on another note|different subject|change of topic|neues thema|另外一件事|换个话题";

/// Complains, and so implies work.
pub(super) const COMPLAINT: &str = "keeps|keep getting|doesn't work|does not work|isn't working|not working|don't work|\
    won't|can't|cannot|broken|broke|fails|failing|failed|failure|crash*|stuck|problem with|have a problem|issue with|\
    too slow|is slow|so slow|very slow|leaking|leak|leaks|times out|timing out|timeout*|bug in|a bug|i'm getting|\
    we're getting|i get a|i get an|throws|flaky|wrong with|goes wrong|strange|weird|is down|is red|hangs|freezes|error when|an error|funktioniert nicht|\
    geht nicht|stürzt|fehlermeldung|报错|失败|超时|崩溃|不能用";

/// Asks for a procedure.
pub(super) const HOW_TO: &str = "how do i|how can i|how should i|how would i|how do we|how can we|how should we|\
    how to|what's the best way to|what is the best way to|wie kann ich|wie mache ich|怎么|如何";

/// Openings that begin no work.
pub(super) const NOT_BEGIN: &str = "i need to go|i have to go|i need to leave|i have to leave|i need to run|i have to run|\
    i need to think|i need to eat|i need to sleep|i want to thank|i want to say|i'd like to thank|i can't thank|\
    no problem|how do i spell|how do i pronounce|how do i say|i can't wait|can't complain|i want to know|i'd like to know|\
    i need to know|remind me";

/// A message that begins so orders work.
pub(super) const ORDERS: &str = "plan|debug|fix|build|design|implement|refactor|migrate|organize|organise|prepare|set up|\
    investigate|troubleshoot|optimize|optimise|plane|behebe";

/// A message that begins so is a question, whatever its last character.
pub(super) const REQUESTS: &str = "show|tell|give|list|explain|write|translate|summarize|summarise|calculate|describe|\
    define|find|look up|please show|please tell|please explain|zeig|erkläre";

/// Asks for a fact: no work.
pub(super) const FACTUAL: &str = "what is|what's|what does|what causes|what are|who is|who was|who's|where is|when is|when was|\
    how old|how tall|how far|how big|define|what time|was ist|wer ist|什么是";

/// Lowercases, straightens apostrophes, collapses spaces.
pub(super) fn normalize(text: &str) -> String {
    let lower = text.to_lowercase().replace(['’', '‘'], "'");
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether any phrase of a table occurs. Expects [`normalize`]d text.
pub(super) fn contains_any(text: &str, table: &str) -> bool {
    find_any(text, table).is_some()
}

/// The first phrase that occurs, as byte range; of several at one place, the longest.
pub(super) fn find_any(text: &str, table: &str) -> Option<(usize, usize)> {
    let hits = table.split('|').filter_map(|phrase| find_phrase(text, phrase));
    hits.min_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)))
}

fn find_phrase(text: &str, phrase: &str) -> Option<(usize, usize)> {
    let (body, is_beginning) = match phrase.strip_suffix('*') {
        Some(body) => (body, true),
        None => (phrase, false),
    };
    let spaced = body.chars().all(|c| (c as u32) < 0x2E80);
    text.match_indices(body).map(|(at, hit)| (at, at + hit.len())).find(|(start, end)| {
        let word = |c: char| c.is_alphanumeric() || c == '\'';
        let begins = !text[..*start].ends_with(word);
        let ends = is_beginning || !text[*end..].starts_with(word);
        !spaced || (begins && ends)
    })
}

pub(super) fn has_only(text: &str, table: &str) -> bool {
    let word = |w: &str| table.split('|').any(|known| known == w);
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).all(word)
}
