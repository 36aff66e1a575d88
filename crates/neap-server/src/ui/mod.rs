//! The page: files in the program itself, and the one-time link to them. Nothing comes from anywhere else.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use neap_core::base::access::{Level, Surface};
use neap_core::client::Digest;

use crate::access::{Access, Need, Refused};

/// Path below `/ui/`, media type, content.
const ASSETS: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));
const INDEX: &str = "index.html";

const POLICY: &str = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const NOT_LET_IN: &str = "This page is for whoever runs Neap on this machine. Open the link that `neap ui` prints; each \
                          works once, for one browser.\n";

pub(crate) fn router(access: Arc<Access>) -> Router {
    Router::new()
        .route("/ui", get(|| async { redirect(HeaderMap::new()) }))
        .route("/ui/", get(serve))
        .route("/ui/enter", get(enter))
        .route("/ui/link", post(link))
        .route("/ui/{*path}", get(serve))
        .with_state(access)
}

/// Makes a link that lets one browser in, once, as whom the key that asks for it speaks for.
async fn link(State(access): State<Arc<Access>>, request: Request) -> Response {
    let checked = access.check(request.method(), request.headers(), Need::Api(Level::Read, None)).await;
    let path = match checked {
        Ok(Some(grant)) => access.enter_path_of(&grant),
        Ok(None) => return refusal(StatusCode::UNAUTHORIZED, NOT_LET_IN.to_owned()),
        Err(refused) => {
            let text = format!("{}. hint: {}\n", refused.reason(), refused.hint(Surface::Sessions));
            return refusal(refused.status(), text);
        }
    };
    match path {
        Ok(path) => secured((StatusCode::CREATED, path + "\n").into_response()),
        Err(error) => {
            tracing::error!(target: "neap::access", %error, "cannot make a link");
            refusal(StatusCode::SERVICE_UNAVAILABLE, "A link cannot be made now.\n".to_owned())
        }
    }
}

/// Uses up the code of a link and lets the browser in.
async fn enter(State(access): State<Arc<Access>>, request: Request) -> Response {
    if let Some(reason) = access.origin_refusal(request.headers()) {
        return refusal(StatusCode::FORBIDDEN, format!("neap refuses this request: {reason}\n"));
    }
    let query = request.uri().query().unwrap_or_default();
    let code = query.split('&').find_map(|pair| pair.strip_prefix("code=")).unwrap_or_default();
    // A request that only looks at a link must not use it up.
    let cookie = (request.method() == Method::GET).then(|| access.browsers().enter(code)).flatten();
    let cookie = cookie.and_then(|cookie| HeaderValue::from_str(&cookie).ok());
    match cookie {
        Some(cookie) => redirect(HeaderMap::from_iter([(header::SET_COOKIE, cookie)])),
        None => refusal(StatusCode::FORBIDDEN, format!("This link was used, or is too old. {NOT_LET_IN}")),
    }
}

async fn serve(State(access): State<Arc<Access>>, request: Request) -> Response {
    let (method, headers) = (request.method(), request.headers());
    match access.check(method, headers, Need::Api(Level::Read, None)).await {
        Ok(_) => {}
        Err(Refused::Origin(reason)) => {
            return refusal(StatusCode::FORBIDDEN, format!("neap refuses this request: {reason}\n"));
        }
        Err(refused @ (Refused::UsedUp(_) | Refused::Unavailable)) => {
            return refusal(
                refused.status(),
                format!("{}: {}\n", refused.reason(), refused.hint(Surface::Sessions)),
            );
        }
        Err(_) => return refusal(StatusCode::UNAUTHORIZED, NOT_LET_IN.to_owned()),
    }
    let path = request.uri().path().trim_start_matches("/ui/");
    let path = if path.is_empty() { INDEX } else { path };
    let Some((_, kind, content)) = ASSETS.iter().find(|(name, _, _)| *name == path) else {
        return refusal(StatusCode::NOT_FOUND, "There is no such file here.\n".to_owned());
    };
    let tag = format!("\"{}\"", Digest::of("neap asset", &[content]));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let mut response =
        if is_known { StatusCode::NOT_MODIFIED.into_response() } else { (*content).into_response() };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    secured(response)
}

fn redirect(headers: HeaderMap) -> Response {
    let mut response = (StatusCode::SEE_OTHER, headers).into_response();
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/ui/"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    secured(response)
}

fn refusal(status: StatusCode, text: String) -> Response {
    let mut response = (status, text).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    secured(response)
}

fn secured(mut response: Response) -> Response {
    let all = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in all {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
