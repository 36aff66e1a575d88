//! Runs calls of Neap's own tools: executes them, sends the results back to the model, and repeats until the model
//! answers or calls one of the client's tools.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderMap, Method, StatusCode};
use http_body::Frame;
use neap_core::base::message::ToolCall;
use neap_core::client::WireApi;
use neap_engine::{ActualTurn, RequestPlan};
use neap_model::client::{ResponseTap, root_cause};
use neap_model::usage::UsageMeter;
use neap_model::wire::json::Json;
use neap_model::wire::request::{continuation_body, output_as_items, tool_result, tool_results_as_items};
use neap_model::wire::tool_filter::{FilterOutcome, ToolFilter};
use reqwest::Url;
use serde_json::json;
use tokio::sync::mpsc;

use super::decide::RequestDecision;
use super::error::ProxyError;
use super::tenant::Relay;

/// Rounds with tool calls per turn; after that, calls get an error that tells the model to answer.
const ROUNDS_MAX: usize = 8;
/// Further rounds before the turn fails.
const ROUNDS_GRACE: usize = 2;
/// Chunks of a response buffered for a slow client.
const CHUNKS_MAX: usize = 16;

const ROUNDS_SPENT: &str = "no more calls of this tool in this turn: answer now";
const NO_ROOM: &str = "there is no room for this in the context: ask for less, or answer now";

pub(super) struct UpstreamRequest {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A response that takes one request per round.
pub(super) struct OwnToolLoop {
    relay: Arc<Relay>,
    plan: Arc<RequestPlan>,
    /// Usage of all rounds but the last.
    usage: Arc<UsageMeter>,
    api: WireApi,
    request: UpstreamRequest,
    tool_filter: ToolFilter,
    rounds: usize,
    /// Output and tool results of all rounds but the last.
    earlier_items: Vec<Json>,
}

pub(super) struct WholeResponse {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl OwnToolLoop {
    /// `None` if the request offers none of Neap's tools.
    pub(super) fn new(relay: Arc<Relay>, decision: &RequestDecision, request: UpstreamRequest) -> Option<Self> {
        let plan = decision.plan.as_ref().filter(|plan| !plan.own_tools.is_empty())?.clone();
        let (api, usage) = (plan.api?, decision.usage.clone());
        let tool_filter = ToolFilter::new(api, plan.own_tools.clone());
        Some(Self { relay, plan, usage, api, request, tool_filter, rounds: 0, earlier_items: Vec::new() })
    }

    pub(super) fn stream(self, first: reqwest::Response) -> Body {
        let (sender, receiver) = mpsc::channel(CHUNKS_MAX);
        tokio::spawn(async move {
            // Fails only if the client is gone.
            let _ = self.run(first, &sender).await;
        });
        Body::new(ChunkBody(receiver))
    }

    async fn run(
        mut self,
        first: reqwest::Response,
        chunks: &mpsc::Sender<io::Result<Bytes>>,
    ) -> Result<(), mpsc::error::SendError<io::Result<Bytes>>> {
        let mut response = first;
        loop {
            let mut tap = ResponseTap::stream(self.api);
            loop {
                let chunk = tokio::select! {
                    () = chunks.closed() => return Ok(()),
                    chunk = response.chunk() => chunk,
                };
                match chunk {
                    Ok(Some(bytes)) => {
                        tap.feed(&bytes);
                        let visible = self.tool_filter.feed(&bytes);
                        if !visible.is_empty() {
                            chunks.send(Ok(visible.into())).await?;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => return chunks.send(Err(io::Error::other(error))).await,
                }
            }
            match self.tool_filter.finish() {
                FilterOutcome::Broken { rest } => return chunks.send(Ok(rest.into())).await,
                FilterOutcome::Finished { rest, output, held_calls } => {
                    self.finish(output, held_calls).await;
                    return chunks.send(Ok(rest.into())).await;
                }
                FilterOutcome::Calls { calls, output } => {
                    self.usage.add(tap.finish().usage.unwrap_or_default());
                    response = match self.ask_again(calls, output).await {
                        Ok(response) if response.status().is_success() => response,
                        Ok(response) => {
                            let body = response.text().await.unwrap_or_default();
                            return chunks.send(Ok(stream_error(self.api, &body).into())).await;
                        }
                        Err(fault) => return chunks.send(Err(io::Error::other(format!("{fault:?}")))).await,
                    };
                }
            }
        }
    }

    pub(super) async fn collect(mut self, first: reqwest::Response) -> Result<WholeResponse, ProxyError> {
        let mut response = first;
        loop {
            let (status, headers) = (response.status(), response.headers().clone());
            let unreachable = |error: reqwest::Error| ProxyError::Unreachable(root_cause(&error));
            let bytes = response.bytes().await.map_err(unreachable)?;
            if !status.is_success() {
                return Ok(WholeResponse { status, headers, body: bytes });
            }
            let mut tap = ResponseTap::whole(self.api);
            tap.feed(&bytes);
            match self.tool_filter.filter_whole(&bytes) {
                FilterOutcome::Broken { rest } => return Ok(WholeResponse { status, headers, body: rest.into() }),
                FilterOutcome::Finished { rest, output, held_calls } => {
                    self.finish(output, held_calls).await;
                    return Ok(WholeResponse { status, headers, body: rest.into() });
                }
                FilterOutcome::Calls { calls, output } => {
                    self.usage.add(tap.finish().usage.unwrap_or_default());
                    response = self.ask_again(calls, output).await?;
                }
            }
        }
    }

    /// Executes the calls and sends their results to the model.
    async fn ask_again(&mut self, calls: Vec<ToolCall>, output: Json) -> Result<reqwest::Response, ProxyError> {
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX + ROUNDS_GRACE {
            return Err(ProxyError::Unreachable("the model does not stop calling neap's tools".to_owned()));
        }
        let api = self.api;
        let mut results = Vec::new();
        for call in &calls {
            let text = match self.rounds > ROUNDS_MAX {
                true => json!({"error": ROUNDS_SPENT}).to_string(),
                false => self.relay.tenant.decider.call_own_tool(&self.plan, call).await,
            };
            results.push(tool_result(api, &call.id, &text));
        }
        let request = std::str::from_utf8(&self.request.body).unwrap_or_default();
        let path = self.request.url.path();
        let next = |results: &[Json]| continuation_body(api, request, &output, results);
        let mut body = next(&results);
        if let Some(long) = &body
            && !self.relay.tenant.decider.is_within_budget(&self.plan, path, long).await
        {
            let text = json!({"error": NO_ROOM}).to_string();
            results = calls.iter().map(|call| tool_result(api, &call.id, &text)).collect();
            body = next(&results);
        }
        let Some(body) = body else { return Err(ProxyError::Unreadable("it has no message history".to_owned())) };
        if !self.relay.tenant.decider.is_within_budget(&self.plan, path, &body).await {
            // The model's own output is too long already.
            return Err(ProxyError::ContextFull(
                "the budget leaves no room to send tool results to the model".to_owned(),
            ));
        }
        self.request.body = body.into();
        self.earlier_items.extend(output_as_items(api, &output));
        self.earlier_items.extend(tool_results_as_items(api, &results));
        self.tool_filter.start_next_round();
        self.relay.send(&self.request).await
    }

    /// Ends the turn. Stores the hidden rounds before the client has its answer, so that its next request finds
    /// them.
    async fn finish(&mut self, output: Json, held_calls: Vec<ToolCall>) {
        if self.earlier_items.is_empty() && held_calls.is_empty() {
            return;
        }
        let (api, mut own_results) = (self.api, Vec::new());
        for call in &held_calls {
            let text = self.relay.tenant.decider.call_own_tool(&self.plan, call).await;
            own_results.push(tool_result(api, &call.id, &text).text().to_owned());
        }
        let (text, call_ids) = self.tool_filter.delivered();
        let items = self
            .earlier_items
            .drain(..)
            .chain(output_as_items(api, &output))
            .map(|json| json.text().to_owned())
            .collect();
        self.relay
            .tenant
            .decider
            .save_hidden_turns(&self.plan, ActualTurn { text, call_ids, items, own_results })
            .await;
    }
}

/// A provider's refusal of a later round as a stream event; no end event follows it.
fn stream_error(api: WireApi, body: &str) -> String {
    let line = Json::parse(body).map_or_else(
        |_| json!({"error": {"message": "the provider refused the request", "type": "server_error"}}).to_string(),
        |json| json.text().replace(['\n', '\r'], " "),
    );
    match api {
        WireApi::Messages => format!("event: error\ndata: {line}\n\n"),
        WireApi::Chat | WireApi::Responses => format!("data: {line}\n\n"),
    }
}

struct ChunkBody(mpsc::Receiver<io::Result<Bytes>>);

impl HttpBody for ChunkBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}
