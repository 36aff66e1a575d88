//! The words of openings. All are in lower case and match whole words of normalized text.

use crate::text::phrases::Phrases;

/// Announces other work.
pub(super) const NEW_TOPIC: Phrases = Phrases(
    "new topic|new task|new project|new question|new issue|different topic|different subject|different question|\
     on another note|unrelated|separately|something else|next task|next ticket|next issue|moving on|change of topic|next up",
);

/// Words before the sentence proper.
pub(super) const LEAD_IN: Phrases = Phrases(
    "hi|hello|hey|good morning|good afternoon|good evening|morning|team|all|everyone|hi there|hello there|hey there|folks|guys|ok|okay|well|\
     so|now|and|but|then|alright|right|first|finally|again|anyway|actually|btw|by the way|also|next|another thing|\
     one more thing|besides|in addition|on top of that|oh|yes|no|yeah|sure|great|cool|thanks|thank you|next week|\
     tomorrow|today|this week|i think|i guess|i believe|i feel like|it seems|it looks like|looks like|apparently|\
     please|unfortunately|sadly|sorry|maybe|i was wondering if you could|i wonder if you could|i'd be glad if you could",
);

/// Those of them that add work to what is in hand.
pub(super) const ADDS: Phrases =
    Phrases("also|next|another thing|one more thing|besides|in addition|on top of that|as well|too");

/// Asks for help.
pub(super) const HELP: Phrases = Phrases(
    "help me|help us|can you help|could you help|if you could help|would you help|i need help|need some help|\
     need your help|i could use help|could use some help|help with|a hand with",
);

/// Proposes something; a verb of work follows.
pub(super) const PROPOSALS: Phrases =
    Phrases("let's|lets|let us|shall we|why don't we|how about we|we could|can we|could we");

/// Orders something; a verb of work follows.
pub(super) const ORDERS: Phrases = Phrases(
    "please|kindly|can you|could you|would you|will you|i want you to|i need you to|we need you to|i'd like you to|\
     i would like you to|you should|go ahead and|your task is to|your job is to",
);

/// States a need or an intention; a verb or a thing follows.
pub(super) const NEEDS: Phrases = Phrases(
    "i need to|we need to|i need|we need|i want to|we want to|i want|we want|i'd like to|we'd like to|\
     i would like to|we would like to|i'd love to|i would love to|i'd like|i would like|i have to|we have to|i've got to|we've got to|\
     i must|we must|i should|we should|i ought to|we ought to|i'm trying to|i am trying to|we're trying to|\
     we are trying to|i'm going to|i am going to|we're going to|we are going to|i plan to|we plan to|i intend to|\
     we intend to|my plan is to|our plan is to|the plan is to|my goal is to|our goal is to|the goal is to|\
     i hope to|we hope to|it's time to|i'm thinking about|i am thinking about|we're thinking about|i'm considering|\
     we're considering|i was asked to|we were asked to|i've been asked to|we've been asked to|we have been asked to|\
     i have been asked to|asked me to|asked us to|wants me to|wants us to|told me to|we are supposed to|\
     we're supposed to|i'm supposed to|i'm about to|we're about to|need a way to|looking for a way to|\
     i'm looking for|we're looking for|trying to figure out|i can't decide|deciding between|torn between",
);

/// What follows a need and is no work.
pub(super) const IDLE: Phrases = Phrases(
    "go|go now|leave|think|eat|drink|sleep|rest|thank|say|know|wait|ask|tell you|hear|talk|pause|\
     pick up|catch|head|call it|be|be honest|admit|see|see you|you|it|that|this|nothing|more time|to know|a break|\
     take a break|finish this|test this|test that|check|believe|mention|point out|keep|remember|come back|get going|\
     get back|continue|both|the first|the second|one|some|your opinion|lunch|coffee",
);

/// Asks for a procedure.
pub(super) const HOW_TO: Phrases = Phrases(
    "how do i|how do we|how can i|how can we|how should i|how should we|how would i|how would we|how to|\
     what's the best way to|what is the best way to|what's a good way to",
);

/// Procedures that are one answer.
pub(super) const SMALL_PROCEDURES: Phrases = Phrases(
    "spell|pronounce|say|call|know|tell|see|read this|find you|reach you|quit|exit|get there|use this|use you",
);

/// Verbs of work, as in an order.
pub(super) const WORK: Phrases = Phrases(
    "add|adapt|adjust|analyse|analyze|automate|arrange|audit|benchmark|book|build|change|choose|clean up|clean|\
     compare|configure|connect|convert|cut|create|debug|deploy|design|diagnose|document|draft|drop|enable|estimate|\
     extend|extract|figure out|fix|find out why|get rid of|harden|implement|import|improve|install|integrate|\
     introduce|investigate|launch|learn|look at|look into|make|merge|migrate|modernize|move|negotiate|optimise|\
     optimize|order|organise|organize|outline|paint|plan|port|prepare|prototype|put together|put up|come up with|think of|draw up|find out|redo|take over|host|translate|bump|allow|cover|get the|get our|get my|get all|write down|publish|reduce|redesign|refactor|\
     release|remove|rename|renew|renovate|reorganise|reorganize|repair|replace|research|restructure|review|rewrite|\
     roll out|rotate|schedule|secure|set up|shrink|simplify|solve|speed up|split|start|support|switch|sort out|\
     tackle|test|track down|trace|troubleshoot|tune|update|upgrade|work on|work out|write|write up",
);

/// Verbs that begin something large enough to stand beside what is in hand.
pub(super) const PLANNING: Phrases =
    Phrases("plan|build|write|create|design|start|organise|organize|prepare|launch|redesign|renovate|draft");

/// Objects that point at what is in hand.
pub(super) const POINTING: Phrases = Phrases(
    "it|that|this|them|these|those|me|you|over|again|with it|sure|sense|the same|one|here|there|by|with|off|on",
);

/// Says of something that work on it is due.
pub(super) const DUE: Phrases = Phrases(
    "wants a|want a|asked for a|asked for the|asks for a|requested a|requests a|needs to be|need to be|has to be|have to be|must be|ought to be|should be replaced|should be moved|\
     should be rewritten|needs a|needs an|needs new|needs some|needs more|needs fixing|needs replacing|\
     needs attention|needs repair|is due|are due|is overdue|are overdue|is due on|due by|by monday|by tuesday|by wednesday|by thursday|by friday|by the end of|by tomorrow",
);

/// Work that goes on, before a verb with `ing`.
pub(super) const ONGOING: Phrases = Phrases(
    "i'm|i am|we're|we are|i've been|we've been|i have been|we have been|i'm currently|we're currently|\
     i am currently|we are currently|i started|we started",
);

/// Says that something is wrong.
pub(super) const TROUBLES: Phrases = Phrases(
    "fails|fail|failing|failed|failure|failures|crash|crashes|crashed|crashing|panics|panicked|segfault|segfaults|\
     an error|error when|error while|error after|error in|error on|errors when|errors while|errors after|errors in|\
     errors on|get errors|gets errors|getting errors|seeing errors|with errors|shows error|throws|threw|exception|\
     broken|broke|breaks|stuck|hangs|hanging|freezes|frozen|jammed|jams|clogged|leaks|leaking|leaked|memory leak|\
     dripping|drips|a leak|times out|timed out|timing out|time out|timeouts|a timeout|flaky|flickers|out of memory|\
     out of disk|out of space|out of sync|out of date|deadlock|deadlocks|race condition|goes down|went down|is down|\
     are down|outage|regression|is red|too slow|is slow|are slow|so slow|very slow|really slow|painfully slow|\
     slow to|got slow|slower|slows down|takes forever|takes ages|takes too long|takes so long|took too long|\
     is wrong|are wrong|wrong with|goes wrong|went wrong|the wrong|looks wrong|incorrect|incorrectly|corrupt|\
     corrupted|garbled|is missing|are missing|goes missing|went missing|got lost|get lost|gets lost|\
     disappears|disappear|disappeared|vanishes|vanished|duplicated|duplicates|rejected|refuses to|\
     refuse to|keeps|keep getting|keep failing|stopped working|stopped sending|stopped responding|stopped|\
     stops working|stops responding|no longer works|\
     doesn't work|does not work|don't work|do not work|isn't working|not working|not responding|not loading|\
     isn't loading|won't|can't|cannot|can not|unable to|a problem|problem with|problems with|performance problem|\
     the problem is|have problems|has problems|an issue|issue with|issues with|performance issue|have issues|\
     trouble with|having trouble|a bug|bug in|bugs in|buggy|strange|weird|odd noise|for no reason|out of nowhere|\
     a noise|noises|blank|off by|eats|eating|kills|killed by|ignores|ignored|a race|doubled|halved|doubles|disconnects|disconnect|disconnected|shifted|cuts off|cut off|overlaps|\
     overlap|distorted|in quarantine|twice|but not on|but not in|but not with|faster than|noisy|skips|loses|losing|\
     a sound|days late|a day late|hours late|\
     an hour late|too late|twice as|bounce|bounces|every night|every few minutes|swallows|overwrites|overwritten|\
     randomly|suddenly|intermittently|sporadically|even when|even though|complain|complains|complained|\
     ends up in|comes out|come out|gives no|give no|shows no|returns no|returns nothing|returns an empty|\
     returns the same|locks up|locked out|logs people out|logged out|crawls|drops|dropped",
);

/// Verbs after which `doesn't` says that a thing fails; a person's `doesn't like` is a preference.
pub(super) const PERSONAL_VERBS: Phrases = Phrases(
    "like|eat|drink|want|matter|mind|care|know|live|speak|have|need|own|smoke|bother|feel|remember|think|cost",
);

/// Take a status code of the web as their object.
pub(super) const RECEIVES: Phrases = Phrases(
    "get|gets|getting|got|return|returns|returning|returned|see|seeing|sees|show|shows|receive|receives|receiving|\
     answers|answer|answered|responds with|replies with|with a|gives|give",
);

/// What a thing that takes long is slow at.
pub(super) const SLOW_AT: Phrases = Phrases(
    "to load|to start|to respond|to finish|to build|to compile|to run|to render|to open|to boot|to complete|\
     to deploy|to connect|to sync|to save|to return|to answer|to log|to show|to update|to appear|to arrive|to warm",
);

/// A sentence with one of these tells of the past, or denies a trouble.
pub(super) const NO_TROUBLE: Phrases = Phrases(
    "no problem|no problems|not a problem|no issue|no issues|no errors|no error|no bugs|nothing wrong|\
     nothing is wrong|no trouble|fixed|solved|resolved|works now|used to|last year|years ago|months ago|can't wait|\
     can't complain|can't thank|can't believe|can't stand|can't remember|can't talk|can't make it|can't come|\
     won't be|won't take|won't hurt|won't bother|cannot wait|thanks for|thank you for|error handling|can't hurt|\
     issue tracker|bug tracker|how to fix",
);

/// A sentence that begins so states a fact, a taste or a courtesy.
pub(super) const NO_WORK_STARTS: Phrases = Phrases(
    "i like|i love|i prefer|i hate|i dislike|i enjoy|my favourite|my favorite|my name|remember that|note that|fyi|\
     for the record|fun fact|just so you know|thanks for|thank you for|sorry for|glad|if|in case|unless|sounds|\
     i'm done|i'm glad|i'm happy|i'm sorry|remind me|we decided|we agreed|we chose|i decided",
);

/// Questions begin so, with or without a mark.
pub(super) const QUESTION_STARTS: Phrases = Phrases(
    "what|what's|which|who|who's|whose|when|where|where's|why|how|is|are|was|were|does|do i|do we|do you|do they|\
     did|can i|can we|can they|could i|could we|should|would it|would that|has|have you|have we|have i|am i|tell me|\
     show me|give me|explain|describe|define|list|any idea",
);

/// Questions about a trouble.
pub(super) const TROUBLE_QUESTIONS: Phrases =
    Phrases("why|what's wrong with|what is wrong with|any idea why|what makes|what could cause|what is causing");

/// After a noun that could be a verb, these show that it is a noun.
pub(super) const STATES_FACT: Phrases = Phrases("is|are|was|were|has|have|had|will|can|runs|lives|belongs|says");

/// No verb begins so.
pub(super) const DETERMINERS: Phrases =
    Phrases("the|a|an|my|our|your|his|her|their|bed|work|school|town|lunch|dinner|church");

/// Says what is intended; a verb of work follows.
pub(super) const INTENTIONS: Phrases = Phrases("i will|we will|i'll|we'll|somebody should|someone should");

/// Says what something should do.
pub(super) const OBLIGATIONS: Phrases = Phrases("should|ought to");

/// Subjects of which "should" is a guess or an advice.
pub(super) const POINTING_SUBJECTS: Phrases =
    Phrases("it|that|this|they|these|those|you|he|she|which|what|all|there");

/// After "should": no demand.
pub(super) const MILD: Phrases =
    Phrases("be fine|be ok|be okay|be enough|have|be done|be there|be ready|work|be good");

/// Steps of work in hand, and orders that a single answer carries out.
pub(super) const STEPS: Phrases = Phrases(
    "use|read|run|rerun|open|show|see|push|pull|keep|leave|skip|try|call|explain|list|describe|summarize|summarise|\
     print|close|stop|restart|commit|say|repeat|forget|ignore|have|take|wait|enjoy|pick|give me|tell|go|come|let|do|\
     define|quote|recall|remember|note|thank|bring|hold|expand|collapse|search|count|name|send|put|apply|undo|revert|\
     mind|grab|pass|calculate|look|watch|save|copy|paste|click|type|press|continue|finish|answer|check the|verify|\
     confirm|double|stick|drop|kill|ask|follow|turn|switch",
);

/// Begin statements, questions and fragments; no verb does so.
pub(super) const NO_VERBS: Phrases = Phrases(
    "i|we|you|he|she|it|they|this|that|these|those|there|here|the|a|an|my|our|your|his|her|their|its|in|on|at|by|\
     for|from|with|without|to|of|after|before|during|since|until|while|when|where|because|if|as|like|about|over|\
     under|both|all|half|each|every|some|any|no|not|only|even|just|what|who|which|why|how|is|are|was|were|be|am|does|\
     did|can|could|should|would|will|may|might|must|and|or|but|so|than|then|such|quite|rather|yes|ok|maybe|once|\
     although|though|whether|despite|between|behind|near|inside|outside|through|against|per|via|plus|minus|unlike|\
     happy|good|nice|great|lol|well|almost|still|now|too|within|into|onto|out|up|down|off|sure|what's|same|true",
);

/// Begin the object of an order.
pub(super) const ARTICLES: Phrases = Phrases("the|a|an|our|my|all|every|each|some|two|three|which|why|whether");
