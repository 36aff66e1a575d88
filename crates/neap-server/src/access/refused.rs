//! Why a request is refused, as each surface says it in its own form.

use axum::http::StatusCode;
use neap_core::base::access::{Level, Surface};

use super::UsedUp;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// A wrong `Host`, or a page of another site.
    Origin(String),
    /// It brings no token, or none that is known.
    Unknown,
    /// It brings no key, or none that is known.
    NoKey,
    Expired,
    Revoked,
    /// What it brings is not for so much.
    Level(Level),
    /// What it brings is for something else.
    Surface(Surface),
    /// Its key has used up what it may.
    UsedUp(UsedUp),
    /// Its tenant has stored as many bytes as its key may fill.
    StoreFull(u64),
    /// Its key has a limit of bytes, and it does not say how many it has.
    NoLength,
    /// A change with the page's cookie, but without an `Origin` that tells that the page itself asks.
    NoOrigin,
    /// What belongs to the whole server, asked for with a key of one of its tenants.
    OtherTenant,
    /// The keys, or the tenant's store, cannot be read.
    Unavailable,
}

impl Refused {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Refused::Unknown | Refused::NoKey | Refused::Expired | Refused::Revoked => StatusCode::UNAUTHORIZED,
            Refused::Origin(_)
            | Refused::Level(_)
            | Refused::Surface(_)
            | Refused::NoOrigin
            | Refused::OtherTenant => StatusCode::FORBIDDEN,
            Refused::UsedUp(_) | Refused::StoreFull(_) => StatusCode::TOO_MANY_REQUESTS,
            Refused::NoLength => StatusCode::LENGTH_REQUIRED,
            Refused::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// One word for programs.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Refused::Origin(_) | Refused::NoOrigin => "foreign_origin",
            Refused::Unknown => "no_token",
            Refused::NoKey => "no_key",
            Refused::Expired => "expired_key",
            Refused::Revoked => "revoked_key",
            Refused::Level(Level::Write) => "read_only",
            Refused::Level(_) | Refused::Surface(_) | Refused::OtherTenant => "wrong_scope",
            Refused::UsedUp(_) => "used_up",
            Refused::StoreFull(_) => "store_full",
            Refused::NoLength => "no_length",
            Refused::Unavailable => "unavailable",
        }
    }

    /// Says nothing of what was brought.
    pub(crate) fn reason(&self) -> String {
        match self {
            Refused::Origin(reason) => format!("neap refuses this request: {reason}"),
            Refused::Unknown => "a token is required here".to_owned(),
            Refused::NoKey => "a key of this server is required here".to_owned(),
            Refused::Expired => "this key has expired".to_owned(),
            Refused::Revoked => "this key was revoked".to_owned(),
            Refused::Level(Level::Write) => "this token may read, but not change".to_owned(),
            Refused::Level(level) => format!("this needs the scope {}", level.as_str()),
            Refused::Surface(surface) => format!("this key is not for {}", surface.as_str()),
            Refused::UsedUp(UsedUp { what, most, .. }) => format!("this key may use {most} {what}, and has"),
            Refused::StoreFull(most) => {
                format!("this key stores nothing beyond {most} bytes, and so much is stored")
            }
            Refused::NoLength => "this key has a limit of bytes, so that a request must say its length".to_owned(),
            Refused::NoOrigin => "a change with a cookie needs this server's Origin".to_owned(),
            Refused::OtherTenant => "this needs a key of the server's own tenant".to_owned(),
            Refused::Unavailable => "neap cannot look that up now".to_owned(),
        }
    }

    /// What the caller can do about it, at a surface.
    pub(crate) fn hint(&self, surface: Surface) -> &'static str {
        match self {
            Refused::Origin(_) => {
                "use the address that the server prints; `neap serve --allow-host NAME` admits another name"
            }
            Refused::Unknown if surface == Surface::Mcp => {
                "send a bearer token: the one in keys/mcp.token of Neap's data folder, or the one that `neap serve` was given"
            }
            Refused::Unknown => {
                "send the token in the data folder's keys/api.token as Authorization: Bearer, or open the link that \
                 `neap ui` prints"
            }
            Refused::NoKey if surface == Surface::Proxy => {
                "send a key from `neap key add` in the header x-neap-key beside the provider's own key, or put it \
                 into the address: http://host/k/<key>/v1"
            }
            Refused::NoKey => "send a key from `neap key add` as x-neap-key or as Authorization: Bearer",
            Refused::Expired | Refused::Revoked => "ask whoever runs this server for another: `neap key add`",
            Refused::Level(Level::Write) => {
                "changes need the token in the data folder's keys/api.token, or a key with the scope write"
            }
            Refused::Level(_) | Refused::Surface(_) => {
                "use a key of that scope; `neap key list` shows what each is for"
            }
            Refused::UsedUp(_) => "wait as long as Retry-After says",
            Refused::StoreFull(_) => "erase what is no longer needed, or use a key with a higher limit",
            Refused::NoLength => "send the header Content-Length",
            Refused::NoOrigin => "a program sends a token as Authorization: Bearer, not the page's cookie",
            Refused::OtherTenant => "use a key of the tenant local: `neap key add local`",
            Refused::Unavailable => "try again; the server's log says more",
        }
    }

    /// In seconds.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        match self {
            Refused::UsedUp(used) => Some(used.retry_after.as_secs().max(1)),
            Refused::StoreFull(_) => Some(60),
            Refused::Unavailable => Some(1),
            Refused::Origin(_)
            | Refused::Unknown
            | Refused::NoKey
            | Refused::Expired
            | Refused::Revoked
            | Refused::Level(_)
            | Refused::Surface(_)
            | Refused::NoLength
            | Refused::NoOrigin
            | Refused::OtherTenant => None,
        }
    }
}
