//! Who may ask what: one gate for all that Neap itself serves, the API, the page, `/mcp` and `/metrics`.
//!
//! `origin` refuses requests of other sites' pages, whatever they bring. What a request brings, a bearer token or the
//! page's cookie, becomes a [`Grant`]; handlers see nothing else of it, so that tenants and keys can take the token's
//! place without a change of any route.

mod browser;
mod origin;
mod token;

use axum::http::{HeaderMap, Method};

pub(crate) use browser::Browsers;
pub(crate) use origin::OriginCheck;
pub use token::{ApiToken, Scope};

/// Who asks, and what they may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub scope: Scope,
    by: Credential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Credential {
    Token,
    Cookie,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// A wrong `Host`, or a page of another site.
    Origin(String),
    /// It brings nothing, or nothing that is known.
    Unknown,
    /// It may read, but not change.
    ReadOnly,
    /// A change with the page's cookie, but without an `Origin` that tells that the page itself asks.
    NoOrigin,
}

/// What a route asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing but a known host.
    Open,
    Read,
    Write,
    /// To speak MCP.
    Mcp,
}

/// The gate.
pub struct Access {
    origin: OriginCheck,
    tokens: Vec<ApiToken>,
    browsers: Browsers,
}

impl Access {
    /// `hosts` are the names accepted in `Host`, besides addresses and `localhost`. `port` is part of the cookie's
    /// name: a browser sends the cookies of one host to all its ports.
    pub fn new(hosts: Vec<String>, tokens: Vec<ApiToken>, port: u16) -> Self {
        Self { origin: OriginCheck::new(hosts), tokens, browsers: Browsers::new(port) }
    }

    /// A path with a code that lets one browser in, once.
    pub fn enter_path(&self) -> Result<String, getrandom::Error> {
        self.browsers.new_code().map(|code| format!("/ui/enter?code={code}"))
    }

    pub(crate) fn browsers(&self) -> &Browsers {
        &self.browsers
    }

    pub(crate) fn origin_refusal(&self, headers: &HeaderMap) -> Option<String> {
        self.origin.refusal_reason(headers)
    }

    pub(crate) fn is_local_host(&self, headers: &HeaderMap) -> bool {
        self.origin.is_local_host(headers)
    }

    /// Checks a request.
    pub fn check(&self, method: &Method, headers: &HeaderMap, need: Need) -> Result<Option<Grant>, Refused> {
        if let Some(reason) = self.origin.refusal_reason(headers) {
            return Err(Refused::Origin(reason));
        }
        if need == Need::Open {
            return Ok(None);
        }
        if need == Need::Mcp {
            return self.check_mcp(headers).map(|()| None);
        }
        let grant = self.grant(headers).filter(|grant| grant.scope != Scope::Mcp).ok_or(Refused::Unknown)?;
        if need == Need::Write && grant.scope != Scope::Write {
            return Err(Refused::ReadOnly);
        }
        // A question has a body, too; a browser asks it for the page alone.
        let is_safe = need == Need::Read && method.is_safe();
        if !is_safe && grant.by == Credential::Cookie && !origin::is_same_origin(headers) {
            return Err(Refused::NoOrigin);
        }
        Ok(Some(grant))
    }

    /// The token of the API opens `/mcp`, too; the token of `/mcp` opens nothing else.
    fn check_mcp(&self, headers: &HeaderMap) -> Result<(), Refused> {
        match self.token(headers).map(ApiToken::scope) {
            Some(Scope::Write | Scope::Mcp) => Ok(()),
            Some(Scope::Read) | None => Err(Refused::Unknown),
        }
    }

    fn grant(&self, headers: &HeaderMap) -> Option<Grant> {
        if token::bearer(headers).is_some() {
            // A wrong token is not made good by a cookie.
            return self.token(headers).map(|token| Grant { scope: token.scope(), by: Credential::Token });
        }
        self.browsers.knows(headers).then_some(Grant { scope: Scope::Write, by: Credential::Cookie })
    }

    fn token(&self, headers: &HeaderMap) -> Option<&ApiToken> {
        let given = token::bearer(headers)?;
        self.tokens.iter().find(|token| token.is(given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        let value = |value: &str| HeaderValue::from_str(value).expect("a value");
        given.iter().map(|(name, given)| (name.parse().expect("a name"), value(given))).collect()
    }

    fn access() -> Access {
        let token = ApiToken::new;
        let tokens = vec![
            token("writes-0123456789", Scope::Write),
            token("reads-0123456789", Scope::Read),
            token("mcp-0123456789abc", Scope::Mcp),
        ];
        Access::new(Vec::new(), tokens, 6327)
    }

    #[test]
    fn nothing_but_the_open_is_answered_without_a_token() {
        let access = access();
        let none = headers(&[("host", "localhost")]);
        assert_eq!(access.check(&Method::GET, &none, Need::Open), Ok(None));
        assert_eq!(access.check(&Method::GET, &none, Need::Read), Err(Refused::Unknown));
        let elsewhere = headers(&[("host", "evil.example"), ("authorization", "Bearer writes-0123456789")]);
        for need in [Need::Open, Need::Read, Need::Write] {
            assert!(matches!(access.check(&Method::GET, &elsewhere, need), Err(Refused::Origin(_))), "{need:?}");
        }
        for wrong in ["Bearer writes-012345678", "Basic writes-0123456789", "Bearer", "writes-0123456789"] {
            let wrong = headers(&[("authorization", wrong)]);
            assert_eq!(access.check(&Method::GET, &wrong, Need::Read), Err(Refused::Unknown));
        }
    }

    #[test]
    fn a_token_may_do_what_its_scope_says() {
        let access = access();
        let reads = headers(&[("authorization", "Bearer reads-0123456789")]);
        let writes = headers(&[("authorization", "bearer writes-0123456789")]);
        assert!(access.check(&Method::GET, &reads, Need::Read).is_ok());
        assert!(access.check(&Method::POST, &reads, Need::Read).is_ok(), "a question has a body");
        assert_eq!(access.check(&Method::POST, &reads, Need::Write), Err(Refused::ReadOnly));
        assert!(access.check(&Method::POST, &writes, Need::Write).is_ok(), "a program has no origin");
    }

    #[test]
    fn the_token_of_mcp_opens_nothing_else() {
        let bring = |token: &str| headers(&[("authorization", token)]);
        let mcp = bring("Bearer mcp-0123456789abc");
        for need in [Need::Read, Need::Write] {
            assert_eq!(access().check(&Method::GET, &mcp, need), Err(Refused::Unknown));
        }
        let gate = access();
        assert_eq!(gate.check(&Method::POST, &mcp, Need::Mcp), Ok(None));
        assert_eq!(gate.check(&Method::POST, &bring("bearer  writes-0123456789"), Need::Mcp), Ok(None));
        assert_eq!(gate.check(&Method::POST, &HeaderMap::new(), Need::Mcp), Err(Refused::Unknown));
        let wrong = [
            "Bearer mcp-0123456789ab", "Bearer", "mcp-0123456789abc", "Basic mcp-0123456789abc",
            "Bearer reads-0123456789",
        ];
        for wrong in wrong {
            assert_eq!(gate.check(&Method::POST, &bring(wrong), Need::Mcp), Err(Refused::Unknown), "{wrong}");
        }
    }

    #[test]
    fn a_page_changes_things_only_with_its_own_origin() {
        let access = access();
        let path = access.enter_path().expect("random bytes");
        let code = path.strip_prefix("/ui/enter?code=").expect("a code").to_owned();
        let cookie = access.browsers().enter(&code).expect("it is new");
        assert_eq!(access.browsers().enter(&code), None, "a code works once");
        let pair = cookie.split(';').next().expect("a pair").to_owned();
        let own = [("host", "localhost:6327"), ("cookie", pair.as_str())];
        assert!(access.check(&Method::GET, &headers(&own), Need::Read).is_ok());
        for need in [Need::Read, Need::Write] {
            assert_eq!(access.check(&Method::POST, &headers(&own), need), Err(Refused::NoOrigin));
        }
        let with = |origin| headers(&[own[0], own[1], ("origin", origin)]);
        assert!(access.check(&Method::POST, &with("http://localhost:6327"), Need::Write).is_ok());
        assert_eq!(
            access.check(&Method::POST, &with("http://localhost:3000"), Need::Write),
            Err(Refused::NoOrigin),
            "another page of this machine is not ours"
        );
        let foreign = access.check(&Method::POST, &with("https://evil.example"), Need::Write);
        assert!(matches!(foreign, Err(Refused::Origin(_))), "{foreign:?}");
        let wrong = headers(&[own[0], own[1], ("authorization", "Bearer wrong")]);
        assert_eq!(access.check(&Method::GET, &wrong, Need::Read), Err(Refused::Unknown));
    }
}
