//! What tells callers apart, and what does not.

use proptest::prelude::*;

use super::*;

type Headers = Vec<(String, String)>;

fn headers(given: &[(&str, &str)]) -> Headers {
    given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn many(target: &str, given: &[(&str, &str)]) -> Option<Tenant> {
    Caller::from_request(Tenancy::Multi, target, &headers(given)).map(|caller| caller.tenant)
}

const PATH: &str = "/v1/messages";

/// Makes a request's target and headers with a value in some place.
type Place = fn(&str) -> (String, Headers);

/// Every place where a request may carry a credential.
const PLACES: [Place; 50] = [
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
    // The same words as in queries and cookies.
    |v| in_header("X-Passphrase", v.to_owned()),
    |v| in_header("x-session", v.to_owned()),
    |v| in_header("x-sid", v.to_owned()),
    |v| in_header("x-otp", v.to_owned()),
    |v| in_header("x-signature", v.to_owned()),
    |v| in_header("x-sig", v.to_owned()),
    |v| in_header("x-pass", v.to_owned()),
    |v| in_header("x-pw", v.to_owned()),
    |v| in_header("x-ticket", v.to_owned()),
    |v| in_header("x-access-code", v.to_owned()),
    |v| in_header("x-gateway-sessionid", v.to_owned()),
    |v| in_header("cookie", format!("login={v}")),
    |v| in_header("cookie", format!("PHPSESSID={v}; sidebar=open")),
    |v| in_header("cookie", format!("__Host-id={v}")),
    |v| in_query(format!("session={v}")),
    |v| in_query(format!("passphrase={v}")),
];

const STRONG: &str = "k-4f9aT7bQ2mX8vL1c";

/// Values that strangers share: flags, words, numbers, dates, versions and placeholders from manuals.
const WEAK: [&str; 40] = [
    "1",
    "true",
    "false",
    "open",
    "en",
    "en-US",
    "oauth",
    "Bearer",
    "4096",
    "20260101T000000Z",
    "2026-01-01T00:00:00.000Z",
    "1767225600000000000",
    "123456789012",
    "application-json",
    "client-credentials",
    "oauth2-v1beta",
    "bedrock-2023-05-31",
    "claude-3-5-sonnet-20241022",
    "dark mode, side bar open",
    "typeScriptReactNativeApp",
    "ApplicationJsonEnabledTrueNow",
    "authentication_is_not_required_here",
    "%7B%22signedIn%22%3Atrue%2C%22isNew%22%3Afalse%7D",
    "password",
    "admin123",
    "hunter2",
    "correct horse battery staple",
    "sk-1234",
    "sk-1234567890",
    "token-abc123",
    "sk-litellm-master-key",
    "YOUR_OPENAI_API_KEY_HERE",
    "<put-your-api-key-in-here>",
    "${MY_OPENAI_API_KEY}",
    "sk-no-key-required",
    "xxxxxxxxxxxxxxxx",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "00000000-0000-0000-0000-000000000000",
    "abcabcabcabcabcabcabcabcabc",
    "\u{442}\u{451}\u{43c}\u{43d}\u{430}\u{44f} \u{442}\u{435}\u{43c}\u{430}",
];

/// Places with a credential word, or its letters, in their names that hold no credential.
const FLAGS: [Place; 10] = [
    |v| in_header("x-authenticated", v.to_owned()),
    |v| in_header("x-auth-type", v.to_owned()),
    |v| in_header("x-token-limit", v.to_owned()),
    |v| in_header("x-session-kind", v.to_owned()),
    |v| in_header("cookie", format!("sidebar={v}")),
    |v| in_header("cookie", format!("keyboard={v}; author={v}")),
    |v| in_header("cookie", format!("auth_state={v}; session_started={v}")),
    |v| in_query(format!("code={v}")),
    |v| in_query(format!("pass={v}")),
    |v| in_query(format!("authMode={v}")),
];

/// Places that tell callers apart beside a key, and prove nothing alone.
const BESIDE: [Place; 6] = [
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

/// Values that change by request or program and say nothing about the caller.
const ELSEWHERE: [Place; 21] = [
    |v| in_header("date", v.to_owned()),
    |v| in_header("x-amz-date", v.to_owned()),
    |v| in_header("x-amz-content-sha256", v.to_owned()),
    |v| in_header("traceparent", v.to_owned()),
    |v| in_header("x-request-id", v.to_owned()),
    |v| in_header("idempotency-key", v.to_owned()),
    |v| in_header("x-stainless-retry-count", v.to_owned()),
    |v| in_header("user-agent", v.to_owned()),
    |v| in_header("x-claude-code-session-id", v.to_owned()),
    |v| in_header("x-claude-code-agent-id", v.to_owned()),
    |v| in_header("session-id", v.to_owned()),
    |v| in_header("x-session-id", v.to_owned()),
    |v| in_header("mcp-session-id", v.to_owned()),
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

/// One request with all of these.
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
    Caller::from_request(Tenancy::Multi, &target, &headers).map(|caller| caller.tenant)
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
        assert_eq!(target_path(target), path, "{target}");
    }
}

#[test]
fn on_ones_own_machine_there_is_one_caller() {
    for place in PLACES.iter().chain(&BESIDE).chain(&ELSEWHERE) {
        let (target, headers) = place(STRONG);
        let caller = Caller::from_request(Tenancy::Single, &target, &headers);
        assert_eq!(caller.map(|caller| caller.tenant), Some(Tenant::local()));
    }
    // Streams from when a key told callers apart are found by it.
    let caller = Caller::from_request(Tenancy::Single, PATH, &headers(&[("authorization", "Bearer k")]));
    let caller = caller.expect("there is always one");
    assert_eq!((caller.tenant, caller.legacy_tenant), (Tenant::local(), Some(Tenant::from_key(Some("k")))));
}

#[test]
fn who_shows_nothing_is_nobody() {
    for place in &ELSEWHERE {
        assert_eq!(tenant_of(&[place(STRONG)]), None, "{:?}", place("v"));
    }
    for place in &BESIDE {
        assert_eq!(tenant_of(&[place(STRONG)]), None, "it is no secret: {:?}", place("v"));
    }
    for place in &PLACES {
        assert!(tenant_of(&[place(STRONG)]).is_some(), "{:?}", place("v"));
        assert_eq!(tenant_of(&[place("")]), None, "{:?}", place(""));
    }
    for dummy in
        ["EMPTY", "none", "ollama", "sk-no-key-required", "xxxx", "sk-xxxxxxxx", "<YOUR-API-KEY>", "${KEY}"]
    {
        assert_eq!(many(PATH, &[("authorization", &format!("Bearer {dummy}"))]), None, "{dummy}");
        assert_eq!(many(PATH, &[("x-api-key", dummy)]), None, "{dummy}");
    }
    for bare in ["Bearer", "Bearer ", "basic"] {
        assert_eq!(many(PATH, &[("authorization", bare)]), None, "{bare}");
    }
}

/// I11: a value that two callers may share by chance neither joins nor identifies them, wherever it is.
#[test]
fn strangers_with_equal_weak_values_stay_alone() {
    for weak in WEAK {
        for place in PLACES.iter().chain(&FLAGS).chain(&BESIDE) {
            assert_eq!(tenant_of(&[place(weak)]), None, "{:?}", place(weak));
        }
    }
    for pair in ["YWRtaW46YWRtaW4=", "dGVzdDp0ZXN0", "YWRtaW5pc3RyYXRvcjpwYXNzd29yZA=="] {
        assert_eq!(many(PATH, &[("authorization", &format!("Basic {pair}"))]), None, "{pair}");
    }
    assert_eq!(many("http://administrator:password@proxy/v1/messages", &[]), None);
    assert_eq!(many(&format!("http://{STRONG}:password@proxy/v1/messages"), &[]), None, "a name is no secret");
    // Names that only contain the letters of a credential word: even a strong value identifies nobody.
    for name in ["sidebar", "keyboard", "author", "inside", "footprint"] {
        assert_eq!(many(PATH, &[("cookie", &format!("{name}={STRONG}"))]), None, "{name}");
        assert_eq!(many(&format!("{PATH}?{name}={STRONG}"), &[]), None, "{name}");
    }
}

#[test]
fn keys_as_they_are_given_out_are_known() {
    for key in [
        "4f9a7b2c8d1e3f60",
        "550e8400-e29b-41d4-a716-446655440000",
        "sk-ant-api03-4f9aT7bQ2mX8vL1cR6yN3wK5dH0sJ9eG",
        "AIzaSyD4f9aT7bQ2mX8vL1cR6yN3wK5d",
        "gsk_abcdefghijklmnopqrstuvwxyz",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "MFRGGZDFMZTWQ2LKNNWG23TP",
        "Tr0ub4dor&3xyz",
    ] {
        assert!(many(PATH, &[("x-api-key", key)]).is_some(), "{key}");
        assert!(many(PATH, &[("cookie", &format!("sid={key}"))]).is_some(), "{key}");
    }
    // ana:Tr0ub4dor&3xyz
    assert!(many(PATH, &[("authorization", "Basic YW5hOlRyMHViNGRvciYzeHl6")]).is_some());
}

#[test]
fn the_same_is_known_however_it_is_written() {
    let bearer = format!("Bearer {STRONG}");
    let one = many(PATH, &[("Authorization", &bearer), ("Cookie", "a=1; sid=2")]);
    assert!(one.is_some());
    assert_eq!(one, many(PATH, &[("cookie", "sid=2;a=1"), ("authorization", &format!("bearer   {STRONG} "))]));
    let [written, plain] = ["%2D", "-"].map(|dash| many(&format!("/v1/x?KEY=a{dash}{STRONG}"), &[]));
    assert_eq!((written.is_some(), written), (true, plain));
    let [one, two] = ["%FF", "%FE"].map(|byte| many(&format!("/v1/x?key={byte}{STRONG}"), &[]));
    assert_ne!(one, two);
    // The date in a signature's scope, and the signature, change on their own.
    let signed = |day: &str, signature: &str| {
        let value = format!(
            "AWS4-HMAC-SHA256 Credential=AKID/{day}/eu/bedrock/aws4_request, SignedHeaders=host, Signature={signature}"
        );
        many(PATH, &[("authorization", &value), ("x-amz-security-token", STRONG)])
    };
    assert!(signed("20260101", "f00").is_some());
    assert_eq!(signed("20260101", "f00"), signed("20260102", "ba4"));
}

proptest! {
    /// I11: callers that differ in one credential are two, whatever else both send.
    #[test]
    fn callers_differ_by_any_credential_and_by_nothing_else(
        which in 0..PLACES.len() + BESIDE.len(),
        shared in prop::sample::subsequence((0..PLACES.len()).collect::<Vec<_>>(), 1..5),
        around in prop::sample::subsequence((0..ELSEWHERE.len()).collect::<Vec<_>>(), 0..4),
        [one, two] in prop::array::uniform2("[a-z0-9]{2}[A-Za-z0-9._-]{5,40}-4f9aT7bQ2mX8"),
        noise in "[a-z0-9]{1,12}",
        weak in prop::sample::select(WEAK.to_vec()),
        flag in prop::sample::select(FLAGS.to_vec()),
    ) {
        prop_assume!(one != two);
        let place = PLACES.iter().chain(&BESIDE).nth(which).expect("a place");
        let place_of = |(target, headers): &(String, Headers)| match headers.first() {
            Some((name, _)) => name.to_lowercase(),
            None => target.split(['=', '@']).next().unwrap_or_default().split("user:").next().unwrap_or_default().replace("both-4f9aT7bQ2mX8", ""),
        };
        let of_both = shared.iter().map(|at| PLACES[*at]("both-4f9aT7bQ2mX8"));
        let common: Vec<_> = of_both.filter(|both| place_of(both) != place_of(&place("both-4f9aT7bQ2mX8"))).collect();
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
        // Beside a key, weak values tell callers apart as well; without one they identify nobody.
        let beside = place(weak);
        prop_assert!(tenant_of(&[common.clone(), vec![beside.clone(), flag(weak)]].concat()).is_some());
        let around = around.iter().map(|at| ELSEWHERE[*at](&one));
        prop_assert_eq!(tenant_of(&[beside, flag(weak)].into_iter().chain(around).collect::<Vec<_>>()), None);
    }
}
