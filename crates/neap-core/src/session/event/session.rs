//! Events of a session as a whole.

use crate::base::event_family::event_family;
use crate::base::ids::StreamId;
use crate::base::policy::Policy;
use crate::base::project_id::ProjectId;

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
        /// What the session is about became known, or a person changed it.
        "project_set" => ProjectSet {
            #[serde(default, skip_serializing_if = "Option::is_none")]
            project: Option<ProjectId>,
        },
        /// A host stored texts of its own. They come back as they are: nothing here reads them.
        "host_entries_added" => HostEntriesAdded {
            /// The caller's own id for them; sending it again has no effect.
            key: String,
            entries: Vec<String>,
        },
        /// A person erased the session; nothing else of it is left.
        "scrubbed" => Scrubbed {
            events: u64,
        },
    }
}
