//! Whose conversation a request says it belongs to.

use super::chain::{Chain, Digest, Tenant};
use crate::ids::{SessionId, safe};

/// What a request says of itself, in its path, its headers and its body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signals {
    /// The name that was given to us: in a header of ours, or in the path.
    pub named: Option<String>,
    /// The program, and the session that it says this is.
    pub client: Option<(&'static str, String)>,
    /// The helper that the program has sent off on its own, if it is one.
    pub agent: Option<String>,
    /// A conversation that the provider keeps.
    pub conversation: Option<String>,
    /// An earlier answer that stands for all before it.
    pub response: Option<String>,
    /// The key by which the provider is to cache.
    pub cache_key: Option<String>,
    /// The user that it is made for.
    pub user: Option<String>,
    /// Whether a program says that a person spoke (or that none did), where it says so.
    pub by_person: Option<bool>,
}

/// What the body of a request says of whose it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BodySignals {
    /// `conversation`, or its id.
    pub conversation: Option<String>,
    /// `previous_response_id`.
    pub previous_response: Option<String>,
    /// `prompt_cache_key`.
    pub cache_key: Option<String>,
    /// `metadata.user_id`, or `user`.
    pub user: Option<String>,
}

/// What told whose conversation it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A name that was given to us.
    Named,
    /// The client's own session.
    Client,
    /// A conversation that the provider keeps.
    Conversation,
    /// The key for the provider's cache.
    CacheKey,
    /// The user.
    User,
}

impl Source {
    fn label(self) -> &'static str {
        match self {
            Source::Named => "named",
            Source::Client => "client",
            Source::Conversation => "conversation",
            Source::CacheKey => "cached",
            Source::User => "user",
        }
    }
}

/// Whose conversation it is, by what the request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// What told it.
    pub source: Source,
    /// The session of that name, of this tenant.
    pub name: SessionName,
}

/// What a session is called: words for people, and a digest of all that makes it the one it is, its tenant included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionName {
    words: String,
    /// The words of before names were masked: streams of that time are known by them.
    old_words: String,
    mark: Digest,
}

impl SessionName {
    /// The session of a history that nobody has named and nobody has heard.
    pub fn of_history(chain: &Chain) -> Self {
        let words = "talk".to_owned();
        Self { old_words: words.clone(), words, mark: chain.asked() }
    }

    /// The digest. A stream that has another id, and is this session all the same, is linked to it.
    pub fn mark(&self) -> Digest {
        self.mark
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        SessionId::marked(&self.words, &self.mark)
    }

    /// Its id where the stream of that id, and of as many more, turned out to be somebody else's.
    pub fn id_beside(&self, others: u32) -> SessionId {
        match others {
            0 => self.id(),
            n => SessionId::marked(
                &self.words,
                &Digest::of("beside", &[self.mark.bytes().as_slice(), &n.to_le_bytes()]),
            ),
        }
    }

    /// Its id while ids had 32 bits of the digest. Somebody else's session may have the same: who it belongs to has to be shown otherwise.
    pub fn old_id(&self) -> SessionId {
        let readable = SessionId::cut(&self.old_words).map(String::from).unwrap_or_default();
        let readable: String = readable.chars().take(54).collect();
        let text = format!("{readable}-{}", self.mark.short());
        // A digest has letters or digits, so a name is always left.
        SessionId::cut(&text).unwrap_or_else(|_| unreachable!("'{text}' has letters or digits"))
    }
}

impl Signals {
    /// Reads them. Headers are known by their names, whatever their case.
    pub fn read(path: &str, headers: &[(String, String)], body: BodySignals) -> Self {
        let header = |name: &str| {
            let value =
                headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let (thread, session) = (header("thread-id"), header("session-id"));
        let thread_apart = thread.clone().filter(|thread| session.as_ref().is_some_and(|own| own != thread));
        let client = header("x-claude-code-session-id")
            .map(|id| ("claude-code", id))
            .or_else(|| session.or(thread).map(|id| ("codex", id)))
            .or_else(|| header("x-session-id").map(|id| ("opencode", id)));
        let agent = header("x-claude-code-agent-id").or(thread_apart);
        Self {
            named: header("x-neap-session").or_else(|| in_path(path)),
            client,
            agent,
            conversation: body.conversation,
            response: body.previous_response,
            cache_key: body.cache_key,
            user: body.user.map(of_user),
            by_person: header("x-initiator").map(|initiator| initiator != "agent"),
        }
    }

    /// The session that they name; none if only the history can tell.
    pub fn identity(&self, tenant: &Tenant) -> Option<Identity> {
        let (source, label, value) = if let Some(name) = &self.named {
            (Source::Named, "", name)
        } else if let Some((program, id)) = &self.client {
            (Source::Client, *program, id)
        } else if let Some(id) = &self.conversation {
            (Source::Conversation, "conversation", id)
        } else if self.response.is_some() {
            // The answer that it names is a link of a chain.
            return None;
        } else if let Some(key) = &self.cache_key {
            (Source::CacheKey, "cached", key)
        } else if let Some(user) = &self.user {
            (Source::User, "user", user)
        } else {
            return None;
        };
        let agent = self.agent.as_deref().unwrap_or_default();
        let parts =
            [tenant.digest().bytes().as_slice(), source.label().as_bytes(), label.as_bytes(), value.as_bytes()];
        let mark = Digest::of("identity", &[parts.as_slice(), &[agent.as_bytes()]].concat());
        // The mark alone makes it unique; the rest is for people, and becomes part of a file's name: a secret is masked while it is whole.
        let words = |value: &str, agent: &str| {
            let value: String = value.chars().take(36).collect();
            let agent: String = agent.chars().take(9).collect();
            [label, &value, &agent].join(" ")
        };
        let (old_words, words) = (words(value, agent), words(&safe(value), &safe(agent)));
        Some(Identity { source, name: SessionName { words, old_words, mark } })
    }
}

/// The name in `/s/<name>/v1/…`.
fn in_path(path: &str) -> Option<String> {
    let name = path.strip_prefix("/s/")?.split('/').next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// One program writes its session into the user's id, as JSON.
fn of_user(user: String) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(&user).ok();
    let session = value.as_ref().and_then(|value| value.get("session_id")).and_then(serde_json::Value::as_str);
    session.map_or_else(|| user.clone(), str::to_owned)
}
