//! The conversation that `neap demo` plays: twenty pieces of work of an agent on a small web shop, and two questions about
//! what was said long before. Invented for this; each turn's tool output is made from its numbers.

use std::fmt::Write as _;

use serde_json::json;

pub(super) const TURNS: usize = 200;
/// The turn that states the fact, and the one that asks for it.
pub(super) const FACT_TURN: usize = 3;
pub(super) const QUESTION_TURN: usize = 196;
/// An earlier question, so that an effort is expanded and decays on the way.
const EARLIER_QUESTION_TURN: usize = 98;
const TURNS_PER_EFFORT: usize = 10;

pub(super) const FACT: &str = "The rounding job must start at 03:40, because the bank's file ends at 03:35.";
const QUESTION: &str = "Before we stop: at which time must the rounding job start, and why?";
const EARLIER_FACT: &str = "Uploads over 24 MB go to the bucket lh-inbox-7.";
const EARLIER_QUESTION: &str = "Which bucket did we choose for large uploads?";

/// Name, file, the trouble, a fact, and how it ends.
const EFFORTS: [[&str; 5]; 20] = [
    [
        "rounding-job",
        "jobs/rounding.rs",
        "The nightly totals are one cent off for 312 orders.",
        FACT,
        "We round once, at the end of the sum.",
    ],
    [
        "upload-size",
        "web/upload.rs",
        "Customers cannot upload photos of more than 8 MB.",
        EARLIER_FACT,
        "Large files now skip the web server.",
    ],
    [
        "login-401",
        "auth/refresh.rs",
        "Users get a 401 an hour after login.",
        "The refresh token lives 3600 seconds.",
        "A lock lets only one tab renew it.",
    ],
    [
        "slow-search",
        "search/query.rs",
        "The product search takes 9 seconds for two letters.",
        "The index has 1.4 million rows.",
        "Two letters now search names only.",
    ],
    [
        "mail-bounces",
        "mail/send.rs",
        "Order mails to one provider bounce.",
        "They want a DMARC record with p=reject.",
        "The record is set, and mails arrive.",
    ],
    [
        "stock-sync",
        "jobs/stock.rs",
        "The stock of 40 articles is negative.",
        "The till sends its sales twice after a restart.",
        "Sales now carry an id that counts once.",
    ],
    [
        "pdf-fonts",
        "pdf/layout.rs",
        "Invoices show squares in place of Polish letters.",
        "The font file lacks the block Latin Extended-A.",
        "We ship the larger font, 410 KB.",
    ],
    [
        "api-limits",
        "api/limits.rs",
        "One partner calls the API 900 times a second.",
        "The contract allows 50 calls a second.",
        "The limit is 50, with a burst of 200.",
    ],
    [
        "ci-time",
        "ci/build.yml",
        "The pipeline takes 38 minutes.",
        "Linking takes 11 of these minutes.",
        "With another linker it takes 17 minutes.",
    ],
    [
        "coupon-stack",
        "cart/coupon.rs",
        "Two coupons can be used on one order.",
        "Marketing allows one coupon per order.",
        "The second coupon is refused with a reason.",
    ],
    [
        "image-cache",
        "web/images.rs",
        "Product images load anew on every page.",
        "The cache header says no-store since March.",
        "Images are cached for 30 days.",
    ],
    [
        "tax-norway",
        "tax/rates.rs",
        "Orders to Norway have no tax.",
        "The rate is 25 percent since the first krone.",
        "Norway has its rate, and old orders are listed.",
    ],
    [
        "queue-lag",
        "jobs/queue.rs",
        "The job queue is two hours behind.",
        "Four workers share one connection.",
        "Each worker has its own connection.",
    ],
    [
        "dark-mode",
        "web/theme.css",
        "The chart cannot be read in dark mode.",
        "The designers want the palette slate-12.",
        "The chart uses slate-12.",
    ],
    [
        "backup-test",
        "ops/backup.sh",
        "Nobody has restored a backup this year.",
        "A restore takes 52 minutes on host b9.",
        "A restore runs on the first of each month.",
    ],
    [
        "returns-page",
        "web/returns.rs",
        "The returns page shows the wrong address.",
        "Returns go to Dock 4 in Gdansk.",
        "The page shows Dock 4.",
    ],
    [
        "gift-cards",
        "cart/gift.rs",
        "Gift cards cannot pay for shipping.",
        "The balance is kept in cents, as a whole number.",
        "Gift cards pay for everything.",
    ],
    [
        "log-volume",
        "ops/logs.toml",
        "Logs grow by 80 GB a day.",
        "One debug line makes 70 percent of it.",
        "The line is gone, 21 GB remain.",
    ],
    [
        "seo-titles",
        "web/title.rs",
        "All category pages have the same title.",
        "Titles may have 60 characters.",
        "Titles are made from the category's name.",
    ],
    [
        "review-spam",
        "web/reviews.rs",
        "Bots write 400 reviews a night.",
        "They never load the style sheet.",
        "Clients without it have to wait a minute.",
    ],
];

/// What the agent does in a turn: its calls, and then its words.
pub(super) struct Step {
    pub(super) user: String,
    pub(super) calls: Vec<(&'static str, String)>,
    pub(super) says: Says,
}

pub(super) enum Says {
    Text(String),
    /// The sentence of the prompt that has these words; the agent can say it only if the prompt has it.
    Sentence(&'static str),
}

/// Turns count from 1.
pub(super) fn step(turn: usize) -> Step {
    match turn {
        EARLIER_QUESTION_TURN => return question(EARLIER_QUESTION, "bucket uploads", "upload-size", "lh-inbox-7"),
        QUESTION_TURN => return question(QUESTION, "rounding job start", "rounding-job", "03:40"),
        _ => {}
    }
    let [name, file, trouble, fact, end] = EFFORTS[(turn - 1) / TURNS_PER_EFFORT % EFFORTS.len()];
    let (user, calls, text) = match (turn - 1) % TURNS_PER_EFFORT {
        0 => (trouble.to_owned(), vec![("open_effort", json!({"name": name}))], listing(file, turn)),
        1 => (format!("Read {file} and tell me what it does."), vec![], source(file, turn)),
        2 => (fact.to_owned(), vec![], format!("I keep that in mind. {}", log(file, turn))),
        3 => ("Run the tests.".to_owned(), vec![], tests(file, turn)),
        4 => ("Show me the log of last night.".to_owned(), vec![], log(file, turn)),
        5 => ("Try the smallest change first.".to_owned(), vec![], source(file, turn)),
        6 => ("Run the tests again.".to_owned(), vec![], tests(file, turn)),
        7 => (end.to_owned(), vec![], format!("Changed in {file}. {}", listing(file, turn))),
        8 => ("Is anything else affected?".to_owned(), vec![], log(file, turn)),
        _ => {
            let words = format!("{end} All tests pass.");
            ("That fixed it, we are done.".to_owned(), vec![("close_effort", json!({}))], words)
        }
    };
    let calls = calls.into_iter().map(|(tool, arguments)| (tool, arguments.to_string())).collect();
    Step { user, calls, says: Says::Text(text) }
}

fn question(user: &str, query: &str, effort: &str, words: &'static str) -> Step {
    let calls = vec![
        ("search_efforts", json!({"query": query}).to_string()),
        ("expand_effort", json!({"id": effort}).to_string()),
    ];
    Step { user: user.to_owned(), calls, says: Says::Sentence(words) }
}

/// The same number for the same turn and line, spread over a range.
fn number(turn: usize, line: usize, below: usize) -> usize {
    (turn * 7_919 + line * 104_729 + turn * line * 31) % below
}

fn listing(file: &str, turn: usize) -> String {
    let mut text = format!("Files next to {file}:\n");
    for line in 0..18 {
        let (bytes, day) = (number(turn, line, 90_000), 1 + number(turn, line, 28));
        let _ = writeln!(text, "{bytes:>7} 2026-09-{day:02} {}_{line}.rs", file.trim_end_matches(".rs"));
    }
    text
}

fn source(file: &str, turn: usize) -> String {
    let mut text = format!("{file}, the part that matters:\n```\n");
    for line in 0..22 {
        let (a, b) = (number(turn, line, 97), number(turn, line + 5, 1_000));
        let _ = writeln!(text, "{:>4}    let part_{a} = self.take({b})?.checked_add(rest[{line}])?;", 40 + line);
    }
    text + "```\nIt reads the rows in order and adds them up."
}

fn tests(file: &str, turn: usize) -> String {
    let mut text = String::from("```\n");
    for line in 0..24 {
        let _ = writeln!(
            text,
            "test {}::case_{:03} ... ok ({} ms)",
            file.replace('/', "::"),
            number(turn, line, 400),
            number(turn, line, 90)
        );
    }
    text + "```\n24 passed, 0 failed."
}

fn log(file: &str, turn: usize) -> String {
    let mut text = format!("From the log of {file}:\n```\n");
    for line in 0..20 {
        let (minute, id) = (number(turn, line, 60), number(turn, line, 100_000));
        let _ = writeln!(
            text,
            "02:{minute:02}:{:02} INFO request {id} answered in {} ms",
            line * 3,
            number(turn, line, 700)
        );
    }
    text + "```\nNothing unusual in it."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fact_is_said_in_its_turn_and_asked_for_at_the_end() {
        assert_eq!(step(FACT_TURN).user, FACT);
        assert_eq!(step(QUESTION_TURN).user, QUESTION);
        assert!(matches!(step(QUESTION_TURN).says, Says::Sentence(words) if FACT.contains(words)));
        assert!((1..=TURNS).all(|turn| !step(turn).user.is_empty()));
    }
}
