//! Answers in which a model may call tools of ours: they are carried out here, and the model is asked again, until it is the client's turn.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Method, StatusCode};
use http_body::Frame;
use neap_core::message::ToolCall;
use neap_engine::{Plan, Said};
use neap_model::client::{Api, Overhearing};
use neap_model::usage::Meter;
use neap_model::wire::heard::{answer_to, answers_as_items, continued, said_as_items};
use neap_model::wire::hiding::{Ended, Hiding};
use neap_model::wire::json::Json;
use reqwest::Url;
use serde_json::json;
use tokio::sync::mpsc;

use super::Proxy;
use super::decide::Decided;
use super::fault::Fault;

/// So often a model is asked again in one turn; after that it is told to answer.
const HOPS_MAX: usize = 8;
/// After so many more it is not asked again.
const HOPS_MORE: usize = 2;
/// Pieces of an answer that wait for a client.
const PIECES_MAX: usize = 16;

const ENOUGH: &str = "no more calls of this tool in this turn: answer now";
const NO_ROOM: &str = "there is no room for this in the context: ask for less, or answer now";

/// A request, to be sent more than once.
pub(super) struct Asking {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An answer on its way, over as many requests as it takes.
pub(super) struct Hops {
    proxy: Arc<Proxy>,
    plan: Arc<Plan>,
    /// What was used before the last answer.
    spent: Arc<Meter>,
    api: Api,
    asking: Asking,
    hiding: Hiding,
    hops: usize,
    /// What was said before the last answer, with what calls answered.
    said: Vec<Json>,
}

/// An answer in one piece.
pub(super) struct Whole {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Hops {
    /// None where nothing of ours can be called.
    pub(super) fn new(proxy: Arc<Proxy>, decided: &Decided, api: Option<Api>, asking: Asking) -> Option<Self> {
        let plan = decided.plan.as_ref().filter(|plan| !plan.ours.is_empty())?.clone();
        let spent = decided.spent.clone();
        let hiding = Hiding::new(plan.api?, plan.ours.clone());
        Some(Self { proxy, plan, spent, api: api?, asking, hiding, hops: 0, said: Vec::new() })
    }

    /// The answer as it comes, from the first on.
    pub(super) fn stream(self, first: reqwest::Response) -> Body {
        let (pieces, taken) = mpsc::channel(PIECES_MAX);
        tokio::spawn(async move {
            // If nobody takes it any more, there is nobody to tell.
            let _ = self.run(first, &pieces).await;
        });
        Body::new(Pieces(taken))
    }

    /// Fails if the client is gone.
    async fn run(
        mut self,
        first: reqwest::Response,
        pieces: &mpsc::Sender<io::Result<Bytes>>,
    ) -> Result<(), mpsc::error::SendError<io::Result<Bytes>>> {
        let mut answer = first;
        loop {
            let mut hearing = Overhearing::stream(self.api);
            loop {
                let chunk = tokio::select! {
                    () = pieces.closed() => return Ok(()),
                    chunk = answer.chunk() => chunk,
                };
                match chunk {
                    Ok(Some(bytes)) => {
                        hearing.feed(&bytes);
                        let shown = self.hiding.feed(&bytes);
                        if !shown.is_empty() {
                            pieces.send(Ok(shown.into())).await?;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return pieces.send(Err(io::Error::other(error))).await,
                }
            }
            match self.hiding.end() {
                Ended::Broken { rest } => return pieces.send(Ok(rest.into())).await,
                Ended::Over { rest, said, held } => {
                    self.over(said, held).await;
                    return pieces.send(Ok(rest.into())).await;
                }
                Ended::Calls { calls, said } => {
                    self.spent.add(hearing.end().usage.unwrap_or_default());
                    answer = match self.again(calls, said).await {
                        Ok(answer) if answer.status().is_success() => answer,
                        Ok(answer) => {
                            let body = answer.text().await.unwrap_or_default();
                            return pieces.send(Ok(told(self.api, &body).into())).await;
                        }
                        Err(fault) => return pieces.send(Err(io::Error::other(format!("{fault:?}")))).await,
                    };
                }
            }
        }
    }

    /// The answer where it comes in one piece.
    pub(super) async fn whole(mut self, first: reqwest::Response) -> Result<Whole, Fault> {
        let mut answer = first;
        loop {
            let (status, headers) = (answer.status(), answer.headers().clone());
            let unreachable = |error: reqwest::Error| Fault::Unreachable(super::relay::told(&error));
            let bytes = answer.bytes().await.map_err(unreachable)?;
            if !status.is_success() {
                return Ok(Whole { status, headers, body: bytes });
            }
            let mut hearing = Overhearing::whole(self.api);
            hearing.feed(&bytes);
            match self.hiding.whole(&bytes) {
                Ended::Broken { rest } => return Ok(Whole { status, headers, body: rest.into() }),
                Ended::Over { rest, said, held } => {
                    self.over(said, held).await;
                    return Ok(Whole { status, headers, body: rest.into() });
                }
                Ended::Calls { calls, said } => {
                    self.spent.add(hearing.end().usage.unwrap_or_default());
                    answer = self.again(calls, said).await?;
                }
            }
        }
    }

    /// Carries out calls, and asks again with what they answered.
    async fn again(&mut self, calls: Vec<ToolCall>, said: Json) -> Result<reqwest::Response, Fault> {
        self.hops += 1;
        if self.hops > HOPS_MAX + HOPS_MORE {
            return Err(Fault::Unreachable("the model calls tools of neap without end".to_owned()));
        }
        let Some(api) = self.plan.api else { return Err(Fault::Loop) };
        let mut answers = Vec::new();
        for call in &calls {
            let text = match self.hops > HOPS_MAX {
                true => json!({"error": ENOUGH}).to_string(),
                false => self.proxy.decider.call_ours(&self.plan, call).await,
            };
            answers.push(answer_to(api, &call.id, &text));
        }
        let asked = std::str::from_utf8(&self.asking.body).unwrap_or_default();
        let next = |answers: &[Json]| continued(api, asked, &said, answers);
        let mut body = next(&answers);
        if let Some(long) = &body
            && !self.proxy.decider.fits(long).await
        {
            let text = json!({"error": NO_ROOM}).to_string();
            answers = calls.iter().map(|call| answer_to(api, &call.id, &text)).collect();
            body = next(&answers);
        }
        let Some(body) = body else { return Err(Fault::Unreadable("it has no history".to_owned())) };
        if !self.proxy.decider.fits(&body).await {
            // What the model said is too long already: it cannot be asked again within the budget.
            return Err(Fault::ContextFull(
                "there is no room to ask the model again within the budget".to_owned(),
            ));
        }
        self.asking.body = body.into();
        self.said.extend(said_as_items(api, &said));
        self.said.extend(answers_as_items(api, &answers));
        self.hiding.again();
        self.proxy.send(&self.asking).await
    }

    /// The client is given its answer: what was really said is kept first, so that it is there when the client goes on.
    async fn over(&mut self, said: Json, held: Vec<ToolCall>) {
        let Some(api) = self.plan.api else { return };
        if self.said.is_empty() && held.is_empty() {
            return;
        }
        let mut answers = Vec::new();
        for call in &held {
            let text = self.proxy.decider.call_ours(&self.plan, call).await;
            answers.push(answer_to(api, &call.id, &text).text().to_owned());
        }
        let (text, calls) = self.hiding.given();
        let items =
            self.said.drain(..).chain(said_as_items(api, &said)).map(|json| json.text().to_owned()).collect();
        self.proxy.decider.keep_shadow(&self.plan, Said { text, calls, items, held: answers }).await;
    }
}

/// What a provider says when it is asked again and refuses: in the middle of a stream, and no end after it.
fn told(api: Api, body: &str) -> String {
    let line = Json::parse(body).map_or_else(
        |_| json!({"error": {"message": "the provider refused", "type": "server_error"}}).to_string(),
        |json| json.text().replace(['\n', '\r'], " "),
    );
    match api {
        Api::Anthropic => format!("event: error\ndata: {line}\n\n"),
        Api::OpenAi | Api::Responses => format!("data: {line}\n\n"),
    }
}

/// A body that is handed on piece by piece.
struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
