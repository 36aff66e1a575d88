//! How an exchange's scope is stored.

use neap_core::base::ids::EffortId;
use neap_core::base::message::Scope;

/// Marks the scope of an exchange that a person took back; no effort's id begins with it.
pub const UNDONE_PREFIX: &str = "~";

/// Ambient is the empty name; no effort's id is empty.
pub fn scope_name(scope: &Scope) -> &str {
    match scope {
        Scope::Ambient => "",
        Scope::Effort(id) => id.as_str(),
    }
}

pub fn parse_scope(name: &str) -> Option<Scope> {
    if name.is_empty() { Some(Scope::Ambient) } else { EffortId::parse(name).ok().map(Scope::Effort) }
}
