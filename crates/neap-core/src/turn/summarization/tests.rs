//! Whatever a summariser returns, the result is a valid summary of the right length, or none.

use super::*;
use crate::base::testing::WordCounter;
use crate::text::receipt::ProbeKind;

const PORT: &str = "The port is 8080, because Ana said so last week. We do not use TLS here, said Bo.";

fn job(messages: Vec<Message>, tokens_max: u64, summarizer: SummarizerKind) -> SummaryJob {
    SummaryJob {
        messages,
        originals: Vec::new(),
        topic: "ports-7".into(),
        handle: Some("ports-7".into()),
        tokens_max: Tokens(tokens_max),
        summarizer,
    }
}

/// Runs a summary to its end; also returns the requests made.
fn run(
    job: SummaryJob,
    policy: &Policy,
    mut answer: impl FnMut(&SummaryRequest) -> Result<String, String>,
) -> (Result<CheckedSummary, String>, Vec<SummaryRequest>) {
    let mut asked = Vec::new();
    let (mut summarization, mut progress) = Summarization::start(&WordCounter, policy, job);
    loop {
        match progress {
            SummaryProgress::Ready(made) => return (made, asked),
            SummaryProgress::Ask(Step::Summarize(request)) => {
                let input = Input::Summarized(answer(&request));
                asked.push(request);
                assert!(asked.len() < 1_000, "it never ends");
                progress = summarization.step(&WordCounter, policy, input);
            }
            SummaryProgress::Ask(step) => panic!("asked for {step:?}"),
        }
    }
}

fn of_port(
    answer: impl FnMut(&SummaryRequest) -> Result<String, String>,
) -> (Result<CheckedSummary, String>, Vec<SummarizerKind>) {
    let job = job(vec![Message::user(PORT)], 12, SummarizerKind::Configured);
    let (made, asked) = run(job, &Policy::default(), answer);
    (made, asked.into_iter().map(|request| request.summarizer).collect())
}

/// Stands in for the built-in summariser: returns the first sentence.
fn first(request: &SummaryRequest) -> Result<String, String> {
    let text = &request.messages[0].content;
    Ok(text.split_inclusive(". ").next().unwrap_or_default().to_owned())
}

/// A summary of summaries has lost what they had lost.
#[test]
fn a_merged_summary_is_held_against_the_originals() {
    let original = Message::user("Port 8080, host b7, 30 s, 512 MB: that was the set-up of the old server.");
    let child = Message::assistant("The old server had port 8080.");
    let job = SummaryJob { originals: vec![original], ..job(vec![child], 12, SummarizerKind::Configured) };
    let (made, _) = run(job, &Policy::default(), |_| Ok("It had port 8080.".into()));
    let numbers = made.expect("a summary").receipt.tally(ProbeKind::Number);
    assert_eq!((numbers.found, numbers.retained), (3, 1));
}

#[test]
fn a_good_summary_is_taken_with_its_receipt() {
    let (made, asked) = of_port(|_| Ok("Ana: port 8080.".into()));
    let made = made.expect("a summary");
    assert_eq!((made.text.as_str(), made.tokens), ("Ana: port 8080.", Tokens(5)));
    assert_eq!(made.receipt.tally(ProbeKind::Number).retained, 1);
    assert_eq!(made.receipt.tally(ProbeKind::Negation).recoverable, 1);
    assert_eq!(made.receipt.handle.as_deref(), Some("ports-7"));
    assert_eq!(asked, [SummarizerKind::Configured]);
}

/// I12: an error, an empty text or an unsupported claim is not a summary; the built-in summariser is tried
/// instead.
#[test]
fn whoever_is_of_no_use_is_replaced_by_the_built_in() {
    let faults: [fn() -> Result<String, String>; 4] = [
        || Err("down".into()),
        || Ok(" \n".into()),
        || Ok("It took 99 hours.".into()),
        || Ok("We do use TLS here, said Bo.".into()),
    ];
    for fault in faults {
        let (made, asked) = of_port(|request| match request.summarizer {
            SummarizerKind::Configured => fault(),
            SummarizerKind::BuiltIn => first(request),
        });
        assert_eq!(made.expect("a summary").text, "The port is 8080, because Ana said so last week.");
        assert_eq!(asked, [SummarizerKind::Configured, SummarizerKind::BuiltIn]);
    }
}

#[test]
fn where_nobody_is_of_use_there_is_no_summary_and_the_first_reason_is_told() {
    let (made, asked) = of_port(|request| match request.summarizer {
        SummarizerKind::Configured => Err("down".into()),
        SummarizerKind::BuiltIn => Ok(String::new()),
    });
    assert_eq!((made, asked.len()), (Err("down".to_owned()), 2));
    let (made, asked) = run(job(Vec::new(), 9, SummarizerKind::BuiltIn), &Policy::default(), first);
    assert_eq!((made, asked.len()), (Err("there is nothing to summarize".to_owned()), 0));
}

#[test]
fn an_over_long_one_is_asked_for_again_for_less_and_cut_at_last() {
    let job = job(vec![Message::user(PORT)], 12, SummarizerKind::Configured);
    let (made, asked) =
        run(job, &Policy::default(), |_| Ok(format!("The port is 8080. {}", "Ana said so. ".repeat(9))));
    let sizes: Vec<u64> = asked.iter().map(|request| request.tokens_max.0).collect();
    assert_eq!(sizes, [12, 9, 6]);
    assert_eq!(made.expect("a summary").text, "The port is 8080. Ana said so.");
}

#[test]
fn a_changed_value_is_put_back_and_told() {
    let (made, _) = of_port(|_| Ok("The port is 8081, says ports-7.".into()));
    let made = made.expect("a summary");
    assert_eq!(made.text, "The port is 8080, says ports-7.");
    assert_eq!((made.receipt.changed.len(), made.receipt.repaired.len()), (0, 1));
    assert_eq!(made.receipt.repaired[0].to, "8081");
}

#[test]
fn a_summary_is_never_longer_than_what_was_said() {
    let job = job(vec![Message::user("short words")], 500, SummarizerKind::BuiltIn);
    let (made, asked) = run(job, &Policy::default(), |_| Ok("short words and many more of them".into()));
    assert_eq!(asked[0].tokens_max, Tokens(2));
    assert_eq!(made.expect("a summary").text, "short words");
}

/// Text longer than a summariser's input is summarised in parts, then as a whole.
#[test]
fn a_long_text_is_summarised_in_parts() {
    let policy = Policy { summary_input_tokens_max: 1_000, ..Policy::default() };
    let messages: Vec<Message> =
        (0..900).map(|n| Message::user(format!("Step {n} was done. Then came more of it."))).collect();
    let (made, asked) = run(job(messages.clone(), 100, SummarizerKind::Configured), &policy, |request| {
        let tokens: Tokens = request.messages.iter().map(|m| message_tokens(&WordCounter, m)).sum();
        assert!(tokens <= Tokens(1_000));
        first(request)
    });
    assert!(asked.len() > 10, "{}", asked.len());
    assert_eq!(made.expect("a summary").text, "Step 0 was done.");
    let together = asked.last().expect("asked");
    assert!(
        together.messages.iter().any(|m| m.content.starts_with("Step 8")),
        "the end is among them: {together:?}"
    );
}

#[test]
fn one_line_without_end_is_summarised_in_parts() {
    let policy = Policy { summary_input_tokens_max: 1_000, ..Policy::default() };
    let line = "all of it on one line with no end ".repeat(3_000);
    let take = |request: &SummaryRequest| Ok(request.messages[0].content.chars().take(40).collect());
    let (made, asked) = run(job(vec![Message::user(line)], 20, SummarizerKind::BuiltIn), &policy, take);
    assert!(made.expect("a summary").text.starts_with("all of it"));
    assert!(asked.len() > 27);
}
