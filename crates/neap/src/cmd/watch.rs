//! `neap report --live`: shows the requests of a running proxy as they complete.

use std::process::ExitCode;
use std::time::Duration;

use neap_core::base::ids::Stamp;
use neap_model::client::{http_client, root_cause};
use neap_server::proxy::{LoggedRequest, RECENT, RequestLogPage};
use reqwest::Client;

use crate::cli::WatchArgs;
use crate::out::{self, BAD, DIM, Failure, thousands};

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// A proxy on this machine responds at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
const HEADER_EVERY_ROWS: usize = 40;

pub(crate) async fn run(args: WatchArgs, json: bool) -> Result<ExitCode, Failure> {
    let url = format!("{}{RECENT}", args.url.trim_end_matches('/').trim_end_matches("/v1"));
    let client = http_client().no_proxy().timeout(REQUEST_TIMEOUT).build();
    let client = client.map_err(|error| Failure::new(format!("cannot create an HTTP client: {error}")))?;
    let mut page = fetch_log(&client, &url, 0).await?;
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
        match fetch_log(&client, &url, last.unwrap_or(sum.last)).await {
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

async fn fetch_log(client: &Client, url: &str, after: u64) -> Result<RequestLogPage, Failure> {
    let failed = |error: String| {
        Failure::new(format!("no proxy answers at {url}: {error}"))
            .hint("start one with `neap serve`, or name its address with --url")
    };
    let response = client.get(format!("{url}?after={after}")).send().await;
    let response = response.and_then(reqwest::Response::error_for_status);
    let response = response.map_err(|error| failed(root_cause(&error)))?;
    let text = response.text().await.unwrap_or_default();
    serde_json::from_str(&text).map_err(|_| failed("the server there is not a Neap proxy".to_owned()))
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
