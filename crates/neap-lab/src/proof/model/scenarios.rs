//! The scenarios: what is prepared, what is said, and what must happen.

use super::scenario_run::{BILLING, LOGIN, Observed};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Setup {
    Nothing,
    /// An effort about a failing login is open.
    Working,
    /// That effort is concluded, and its summary is shown.
    Concluded,
    /// That effort is concluded and expanded.
    Expanded,
    /// An effort about a database was concluded long ago and is evicted.
    Evicted,
    /// The login effort is concluded, with a summary by this model.
    SummarizedByModel,
}

pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) expected: &'static str,
    pub(super) setup: Setup,
    pub(super) messages: &'static [&'static str],
    pub(super) passes: fn(&Observed) -> bool,
}

/// Must be in a summary of the login effort.
const FACTS: [&str; 4] = ["refresh", "invalid_grant", "auth-refresh", "4.2.1"];

pub(super) const SCENARIOS: [Scenario; 18] = [
    Scenario {
        name: "problem",
        expected: "opens one effort",
        setup: Setup::Nothing,
        messages: &["The checkout page answers with error 500 since this morning. Help me fix it."],
        passes: opens_one,
    },
    Scenario {
        name: "implied complaint",
        expected: "opens one effort",
        setup: Setup::Nothing,
        messages: &["Our nightly backup takes nine hours now. It used to be done in two."],
        passes: opens_one,
    },
    Scenario {
        name: "how do I",
        expected: "opens one effort",
        setup: Setup::Nothing,
        messages: &["How do I set up replication for our Postgres database?"],
        passes: opens_one,
    },
    Scenario {
        name: "greeting",
        expected: "opens none",
        setup: Setup::Nothing,
        messages: &["Hi there!"],
        passes: changes_nothing,
    },
    Scenario {
        name: "one-shot question",
        expected: "opens none",
        setup: Setup::Nothing,
        messages: &["What is the capital of Australia?"],
        passes: changes_nothing,
    },
    Scenario {
        name: "sub-topic",
        expected: "stays in the effort",
        setup: Setup::Working,
        messages: &["And the cookie of that login: should it be SameSite=Lax or Strict?"],
        passes: stays_active,
    },
    Scenario {
        name: "answer to a question",
        expected: "stays in the effort",
        setup: Setup::Working,
        messages: &["It is Django 5 behind nginx.", "Yes, on every request."],
        passes: stays_active,
    },
    Scenario {
        name: "explicit sign",
        expected: "closes the effort",
        setup: Setup::Working,
        messages: &["Login works again, that is resolved. All done, thanks!"],
        passes: |observed| observed.concluded.iter().any(|id| id == LOGIN) && observed.opened.is_empty(),
    },
    Scenario {
        name: "later",
        expected: "stays open",
        setup: Setup::Working,
        messages: &["I have to go. Let us look at the rest later."],
        passes: closes_nothing,
    },
    Scenario {
        name: "on hold",
        expected: "stays open",
        setup: Setup::Working,
        messages: &["Put this on hold for now."],
        passes: closes_nothing,
    },
    Scenario {
        name: "something else instead",
        expected: "stays open",
        setup: Setup::Working,
        messages: &["Let's do the invoice export instead: it writes wrong dates."],
        passes: closes_nothing,
    },
    Scenario {
        name: "detail",
        expected: "expands the effort",
        setup: Setup::Concluded,
        messages: &[
            "In the login problem: how many milliseconds lay between the two requests, and what was the jti?",
        ],
        passes: |observed| observed.expanded.iter().any(|id| id == LOGIN),
    },
    Scenario {
        name: "moving on",
        expected: "collapses it or lets it decay",
        setup: Setup::Expanded,
        messages: &[
            "Thanks, that answers it. What rhymes with orange?",
            "Tell me a joke about cats.",
            "And one about penguins.",
        ],
        passes: |observed| observed.expanded_now.is_empty(),
    },
    Scenario {
        name: "evicted topic",
        expected: "searches for it",
        setup: Setup::Evicted,
        messages: &["What did we settle about moving the billing database to Postgres?"],
        passes: searches,
    },
    Scenario {
        name: "detail of an evicted topic",
        expected: "searches, then expands it",
        setup: Setup::Evicted,
        messages: &["In the billing migration: how many rows had zero dates, and in which column?"],
        passes: |observed| searches(observed) && observed.expanded.iter().any(|id| id == BILLING),
    },
    Scenario {
        name: "reopening",
        expected: "reopens it by its name",
        setup: Setup::Concluded,
        messages: &["The 401 errors are back. Reopen login-401 and let us go on with it."],
        passes: |observed| observed.reopened.iter().any(|id| id == LOGIN) && observed.opened.is_empty(),
    },
    Scenario {
        name: "a closed topic, mentioned",
        expected: "stays closed",
        setup: Setup::Concluded,
        messages: &["Glad that login-401 is behind us."],
        passes: changes_nothing,
    },
    Scenario {
        name: "summary",
        expected: "keeps the facts",
        setup: Setup::SummarizedByModel,
        messages: &[],
        passes: |observed| FACTS.iter().all(|fact| observed.summary.contains(fact)),
    },
];

fn opens_one(observed: &Observed) -> bool {
    observed.opened.len() == 1 && observed.concluded.is_empty()
}

fn changes_nothing(observed: &Observed) -> bool {
    observed.opened.is_empty() && observed.concluded.is_empty() && observed.reopened.is_empty()
}

fn stays_active(observed: &Observed) -> bool {
    changes_nothing(observed) && observed.active.as_deref() == Some(LOGIN)
}

fn closes_nothing(observed: &Observed) -> bool {
    observed.concluded.is_empty()
}

fn searches(observed: &Observed) -> bool {
    observed.calls.iter().any(|call| call == "search_efforts")
}
