//! `neap report --live`: shows the requests of a running proxy as they complete.

use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

use neap_core::base::ids::Stamp;
use neap_model::client::{http_client, root_cause};
use neap_server::proxy::{LoggedRequest, RECENT, RequestLogPage};
use reqwest::{Client, StatusCode, Url};

use crate::api_token;
use crate::cli::WatchArgs;
use crate::env::DataDir;
use crate::out::{self, BAD, DIM, Failure, thousands};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A proxy on this machine responds at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const HEADER_EVERY_ROWS: usize = 40;

pub(crate) async fn run(data: &DataDir, args: WatchArgs, json: bool) -> Result<ExitCode, Failure> {
    let url = format!("{}{RECENT}", args.url.trim_end_matches('/').trim_end_matches("/v1"));
    let client = http_client().no_proxy().timeout(REQUEST_TIMEOUT).build();
    let client = client.map_err(|error| Failure::new(format!("cannot create an HTTP client: {error}")))?;
    let token = api_token::load_reading(data)?;
    let log = ProxyLog { client, url, token };
    let mut page = log.fetch(0).await?;
    let mut sum = Totals::default();
    loop {
        let last = page.requests.last().map(|request| request.number);
        for request in &page.requests {
            if json {
                out::print_json(request)?;
            } else {
                if sum.requests.is_multiple_of(HEADER_EVERY_ROWS) {
                    out::print_line(format!("{DIM}{}{DIM:#}", table_header()));
                }
                out::print_line(row(request));
            }
            sum.add(request);
        }
        if args.once {
            break;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        match log.fetch(last.unwrap_or(sum.last)).await {
            Ok(next) => page = next,
            Err(_) => {
                out::print_notice("the proxy has ended");
                break;
            }
        }
    }
    if !json {
        out::print_line(sum.summary_text());
    }
    Ok(ExitCode::SUCCESS)
}

/// The log of a proxy that runs.
struct ProxyLog {
    client: Client,
    url: String,
    token: Option<String>,
}

impl ProxyLog {
    async fn fetch(&self, after: u64) -> Result<RequestLogPage, Failure> {
        let url = &self.url;
        let failed = |error: String| {
            Failure::new(format!("no proxy answers at {url}: {error}"))
                .hint("start one with `neap serve`, or name its address with --url")
        };
        let request = self.client.get(format!("{url}?after={after}"));
        let token = self.token.as_ref().filter(|_| is_local(url));
        let response = match token {
            Some(token) => request.bearer_auth(token).send().await,
            None => request.send().await,
        };
        if response.as_ref().is_ok_and(|response| response.status() == StatusCode::UNAUTHORIZED) {
            return Err(Failure::new(format!("the proxy at {url} does not know this data directory's token"))
                .hint("name the data directory of that proxy with --data-dir"));
        }
        let response = response.and_then(reqwest::Response::error_for_status);
        let response = response.map_err(|error| failed(root_cause(&error)))?;
        let text = response.text().await.unwrap_or_default();
        serde_json::from_str(&text).map_err(|_| failed("the server there is not a Neap proxy".to_owned()))
    }
}

/// Whether an address is this machine's: the token goes nowhere else.
fn is_local(url: &str) -> bool {
    let url = Url::parse(url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

fn table_header() -> String {
    format!(
        "{:<8}  {:<30}  {:<17}  {:>9}  {:>9}  {:>8}  {:>5}  {:>6}  {:>7}  {:>8}",
        "time", "session", "class", "received", "sent", "left out", "epoch", "cached", "out", "took"
    )
}

fn row(request: &LoggedRequest) -> String {
    let time = out::time(Stamp(request.at));
    let time = time.split(' ').nth(1).unwrap_or("?");
    let session = out::shorten(request.session.as_deref().unwrap_or("–"), 30);
    let used = |format: &dyn Fn(&neap_server::proxy::RequestUsage) -> String| {
        request.used.as_ref().map_or_else(|| "–".to_owned(), format)
    };
    let cached = used(&|used| format!("{} %", (used.cached * 100).checked_div(used.input).unwrap_or(0)));
    let mut line = format!(
        "{time:<8}  {session:<30}  {:<17}  {:>9}  {:>9}  {:>8}  {:>5}  {cached:>6}  {:>7}  {:>8}",
        out::shorten(&request.class, 17),
        thousands(request.tokens_in),
        thousands(request.tokens_sent),
        thousands(request.left_out as u64),
        request.epoch,
        used(&|used| thousands(used.output)),
        duration_text(request.took_ms),
    );
    if !request.is_whole {
        line.push_str(&format!("  {BAD}cut off{BAD:#}"));
    }
    line
}

fn duration_text(ms: u64) -> String {
    if ms < 10_000 { format!("{ms} ms") } else { format!("{} s", ms / 1_000) }
}

#[derive(Default)]
struct Totals {
    requests: usize,
    last: u64,
    tokens_in: u64,
    tokens_sent: u64,
    input: u64,
    cached: u64,
    output: u64,
}

impl Totals {
    fn add(&mut self, request: &LoggedRequest) {
        self.requests += 1;
        self.last = request.number;
        self.tokens_in += request.tokens_in;
        self.tokens_sent += request.tokens_sent;
        if let Some(usage) = request.used {
            self.input += usage.input;
            self.cached += usage.cached;
            self.output += usage.output;
        }
    }

    fn summary_text(&self) -> String {
        let cached = (self.cached * 100).checked_div(self.input).unwrap_or(0);
        format!(
            "{}: {} tokens received, {} sent; the provider counted {} in, {cached} % of them cached, {} out",
            out::count(self.requests as u64, "request"),
            thousands(self.tokens_in),
            thousands(self.tokens_sent),
            thousands(self.input),
            thousands(self.output)
        )
    }
}
