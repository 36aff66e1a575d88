//! `neap watch`: what passes through a running proxy, request by request.

use std::process::ExitCode;
use std::time::Duration;

use neap_core::ids::Stamp;
use reqwest::Client;

use crate::cli::WatchArgs;
use crate::out::{self, BAD, DIM, Failure, thousands};
use crate::proxy::{RECENT, Seen, Told};

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);
/// A proxy on this machine answers at once.
const LIMIT: Duration = Duration::from_secs(5);
/// The head of the table stands over so many rows.
const ROWS: usize = 40;

pub(crate) async fn run(args: WatchArgs, json: bool) -> Result<ExitCode, Failure> {
    let url = format!("{}{RECENT}", args.url.trim_end_matches('/').trim_end_matches("/v1"));
    let client = Client::builder().no_proxy().timeout(LIMIT).build();
    let client = client.map_err(|error| Failure::new(format!("cannot ask anybody: {error}")))?;
    let mut told = look(&client, &url, 0).await?;
    let mut sum = Sum::default();
    loop {
        let last = told.requests.last().map(|seen| seen.number);
        for seen in &told.requests {
            if json {
                out::json_line(seen)?;
            } else {
                if sum.requests.is_multiple_of(ROWS) {
                    out::line(format!("{DIM}{}{DIM:#}", head()));
                }
                out::line(row(seen));
            }
            sum.add(seen);
        }
        if args.once {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        match look(&client, &url, last.unwrap_or(sum.last)).await {
            Ok(next) => told = next,
            Err(_) => {
                out::aside("the proxy has ended");
                break;
            }
        }
    }
    if !json {
        out::line(sum.told());
    }
    Ok(ExitCode::SUCCESS)
}

async fn look(client: &Client, url: &str, after: u64) -> Result<Told, Failure> {
    let failed = |error: String| {
        Failure::new(format!("no proxy tells anything at {url}: {error}"))
            .hint("start one with `neap serve`, or name its address with --url")
    };
    let answer = client.get(format!("{url}?after={after}")).send().await;
    let answer = answer.and_then(reqwest::Response::error_for_status);
    let answer = answer.map_err(|error| failed(crate::proxy::reason(&error)))?;
    let text = answer.text().await.unwrap_or_default();
    serde_json::from_str(&text).map_err(|_| failed("what answers there is no proxy of ours".to_owned()))
}

fn head() -> String {
    format!(
        "{:<8}  {:<30}  {:<17}  {:>9}  {:>9}  {:>8}  {:>5}  {:>6}  {:>7}  {:>8}",
        "time", "session", "what", "came", "sent", "left out", "epoch", "cached", "out", "took"
    )
}

/// One request in a line.
fn row(seen: &Seen) -> String {
    let time = out::time(Stamp(seen.at));
    let time = time.split(' ').nth(1).unwrap_or("?");
    let session = out::shorten(seen.session.as_deref().unwrap_or("–"), 30);
    let used = |of: &dyn Fn(&crate::proxy::Used) -> String| seen.used.as_ref().map_or_else(|| "–".to_owned(), of);
    let cached = used(&|used| format!("{} %", (used.cached * 100).checked_div(used.input).unwrap_or(0)));
    let mut line = format!(
        "{time:<8}  {session:<30}  {:<17}  {:>9}  {:>9}  {:>8}  {:>5}  {cached:>6}  {:>7}  {:>8}",
        out::shorten(&seen.class, 17),
        thousands(seen.tokens_in),
        thousands(seen.tokens_sent),
        thousands(seen.left_out as u64),
        seen.epoch,
        used(&|used| thousands(used.output)),
        took(seen.took_ms),
    );
    if !seen.is_whole {
        line.push_str(&format!("  {BAD}broken off{BAD:#}"));
    }
    line
}

fn took(ms: u64) -> String {
    if ms < 10_000 { format!("{ms} ms") } else { format!("{} s", ms / 1_000) }
}

/// All that was seen.
#[derive(Default)]
struct Sum {
    requests: usize,
    last: u64,
    tokens_in: u64,
    tokens_sent: u64,
    input: u64,
    cached: u64,
    output: u64,
}

impl Sum {
    fn add(&mut self, seen: &Seen) {
        self.requests += 1;
        self.last = seen.number;
        self.tokens_in += seen.tokens_in;
        self.tokens_sent += seen.tokens_sent;
        if let Some(used) = seen.used {
            self.input += used.input;
            self.cached += used.cached;
            self.output += used.output;
        }
    }

    fn told(&self) -> String {
        let cached = (self.cached * 100).checked_div(self.input).unwrap_or(0);
        format!(
            "{}: {} tokens came, {} were sent; by the provider {} in, {cached} % of them cached, {} out",
            out::count(self.requests as u64, "request"),
            thousands(self.tokens_in),
            thousands(self.tokens_sent),
            thousands(self.input),
            thousands(self.output)
        )
    }
}
