//! Where a request brings its key: the header `x-neap-key`, a bearer token, or, for clients that set no header, the path.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Uri, header};
use neap_core::base::access::AccessKey;

pub(crate) const KEY_HEADER: HeaderName = HeaderName::from_static("x-neap-key");

/// `/k/<key>/v1/…`.
const PATH_PREFIX: &str = "/k/neap_";

/// Moves a key from the beginning of the path into its header, so that nothing behind sees it in a path. A key in the
/// header wins.
pub(crate) fn take_key_from_path<B>(request: &mut Request<B>) {
    let Some(rest) = request.uri().path().strip_prefix("/k/").filter(|_| has_key(request.uri())) else { return };
    let (key, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let (key, target) = (HeaderValue::from_str(key), format!("{path}{query}"));
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = target.parse().ok();
    let (Ok(mut key), Ok(uri)) = (key, Uri::from_parts(parts)) else { return };
    key.set_sensitive(true);
    request.headers_mut().entry(KEY_HEADER).or_insert(key);
    *request.uri_mut() = uri;
}

fn has_key(uri: &Uri) -> bool {
    uri.path().starts_with(PATH_PREFIX)
}

/// The key of a request to the proxy: a bearer token there is the provider's.
pub(super) fn in_header(headers: &HeaderMap) -> Option<AccessKey> {
    // Two of them are none: another reader might take the other one.
    let mut given = headers.get_all(KEY_HEADER).iter();
    let (Some(key), None) = (given.next(), given.next()) else { return None };
    key.to_str().ok()?.trim().parse().ok()
}

/// The key of any other request.
pub(super) fn in_header_or_bearer(headers: &HeaderMap) -> Option<AccessKey> {
    if headers.contains_key(KEY_HEADER) {
        return in_header(headers);
    }
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(_), None) = (given.next(), given.next()) else { return None };
    super::token::bearer(headers)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(target: &str) -> (String, Option<String>) {
        let mut request = Request::builder().uri(target).body(()).expect("a request");
        take_key_from_path(&mut request);
        let key = request.headers().get(KEY_HEADER).map(|key| key.to_str().expect("text").to_owned());
        (request.uri().to_string(), key)
    }

    #[test]
    fn a_key_leaves_the_path() {
        let (_, key) = AccessKey::generate(&[7; 38]);
        for (rest, want) in [("/v1/messages?beta=true", "/v1/messages?beta=true"), ("", "/"), ("?a=b", "/?a=b")] {
            assert_eq!(moved(&format!("/k/{key}{rest}")), (want.to_owned(), Some(key.clone())), "{rest}");
        }
        let whole = moved(&format!("http://host:1/k/{key}/s/desk/v1/responses"));
        assert_eq!(whole, ("http://host:1/s/desk/v1/responses".to_owned(), Some(key.clone())));
        for path in ["/k/other/v1/messages", "/v1/k/neap_x", "/K/neap_x/v1", "/k"] {
            assert_eq!(moved(path), (path.to_owned(), None));
        }
        assert_eq!(moved("/k/neap_x/v1/models").0, "/v1/models", "one that is no key leaves, too");
    }

    #[test]
    fn of_two_keys_none_is_taken() {
        let ((first, one), (_, two)) = (AccessKey::generate(&[1; 38]), AccessKey::generate(&[2; 38]));
        let headers = |all: &[(&'static str, &str)]| -> HeaderMap {
            let pair = |(name, value): &(&'static str, &str)| {
                (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
            };
            HeaderMap::from_iter(all.iter().map(pair))
        };
        let bearer = format!("Bearer {one}");
        assert_eq!(in_header(&headers(&[("x-neap-key", &one)])), Some(first.clone()));
        assert_eq!(in_header(&headers(&[("authorization", &bearer)])), None, "that is the provider's");
        assert_eq!(in_header_or_bearer(&headers(&[("authorization", &bearer)])), Some(first));
        assert_eq!(in_header_or_bearer(&headers(&[("x-neap-key", "x"), ("authorization", &bearer)])), None);
        let mut both = headers(&[("x-neap-key", &one)]);
        both.append(KEY_HEADER, two.parse().expect("a value"));
        assert_eq!(in_header(&both), None);
    }
}
