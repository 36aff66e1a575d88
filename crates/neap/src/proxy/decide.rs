//! What becomes of a request: the one place where it may be changed. At present nothing is: all pass as they came.

use neap_model::client::Overheard;

/// A request about a history, unpacked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Its path, with the name of a session before it if there is one.
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: &'a str,
}

/// What goes on.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// The body to send; none to send what came.
    pub(crate) body: Option<String>,
    /// What the client is told of it, in headers of our own.
    pub(crate) told: Vec<(&'static str, String)>,
    /// Why it cannot go on at all.
    pub(crate) refused: Option<String>,
}

/// Decides.
#[derive(Debug, Default)]
pub(crate) struct Decider {}

impl Decider {
    pub(crate) async fn decide(&self, asked: &Asked<'_>) -> Decided {
        let Asked { path, headers, body } = asked;
        tracing::debug!(target: "neap::proxy", path, headers = headers.len(), bytes = body.len(), "asked");
        Decided { told: vec![("x-neap-changes", "0".to_owned())], ..Decided::default() }
    }

    /// Takes in what was answered.
    pub(crate) async fn answered(&self, _decided: &Decided, heard: &Overheard) {
        tracing::debug!(target: "neap::proxy", is_whole = heard.is_whole, calls = heard.calls.len(), "answered");
    }
}
