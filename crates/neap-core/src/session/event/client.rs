//! Events of clients that hold the conversation themselves.

use crate::base::event_family::event_family;
use crate::base::ids::TurnNo;
use crate::base::tenant::Tenant;
use crate::base::tokens::Tokens;
use crate::session::request_account::{HistoryHead, HistoryLink, RequestAccount};
use crate::text::receipt::Receipt;

event_family! {
    pub enum ClientEvent {
        /// A client sent its history or received a response: what is new, and where the history ends now.
        "history_linked" => HistoryLinked {
            turn: TurnNo,
            links: Vec<HistoryLink>,
            /// Where the history ends.
            #[serde(rename = "line")]
            history: HistoryHead,
            /// A digest of the credentials that the proxy's caller presented. Recorded once per stream, with its first
            /// links, or when a stream older than this field continues.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            tenant: Option<Tenant>,
        },
        /// A client's request was forwarded and answered, at least in part.
        "request_passed" => RequestPassed {
            turn: TurnNo,
            #[serde(rename = "passed")]
            account: RequestAccount,
        },
        /// A client replaced everything so far with a summary.
        "client_compacted" => Compacted {
            /// The last turn that the summary covers.
            turn: TurnNo,
            /// The first turn that it covers.
            first: TurnNo,
            /// Tokens of the turns it covers.
            source_tokens: Tokens,
            summary_tokens: Tokens,
            receipt: Box<Receipt>,
            /// The turns of the receipt's lost examples, in the receipt's order.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            places: Vec<TurnNo>,
        },
    }
}

impl ClientEvent {
    pub fn turn(&self) -> TurnNo {
        match self {
            ClientEvent::HistoryLinked { turn, .. }
            | ClientEvent::RequestPassed { turn, .. }
            | ClientEvent::Compacted { turn, .. } => *turn,
        }
    }
}
