//! What each reason to recall a text counts. One set for everything; it was fitted on half of the conversations of several
//! published collections and judged on the other half (`docs/recall.md` has the figures, and what leaving each out costs).

/// The constants of the order. All shares are of the best text's own words, which count 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Words that text and question share.
    pub words: f64,
    /// How soon a word that is there again counts no more.
    pub saturation: f64,
    /// How much longer texts must have more of it, 0 to 1.
    pub length: f64,
    /// That they mean alike, beyond what any text means like any other.
    pub meaning: f64,
    /// What was said counts this much of what stands for it: 1, but less where a topic is looked for, since a mention of it is
    /// not yet about it.
    pub said: f64,
    /// What the model said counts this much less, for itself and for what is said around it: it says again, at length, what it was
    /// told.
    pub model_less: f64,
    /// What is said just before a text, and just after: it counts for it, the less the further away.
    pub before: f64,
    /// As `before`.
    pub after: f64,
    /// How far that reaches, in tokens.
    pub reach: f64,
    /// The best text of the same conversation.
    pub conversation: f64,
    /// The text of the same conversation that means most alike.
    pub conversation_meaning: f64,
    /// That the question names who said it.
    pub speaker: f64,
    /// That it was said at a time which the question names; the less, the more was said then.
    pub time: f64,
    /// That it begins a conversation.
    pub opening: f64,
    /// That it was said lately: how much, and how many conversations ago that is worth a third.
    pub lately: f64,
    /// As `lately`.
    pub lately_reach: f64,
    /// That it was said lately in the conversation that goes on: how much, and after how many texts that is worth a third.
    pub here: f64,
    /// As `here`.
    pub here_reach: f64,
    /// What a text costs, for each time it is e times longer than [`short`](Self::short).
    pub cost: f64,
    /// So many tokens cost nothing.
    pub short: f64,
}

impl Weights {
    /// To look for texts, rather than to fill a budget with what bears on a question: what each says for itself, and of equals the later.
    pub fn to_find() -> Self {
        let none = 0.0;
        Self {
            before: none,
            after: none,
            conversation: none,
            conversation_meaning: none,
            opening: none,
            lately: none,
            cost: none,
            model_less: none,
            ..Self::default()
        }
    }

    /// To look for a topic.
    pub fn to_find_topics() -> Self {
        Self { said: 0.4, ..Self::to_find() }
    }
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: 1.0,
            saturation: 0.9,
            length: 0.3,
            meaning: 0.48,
            said: 1.0,
            model_less: 0.5,
            before: 0.8,
            after: 0.8,
            reach: 100.0,
            conversation: 0.4,
            conversation_meaning: 0.64,
            speaker: 0.25,
            time: 1.0,
            opening: 0.4,
            lately: 0.3,
            lately_reach: 20.0,
            here: 1.0,
            here_reach: 40.0,
            cost: 0.25,
            short: 32.0,
        }
    }
}
