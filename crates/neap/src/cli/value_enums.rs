//! Value enums of the command line, and their mapping to the core's types.

use clap::ValueEnum;
use neap_core::memory::{Author, CensorAction, CensorSide, Outcome, Stakes};

/// Kinds that `remember` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewMemoryKind {
    /// Something that is true
    Fact,
    /// How something is done
    Procedure,
    /// Something that happened
    Episode,
    /// A rule about what not to do, as with `neap memory censor add`
    Censor,
}

/// Whether to trust a host that text was typed by its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UserWordsTrust {
    /// The host vouches that the person typed it
    Trusted,
    /// A model may have written it
    Untrusted,
}

impl From<UserWordsTrust> for Author {
    fn from(words: UserWordsTrust) -> Author {
        match words {
            UserWordsTrust::Trusted => Author::Person,
            UserWordsTrust::Untrusted => Author::Model,
        }
    }
}

/// Fields that an edit can clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClearableField {
    /// The tags
    Tags,
    /// The domain
    Domain,
    /// The dates: valid at any time again
    Dates,
}

macro_rules! typed {
    ($($(#[$doc:meta])* $name:ident for $of:ident { $($(#[$what:meta])* $variant:ident),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
        pub(crate) enum $name {
            $($(#[$what])* $variant,)+
        }

        impl From<$name> for $of {
            fn from(name: $name) -> $of {
                match name {
                    $($name::$variant => $of::$variant,)+
                }
            }
        }
    )+};
}

typed! {
    /// Text that a rule checks.
    SideName for CensorSide {
        /// The user's messages
        Input,
        /// The model's answers
        Output,
        /// The model's tool calls
        ToolCall,
    }
    /// Action of a rule.
    ActionName for CensorAction {
        /// Give guidance
        Steer,
        /// Block the call or the answer
        Refuse,
        /// End the turn
        Abort,
    }
    /// Stakes of a decision.
    StakesName for Stakes {
        /// Easy to reverse
        Low,
        /// Some work to reverse
        Medium,
        /// Hard to reverse
        High,
        /// Irreversible
        Critical,
    }
    /// Outcome of a decision.
    OutcomeName for Outcome {
        /// As expected
        Success,
        /// In part
        Partial,
        /// Not as expected
        Failure,
    }
    /// Author of a memory, other than a person.
    AuthorName for Author {
        /// A model, by tool call
        Model,
        /// A tool of the host
        Tool,
        /// An imported file
        Import,
    }
}
