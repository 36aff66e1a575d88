//! Events of a session as a whole.

use crate::base::event_family::event_family;
use crate::base::ids::StreamId;
use crate::base::policy::Policy;

event_family! {
    pub enum SessionEvent {
        "session_created" => Created {
            session: StreamId,
            /// The token encoding that its counts use.
            encoding: String,
            policy: Policy,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            imported_from: Option<String>,
        },
        "policy_changed" => PolicyChanged {
            /// All settings after the change.
            policy: Policy,
        },
        /// A person erased the session; nothing else of it is left.
        "scrubbed" => Scrubbed {
            events: u64,
        },
    }
}
