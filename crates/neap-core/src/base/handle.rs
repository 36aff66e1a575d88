//! Handles: short names by which anything that was said can be fetched verbatim.
//!
//! `t12` is all of turn 12, `t12.3` its fourth message (the user's is `t12.0`), `t3-41@auth-bug` every exchange of
//! turns 3 to 41 in that effort's log, `t3-41@-` the same in ambient chat, `t3-41` everything in those turns.
//! `r5c09e1a7b2f4` is a tool result, named by its call and its text: whoever has both has the handle, without the store.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::ids::{EffortId, TurnNo};
use crate::base::message::{Exchange, Message, Role, Scope};

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
    Result(ResultKey),
}

impl Handle {
    /// The messages it refers to, among the exchanges fetched for it.
    pub fn select<'a>(&self, exchanges: &'a [Exchange]) -> Vec<&'a Message> {
        let all = exchanges.iter().flat_map(|exchange| &exchange.messages).map(|counted| &counted.message);
        match self {
            Handle::Turn(_) | Handle::Turns { .. } | Handle::Span { .. } => all.collect(),
            Handle::Message { index, .. } => all.skip(*index).take(1).collect(),
            Handle::Result(key) => {
                let best =
                    all.map(|message| (key.likeness(message), message)).max_by_key(|(likeness, _)| *likeness);
                best.into_iter()
                    .filter(|(likeness, _)| *likeness > Likeness::Other)
                    .map(|(_, result)| result)
                    .collect()
            }
        }
    }
}

/// Digests of a call's id and of its result's text, 24 bits each. Clients may use an id again, and a stored text may
/// be masked, so either may decide alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultKey {
    call: [u8; 3],
    text: [u8; 3],
}

/// How well a message fits a [`ResultKey`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    Other,
    SameText,
    SameCall,
    Same,
}

impl ResultKey {
    pub fn new(call_id: &str, text: &str) -> Self {
        Self::from_digest(call_id, &Self::text_digest(text))
    }

    /// For a text whose digest is known.
    pub fn from_digest(call_id: &str, text: &Digest) -> Self {
        let start = |digest: &Digest| {
            let [a, b, c, ..] = *digest.bytes();
            [a, b, c]
        };
        Self { call: start(&Digest::of("call", &[call_id.as_bytes()])), text: start(text) }
    }

    pub fn text_digest(text: &str) -> Digest {
        Digest::of("result", &[text.as_bytes()])
    }

    pub fn likeness(&self, message: &Message) -> Likeness {
        let Some(id) = message.tool_call_id.as_deref().filter(|_| message.role == Role::Tool) else {
            return Likeness::Other;
        };
        let other = Self::new(id, &message.content);
        match (other.call == self.call, other.text == self.text) {
            (true, true) => Likeness::Same,
            (true, false) => Likeness::SameCall,
            (false, true) => Likeness::SameText,
            (false, false) => Likeness::Other,
        }
    }

    fn parse(digits: &str) -> Option<Self> {
        if digits.len() != 12 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some(Self { call: [byte(0)?, byte(2)?, byte(4)?], text: [byte(6)?, byte(8)?, byte(10)?] })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no handle; handles look like t12, t12.3, t3-41@effort-id or r5c09e1a7b2f4")]
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
            Handle::Result(ResultKey { call, text }) => {
                f.write_str("r")?;
                call.iter().chain(text).try_for_each(|byte| write!(f, "{byte:02x}"))
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
    if let Some(digits) = text.strip_prefix(['r', 'R']) {
        return ResultKey::parse(digits).map(Handle::Result);
    }
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
        for text in
            ["t12", "t12.0", "t12.31", "t3-41@auth-bug", "t3-41@-", "t7-7@x", "t3-41", "t7-7", "r00ff12a9c3d4"]
        {
            let handle: Handle = text.parse().expect(text);
            assert_eq!(handle.to_string(), text);
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "t", "12", "t-1", "t1.", "t1.x", "t5-3@a", "t1-2@", "t1-2@../x", "t2-1", "t1-2-3", "t1-", "t+1",
            "t99999999999999999999", "r", "r00ff12a9c3d", "r00ff12a9c3d4e", "r00ff12a9c3dé", "r+0ff12a9c3d4",
        ] {
            assert!(text.parse::<Handle>().is_err(), "{text:?}");
        }
    }

    /// An id that is used again is told apart by the text; a text that was masked is found by its id.
    #[test]
    fn a_result_is_found_by_its_call_and_its_text() {
        let result = |id: &str, text: &str| Message::tool(id.to_owned(), text);
        let counted =
            |message| crate::base::message::CountedMessage::new(&crate::base::testing::WordCounter, message);
        let said = [
            Message::user("one"),
            result("call_0", "first"),
            result("call_0", "second"),
            result("call_1", "masked ***"),
            result("call_2", "first"),
        ];
        let messages = said.into_iter().map(counted).collect();
        let exchanges = [Exchange { turn: TurnNo(1), at: crate::base::ids::Stamp(0), messages }];
        let found = |id: &str, text: &str| {
            let handle: Handle = Handle::Result(ResultKey::new(id, text)).to_string().parse().expect("a handle");
            let found = handle.select(&exchanges);
            found.iter().map(|message| message.content.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("call_0", "first"), ["first"]);
        assert_eq!(found("call_0", "second"), ["second"]);
        assert_eq!(found("call_1", "a secret"), ["masked ***"]);
        assert_eq!(found("masked", "second"), ["second"]);
        assert_eq!(found("call_9", "nothing"), Vec::<String>::new());
    }
}
