//! Finds the session that a request says it belongs to, from the identifiers that its wire format carries.

use super::chain::Chain;
use crate::base::digest::Digest;
use crate::base::ids::SessionId;
use crate::base::tenant::Tenant;
use crate::text::naming::mask_for_id;

/// Identifiers in a request's path, headers and body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signals {
    /// From our own header or the path.
    pub session_name: Option<String>,
    /// From our own header.
    pub project: Option<String>,
    /// The program and its id of the session.
    pub client_session: Option<(&'static str, String)>,
    pub subagent: Option<String>,
    /// A conversation stored by the provider.
    pub conversation: Option<String>,
    /// An earlier response that replaces the history.
    pub previous_response: Option<String>,
    /// The key for the provider's prompt cache.
    pub cache_key: Option<String>,
    pub user: Option<String>,
    /// Whether a person sent it, if the program says so.
    pub by_person: Option<bool>,
    /// Whether the provider is asked to keep its cache for an hour, which costs more.
    pub hour_cache: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdentitySource {
    Named,
    Client,
    Conversation,
    CacheKey,
    User,
}

impl IdentitySource {
    fn label(self) -> &'static str {
        match self {
            IdentitySource::Named => "named",
            IdentitySource::Client => "client",
            IdentitySource::Conversation => "conversation",
            IdentitySource::CacheKey => "cached",
            IdentitySource::User => "user",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub source: IdentitySource,
    pub name: SessionName,
}

/// A label for people, and a digest of everything that identifies the session, its tenant included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionName {
    label: String,
    /// The label from before names were masked, by which old streams are found.
    legacy_label: String,
    digest: Digest,
}

impl SessionName {
    /// For a history that is neither named nor known.
    pub fn from_history(chain: &Chain) -> Self {
        let label = "talk".to_owned();
        Self { legacy_label: label.clone(), label, digest: chain.stable_digest() }
    }

    /// A stream of this session that has another id is linked to this digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn id(&self) -> SessionId {
        SessionId::with_digest(&self.label, &self.digest)
    }

    /// The id to use when this many earlier ones turned out to be somebody else's streams.
    pub fn id_after_collisions(&self, collisions: u32) -> SessionId {
        match collisions {
            0 => self.id(),
            n => SessionId::with_digest(
                &self.label,
                &Digest::of("beside", &[self.digest.bytes().as_slice(), &n.to_le_bytes()]),
            ),
        }
    }

    /// From when ids had 32 bits of the digest; it may be another caller's session, so ownership needs other
    /// proof.
    pub fn legacy_id(&self) -> SessionId {
        let readable = SessionId::from_name_truncated(&self.legacy_label).map(String::from).unwrap_or_default();
        let readable: String = readable.chars().take(54).collect();
        let text = format!("{readable}-{}", self.digest.short_hex());
        // A digest always leaves letters or digits.
        SessionId::from_name_truncated(&text).unwrap_or_else(|_| unreachable!("'{text}' has letters or digits"))
    }
}

impl Signals {
    /// The session that the signals name; none if only the history can tell.
    pub fn identity(&self, tenant: &Tenant) -> Option<Identity> {
        let (source, prefix, value) = if let Some(name) = &self.session_name {
            (IdentitySource::Named, "", name)
        } else if let Some((program, id)) = &self.client_session {
            (IdentitySource::Client, *program, id)
        } else if let Some(id) = &self.conversation {
            (IdentitySource::Conversation, "conversation", id)
        } else if self.previous_response.is_some() {
            // The named response is a link of a chain.
            return None;
        } else if let Some(key) = &self.cache_key {
            (IdentitySource::CacheKey, "cached", key)
        } else if let Some(user) = &self.user {
            (IdentitySource::User, "user", user)
        } else {
            return None;
        };
        let agent = self.subagent.as_deref().unwrap_or_default();
        let parts =
            [tenant.digest().bytes().as_slice(), source.label().as_bytes(), prefix.as_bytes(), value.as_bytes()];
        let digest = Digest::of("identity", &[parts.as_slice(), &[agent.as_bytes()]].concat());
        // The label is for people and becomes part of a file name: secrets are masked before it is cut.
        let label = |value: &str, agent: &str| {
            let value: String = value.chars().take(36).collect();
            let agent: String = agent.chars().take(9).collect();
            [prefix, &value, &agent].join(" ")
        };
        let (legacy_label, label) = (label(value, agent), label(&mask_for_id(value), &mask_for_id(agent)));
        Some(Identity { source, name: SessionName { label, legacy_label, digest } })
    }
}
