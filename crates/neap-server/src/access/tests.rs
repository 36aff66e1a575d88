//! The gate where no keys are configured.

use axum::http::HeaderValue;

use super::*;

fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
    let value = |value: &str| HeaderValue::from_str(value).expect("a value");
    given.iter().map(|(name, given)| (name.parse().expect("a name"), value(given))).collect()
}

const READ: Need = Need::Api(Level::Read, Some(Surface::Sessions));
const WRITE: Need = Need::Api(Level::Write, Some(Surface::Memories));

/// Whether a request is let in.
async fn checked(access: &Access, method: &Method, headers: &HeaderMap, need: Need) -> Result<(), Refused> {
    access.check(method, headers, need).await.map(drop)
}

fn access() -> Access {
    let token = ApiToken::new;
    let tokens = vec![
        token("writes-0123456789", TokenScope::Write),
        token("reads-0123456789", TokenScope::Read),
        token("mcp-0123456789abc", TokenScope::Mcp),
    ];
    Access::new(Vec::new(), tokens, 6327)
}

#[tokio::test]
async fn nothing_but_the_open_is_answered_without_a_token() {
    let access = access();
    let none = headers(&[("host", "localhost")]);
    assert_eq!(checked(&access, &Method::GET, &none, Need::Open).await, Ok(()));
    assert_eq!(checked(&access, &Method::GET, &none, READ).await, Err(Refused::Unknown));
    let elsewhere = headers(&[("host", "evil.example"), ("authorization", "Bearer writes-0123456789")]);
    for need in [Need::Open, READ, WRITE] {
        assert!(
            matches!(checked(&access, &Method::GET, &elsewhere, need).await, Err(Refused::Origin(_))),
            "{need:?}"
        );
    }
    for wrong in ["Bearer writes-012345678", "Basic writes-0123456789", "Bearer", "writes-0123456789"] {
        let wrong = headers(&[("authorization", wrong)]);
        assert_eq!(checked(&access, &Method::GET, &wrong, READ).await, Err(Refused::Unknown));
    }
}

#[tokio::test]
async fn a_token_may_do_what_its_scope_says() {
    let access = access();
    let reads = headers(&[("authorization", "Bearer reads-0123456789")]);
    let writes = headers(&[("authorization", "bearer writes-0123456789")]);
    assert!(checked(&access, &Method::GET, &reads, READ).await.is_ok());
    assert!(checked(&access, &Method::POST, &reads, READ).await.is_ok(), "a question has a body");
    assert_eq!(checked(&access, &Method::POST, &reads, WRITE).await, Err(Refused::Level(Level::Write)));
    assert!(checked(&access, &Method::POST, &writes, WRITE).await.is_ok(), "a program has no origin");
}

#[tokio::test]
async fn the_token_of_mcp_opens_nothing_else() {
    let bring = |token: &str| headers(&[("authorization", token)]);
    let mcp = bring("Bearer mcp-0123456789abc");
    for need in [READ, WRITE, Need::Server] {
        assert_eq!(checked(&access(), &Method::GET, &mcp, need).await, Err(Refused::Unknown));
    }
    let gate = access();
    assert_eq!(checked(&gate, &Method::POST, &mcp, Need::Mcp).await, Ok(()));
    assert_eq!(checked(&gate, &Method::POST, &bring("bearer  writes-0123456789"), Need::Mcp).await, Ok(()));
    assert_eq!(checked(&gate, &Method::POST, &HeaderMap::new(), Need::Mcp).await, Err(Refused::Unknown));
    let wrong = [
        "Bearer mcp-0123456789ab", "Bearer", "mcp-0123456789abc", "Basic mcp-0123456789abc",
        "Bearer reads-0123456789",
    ];
    for wrong in wrong {
        let checked = checked(&gate, &Method::POST, &bring(wrong), Need::Mcp).await;
        assert_eq!(checked, Err(Refused::Unknown), "{wrong}");
    }
}

#[tokio::test]
async fn a_page_changes_things_only_with_its_own_origin() {
    let access = access();
    let path = access.enter_path().expect("random bytes");
    let code = path.strip_prefix("/ui/enter?code=").expect("a code").to_owned();
    let cookie = access.browsers().enter(&code).expect("it is new");
    assert_eq!(access.browsers().enter(&code), None, "a code works once");
    let pair = cookie.split(';').next().expect("a pair").to_owned();
    let own = [("host", "localhost:6327"), ("cookie", pair.as_str())];
    assert!(checked(&access, &Method::GET, &headers(&own), READ).await.is_ok());
    for need in [READ, WRITE] {
        assert_eq!(checked(&access, &Method::POST, &headers(&own), need).await, Err(Refused::NoOrigin));
    }
    let with = |origin| headers(&[own[0], own[1], ("origin", origin)]);
    assert!(checked(&access, &Method::POST, &with("http://localhost:6327"), WRITE).await.is_ok());
    assert_eq!(
        checked(&access, &Method::POST, &with("http://localhost:3000"), WRITE).await,
        Err(Refused::NoOrigin),
        "another page of this machine is not ours"
    );
    let foreign = checked(&access, &Method::POST, &with("https://evil.example"), WRITE).await;
    assert!(matches!(foreign, Err(Refused::Origin(_))), "{foreign:?}");
    let wrong = headers(&[own[0], own[1], ("authorization", "Bearer wrong")]);
    assert_eq!(checked(&access, &Method::GET, &wrong, READ).await, Err(Refused::Unknown));
}
