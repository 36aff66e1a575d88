//! The terms of the ranking, which an evaluation can leave out one by one.

use neap_core::recall::RankWeights;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RankingTerm {
    Words,
    Meaning,
    Beside,
    Conversation,
    Speaker,
    Time,
    Opening,
    Lately,
    File,
    Decision,
    Role,
    Cost,
}

impl RankingTerm {
    pub const ALL: [Self; 12] = [
        Self::Words,
        Self::Meaning,
        Self::Beside,
        Self::Conversation,
        Self::Speaker,
        Self::Time,
        Self::Opening,
        Self::Lately,
        Self::File,
        Self::Decision,
        Self::Role,
        Self::Cost,
    ];

    pub fn name(self) -> &'static str {
        self.texts().0
    }

    pub fn description(self) -> &'static str {
        self.texts().1
    }

    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Words => ("words", "Words shared with the question"),
            Self::Meaning => ("meaning", "Similar meaning"),
            Self::Beside => ("beside", "Relevance of the neighbouring texts"),
            Self::Conversation => ("conversation", "Relevance of its conversation"),
            Self::Speaker => ("speaker", "The question names its speaker"),
            Self::Time => ("time", "The question names its time"),
            Self::Opening => ("opening", "It opens its conversation"),
            Self::Lately => ("lately", "It is recent"),
            Self::File => ("file", "It is about a file in work"),
            Self::Decision => ("decision", "It settles what is asked"),
            Self::Role => ("role", "Whether a person or a model wrote it"),
            Self::Cost => ("cost", "Its size in tokens"),
        }
    }

    /// The default weights without some terms.
    pub fn weights_without(terms: &[Self]) -> RankWeights {
        let mut weights = RankWeights::default();
        for term in terms {
            let zeroed = match term {
                Self::Words => vec![&mut weights.words],
                Self::Meaning => vec![&mut weights.semantic],
                Self::Beside => vec![&mut weights.before, &mut weights.after],
                Self::Conversation => vec![&mut weights.conversation, &mut weights.conversation_semantic],
                Self::Speaker => vec![&mut weights.speaker],
                Self::Time => vec![&mut weights.time],
                Self::Opening => vec![&mut weights.opening],
                Self::Lately => vec![&mut weights.recency, &mut weights.current_session],
                Self::File => vec![&mut weights.file_in_work],
                Self::Decision => vec![&mut weights.decision],
                Self::Role => vec![&mut weights.assistant_penalty],
                Self::Cost => vec![&mut weights.cost],
            };
            zeroed.into_iter().for_each(|weight| *weight = 0.0);
        }
        weights
    }
}
