//! `neap receipts`: what each summary kept of what it stands for.

use std::process::ExitCode;

use neap_core::account::Account;
use neap_core::receipt::{ProbeKind, Receipt, Tally};

use crate::app;
use crate::cli::ReceiptsArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

/// Values of a receipt that are shown.
const VALUES_SHOWN: usize = 3;

pub(crate) async fn run(data: &DataDir, args: &ReceiptsArgs, json: bool) -> Result<ExitCode, Failure> {
    let id = app::session_id(&args.session)?;
    let accounts = app::reader(data)?.receipts(&id, args.limit).await?;
    if json {
        out::json_line(&accounts)?;
    } else {
        out::piece(render(&accounts));
    }
    Ok(ExitCode::SUCCESS)
}

/// The list for people: a line for each summary, and under it what only the original has.
fn render(accounts: &[Account]) -> String {
    if accounts.is_empty() {
        return format!(
            "{DIM}No summaries yet: one is made when an effort concludes, or when a log outgrows its room.{DIM:#}\n"
        );
    }
    let row = |account: &Account| {
        let receipt = account.receipt.as_ref();
        let total = receipt.map(Receipt::total);
        vec![
            format!("{BOLD}{}{BOLD:#}", account.of),
            account.kind.as_str().to_owned(),
            account.turn.to_string(),
            format!("{} → {}", thousands(account.source_tokens.0), thousands(account.summary_tokens.0)),
            total.map_or_else(|| "–".to_owned(), share),
            receipt.map_or_else(String::new, by_kind),
            receipt.map_or_else(String::new, |receipt| match receipt.repaired.len() {
                0 => String::new(),
                n => out::count(n as u64, "value"),
            }),
        ]
    };
    let head = ["of", "what", "turn", "tokens", "kept", "kept by kind", "mended"];
    let table = out::table(&head, &accounts.iter().map(row).collect::<Vec<_>>());
    let mut lines = table.lines();
    let mut text = format!("{}\n", lines.next().unwrap_or_default());
    for (line, account) in lines.zip(accounts) {
        text.push_str(line);
        text.push('\n');
        for note in account.receipt.as_ref().map(notes).unwrap_or_default() {
            text.push_str(&format!("  {DIM}{note}{DIM:#}\n"));
        }
    }
    text
}

/// A receipt in one line.
pub(crate) fn in_short(receipt: &Receipt) -> String {
    let kinds = by_kind(receipt);
    let kinds = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
    format!("kept {}{kinds}", share(receipt.total()))
}

/// What only the original has, what is lost, what was mended: a few of each.
pub(crate) fn notes(receipt: &Receipt) -> Vec<String> {
    let mut out = Vec::new();
    let total = receipt.total();
    let values = |probes: &[neap_core::receipt::Probe]| {
        let shown: Vec<String> = probes.iter().take(VALUES_SHOWN).map(|probe| value(&probe.value)).collect();
        shown.join(", ")
    };
    if let (Some(handle), true) = (&receipt.handle, total.recoverable > 0) {
        out.push(format!(
            "by {} only: {}{}",
            out::clean(handle),
            values(&receipt.recoverable),
            more(total.recoverable)
        ));
    }
    if total.missing > 0 {
        out.push(format!("missing: {}{}", values(&receipt.missing), more(total.missing)));
    }
    for change in receipt.repaired.iter().take(VALUES_SHOWN) {
        out.push(format!("mended: {}", value(&change.to_string())));
    }
    for change in receipt.changed.iter().take(VALUES_SHOWN) {
        out.push(format!("changed: {}", value(&change.to_string())));
    }
    out
}

fn more(count: u32) -> String {
    match (count as usize).saturating_sub(VALUES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// Stored text on one line.
fn value(text: &str) -> String {
    out::clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn share(tally: Tally) -> String {
    let permille = tally.retained_permille();
    format!("{}.{} % of {}", permille / 10, permille % 10, tally.found)
}

/// The share retained of each kind that was found.
fn by_kind(receipt: &Receipt) -> String {
    let found = ProbeKind::ALL.into_iter().map(|kind| (kind, receipt.of(kind))).filter(|(_, t)| t.found > 0);
    found.map(|(kind, t)| format!("{} {}/{}", kind.as_str(), t.retained, t.found)).collect::<Vec<_>>().join(", ")
}
