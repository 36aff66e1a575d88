//! Who asks: what tells callers apart, and what does not.

use proptest::prelude::*;

use crate::ingest::{Caller, Callers, Tenant, path_of};

type Headers = Vec<(String, String)>;

fn headers(given: &[(&str, &str)]) -> Headers {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn many(target: &str, given: &[(&str, &str)]) -> Option<Tenant> {
    Caller::of(Callers::Many, target, &headers(given)).map(|caller| caller.tenant)
}

const PATH: &str = "/v1/messages";

/// Every place where a request may show who sends it, written with a value.
const PLACES: [fn(&str) -> (String, Headers); 34] = [
    |v| in_header("authorization", format!("Bearer {v}")),
    |v| in_header("Authorization", format!("Token {v}")),
    |v| in_header("authorization", v.to_owned()),
    |v| in_header("authorization", format!("Basic {v}")),
    |v| in_header("proxy-authorization", format!("Basic {v}")),
    |v| in_header("x-api-key", v.to_owned()),
    |v| in_header("api-key", v.to_owned()),
    |v| in_header("x-goog-api-key", v.to_owned()),
    |v| in_header("Ocp-Apim-Subscription-Key", v.to_owned()),
    |v| in_header("x-amz-security-token", v.to_owned()),
    |v| in_header("x-auth-request-access-token", v.to_owned()),
    |v| in_header("x-my-gateway-apikey", v.to_owned()),
    |v| in_header("x-client-secret", v.to_owned()),
    |v| in_header("x-credential", v.to_owned()),
    |v| in_header("x-session-cookie", v.to_owned()),
    |v| in_header("cf-access-jwt-assertion", v.to_owned()),
    |v| in_header("x-password", v.to_owned()),
    |v| in_header("cookie", format!("theme=dark; sessionid={v}")),
    |v| in_header("cookie", format!("connect.sid={v}")),
    |v| in_header("cookie", format!("JSESSIONID={v}; lang=en")),
    |v| in_query(format!("key={v}")),
    |v| in_query(format!("alt=sse&key={v}")),
    |v| in_query(format!("api_key={v}&beta=true")),
    |v| in_query(format!("apikey={v}")),
    |v| in_query(format!("access_token={v}")),
    |v| in_query(format!("subscription-key={v}")),
    |v| in_query(format!("sig={v}&se=2030")),
    |v| in_query(format!("code={v}")),
    |v| in_query(format!("token={v}")),
    |v| in_query(format!("auth={v}")),
    |v| in_query(format!("X-Amz-Security-Token={v}")),
    |v| (format!("http://user:{v}@proxy.example{PATH}"), Headers::new()),
    |v| (format!("http://{v}@proxy.example{PATH}?x=1"), Headers::new()),
    |v| in_header("x-functions-key", v.to_owned()),
];

/// Places that tell callers apart beside a key, and prove nothing by themselves.
const BESIDE: [fn(&str) -> (String, Headers); 6] = [
    |v| in_header("cookie", format!("theme={v}")),
    |v| in_header("x-forwarded-user", v.to_owned()),
    |v| in_header("chatgpt-account-id", v.to_owned()),
    |v| {
        let value = format!("AWS4-HMAC-SHA256 Credential={v}/20260101/eu/bedrock/aws4_request, Signature=f00");
        in_header("authorization", value)
    },
    |v| in_header("authorization", format!("Signature keyId=\"{v}\",signature=\"x\"")),
    |v| in_query(format!("X-Amz-Credential={v}%2F20260101%2Feu%2Fbedrock%2Faws4_request&X-Amz-Signature=f00")),
];

/// What changes from request to request, or from program to program, and says nothing of who asks.
const ELSEWHERE: [fn(&str) -> (String, Headers); 17] = [
    |v| in_header("date", v.to_owned()),
    |v| in_header("x-amz-date", v.to_owned()),
    |v| in_header("x-amz-content-sha256", v.to_owned()),
    |v| in_header("traceparent", v.to_owned()),
    |v| in_header("x-request-id", v.to_owned()),
    |v| in_header("idempotency-key", v.to_owned()),
    |v| in_header("x-stainless-retry-count", v.to_owned()),
    |v| in_header("user-agent", v.to_owned()),
    |v| in_header("x-claude-code-session-id", v.to_owned()),
    |v| in_header("x-neap-session", v.to_owned()),
    |v| in_header("anthropic-beta", v.to_owned()),
    |v| in_header("x-author", v.to_owned()),
    |v| in_header("x-max-tokens", v.to_owned()),
    |v| in_header("cookie", format!("__cf_bm={v}; _ga={v}")),
    |v| in_query(format!("beta={v}")),
    |v| in_query(format!("api-version={v}&max_tokens={v}")),
    |v| in_query(format!("idempotency_key={v}")),
];

fn in_header(name: &str, value: String) -> (String, Headers) {
    (PATH.to_owned(), vec![(name.to_owned(), value)])
}

fn in_query(query: String) -> (String, Headers) {
    (format!("{PATH}?{query}"), Headers::new())
}

/// A request that shows all of this; what stands in its target is the last one's.
fn showing(all: &[(String, Headers)]) -> (String, Headers) {
    let target = all.iter().map(|(target, _)| target).filter(|target| *target != PATH);
    let mut address = None;
    let mut query = String::new();
    for target in target {
        let (before, after) = target.split_once('?').unwrap_or((target, ""));
        address = address.or((before != PATH).then_some(before));
        query = format!("{query}&{after}");
    }
    let headers = all.iter().flat_map(|(_, headers)| headers.clone()).collect();
    (format!("{}?{query}", address.unwrap_or(PATH)), headers)
}

fn tenant_of(all: &[(String, Headers)]) -> Option<Tenant> {
    let (target, headers) = showing(all);
    Caller::of(Callers::Many, &target, &headers).map(|caller| caller.tenant)
}

#[test]
fn the_path_of_a_target_is_found() {
    for (target, path) in [
        ("/v1/messages", "/v1/messages"),
        ("/v1/messages?key=http://x/y", "/v1/messages"),
        ("http://u:p@host:1/v1/messages?x", "/v1/messages"),
        ("http://host", "/"),
        ("//v1", "//v1"),
    ] {
        assert_eq!(path_of(target), path, "{target}");
    }
}

#[test]
fn on_ones_own_machine_there_is_one_caller() {
    for place in PLACES.iter().chain(&BESIDE).chain(&ELSEWHERE) {
        let (target, headers) = place("k-one-7731");
        let caller = Caller::of(Callers::One, &target, &headers);
        assert_eq!(caller.map(|caller| caller.tenant), Some(Tenant::local()));
    }
    // Streams of the time when a key told callers apart are known by it.
    let caller = Caller::of(Callers::One, PATH, &headers(&[("authorization", "Bearer k")]));
    let caller = caller.expect("there is always one");
    assert_eq!((caller.tenant, caller.earlier), (Tenant::local(), Some(Tenant::of_key(Some("k")))));
}

#[test]
fn who_shows_nothing_is_nobody() {
    for place in &ELSEWHERE {
        assert_eq!(tenant_of(&[place("k-one-7731")]), None, "{:?}", place("v"));
    }
    for place in &BESIDE {
        assert_eq!(tenant_of(&[place("k-one-7731")]), None, "it is no secret: {:?}", place("v"));
    }
    for place in &PLACES {
        assert!(tenant_of(&[place("k-one-7731")]).is_some(), "{:?}", place("v"));
        assert_eq!(tenant_of(&[place("")]), None, "{:?}", place(""));
    }
    for dummy in ["EMPTY", "none", "ollama", "sk-no-key-required", "xxxx", "sk-xxxxxxxx", "<YOUR-API-KEY>", "${KEY}"] {
        assert_eq!(many(PATH, &[("authorization", &format!("Bearer {dummy}"))]), None, "{dummy}");
        assert_eq!(many(PATH, &[("x-api-key", dummy)]), None, "{dummy}");
    }
    for bare in ["Bearer", "Bearer ", "basic"] {
        assert_eq!(many(PATH, &[("authorization", bare)]), None, "{bare}");
    }
}

#[test]
fn the_same_is_known_however_it_is_written() {
    let one = many(PATH, &[("Authorization", "Bearer k-77"), ("Cookie", "a=1; sid=2")]);
    assert_eq!(one, many(PATH, &[("cookie", "sid=2;a=1"), ("authorization", "bearer   k-77 ")]));
    assert_eq!(many("/v1/x?key=a%2Db", &[]), many("/v1/x?KEY=a-b", &[]));
    assert_ne!(many("/v1/x?key=%FF", &[]), many("/v1/x?key=%FE", &[]));
    // The day in the scope of a signature, and the signature, change by themselves.
    let signed = |day: &str, signature: &str| {
        let value = format!(
            "AWS4-HMAC-SHA256 Credential=AKID/{day}/eu/bedrock/aws4_request, SignedHeaders=host, Signature={signature}"
        );
        many(PATH, &[("authorization", &value), ("x-amz-security-token", "t0ken")])
    };
    assert_eq!(signed("20260101", "f00"), signed("20260102", "ba4"));
}

proptest! {
    /// I11: two callers that differ in one place alone are two, whatever else both show; what says nothing of who asks joins and parts nobody.
    #[test]
    fn callers_differ_by_any_credential_and_by_nothing_else(
        which in 0..PLACES.len() + BESIDE.len(),
        shared in prop::sample::subsequence((0..PLACES.len()).collect::<Vec<_>>(), 1..5),
        around in prop::sample::subsequence((0..ELSEWHERE.len()).collect::<Vec<_>>(), 0..4),
        [one, two] in prop::array::uniform2("[a-z0-9]{2}[A-Za-z0-9._-]{5,40}"),
        noise in "[a-z0-9]{1,12}",
    ) {
        prop_assume!(one != two);
        let place = PLACES.iter().chain(&BESIDE).nth(which).expect("a place");
        // What both show stands elsewhere than what they differ in.
        let place_of = |(target, headers): &(String, Headers)| match headers.first() {
            Some((name, _)) => name.to_lowercase(),
            None => target.split(['=', '@']).next().unwrap_or_default().split("user:").next().unwrap_or_default().replace("both-have-99", ""),
        };
        let of_both = shared.iter().map(|at| PLACES[*at]("both-have-99"));
        let common: Vec<_> = of_both.filter(|both| place_of(both) != place_of(&place("both-have-99"))).collect();
        prop_assume!(!common.is_empty());
        let with = |value: &str, noise: &str| {
            let mut all = common.clone();
            all.push(place(value));
            all.extend(around.iter().map(|at| ELSEWHERE[*at](noise)));
            tenant_of(&all)
        };
        let known = with(&one, "n0");
        prop_assert!(known.is_some());
        prop_assert_ne!(known, with(&two, "n0"));
        prop_assert_eq!(known, with(&one, &noise));
        prop_assert_ne!(known, Some(Tenant::local()));
    }
}
