//! The rows: what is given, what is said, and what must have happened then.

use super::scene::{BILLING, LOGIN, Seen};

/// What there is before the model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// A new conversation.
    Nothing,
    /// An effort is open: a login that fails.
    Working,
    /// That effort is concluded, and its summary is shown.
    Concluded,
    /// Its log is in the context again.
    Expanded,
    /// Another one, about a database, was concluded long ago; its summary has left the context.
    Evicted,
    /// The first one is concluded, and this model made its summary.
    SummarizedByModel,
}

/// One row.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) expected: &'static str,
    pub(super) given: Given,
    pub(super) says: &'static [&'static str],
    pub(super) holds: fn(&Seen) -> bool,
}

/// What a summary of the login effort must not lose.
const FACTS: [&str; 4] = ["refresh", "invalid_grant", "auth-refresh", "4.2.1"];

pub(super) const ROWS: [Row; 18] = [
    Row {
        name: "problem",
        expected: "opens one effort",
        given: Given::Nothing,
        says: &["The checkout page answers with error 500 since this morning. Help me fix it."],
        holds: opens_one,
    },
    Row {
        name: "implied complaint",
        expected: "opens one effort",
        given: Given::Nothing,
        says: &["Our nightly backup takes nine hours now. It used to be done in two."],
        holds: opens_one,
    },
    Row {
        name: "how do I",
        expected: "opens one effort",
        given: Given::Nothing,
        says: &["How do I set up replication for our Postgres database?"],
        holds: opens_one,
    },
    Row {
        name: "greeting",
        expected: "opens none",
        given: Given::Nothing,
        says: &["Hi there!"],
        holds: changes_nothing,
    },
    Row {
        name: "one-shot question",
        expected: "opens none",
        given: Given::Nothing,
        says: &["What is the capital of Australia?"],
        holds: changes_nothing,
    },
    Row {
        name: "sub-topic",
        expected: "stays in the effort",
        given: Given::Working,
        says: &["And the cookie of that login: should it be SameSite=Lax or Strict?"],
        holds: stays,
    },
    Row {
        name: "answer to a question",
        expected: "stays in the effort",
        given: Given::Working,
        says: &["It is Django 5 behind nginx.", "Yes, on every request."],
        holds: stays,
    },
    Row {
        name: "explicit sign",
        expected: "closes the effort",
        given: Given::Working,
        says: &["Login works again, that is resolved. All done, thanks!"],
        holds: |seen| seen.concluded.iter().any(|id| id == LOGIN) && seen.opened.is_empty(),
    },
    Row {
        name: "later",
        expected: "stays open",
        given: Given::Working,
        says: &["I have to go. Let us look at the rest later."],
        holds: closes_nothing,
    },
    Row {
        name: "on hold",
        expected: "stays open",
        given: Given::Working,
        says: &["Put this on hold for now."],
        holds: closes_nothing,
    },
    Row {
        name: "something else instead",
        expected: "stays open",
        given: Given::Working,
        says: &["Let's do the invoice export instead: it writes wrong dates."],
        holds: closes_nothing,
    },
    Row {
        name: "detail",
        expected: "expands the effort",
        given: Given::Concluded,
        says: &["In the login problem: how many milliseconds lay between the two requests, and what was the jti?"],
        holds: |seen| seen.expanded.iter().any(|id| id == LOGIN),
    },
    Row {
        name: "moving on",
        expected: "collapses it or lets it decay",
        given: Given::Expanded,
        says: &[
            "Thanks, that answers it. What rhymes with orange?",
            "Tell me a joke about cats.",
            "And one about penguins.",
        ],
        holds: |seen| seen.expanded_now.is_empty(),
    },
    Row {
        name: "evicted topic",
        expected: "searches for it",
        given: Given::Evicted,
        says: &["What did we settle about moving the billing database to Postgres?"],
        holds: searches,
    },
    Row {
        name: "detail of an evicted topic",
        expected: "searches, then expands it",
        given: Given::Evicted,
        says: &["In the billing migration: how many rows had zero dates, and in which column?"],
        holds: |seen| searches(seen) && seen.expanded.iter().any(|id| id == BILLING),
    },
    Row {
        name: "reopening",
        expected: "reopens it by its name",
        given: Given::Concluded,
        says: &["The 401 errors are back. Reopen login-401 and let us go on with it."],
        holds: |seen| seen.reopened.iter().any(|id| id == LOGIN) && seen.opened.is_empty(),
    },
    Row {
        name: "a closed topic, mentioned",
        expected: "stays closed",
        given: Given::Concluded,
        says: &["Glad that login-401 is behind us."],
        holds: changes_nothing,
    },
    Row {
        name: "summary",
        expected: "keeps the facts",
        given: Given::SummarizedByModel,
        says: &[],
        holds: |seen| FACTS.iter().all(|fact| seen.summary.contains(fact)),
    },
];

fn opens_one(seen: &Seen) -> bool {
    seen.opened.len() == 1 && seen.concluded.is_empty()
}

fn changes_nothing(seen: &Seen) -> bool {
    seen.opened.is_empty() && seen.concluded.is_empty() && seen.reopened.is_empty()
}

fn stays(seen: &Seen) -> bool {
    changes_nothing(seen) && seen.active.as_deref() == Some(LOGIN)
}

fn closes_nothing(seen: &Seen) -> bool {
    seen.concluded.is_empty()
}

fn searches(seen: &Seen) -> bool {
    seen.calls.iter().any(|call| call == "search_efforts")
}
