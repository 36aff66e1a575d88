//! `neap session receipts`: shows what each summary retained of its source.

use std::process::ExitCode;

use neap_core::session::summary_account::SummaryAccount;
use neap_core::text::receipt::{ProbeKind, Receipt, Tally};

use crate::app;
use crate::cli::ReceiptsArgs;
use crate::env::DataDir;
use crate::out::{self, BOLD, DIM, Failure, thousands};

const VALUES_SHOWN: usize = 3;

pub(crate) async fn run(data: &DataDir, args: &ReceiptsArgs, json: bool) -> Result<ExitCode, Failure> {
    let engine = app::read_engine(data)?;
    let id = app::named_or_latest(&engine, args.session.as_deref()).await?;
    let accounts = engine.receipts(&id, args.limit).await?;
    out::print_answer(json, &accounts, || render(&accounts))
}

fn render(accounts: &[SummaryAccount]) -> String {
    if accounts.is_empty() {
        return format!(
            "{DIM}No summaries yet: Neap writes one when an effort concludes, or when a log outgrows its \
             share.{DIM:#}\n"
        );
    }
    let row = |account: &SummaryAccount| {
        let receipt = account.receipt.as_ref();
        let total = receipt.map(Receipt::total);
        vec![
            format!("{BOLD}{}{BOLD:#}", account.of),
            account.kind.as_str().to_owned(),
            account.turn.to_string(),
            format!("{} → {}", thousands(account.source_tokens.0), thousands(account.summary_tokens.0)),
            total.map_or_else(|| "–".to_owned(), retained_share),
            receipt.map_or_else(String::new, kinds_text),
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
        for note in account.receipt.as_ref().map(detail_lines).unwrap_or_default() {
            text.push_str(&format!("  {DIM}{note}{DIM:#}\n"));
        }
    }
    text
}

pub(crate) fn summary_line(receipt: &Receipt) -> String {
    let kinds = kinds_text(receipt);
    let kinds = if kinds.is_empty() { kinds } else { format!(" ({kinds})") };
    format!("kept {}{kinds}", retained_share(receipt.total()))
}

/// A few values each: recoverable from the original only, missing, repaired.
pub(crate) fn detail_lines(receipt: &Receipt) -> Vec<String> {
    let mut lines = Vec::new();
    let total = receipt.total();
    let values = |probes: &[neap_core::text::receipt::Probe]| {
        let shown: Vec<String> =
            probes.iter().take(VALUES_SHOWN).map(|probe| out::one_line(&probe.value)).collect();
        shown.join(", ")
    };
    if let (Some(handle), true) = (&receipt.handle, total.recoverable > 0) {
        lines.push(format!(
            "by {} only: {}{}",
            out::escape_control(handle),
            values(&receipt.recoverable),
            more_text(total.recoverable)
        ));
    }
    if total.missing > 0 {
        lines.push(format!("missing: {}{}", values(&receipt.missing), more_text(total.missing)));
    }
    for change in receipt.repaired.iter().take(VALUES_SHOWN) {
        lines.push(format!("mended: {}", out::one_line(&change.to_string())));
    }
    for change in receipt.changed.iter().take(VALUES_SHOWN) {
        lines.push(format!("changed: {}", out::one_line(&change.to_string())));
    }
    lines
}

fn more_text(count: u32) -> String {
    match (count as usize).saturating_sub(VALUES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

fn retained_share(tally: Tally) -> String {
    let permille = tally.retained_permille();
    format!("{}.{} % of {}", permille / 10, permille % 10, tally.found)
}

fn kinds_text(receipt: &Receipt) -> String {
    let found = ProbeKind::ALL.into_iter().map(|kind| (kind, receipt.tally(kind))).filter(|(_, t)| t.found > 0);
    found.map(|(kind, t)| format!("{} {}/{}", kind.as_str(), t.retained, t.found)).collect::<Vec<_>>().join(", ")
}
