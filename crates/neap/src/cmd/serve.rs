//! `neap serve`: runs the OpenAI- and Anthropic-compatible proxy and the MCP server.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use neap_model::caller::Tenancy;
use neap_server::access::{Access, ApiToken, TokenScope};
use neap_server::api::ApiHttp;
use neap_server::mcp::{McpHttp, SessionLimits};
use neap_server::proxy::{BoundProxy, ProxyLimits, ServerTls, TokenGuard, Upstreams};
use neap_server::tenants::{OpenTenant, Tenants};
use neap_sqlite::SqliteAccess;
use neap_store::access::AccessStore;

use crate::api_token::{self, ApiTokens};
use crate::cli::{CallersName, ProxyArgs, ServeArgs};
use crate::cmd::ui;
use crate::env::{self, DataDir};
use crate::mcp_token::{self, McpToken, TokenSource};
use crate::out::{self, Failure};
use crate::tenant_parts::Serving;

pub(crate) async fn run(data: &DataDir, args: ServeArgs) -> Result<ExitCode, Failure> {
    let ServeArgs { listen, allow_host, user_words, callers, mcp_token_file, mcp_token, proxy, .. } = args;
    if mcp_token.is_some() {
        return Err(mcp_token::argument_refused());
    }
    let keys = configured_keys(data).await?;
    if keys.is_none() && !args.without_keys && !listen.ip().is_loopback() {
        return Err(Failure::new(format!("anybody who reaches {listen} could use this server: there is no key"))
            .hint("make one: `neap key add local`; or say that it is meant so: `neap serve --without-keys`"));
    }
    let tls = args.tls_cert.as_deref().zip(args.tls_key.as_deref());
    let tls = tls.map(|(certificate, key)| ServerTls::from_files(certificate, key)).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let bound = bind(listen, &proxy, &[env::OPENAI_BASE_URL]).await?;
    let is_local = bound.address().ip().is_loopback();
    let callers = match callers {
        // Each has a store of its own: within it there is one caller, whatever else a client sends.
        _ if keys.is_some() => Tenancy::Single,
        CallersName::One => Tenancy::Single,
        CallersName::Many => Tenancy::Multi,
        CallersName::Auto if is_local => Tenancy::Single,
        CallersName::Auto => Tenancy::Multi,
    };
    let limits = ProxyLimits { connections_max: usize::from(args.max_connections), ..ProxyLimits::default() };
    let mcp_sessions =
        SessionLimits { sessions_max: usize::from(args.max_mcp_sessions), ..SessionLimits::default() };
    let serving = Serving { proxy, callers, user_words: user_words.into(), mcp_sessions };
    let gate = match keys {
        Some(keys) => keyed(data, &bound, allow_host, keys, args.audit_days, serving),
        None => unkeyed(data, &bound, allow_host, mcp_token_file.as_deref(), serving)?,
    };
    let Gate { access, tenants, guard, notices } = gate;
    let is_keyed = access.is_keyed();
    let server = bound.into_server(access.clone(), tenants.clone(), guard, limits)?;
    let api = ApiHttp::new(access.clone(), tenants.clone());
    out::print_notice(format!("listening at {scheme}://{}", server.address()));
    if is_local && !is_keyed && std::io::stderr().is_terminal() {
        out::print_notice(format!("the page: {scheme}://{}{}", server.address(), ui::enter_path(&access)?));
    }
    notices.into_iter().for_each(out::print_notice);
    let server = server.with_mcp(McpHttp::new(access, tenants)).with_api(api).with_tls(tls);
    server.run_until(shutdown_signal()).await?;
    Ok(ExitCode::SUCCESS)
}

/// What stands before a server's routes.
struct Gate {
    access: Arc<Access>,
    tenants: Arc<Tenants>,
    guard: TokenGuard,
    /// What whoever starts it should know.
    notices: Vec<String>,
}

/// The keys, if there are any: even one that is revoked says that nobody else is let in.
async fn configured_keys(data: &DataDir) -> Result<Option<Arc<dyn AccessStore>>, Failure> {
    let Some(keys) = SqliteAccess::open_existing(&data.access_file())? else { return Ok(None) };
    let has_keys = !keys.keys(None).await?.is_empty();
    Ok(has_keys.then(|| Arc::new(keys) as Arc<dyn AccessStore>))
}

fn keyed(
    data: &DataDir,
    bound: &BoundProxy,
    hosts: Vec<String>,
    keys: Arc<dyn AccessStore>,
    audit_days: u32,
    serving: Serving,
) -> Gate {
    let data = data.clone();
    let open: OpenTenant = Box::new(move |tenant, agent| {
        serving.parts(&data.of_tenant(tenant, agent)).map_err(|failure| failure.to_string())
    });
    Gate {
        access: Arc::new(Access::with_keys(hosts, bound.address().port(), keys, audit_days)),
        tenants: Arc::new(Tenants::opened_by(open)),
        guard: TokenGuard::new(None),
        notices: vec!["every request needs a key (`neap key list`); other tokens open nothing".to_owned()],
    }
}

/// This machine's one tenant, with the tokens of its data directory.
fn unkeyed(
    data: &DataDir,
    bound: &BoundProxy,
    hosts: Vec<String>,
    mcp_token_file: Option<&Path>,
    serving: Serving,
) -> Result<Gate, Failure> {
    let is_local = bound.address().ip().is_loopback();
    let token = mcp_token::resolve(data, mcp_token_file, is_local)?;
    let tokens = api_token::load_or_none(data);
    let guard = guard(token.as_ref(), &tokens, is_local);
    let mut known = tokens.tokens;
    known.extend(token.as_ref().map(|token| ApiToken::new(&token.text, TokenScope::Mcp)));
    let mut notices = who_is_served(serving.callers, is_local, !hosts.is_empty());
    let access = Arc::new(Access::new(hosts, known, bound.address().port()));
    let tenants = Arc::new(Tenants::only(serving.parts(data)?));
    match token.map(|token| token.source) {
        Some(TokenSource::Own(path)) if !is_local || std::io::stderr().is_terminal() => notices.push(format!(
            "/mcp requires the token in {}; anyone with the token can read the stored data",
            path.display()
        )),
        Some(_) if !is_local => {
            notices.push("anyone with the token for /mcp can read the stored data".to_owned());
        }
        Some(_) | None => {}
    }
    Ok(Gate { access, tenants, guard, notices })
}

/// A token that only programs of this machine can use is kept back from heads alone, as the API's are: see
/// [`TokenGuard::with_head_only`].
pub(crate) fn guard(mcp: Option<&McpToken>, api: &ApiTokens, is_local: bool) -> TokenGuard {
    let secret = mcp.map(|token| token.text.as_str());
    let is_made_here = is_local && mcp.is_some_and(|token| matches!(token.source, TokenSource::Own(_)));
    let guard = TokenGuard::new(secret.filter(|_| !is_made_here));
    let head_only = secret.filter(|_| is_made_here).into_iter().chain(api.secrets.iter().map(String::as_str));
    head_only.fold(guard, TokenGuard::with_head_only)
}

fn who_is_served(callers: Tenancy, is_local: bool, has_names: bool) -> Vec<String> {
    let anyone = "anyone who can reach this machine can use the proxy, with a provider key of their own";
    let told = match callers {
        Tenancy::Multi => {
            Some("callers are told apart by their credentials; requests without a credential are not stored")
        }
        Tenancy::Single if !is_local => {
            Some("all callers count as one and may see each other's data; --callers many keeps them apart")
        }
        Tenancy::Single if has_names => Some(
            "callers that use a name from --allow-host count as this machine's one caller; --callers many keeps \
             callers apart",
        ),
        Tenancy::Single => None,
    };
    (!is_local).then_some(anyone).into_iter().chain(told).map(str::to_owned).collect()
}

/// `openai_names` are the variables that may name the provider of OpenAI's protocols.
pub(crate) async fn bind(
    listen: SocketAddr,
    args: &ProxyArgs,
    openai_names: &[&str],
) -> Result<BoundProxy, Failure> {
    let upstream = args.upstream.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let named = |variable: &str| upstream.map(str::to_owned).or_else(|| env::var(variable));
    let openai = openai_names.iter().find_map(|name| named(name));
    let anthropic = named(env::ANTHROPIC_BASE_URL);
    let upstreams = Upstreams::new(openai.as_deref(), anthropic.as_deref())?;
    Ok(BoundProxy::bind(listen, upstreams, out::print_notice).await?)
}

/// Resolves at the first signal to end; a second one exits at once.
pub(crate) async fn shutdown_signal() {
    terminate_signal().await;
    out::print_notice("shutting down: open streams will finish; a second signal exits at once");
    tokio::spawn(async {
        terminate_signal().await;
        std::process::exit(130);
    });
}

#[cfg(unix)]
async fn terminate_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

#[cfg(not(unix))]
async fn terminate_signal() {
    let _ = tokio::signal::ctrl_c().await;
}
