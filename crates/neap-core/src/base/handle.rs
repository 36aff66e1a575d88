//! Handles: short names by which anything that was said can be fetched verbatim.
//!
//! `t12` is all of turn 12, `t12.3` its fourth message (the user's is `t12.0`), `t3-41@auth-bug` every exchange of
//! turns 3 to 41 in that effort's log, `t3-41@-` the same in ambient chat, `t3-41` everything in those turns.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::ids::{EffortId, TurnNo};
use crate::base::message::{Exchange, Message, Scope};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Handle {
    Turn(TurnNo),
    /// The user's message has index 0.
    Message {
        turn: TurnNo,
        index: usize,
    },
    Turns {
        first: TurnNo,
        last: TurnNo,
    },
    /// The exchanges of one log between two turns.
    Span {
        first: TurnNo,
        last: TurnNo,
        scope: Scope,
    },
}

impl Handle {
    /// The messages it refers to, among the exchanges fetched for it.
    pub fn select<'a>(&self, exchanges: &'a [Exchange]) -> Vec<&'a Message> {
        let all = exchanges.iter().flat_map(|exchange| &exchange.messages).map(|counted| &counted.message);
        match self {
            Handle::Turn(_) | Handle::Turns { .. } | Handle::Span { .. } => all.collect(),
            Handle::Message { index, .. } => all.skip(*index).take(1).collect(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no handle; handles look like t12, t12.3 or t3-41@effort-id")]
pub struct HandleError(String);

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Handle::Turn(turn) => write!(f, "t{turn}"),
            Handle::Message { turn, index } => write!(f, "t{turn}.{index}"),
            Handle::Turns { first, last } => write!(f, "t{first}-{last}"),
            Handle::Span { first, last, scope } => {
                write!(f, "t{first}-{last}@{}", scope.effort().map_or("-", EffortId::as_str))
            }
        }
    }
}

impl FromStr for Handle {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        parse(text.trim()).ok_or_else(|| HandleError(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for Handle {
    type Error = HandleError;
    fn try_from(text: String) -> Result<Self, HandleError> {
        text.parse()
    }
}

impl From<Handle> for String {
    fn from(handle: Handle) -> String {
        handle.to_string()
    }
}

fn parse(text: &str) -> Option<Handle> {
    let body = text.strip_prefix(['t', 'T'])?;
    if let Some((turns, scope)) = body.split_once('@') {
        let scope = match scope {
            "-" => Scope::Ambient,
            id => Scope::Effort(EffortId::parse(id).ok()?),
        };
        let (first, last) = turns.split_once('-').unwrap_or((turns, turns));
        let (first, last) = (parse_turn(first)?, parse_turn(last)?);
        return (first <= last).then_some(Handle::Span { first, last, scope });
    }
    if let Some((first, last)) = body.split_once('-') {
        let (first, last) = (parse_turn(first)?, parse_turn(last)?);
        return (first <= last).then_some(Handle::Turns { first, last });
    }
    match body.split_once('.') {
        Some((turn, index)) => Some(Handle::Message { turn: parse_turn(turn)?, index: index.parse().ok()? }),
        None => Some(Handle::Turn(parse_turn(body)?)),
    }
}

/// Digits only, without a sign.
fn parse_turn(digits: &str) -> Option<TurnNo> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok().map(TurnNo))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_read_as_they_are_written() {
        for text in ["t12", "t12.0", "t12.31", "t3-41@auth-bug", "t3-41@-", "t7-7@x", "t3-41", "t7-7"] {
            let handle: Handle = text.parse().expect(text);
            assert_eq!(handle.to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "t", "12", "t-1", "t1.", "t1.x", "t5-3@a", "t1-2@", "t1-2@../x", "t2-1", "t1-2-3", "t1-", "t+1",
            "t99999999999999999999",
        ] {
            assert!(text.parse::<Handle>().is_err(), "{text:?}");
        }
    }
}
