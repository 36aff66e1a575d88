//! Ranking weights. One set for everything, fitted on half of the conversations of several published collections
//! and judged on the other half (`docs/recall.md` has the figures, and what leaving each out costs).

/// Shares are relative to the best text's term score, which counts 1.
#[derive(Debug, Clone, PartialEq)]
pub struct RankWeights {
    /// Shared terms (BM25).
    pub words: f64,
    /// BM25's k1.
    pub saturation: f64,
    /// BM25's b, 0 to 1.
    pub length_normalization: f64,
    /// Similarity beyond the mean.
    pub semantic: f64,
    /// Weight of messages relative to summaries and memories: 1, but less where a topic is searched for, since a
    /// mention of a topic is not about it.
    pub messages: f64,
    /// Taken off assistant messages and off their neighbours' share: the model repeats at length what it was told.
    /// Nothing is, if the question asks for what it said.
    pub assistant_penalty: f64,
    /// Share of the preceding texts' scores, decaying with distance.
    pub before: f64,
    /// The same for following texts.
    pub after: f64,
    /// Distance, in tokens, at which a neighbour's share falls to 1/e.
    pub neighbour_reach: f64,
    /// Share of the conversation's best own score.
    pub conversation: f64,
    /// Share of the conversation's highest similarity.
    pub conversation_semantic: f64,
    /// The question names the speaker.
    pub speaker: f64,
    /// The text was said at a time that the question names; less, the more candidates were.
    pub time: f64,
    /// The text opens its conversation.
    pub opening: f64,
    pub recency: f64,
    /// Number of later conversations at which `recency` falls to 1/e.
    pub recency_reach: f64,
    /// Recency within the current session.
    pub current_session: f64,
    /// Number of later texts at which `current_session` falls to 1/e.
    pub current_session_reach: f64,
    /// The newest text of the file that the current session worked on last; less for files before it.
    pub file_in_work: f64,
    /// Share of the conversation factor for a message that settles something, if a decision is asked for.
    pub decision: f64,
    /// Subtracted each time a text is e times longer than `short_tokens`.
    pub cost: f64,
    pub short_tokens: f64,
}

impl RankWeights {
    /// For listing texts rather than filling a budget: own scores only; of equals, the later first.
    pub fn for_search() -> Self {
        let none = 0.0;
        Self {
            before: none,
            after: none,
            conversation: none,
            conversation_semantic: none,
            opening: none,
            recency: none,
            file_in_work: none,
            decision: none,
            cost: none,
            assistant_penalty: none,
            ..Self::default()
        }
    }

    /// For finding the texts that are about a topic.
    pub fn for_topics() -> Self {
        Self { messages: 0.4, ..Self::for_search() }
    }
}

impl Default for RankWeights {
    fn default() -> Self {
        Self {
            words: 1.0,
            saturation: 0.9,
            length_normalization: 0.3,
            semantic: 0.48,
            messages: 1.0,
            assistant_penalty: 0.5,
            before: 0.8,
            after: 0.8,
            neighbour_reach: 100.0,
            conversation: 0.4,
            conversation_semantic: 0.64,
            speaker: 0.25,
            time: 1.0,
            opening: 0.4,
            recency: 0.3,
            recency_reach: 20.0,
            current_session: 1.0,
            current_session_reach: 40.0,
            file_in_work: 2.0,
            decision: 0.7,
            cost: 0.25,
            short_tokens: 32.0,
        }
    }
}
