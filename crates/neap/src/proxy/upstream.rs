//! Where a request goes, and with which headers.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use neap_model::client::{Api, BaseUrl};
use reqwest::Url;
use reqwest::redirect::Policy;

use super::fault::Fault;
use super::path::is_bare;
use super::route::{Family, Route};
use crate::env;
use crate::out::Failure;

/// Until there is a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Between two pieces of an answer; a model may think for long, and say nothing.
const SILENCE_LIMIT: Duration = Duration::from_secs(900);

/// Headers that are about one connection only, and our own.
const NOT_PASSED_ON: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "host",
    "content-length",
];

/// Where requests go, by whose words they are in.
pub(crate) struct Upstreams {
    openai: Url,
    anthropic: Url,
    /// Marks what has come through here.
    mark: String,
}

impl Upstreams {
    /// One for all, if it was named; else by the environment, else the makers' own.
    pub(crate) fn new(named: Option<&str>) -> Result<Self, Failure> {
        let of = |variable: &str, api: Api| {
            let text =
                named.map(str::to_owned).or_else(|| env::text(variable)).unwrap_or_else(|| api.home().to_owned());
            let base = BaseUrl::parse(&text).map_err(|error| {
                Failure::new(error).hint("write it as https://host/v1 or http://localhost:8080/v1")
            })?;
            Url::parse(&base.to_string()).map_err(|error| Failure::new(error.to_string()))
        };
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self {
            openai: of(env::OPENAI_BASE_URL, Api::OpenAi)?,
            anthropic: of(env::ANTHROPIC_BASE_URL, Api::Anthropic)?,
            mark: format!("1.1 neap-{:016x}", u64::from_le_bytes(random)),
        })
    }

    /// Nobody is to be their own upstream.
    pub(crate) fn refuse_own(&self, own: SocketAddr) -> Result<(), Failure> {
        let is_own = |url: &Url| {
            let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
            let is_here = match host.parse::<IpAddr>() {
                Ok(address) => address.is_loopback() || address.is_unspecified() || address == own.ip(),
                Err(_) => host == "localhost",
            };
            is_here && url.port_or_known_default() == Some(own.port())
        };
        match [&self.openai, &self.anthropic].into_iter().find(|url| is_own(url)) {
            Some(url) => Err(Failure::new(format!("{url} is this proxy itself"))
                .hint("name the provider with --upstream, or unset the variable that names this proxy")),
            None => Ok(()),
        }
    }

    /// Where the requests of a kind go, to tell it.
    pub(crate) fn base(&self, family: Family) -> &Url {
        match family {
            Family::OpenAi => &self.openai,
            Family::Anthropic => &self.anthropic,
        }
    }

    /// Where a request goes.
    pub(crate) fn url(&self, route: &Route<'_>, query: Option<&str>) -> Url {
        let mut url = self.base(route.family).clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let rest = route.path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let path = match (base.strip_suffix("/v1"), rest) {
            // Both say it, or the path of a history has nothing before it.
            (Some(_), Some(rest)) => format!("{base}{rest}"),
            (Some(_), None) if is_bare(route.path) => format!("{base}{}", route.path),
            (Some(before), None) => format!("{before}{}", route.path),
            (None, None) if is_bare(route.path) => format!("{base}/v1{}", route.path),
            (None, Some(_) | None) => format!("{base}{}", route.path),
        };
        url.set_path(&path);
        if let Some(query) = query {
            url.set_query(Some(query));
        }
        url
    }

    /// The headers that go with it: the caller's, its key among them, less those about the connection.
    pub(crate) fn headers(&self, given: &HeaderMap, is_unpacked: bool) -> Result<HeaderMap, Fault> {
        let came_by: Vec<&str> = given.get_all(header::VIA).iter().filter_map(|via| via.to_str().ok()).collect();
        if came_by.iter().any(|via| via.contains(self.mark.as_str())) {
            return Err(Fault::Loop);
        }
        let mut headers = passed_on(given);
        if is_unpacked {
            headers.remove(header::CONTENT_ENCODING);
            // Packed answers could not be listened to.
            headers.remove(header::ACCEPT_ENCODING);
        }
        if let Ok(mark) = HeaderValue::from_str(&self.mark) {
            headers.append(header::VIA, mark);
        }
        Ok(headers)
    }
}

/// Headers less those that are about one connection only, and less those that are ours.
pub(crate) fn passed_on(given: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = given
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_passed_on = |name: &HeaderName| {
        let name = name.as_str();
        !NOT_PASSED_ON.contains(&name) && !name.starts_with("x-neap-") && !named.iter().any(|other| other == name)
    };
    given
        .iter()
        .filter(|(name, _)| is_passed_on(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Whoever asks providers, elsewhere and on this machine.
pub(crate) struct Askers {
    elsewhere: reqwest::Client,
    here: reqwest::Client,
}

impl Askers {
    pub(crate) fn new() -> Result<Self, Failure> {
        let usual = || {
            let client = reqwest::Client::builder().connect_timeout(CONNECT_LIMIT).read_timeout(SILENCE_LIMIT);
            // Where a provider sends us is for the client to see.
            client.redirect(Policy::none())
        };
        let failed = |error: reqwest::Error| Failure::new(format!("cannot ask anybody: {error}"));
        let elsewhere = usual().build().map_err(failed)?;
        Ok(Self { elsewhere, here: usual().no_proxy().build().map_err(failed)? })
    }

    /// Who asks there: what is on this machine is not asked through somebody else.
    pub(crate) fn to(&self, url: &Url) -> &reqwest::Client {
        let is_here = BaseUrl::parse(url.as_str()).is_ok_and(|base| base.is_loopback());
        if is_here { &self.here } else { &self.elsewhere }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(base: &str) -> Upstreams {
        Upstreams::new(Some(base)).expect("an address")
    }

    #[test]
    fn paths_are_joined() {
        let table = [
            ("https://api.openai.com/v1", "/v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1", "/chat/completions", "https://api.openai.com/v1/chat/completions"),
            ("https://api.openai.com/v1", "/v1/models", "https://api.openai.com/v1/models"),
            ("https://api.openai.com/v1", "/s/mine/v1/responses", "https://api.openai.com/v1/responses"),
            ("http://localhost:11434/v1", "/api/tags", "http://localhost:11434/api/tags"),
            ("http://localhost:11434", "/v1/chat/completions", "http://localhost:11434/v1/chat/completions"),
            ("http://localhost:11434", "/responses", "http://localhost:11434/v1/responses"),
            ("http://localhost:11434", "/api/tags", "http://localhost:11434/api/tags"),
            (
                "https://mine.openai.azure.com",
                "/openai/deployments/My-GPT/chat/completions",
                "https://mine.openai.azure.com/openai/deployments/My-GPT/chat/completions",
            ),
            (
                "https://gate.example/v1",
                "/openai/deployments/My-GPT/chat/completions",
                "https://gate.example/openai/deployments/My-GPT/chat/completions",
            ),
            (
                "https://openrouter.ai/api/v1",
                "/v1/chat/completions",
                "https://openrouter.ai/api/v1/chat/completions",
            ),
            ("https://gate.example/anthropic", "/v1/messages", "https://gate.example/anthropic/v1/messages"),
            ("https://gate.example/x?key=1", "/v1/messages", "https://gate.example/x/v1/messages?key=1"),
        ];
        for (base, path, want) in table {
            let route = Route::of(path, &HeaderMap::new());
            assert_eq!(at(base).url(&route, None).as_str(), want, "{base} {path}");
        }
        let route = Route::of("/v1/messages", &HeaderMap::new());
        assert_eq!(at("http://x").url(&route, Some("beta=true")).as_str(), "http://x/v1/messages?beta=true");
    }

    #[test]
    fn nobody_is_their_own_upstream() {
        let own: SocketAddr = "127.0.0.1:6327".parse().expect("an address");
        let table = [
            ("http://127.0.0.1:6327/v1", true),
            ("http://localhost:6327", true),
            ("http://[::1]:6327", true),
            ("http://0.0.0.0:6327", true),
            ("http://127.0.0.1:6328/v1", false),
            ("https://api.openai.com/v1", false),
        ];
        for (base, want) in table {
            assert_eq!(at(base).refuse_own(own).is_err(), want, "{base}");
        }
        let mut headers = HeaderMap::new();
        let upstreams = at("http://x");
        headers.insert(header::VIA, "1.1 neap-0000000000000000".parse().expect("a value"));
        assert!(upstreams.headers(&headers, true).is_ok(), "another proxy may be before this one");
        headers.insert(header::VIA, format!("1.0 other, {}", upstreams.mark).parse().expect("a value"));
        assert_eq!(upstreams.headers(&headers, true), Err(Fault::Loop));
    }

    #[test]
    fn headers_of_the_connection_and_our_own_stay_here() {
        let given = [
            ("authorization", "Bearer k", true),
            ("x-api-key", "k", true),
            ("anthropic-beta", "a,b", true),
            ("x-claude-code-session-id", "s", true),
            ("user-agent", "claude", true),
            ("host", "localhost", false),
            ("content-length", "5", false),
            ("transfer-encoding", "chunked", false),
            ("connection", "keep-alive, x-hop", false),
            ("x-hop", "1", false),
            ("x-neap-session", "mine", false),
            ("content-encoding", "zstd", false),
            ("accept-encoding", "gzip", false),
        ];
        let headers: HeaderMap = given
            .iter()
            .map(|(name, value, _)| (name.parse().expect("a name"), value.parse().expect("a value")))
            .collect::<Vec<(HeaderName, HeaderValue)>>()
            .into_iter()
            .collect();
        let passed = at("http://x").headers(&headers, true).expect("no loop");
        for (name, _, want) in given {
            assert_eq!(passed.contains_key(name), want, "{name}");
        }
        assert!(passed.contains_key("via"));
    }
}
