//! The table of routes: the router and the OpenAPI document are both made of it, so that neither can drift from the
//! other. What a request may contain is checked here, by the same entries.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::Method;
use axum::response::Response;
use neap_core::base::access::{Level, Surface};
use neap_core::base::ids::{EffortId, SessionId, TurnNo};
use neap_core::memory::MemoryId;
use neap_model::caller::percent_decoded;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Api;
use super::problem::{Problem, quoted};
use crate::access::Need;

/// Most items of a page, and what a page has unless the caller says.
pub(crate) const LIMIT_MAX: u64 = 200;
const LIMIT_DEFAULT: usize = 50;

pub(crate) enum Answer {
    Json(Value),
    /// Not bounded by the size of an answer: a download, or events.
    Stream(Response),
}

pub(crate) type Outcome = Result<Answer, Problem>;
pub(crate) type Handler = fn(Arc<Api>, Call) -> Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// The form of an answer, by the name of its schema.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    One(&'static str),
    List(&'static str),
    /// A stream of this media type.
    Stream(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// At least one character, at most so many.
    Text(usize),
    Integer(u64, u64),
    Flag,
    OneOf(&'static [&'static str]),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Param {
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    pub(crate) kind: Kind,
    pub(crate) about: &'static str,
    pub(crate) is_required: bool,
}

impl Param {
    pub(crate) const fn path(name: &'static str, about: &'static str) -> Self {
        Self { name, place: Place::Path, kind: Kind::Text(256), about, is_required: true }
    }

    pub(crate) const fn query(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, place: Place::Query, kind, about, is_required: false }
    }

    pub(crate) const fn header(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, place: Place::Header, kind, about, is_required: false }
    }

    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    fn check(&self, given: &str) -> Result<(), Problem> {
        let is_valid = match self.kind {
            Kind::Text(chars_max) => !given.is_empty() && given.chars().count() <= chars_max,
            Kind::Integer(min, max) => given.parse::<u64>().is_ok_and(|n| (min..=max).contains(&n)),
            Kind::Flag => matches!(given, "true" | "false"),
            Kind::OneOf(all) => all.contains(&given),
        };
        if is_valid {
            return Ok(());
        }
        let wanted = match self.kind {
            Kind::Text(chars_max) => format!("a text of 1 to {chars_max} characters"),
            Kind::Integer(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Flag => "true or false".to_owned(),
            Kind::OneOf(all) => format!("one of {}", all.join(", ")),
        };
        Err(Problem::bad_request(format!("{} must be {wanted}, not '{}'", self.name, quoted(given))))
    }
}

pub(crate) struct Route {
    pub(crate) method: Method,
    /// Below the prefix.
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) about: &'static str,
    pub(crate) need: Need,
    pub(crate) params: Vec<Param>,
    /// The schema of its body.
    pub(crate) body: Option<&'static str>,
    pub(crate) form: Form,
    /// Whether the answer may differ at any moment, so that a tag of it is of no use.
    pub(crate) is_live: bool,
    pub(crate) handler: Handler,
}

impl Route {
    pub(crate) fn new(
        (method, path): (Method, &'static str),
        id: &'static str,
        about: &'static str,
        form: Form,
        handler: Handler,
    ) -> Self {
        // Memories are one surface; all else shows what was said.
        let surface = if path.starts_with("/memories") { Surface::Memories } else { Surface::Sessions };
        let level = match &method {
            method if method.is_safe() => Level::Read,
            &Method::DELETE => Level::Admin,
            _ => Level::Write,
        };
        let need = Need::Api(level, Some(surface));
        let params = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .map(|name| Param::path(name, super::routes::about_path_param(name)))
            .collect();
        Self { method, path, id, about, need, params, body: None, form, is_live: false, handler }
    }

    pub(crate) fn with(mut self, params: &[Param]) -> Self {
        self.params.extend_from_slice(params);
        self
    }

    pub(crate) fn body(self, schema: &'static str) -> Self {
        Self { body: Some(schema), ..self }
    }

    /// A question that is asked with a body: it changes nothing.
    pub(crate) fn reads(self) -> Self {
        match self.need {
            Need::Api(_, surface) => Self { need: Need::Api(Level::Read, surface), ..self },
            Need::Open | Need::Mcp | Need::Proxy | Need::Server => self,
        }
    }

    /// For every surface: it shows nothing of a tenant.
    pub(crate) fn anywhere(self) -> Self {
        match self.need {
            Need::Api(level, _) => Self { need: Need::Api(level, None), ..self },
            Need::Open | Need::Mcp | Need::Proxy | Need::Server => self,
        }
    }

    pub(crate) fn writes(&self) -> bool {
        !matches!(self.need, Need::Open | Need::Api(Level::Read, _)) && !self.method.is_safe()
    }

    pub(crate) fn live(self) -> Self {
        Self { is_live: true, ..self }
    }

    pub(crate) fn open(self) -> Self {
        Self { need: Need::Open, is_live: true, ..self }
    }

    /// Checks what was sent against the parameters.
    pub(crate) fn call(
        &self,
        path: Vec<(String, String)>,
        query: &str,
        header: impl Fn(&str) -> Option<String>,
        body: Bytes,
    ) -> Result<Call, Problem> {
        let mut given: BTreeMap<&'static str, String> = BTreeMap::new();
        let param = |place: Place, name: &str| self.params.iter().find(|p| p.place == place && p.name == name);
        for (name, value) in path {
            if let Some(param) = param(Place::Path, &name) {
                param.check(&value)?;
                given.insert(param.name, value);
            }
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name), decoded(value));
            let Some(param) = param(Place::Query, &name) else {
                return Err(Problem::bad_request(format!("there is no parameter '{}' here", quoted(&name))));
            };
            param.check(&value)?;
            if given.insert(param.name, value).is_some() {
                return Err(Problem::bad_request(format!("the parameter '{}' is given twice", param.name)));
            }
        }
        for param in self.params.iter().filter(|param| param.place == Place::Header) {
            if let Some(value) = header(param.name) {
                param.check(&value)?;
                given.insert(param.name, value);
            }
        }
        let missing = self.params.iter().find(|param| param.is_required && !given.contains_key(param.name));
        match missing {
            Some(param) => Err(Problem::bad_request(format!("the parameter '{}' is missing", param.name))),
            None => Ok(Call { given, body }),
        }
    }
}

fn decoded(text: &str) -> String {
    percent_decoded(&text.replace('+', " ")).into_owned()
}

/// What was sent, checked.
pub(crate) struct Call {
    given: BTreeMap<&'static str, String>,
    body: Bytes,
}

impl Call {
    /// What it asks about, for the audit log: the parts of its path.
    pub(crate) fn ids(&self) -> String {
        const IDS: [&str; 6] = ["session", "effort", "turn", "handle", "id", "action"];
        let ids: Vec<&str> = IDS.iter().filter_map(|name| self.text(name)).collect();
        ids.join(" ")
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// A parameter that the table requires.
    pub(crate) fn required(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(crate) fn integer(&self, name: &str) -> Option<u64> {
        self.text(name).and_then(|value| value.parse().ok())
    }

    pub(crate) fn size(&self, name: &str) -> Option<usize> {
        self.integer(name).and_then(|n| usize::try_from(n).ok())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    pub(crate) fn limit(&self) -> usize {
        self.size("limit").unwrap_or(LIMIT_DEFAULT)
    }

    /// The cursor, read by `parse`.
    pub(crate) fn cursor<T>(&self, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Problem> {
        let Some(given) = self.text("cursor") else { return Ok(None) };
        let invalid = || Problem::bad_request(format!("'{}' is no cursor of this list", quoted(given)));
        parse(given).map(Some).ok_or_else(invalid)
    }

    pub(crate) fn number_cursor(&self) -> Result<Option<u64>, Problem> {
        self.cursor(|text| text.parse().ok())
    }

    /// The session of the path; one of an impossible name does not exist.
    pub(crate) fn session(&self) -> Result<SessionId, Problem> {
        let name = self.required("session");
        SessionId::from_name(name).map_err(|_| no_session(name))
    }

    pub(crate) fn effort(&self) -> Result<EffortId, Problem> {
        let name = self.required("effort");
        EffortId::from_name(name).map_err(|_| no_effort(name))
    }

    pub(crate) fn memory(&self) -> Result<MemoryId, Problem> {
        let id = self.required("id");
        id.parse().map_err(|_| no_memory(id))
    }

    /// A turn's number; `None` for the latest.
    pub(crate) fn turn(&self) -> Result<Option<TurnNo>, Problem> {
        match self.required("turn") {
            "latest" => Ok(None),
            given => match given.parse() {
                Ok(turn) => Ok(Some(TurnNo(turn))),
                Err(_) => Err(Problem::not_found("no_turn", format!("there is no turn '{}'", quoted(given)))
                    .hint("a turn is a number, or `latest`")),
            },
        }
    }

    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let unreadable =
            |error: serde_json::Error| Problem::bad_request(format!("the body is not as expected: {error}"));
        serde_json::from_slice(&self.body).map_err(unreadable)
    }
}

pub(crate) fn no_session(name: &str) -> Problem {
    Problem::not_found("no_session", format!("there is no session '{}'", quoted(name)))
        .hint("`neap session list` lists all sessions")
}

pub(crate) fn no_effort(name: &str) -> Problem {
    Problem::not_found("no_effort", format!("there is no effort '{}' in this session", quoted(name)))
        .hint("GET /api/v1/sessions/{session}/efforts lists its efforts")
}

pub(crate) fn no_memory(id: &str) -> Problem {
    Problem::not_found("no_memory", format!("there is no memory '{}'", quoted(id)))
        .hint("`neap memory list` lists all memories")
}
