//! What concerns the server as a whole: health, jobs, totals, the proxy's last requests, the document.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use neap_engine::RecordingStatus;
use neap_engine::forms::StoreReport;
use neap_store::StoreError;
use serde_json::json;

use super::Api;
use super::page::{fit, to_value};
use super::route::{Answer, Call, Outcome};
use crate::proxy::RequestLogPage;

pub(super) async fn health(api: Arc<Api>, _call: Call) -> Outcome {
    health_of(api.engine.store().commit_count().await.map(drop))
}

/// By whether a store answers.
pub(super) fn health_of(answers: Result<(), StoreError>) -> Outcome {
    let version = env!("CARGO_PKG_VERSION");
    match answers {
        Ok(()) => Ok(Answer::Json(json!({"status": "ok", "version": version}))),
        Err(error) => {
            tracing::warn!(target: "neap::api", %error, "the store does not answer");
            let kind = [(header::CONTENT_TYPE, "application/json")];
            let body = json!({"status": "failing", "version": version}).to_string();
            Ok(Answer::Stream((StatusCode::SERVICE_UNAVAILABLE, kind, body).into_response()))
        }
    }
}

pub(super) async fn document(_api: Arc<Api>, _call: Call) -> Outcome {
    Ok(Answer::Json(super::openapi::document()))
}

pub(super) async fn report(api: Arc<Api>, _call: Call) -> Outcome {
    Ok(Answer::Json(to_value(&StoreReport::of(&api.engine.sessions().await?))?))
}

pub(super) async fn requests(api: Arc<Api>, call: Call) -> Outcome {
    let after = call.integer("after").unwrap_or(0);
    let page = match &api.proxy {
        Some(proxy) => proxy.requests_after(after),
        None => RequestLogPage { waiting: 0, requests: Vec::new() },
    };
    Ok(Answer::Json(fit(to_value(&page)?)))
}

pub(super) async fn jobs(api: Arc<Api>, _call: Call) -> Outcome {
    let status =
        api.proxy.as_ref().map_or_else(RecordingStatus::default, |proxy| proxy.decider.recording_status());
    let RecordingStatus { failing, waiting, dropped } = status;
    Ok(Answer::Json(json!({
        "recording": {"failing": failing, "waiting": waiting, "dropped": dropped},
        "embedding": {"model": api.engine.embedding_model(), "fault": api.engine.embed_fault()},
        "proxy": api.proxy.is_some(), "agent": api.agent().await?.id(),
    })))
}
