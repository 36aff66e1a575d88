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
    /// That they mean alike.
    pub meaning: f64,
    /// What the model said counts this much less: it says again, at length, what it was told.
    pub model_less: f64,
    /// What is said just before a text, and just after: it counts for it, the less the further away.
    pub before: f64,
    /// As `before`.
    pub after: f64,
    /// How far that reaches, in tokens.
    pub reach: f64,
    /// The best text of the same conversation.
    pub conversation: f64,
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
    /// What a text costs, for each time it is e times longer than [`short`](Self::short).
    pub cost: f64,
    /// So many tokens cost nothing.
    pub short: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            words: 1.0,
            saturation: 0.9,
            length: 0.3,
            meaning: 0.3,
            model_less: 0.5,
            before: 0.8,
            after: 0.6,
            reach: 100.0,
            conversation: 0.4,
            speaker: 0.2,
            time: 0.8,
            opening: 0.3,
            lately: 0.25,
            lately_reach: 20.0,
            cost: 0.2,
            short: 30.0,
        }
    }
}
