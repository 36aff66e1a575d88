//! Whatever a summariser does: a good summary of the right length, or none.

use super::*;
use crate::receipt::ProbeKind;
use crate::testing::WordCounter;

const PORT: &str = "The port is 8080, because Ana said so last week. We do not use TLS here, said Bo.";

fn wish(said: Vec<Message>, tokens_max: u64, by: SummaryBy) -> Wish {
    Wish { said, about: "ports-7".into(), handle: Some("ports-7".into()), tokens_max: Tokens(tokens_max), by }
}

/// Runs a summary to its end; what was asked for is told.
fn run(
    wish: Wish,
    policy: &Policy,
    mut answer: impl FnMut(&SummaryRequest) -> Result<String, String>,
) -> (Result<Made, String>, Vec<SummaryRequest>) {
    let mut asked = Vec::new();
    let (mut summing, mut progress) = Summing::of(&WordCounter, policy, wish);
    loop {
        match progress {
            Progress::Ready(made) => return (made, asked),
            Progress::Ask(Step::Summarize(request)) => {
                let input = Input::Summarized(answer(&request));
                asked.push(request);
                assert!(asked.len() < 1_000, "it never ends");
                progress = summing.step(&WordCounter, policy, input);
            }
            Progress::Ask(step) => panic!("asked for {step:?}"),
        }
    }
}

fn of_port(
    answer: impl FnMut(&SummaryRequest) -> Result<String, String>,
) -> (Result<Made, String>, Vec<SummaryBy>) {
    let wish = wish(vec![Message::user(PORT)], 12, SummaryBy::Configured);
    let (made, asked) = run(wish, &Policy::default(), answer);
    (made, asked.into_iter().map(|request| request.by).collect())
}

/// A built-in summariser for tests: the first sentence.
fn first(request: &SummaryRequest) -> Result<String, String> {
    let text = &request.messages[0].content;
    Ok(text.split_inclusive(". ").next().unwrap_or_default().to_owned())
}

#[test]
fn a_good_summary_is_taken_with_its_receipt() {
    let (made, asked) = of_port(|_| Ok("Ana: port 8080.".into()));
    let made = made.expect("a summary");
    assert_eq!((made.text.as_str(), made.tokens), ("Ana: port 8080.", Tokens(5)));
    assert_eq!(made.receipt.of(ProbeKind::Number).retained, 1);
    assert_eq!(made.receipt.of(ProbeKind::Negation).recoverable, 1);
    assert_eq!(made.receipt.handle.as_deref(), Some("ports-7"));
    assert_eq!(asked, [SummaryBy::Configured]);
}

/// I12: an error, nothing, or what was never said is not a summary; the built-in one is asked instead.
#[test]
fn whoever_is_of_no_use_is_replaced_by_the_built_in() {
    let faults: [fn() -> Result<String, String>; 4] = [
        || Err("down".into()),
        || Ok(" \n".into()),
        || Ok("It took 99 hours.".into()),
        || Ok("We do use TLS here, said Bo.".into()),
    ];
    for fault in faults {
        let (made, asked) = of_port(|request| match request.by {
            SummaryBy::Configured => fault(),
            SummaryBy::BuiltIn => first(request),
        });
        assert_eq!(made.expect("a summary").text, "The port is 8080, because Ana said so last week.");
        assert_eq!(asked, [SummaryBy::Configured, SummaryBy::BuiltIn]);
    }
}

#[test]
fn where_nobody_is_of_use_there_is_no_summary_and_the_first_reason_is_told() {
    let (made, asked) = of_port(|request| match request.by {
        SummaryBy::Configured => Err("down".into()),
        SummaryBy::BuiltIn => Ok(String::new()),
    });
    assert_eq!((made, asked.len()), (Err("down".to_owned()), 2));
    let (made, asked) = run(wish(Vec::new(), 9, SummaryBy::BuiltIn), &Policy::default(), first);
    assert_eq!((made, asked.len()), (Err("there is nothing to summarize".to_owned()), 0));
}

#[test]
fn an_over_long_one_is_asked_for_again_for_less_and_cut_at_last() {
    let wish = wish(vec![Message::user(PORT)], 12, SummaryBy::Configured);
    let (made, asked) =
        run(wish, &Policy::default(), |_| Ok(format!("The port is 8080. {}", "Ana said so. ".repeat(9))));
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
    let wish = wish(vec![Message::user("short words")], 500, SummaryBy::BuiltIn);
    let (made, asked) = run(wish, &Policy::default(), |_| Ok("short words and many more of them".into()));
    assert_eq!(asked[0].tokens_max, Tokens(2));
    assert_eq!(made.expect("a summary").text, "short words");
}

/// What is longer than a summariser is given is summarised in parts, and these together.
#[test]
fn a_long_text_is_summarised_in_parts() {
    let policy = Policy { summary_input_tokens_max: 1_000, ..Policy::default() };
    let said: Vec<Message> =
        (0..900).map(|n| Message::user(format!("Step {n} was done. Then came more of it."))).collect();
    let (made, asked) = run(wish(said.clone(), 100, SummaryBy::Configured), &policy, |request| {
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
    let (made, asked) = run(wish(vec![Message::user(line)], 20, SummaryBy::BuiltIn), &policy, take);
    assert!(made.expect("a summary").text.starts_with("all of it"));
    assert!(asked.len() > 27);
}
