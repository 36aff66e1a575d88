//! Names of the smaller enums of a record.

use super::{CensorAction, CensorSide, Outcome, ReasonKind, Stakes, Trust};

macro_rules! names {
    ($($enum_name:ident { $($variant:ident => $name:literal),+ $(,)? })+) => {$(
        impl $enum_name {
            pub fn as_str(self) -> &'static str {
                match self {
                    $($enum_name::$variant => $name,)+
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
    CensorSide { Input => "input", Output => "output", ToolCall => "tool_call" }
    CensorAction { Steer => "steer", Refuse => "refuse", Abort => "abort" }
    Trust { Low => "low", Medium => "medium", High => "high" }
}
