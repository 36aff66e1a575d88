//! Names of the core's lists, as they are typed.

use clap::ValueEnum;
use neap_core::memory::{Action, Author, Outcome, Side, Stakes};

/// Kinds that `remember` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum NewKind {
    /// What is so
    Fact,
    /// How something is done
    Procedure,
    /// What happened
    Episode,
    /// What not to do: a rule, as `neap censor add` writes it
    Censor,
}

/// Whether a host's word is taken that something was typed by its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UserWords {
    /// The host vouches: they are the person's
    Trusted,
    /// Nobody vouches: a model may have written them
    Untrusted,
}

impl From<UserWords> for Author {
    fn from(words: UserWords) -> Author {
        match words {
            UserWords::Trusted => Author::Person,
            UserWords::Untrusted => Author::Model,
        }
    }
}

/// What can be taken away from a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cleared {
    /// The words it is sorted by
    Tags,
    /// The field it belongs to
    Domain,
    /// The days between which it holds: it holds at any time again
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
    /// Where a rule looks.
    SideName for Side {
        /// What the user says
        Input,
        /// What the model answers
        Output,
        /// What the model asks a tool to do
        ToolCall,
    }
    /// What a rule does.
    ActionName for Action {
        /// Gives guidance
        Steer,
        /// Blocks the call or the answer
        Refuse,
        /// Ends the turn
        Abort,
    }
    /// What hangs on a decision.
    StakesName for Stakes {
        /// Easily taken back
        Low,
        /// Some work to take back
        Medium,
        /// Hard to take back
        High,
        /// Cannot be taken back
        Critical,
    }
    /// How a decision came out.
    OutcomeName for Outcome {
        /// As hoped
        Success,
        /// In part
        Partial,
        /// Not
        Failure,
    }
    /// Who wrote a record, other than a person.
    AuthorName for Author {
        /// A model, by tool call
        Model,
        /// A tool of the host
        Tool,
        /// A file from elsewhere
        Import,
    }
}
