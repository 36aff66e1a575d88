//! Sentences that Neap and its built-in model say about themselves. They are no content: no summary keeps them, no receipt
//! looks for them, and no answer quotes them.

/// How these sentences begin.
const STARTS: &[&str] = &[
    "Noted under ",
    "This is the built-in offline model",
    "The built-in offline model",
    "From the log of ",
    "From the summary of ",
    "From the record of ",
    "From the recent chat:",
    "From memory:",
    "Nothing about that is stored",
    "Nothing about that is found here",
    "Nothing in the log of ",
    "Nothing is active.",
    "You are welcome.",
    "That did not work: ",
    "There is no open effort",
    "The nearest that is stored is ",
    "You said:",
    "Brief effort: ",
    "Open in the background: ",
    "Concluded and shown: ",
    "its summary stands for it",
];

/// How sentences begin that end with the id of an effort.
const ID_STARTS: &[&str] = &["Working on ", "Going on with ", "Active: ", "Put away ", "Concluded "];

/// Whether a sentence of the assistant is one of them.
pub fn is_own_sentence(text: &str) -> bool {
    let names_effort = |start: &&str| {
        let id = text.strip_prefix(*start).and_then(|rest| rest.split([';', '(']).next());
        id.is_some_and(|id| id.split_whitespace().count() == 1)
    };
    text == "Noted." || STARTS.iter().any(|start| text.starts_with(start)) || ID_STARTS.iter().any(names_effort)
}

#[cfg(test)]
mod tests {
    use super::is_own_sentence;

    #[test]
    fn what_neap_says_of_itself_is_known() {
        for text in [
            "Noted.",
            "Noted under login-failing.",
            "Concluded login-failing; its summary stands for it now.",
            "Going on with login-failing.",
        ] {
            assert!(is_own_sentence(text), "{text}");
        }
        for text in ["The timeout is 30 seconds.", "Concluded that 30 s is right.", "From the server's log: 30 s."]
        {
            assert!(!is_own_sentence(text), "{text}");
        }
    }
}
