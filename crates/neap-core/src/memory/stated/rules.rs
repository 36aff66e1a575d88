//! The wordings of preferences and standing instructions, as clauses in lower case without punctuation (`dont`, `i d`),
//! and of what is asked to be remembered, in lower case.

use crate::text::phrases::Phrases;

/// Phrases that mark a standing instruction anywhere in a sentence.
pub(super) const FROM_NOW_ON: &[&str] = &[
    "from now on", "from here on", "from this point on", "from today on", "going forward", "moving forward",
    "henceforth", "in all future", "in every future", "in future answers", "in future replies",
    "until i say otherwise", "until further notice", "unless i say otherwise", "unless i ask otherwise",
    "unless i tell you otherwise", "every time you", "each time you", "any time you", "anytime you",
    "every time i ask", "each time i ask", "any time i ask", "for all your answers", "in all your answers",
    "in all your replies", "in all your responses", "in every answer", "in every reply", "in every response",
];
/// Beginnings of a standing instruction that the word after them may make a story.
pub(super) const ALWAYS: &[&str] = &[
    "always", "never", "please always", "please never", "you should always", "you should never",
    "you must always", "you must never", "you can always", "make sure to always", "make sure you always",
    "make sure to never", "make sure you never", "be sure to always", "remember to always", "do not ever",
    "dont ever", "please dont ever", "please do not ever", "i want you to always", "i want you to never",
    "i need you to always", "i need you to never", "i d like you to always", "i d like you to never",
    "i would like you to always", "i would like you to never", "try to always",
];
/// Words after `always` or `never` in a story, idiom or comparison.
pub(super) const NON_INSTRUCTIONS: &[&str] = &[
    "mind", "again", "been", "was", "were", "had", "have", "did", "knew", "thought", "wanted", "happened", "seen",
    "heard", "say", "a", "the", "in", "too", "ever", "once", "got", "gonna", "going", "happy", "glad", "nice",
    "good", "great", "ready",
];
/// Beginnings of a preference that is always loaded.
pub(super) const PREFER: &[&str] = &[
    "i prefer", "i d prefer", "i would prefer", "we prefer", "my preference is", "i always want", "i never want",
    "i only want", "i always need you", "i like it when you", "i like it if you", "i dont like it when you",
    "i hate it when you", "i dislike it when you", "i like you to", "i love it when you", "i d rather you",
    "i would rather you", "i expect you to", "keep your answers", "keep your replies", "keep your responses",
    "keep your explanations", "keep your messages", "keep answers", "keep replies", "keep responses",
    "keep explanations", "stop apologizing", "stop apologising", "call me", "address me as", "refer to me as",
    "my pronouns are", "speak to me in", "talk to me in", "be brief with me", "be concise with me",
];
/// Beginnings of a preference, and the words that make them something else if they follow.
pub(super) const LIKES: &[(&str, &[&str])] = &[
    ("i like", ONE_OFF),
    ("i love", ONE_OFF),
    ("i enjoy", ONE_OFF),
    ("i adore", ONE_OFF),
    ("i appreciate", &["it", "that", "this", "your", "you", "the", "any", "all", "everything", "how", "what"]),
    ("i favor", ONE_OFF),
    ("i favour", ONE_OFF),
    ("i dislike", ONE_OFF),
    ("i hate", ONE_OFF),
    ("i detest", ONE_OFF),
    ("i loathe", ONE_OFF),
    ("i despise", ONE_OFF),
    ("i avoid", &["it", "that", "this", "these", "those", "them"]),
    ("i try to avoid", &["it", "that", "this", "these", "those", "them"]),
    ("i steer clear of", &["it", "that", "this"]),
    ("i stay away from", &["it", "that", "this"]),
    ("i cant stand", &["it", "that", "this", "up", "here", "by"]),
    ("i can not stand", &["it", "that", "this", "up", "here", "by"]),
    ("i cannot stand", &["it", "that", "this", "up", "here", "by"]),
    ("i cant bear", &["it", "that", "this", "to"]),
    ("i can t stand", &["it", "that", "this", "up", "here", "by"]),
    ("i cant tolerate", &["it", "that", "this"]),
    ("i cant eat", &["now", "right", "it", "this", "that"]),
    ("i dont like", ONE_OFF),
    ("i do not like", ONE_OFF),
    ("i dont enjoy", ONE_OFF),
    ("i do not enjoy", ONE_OFF),
    ("i dont care for", ONE_OFF),
    ("i dont eat", &["it", "this", "that", "now"]),
    ("i do not eat", &["it", "this", "that", "now"]),
    ("i dont drink", &["it", "this", "that", "now"]),
    ("i do not drink", &["it", "this", "that", "now"]),
    ("i dont smoke", &["it", "this", "that"]),
    ("i dont wear", &["it", "this", "that"]),
    ("i dont want you to", &["worry", "think", "go", "be", "do"]),
    ("i never eat", &["it"]),
    ("i never drink", &["it"]),
    ("i never wear", &["it"]),
    ("i never buy", &["it"]),
    ("i never use", &["it", "this", "that"]),
    ("i never fly", &[]),
    ("i never work", &[]),
    ("i never watch", &["it"]),
    ("i never order", &["it"]),
    ("i only eat", &["it"]),
    ("i only drink", &["it"]),
    ("i only use", &["it", "this", "that"]),
    ("i only buy", &["it"]),
    ("i only wear", &["it"]),
    ("i only fly", &[]),
    ("i only read", &["it", "this", "that"]),
    ("i only watch", &["it", "this", "that"]),
    ("i always use", &["it", "this", "that"]),
    ("i always order", &["it"]),
    ("i always buy", &["it"]),
    ("i always take", &["it", "this", "that"]),
    ("i always choose", &["it"]),
    ("i always go for", &["it"]),
    ("i usually go for", &["it"]),
    ("i usually go with", &["it"]),
    ("i tend to go for", &["it"]),
    ("i tend to avoid", &["it"]),
    ("i tend to like", &["it"]),
    ("i gravitate towards", &[]),
    ("i lean towards", &["it", "this", "that"]),
    ("i m a big fan of", ONE_OFF),
    ("i m a huge fan of", ONE_OFF),
    ("i m a fan of", ONE_OFF),
    ("i m not a fan of", ONE_OFF),
    ("i m not a big fan of", ONE_OFF),
    ("i m no fan of", ONE_OFF),
    ("i m not big on", ONE_OFF),
    ("i m not into", ONE_OFF),
    ("i m not fond of", ONE_OFF),
    ("i m not keen on", ONE_OFF),
    ("i m not crazy about", ONE_OFF),
    ("i m big on", ONE_OFF),
    ("i m into", ONE_OFF),
    ("i m fond of", ONE_OFF),
    ("i m keen on", ONE_OFF),
    ("i m crazy about", ONE_OFF),
    ("i m mad about", ONE_OFF),
    ("i m partial to", ONE_OFF),
    ("i m obsessed with", ONE_OFF),
    ("i m addicted to", ONE_OFF),
    ("i m allergic to", ONE_OFF),
    ("i m intolerant to", ONE_OFF),
    ("i m sensitive to", ONE_OFF),
    ("i m more of a", &[]),
    ("i have an allergy to", &[]),
    ("i have an aversion to", &[]),
    ("i have a soft spot for", ONE_OFF),
    ("i have a weakness for", ONE_OFF),
    ("i have a sweet tooth", &[]),
    ("i have no patience for", ONE_OFF),
    ("i could live on", ONE_OFF),
    ("give me", &["a", "the", "an", "some", "your", "it", "that", "this", "more", "one", "two", "three"]),
    ("my diet is", &[]),
    ("my go to", &[]),
];
/// After a word for liking: this thing here, or an idiom. `I like that idea`, `I hate to say it`.
const ONE_OFF: &[&str] = &[
    "it", "that", "this", "these", "those", "them", "you", "your", "yours", "him", "her", "his", "how", "what",
    "where", "to know", "to think", "to say", "to ask", "to bother", "to interrupt", "to admit", "to break",
    "to see", "to be the", "to disappoint", "the idea", "the suggestion", "the plan", "the first", "the second",
    "the third", "the last", "the new", "the look", "the sound", "the approach", "the version", "the option",
    "the draft", "the proposal", "the result", "the answer", "the way you", "the way it", "the direction",
    "the name", "the changes", "the change", "my chances", "both", "so far", "a challenge", "each",
    "everything about", "to hear", "to help", "one", "option",
];
/// What a person is, as far as it says what they want: after `i m`, `i m a`, `i m not a`.
pub(super) const TRAITS: &[&str] = &[
    "vegetarian", "vegan", "pescatarian", "flexitarian", "lactose", "gluten", "celiac", "coeliac", "diabetic",
    "teetotal", "teetotaller", "kosher", "halal", "colour blind", "color blind", "colourblind", "colorblind",
    "left handed", "dyslexic",
];
/// After `i m a`, words that end such a trait: `a cat person`, `a tea drinker`.
pub(super) const TRAIT_ENDS: &[&str] = &[
    "person", "drinker", "eater", "lover", "guy", "girl", "enthusiast", "owl", "bird", "addict", "hater", "nut",
    "purist", "minimalist", "fanatic",
];
/// Phrases of a preference anywhere in a clause whose subject is a thing.
pub(super) const JUDGEMENTS: &[&str] = &[
    "is my favourite", "is my favorite", "are my favourite", "are my favorite", "is my favorites",
    "are my favourites", "are my favorites", "is not my thing", "isnt my thing", "arent my thing",
    "are not my thing", "isnt for me", "is not for me", "arent for me", "drives me crazy", "drive me crazy",
    "drives me nuts", "drive me nuts", "drives me mad", "drive me mad", "makes me sick", "make me sick",
    "gives me headaches", "give me headaches", "gives me a headache", "give me a headache",
    "is not my cup of tea", "isnt my cup of tea", "arent my cup of tea", "are not my cup of tea", "is my go to",
    "are my go to", "doesnt agree with me", "dont agree with me", "is my jam", "is off limits for me",
    "are off limits for me", "is a no go for me", "are a no go for me",
];
/// Words between `i` and its verb.
pub(super) const ADVERBS: &[&str] = &[
    "really", "absolutely", "just", "also", "generally", "usually", "normally", "typically", "personally",
    "still", "truly", "definitely", "mostly", "simply", "honestly", "quite", "strongly", "do", "especially",
    "particularly", "actually", "totally", "tend to", "much", "very much", "kind of", "kinda", "sort of",
    "always", "deeply", "genuinely", "rather", "secretly", "utterly", "for one", "myself", "so", "completely",
    "severely", "mildly", "highly", "clearly", "vastly", "seriously", "now", "somewhat", "firmly",
];
/// Words that may precede a clause of any of these kinds.
pub(super) const LEAD_INS: &[&str] = &[
    "and", "but", "so", "also", "ok", "okay", "well", "oh", "btw", "by the way", "just so you know", "remember",
    "remember that", "note that", "please note that", "please note", "please remember that", "please remember",
    "keep in mind that", "keep in mind", "bear in mind that", "bear in mind", "fyi", "for the record",
    "for reference", "honestly", "personally", "to be honest", "frankly", "tbh", "in general", "generally",
    "as a rule", "as for me", "for me", "actually", "you should know that", "you should know", "you know",
    "dont forget that", "dont forget", "i think", "i guess", "i must say", "i have to say",
    "i should mention that", "i should mention", "i should say", "one thing", "one more thing", "another thing",
    "first", "second", "ps", "p s", "note", "reminder", "me", "hi", "hey", "hello", "yes", "yeah", "yep", "no",
    "nope", "thanks", "thank you", "great", "sure", "right", "anyway", "mind you", "since you ask", "overall",
    "most of all", "above all", "as you know", "for what it s worth", "fwiw", "admittedly", "truth be told",
    "turns out", "it turns out", "please know that", "like i said", "as i said", "as i mentioned", "as always",
    "at work", "at home", "at breakfast", "at night", "in the morning", "in the evening", "on weekends",
    "these days", "nowadays", "if possible", "when possible",
];
/// What makes a sentence no statement of the person's own wishes.
pub(super) const HYPOTHETICAL: &[&str] = &[
    "if i", "if you were", "suppose", "supposing", "imagine", "lets say", "let us say", "say i", "say that i",
    "pretend", "assume", "assuming", "what if", "hypothetically", "in theory", "for example", "for instance",
    "e g", "as an example", "once upon", "i wish", "had i", "were i", "whether", "even if", "unless", "would",
    "should", "do", "does", "did", "can", "could", "is", "are", "why", "what", "how", "who", "when did", "where",
    "which", "not that", "the user", "the customer", "the client", "the article", "the song", "the character",
    "the text", "not sure if", "not sure whether", "i wonder", "i am not saying", "i m not saying",
    "i never said", "i didnt say", "i used to", "in the film", "in the movie", "in the book", "in the story",
    "in the song", "in the game", "in the play",
];
/// Somebody else speaks: in the words before a clause.
pub(super) const REPORTS: &[&str] = &[
    "said", "says", "told", "tells", "wrote", "writes", "asked", "replied", "claims", "claimed", "thinks",
    "thought", "believes", "quote", "quoted", "read", "reads", "goes", "went", "heard", "saying", "shouted",
    "mentioned", "states", "stated", "insists", "argues", "lyrics", "title", "titled", "named", "translate",
    "means", "example", "wish", "pretended", "pretend", "dreamed", "joked", "type", "print", "prints", "log",
    "logs", "string", "whether", "if",
];
/// A wish for once.
pub(super) const ONCE: &[&str] = &[
    "now", "today", "tonight", "tomorrow", "yesterday", "this time", "right away", "this one", "for once",
    "this week", "this afternoon", "this morning", "at the moment", "just this once", "here", "not say",
    "not answer", "go home", "die",
];
/// What an assistant produces: wishes about these hold for all of them.
pub(super) const OUTPUT: &[&str] = &[
    "answers", "replies", "responses", "explanations", "code", "messages", "emails", "mails", "examples",
    "summaries", "reports", "comments", "suggestions", "recommendations", "citations", "sources", "units",
    "prices", "dates", "recipes", "plans", "drafts",
];
/// Verbs with which a person asks an assistant for something.
pub(super) const IMPERATIVES: &[&str] = &[
    "answer", "reply", "respond", "include", "use", "add", "give", "show", "write", "mention", "list", "provide",
    "explain", "cite", "quote", "format", "start", "begin", "end", "keep", "make", "be", "put", "sort", "round",
    "convert", "assume", "ask", "tell", "remind", "warn", "suggest", "recommend", "check", "avoid", "skip",
    "omit", "leave", "stick", "limit", "speak", "talk", "refer", "address", "call", "focus", "break", "summarize",
    "summarise", "translate", "stop", "wait", "run", "prefer", "consider", "highlight", "link", "name", "note",
    "state", "present", "structure", "follow", "offer", "describe", "compare", "return", "spell", "say", "point",
    "double", "confirm", "attach", "bring", "stay", "do", "always", "never", "please", "dont", "i want",
    "i d like", "i would like", "i expect", "i need", "i prefer", "you should", "you must", "you can", "you need",
    "just",
];
/// Openings that tie an instruction to an occasion.
pub(super) const OCCASIONS: &[&str] = &[
    "when i ask", "whenever i ask", "if i ask", "when i say", "whenever i say", "if i say", "when i mention",
    "whenever i mention", "if i mention", "when i send", "whenever i send", "if i send", "when i paste",
    "whenever i paste", "if i paste", "when i share", "whenever i share", "when i request", "whenever i request",
    "if i request", "when i talk about", "whenever i talk about", "when i bring up", "whenever i bring up",
    "if i bring up", "when you answer", "whenever you answer", "when you reply", "whenever you reply",
    "when you respond", "whenever you respond", "when you write", "whenever you write", "when you suggest",
    "whenever you suggest", "when you recommend", "whenever you recommend", "when you give", "whenever you give",
    "when you show", "whenever you show", "when you explain", "whenever you explain", "when you format",
    "when you create", "whenever you create", "when you generate", "whenever you generate", "when you summarize",
    "whenever you summarize", "when you summarise", "whenever you summarise", "when you list",
    "whenever you list", "when you quote", "whenever you quote", "when you mention", "whenever you mention",
    "when you use", "whenever you use", "when you plan", "whenever you plan", "when you book",
    "whenever you book", "when you change", "whenever you change", "when you edit", "whenever you edit",
    "when you commit", "whenever you commit", "when you review", "whenever you review", "when you refer",
    "when you are unsure", "when you re unsure", "if you are unsure", "if you re unsure", "when in doubt",
    "if in doubt", "when writing", "when answering", "when replying", "when explaining", "when suggesting",
    "when summarizing", "when summarising", "when formatting", "when generating", "when giving", "when listing",
    "when recommending", "when discussing", "when talking", "when reviewing", "when planning", "when describing",
    "when coding", "every time i", "each time i", "any time i", "anytime i", "when it comes to",
    "for any question about", "for questions about", "for all questions about", "for anything about",
];
/// After a denied request, what makes it one for every time.
pub(super) const STANDING: &[&str] = &[
    "when", "whenever", "unless", "without", "ever", "again", "anymore", "any more", "in your answers",
    "in your replies", "in your responses", "in answers", "in replies", "in responses", "in code", "in my code",
    "in commit messages", "in emails", "with me", "to me", "for me", "at the end of", "at the start of",
    "in the future", "in future", "by default", "always", "never", "every", "each",
];
/// Beginnings of a denied request.
pub(super) const DONT: &[&str] = &[
    "dont", "do not", "please dont", "please do not", "you shouldnt", "you should not", "you must not",
    "you mustnt", "stop", "please stop", "avoid", "please avoid", "refrain from", "please refrain from",
];
/// Words before those that ask to remember something.
pub(super) const ASK_LEADS: Phrases = Phrases(
    "and|but|so|also|ok|okay|oh|well|hi|hey|hello|thanks|thank you|please|pls|plz|kindly|just|btw|by the way|\
     one more thing|another thing|one thing|before i forget|yes|no|now|first|finally|then|good|great|fyi|ps|\
     can you please|could you please|would you please|will you please|could you|would you|i want you to|i need you to|\
     i'd like you to|i would like you to|you should|you must|you have to|you need to|let's|let us|lets|always|\
     it is important to|important",
);
/// Ask to remember what follows, after `that`, a colon or a comma.
pub(super) const ASK_VERBS: Phrases = Phrases(
    "remember|remember this|remember the following|don't forget|don’t forget|dont forget|do not forget|never forget|\
     keep in mind|keep this in mind|bear in mind|bear this in mind|make a note|make a mental note|make note|take a note|\
     take note|write down|write this down|jot down|jot this down|note down|note this down|commit to memory|\
     commit this to memory|save this|save in memory|save to memory|save this to memory|save this in memory|\
     store in memory|store this in memory|store this|put this in your memory|put in your memory|add to your memory|\
     add this to your memory|add to memory|add this to memory|memorize|memorize this|memorise|memorise this|\
     note for later|note for the future|note for future conversations|note for next time|note this",
);
/// Those that need nothing between.
pub(super) const ASK_VERBS_BARE: Phrases =
    Phrases("remember|don't forget|don’t forget|dont forget|do not forget|memorize|memorise");
/// Ask the same, before a colon or a comma.
pub(super) const ASK_HEADS: Phrases = Phrases(
    "for future reference|for the future|for later|for next time|for future conversations|so you know for the future|\
     note to self|note to yourself|a note to self|a note for the future|a note for later|something to remember|\
     here's something to remember|here’s something to remember|here is something to remember|something to keep in mind|\
     one thing to remember|one thing to keep in mind|things to remember|to remember|to keep in mind",
);
/// May follow words that ask.
pub(super) const ASK_LATER: Phrases = Phrases(
    "for later|for next time|for the future|for future reference|for future conversations|for future sessions|\
     for good|forever|for me|too|also|as well|next time|please|in future",
);
/// Point at what was stated before.
pub(super) const ASK_ENDS: Phrases = Phrases(
    "remember|remember that|remember this|remember it|keep that in mind|keep this in mind|keep it in mind|\
     bear that in mind|bear this in mind|bear it in mind|don't forget|don't forget that|don't forget it|\
     don't forget this|don’t forget|don’t forget that|dont forget|dont forget that|make a note of that|\
     make a note of it|make a note of this|take note of that|write that down|write it down|note that down|\
     commit that to memory|save that|save that to memory|remember that for later|remember this for later|\
     remember it for later|remember that please|remember this please|remember it please|keep that in mind please|\
     memorize that|memorise that|memorize it|memorise it",
);
/// What begins so is to be done, recalled or explained, or points at something.
pub(super) const UNSTATED_STARTS: Phrases = Phrases(
    "to|when|how|what|what's|who|whom|whose|where|why|which|whether|if|me|us|him|about|not|everything|nothing|you|\
     you're|you've|you'll|you'd|your|it|it's|this|that|that's|these|those|can|could|would|will|should|do|does|did|is|\
     are|was|were|please|don't|let's|i think|i guess|i said|i told|i asked|i mentioned|one time|the time|the day|\
     that time|the way|remember",
);
/// What begins so is a whole clause.
pub(super) const STATEMENT_STARTS: Phrases = Phrases(
    "the|a|an|my|our|his|her|their|its|i|i'm|i've|i'll|i'd|we|we're|we've|we'll|he|he's|she|she's|they|they're|there|\
     there's|each|every|no|all|some|any|most|both|only|nobody|everyone|everybody|none|one of|in|on|at|from|after|\
     before|during|until|never",
);
/// Verbs of statements.
pub(super) const STATEMENT_VERBS: Phrases = Phrases(
    "is|are|was|were|am|isn't|aren't|wasn't|has|have|had|hasn't|haven't|will|won't|can|can't|cannot|must|mustn't|may|\
     should|does|doesn't|do|don't|needs|need|lives|live|works|work|runs|run|uses|use|listens|listen|happens|happen|\
     starts|start|begins|begin|ends|end|opens|open|closes|close|takes|take|costs|cost|expires|expire|goes|go|comes|come|moved|\
     moves|changed|changes|leaves|leave|arrives|arrive|ships|ship|requires|require|prefers|prefer|wants|want|means|\
     belongs|contains|contain|holds|hold|stays|stay|sits|stands|points|allows|allow|accepts|accept|supports|renews|\
     resets|becomes|became|gets|get|pays|pay|likes|like|hates|loves|eats|drinks|speaks|speak|joined|bought|sold|left|\
     starts|serves|serve|invoices|=",
);
/// What holds for a day.
pub(super) const PASSING: Phrases = Phrases(
    "today|tomorrow|tonight|yesterday|right now|just now|for now|at the moment|this morning|this afternoon|\
     this evening|this week|this one|in this story|my first one",
);
