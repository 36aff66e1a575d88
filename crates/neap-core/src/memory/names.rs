//! What the smaller lists of a record are called.

use super::{Action, Outcome, ReasonKind, Side, Stakes, Trust};

macro_rules! names {
    ($($of:ident { $($variant:ident => $name:literal),+ $(,)? })+) => {$(
        impl $of {
            /// Its name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($of::$variant => $name,)+
                }
            }
        }
    )+};
}

names! {
    Outcome { Pending => "pending", Success => "success", Partial => "partial", Failure => "failure" }
    Stakes { Low => "low", Medium => "medium", High => "high", Critical => "critical" }
    ReasonKind {
        Evidence => "evidence",
        Analysis => "analysis",
        Experience => "experience",
        Authority => "authority",
        Preference => "preference",
        Constraint => "constraint",
    }
    Side { Input => "input", Output => "output", ToolCall => "tool_call" }
    Action { Steer => "steer", Refuse => "refuse", Abort => "abort" }
    Trust { Low => "low", Medium => "medium", High => "high" }
}
