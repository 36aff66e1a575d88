//! Pairs of statements of which the second makes the first out of date.

/// Attributes of things: `(attribute, thing, before, after)`.
const ATTRIBUTES: &[(&str, &str, &str, &str)] = &[
    ("timeout", "billing gateway", "30 seconds", "45 seconds"),
    ("owner", "search service", "Mara", "Jonas"),
    ("budget", "kitchen", "18,000 euros", "21,500 euros"),
    ("deadline", "tax report", "3 May", "17 May"),
    ("capacity", "main hall", "900 people", "750 people"),
    ("password policy", "wiki", "12 characters", "16 characters"),
    ("colour", "front door", "green", "dark blue"),
    ("port", "metrics endpoint", "9100", "9464"),
    ("price", "annual plan", "120 euros", "132 euros"),
    ("retention", "audit log", "90 days", "180 days"),
    ("head", "marketing department", "Ines Roth", "Paul Adeyemi"),
    ("default branch", "docs repository", "master", "main"),
];
/// `{a}` attribute, `{t}` thing, `{o}` old value, `{n}` new value.
const BEFORE: &[&str] = &["The {a} of the {t} is {o}", "The {t} {a} is {o}."];
const AFTER: &[&str] = &[
    "The {a} of the {t} is {n}",
    "The {a} of the {t} is now {n}.",
    "The {t} {a} is now {n}",
    "The {t}'s {a} is {n}",
    "We changed the {a} of the {t} to {n}",
    "The {a} of the {t} was changed from {o} to {n}",
    "The {t} {a} has been changed to {n}.",
    "{t} {a}: {n}",
];

/// People and places: `(person, before, after)`.
const HOMES: &[(&str, &str, &str)] = &[
    ("Tim", "Oslo", "Bergen"),
    ("My sister", "Leeds", "York"),
    ("Our landlord", "Ghent", "Antwerp"),
    ("Priya", "Pune", "Berlin"),
    ("The Kims", "Busan", "Seoul"),
];
const HOME_CHANGES: &[(&str, &str)] = &[
    ("{p} lives in {o}", "{p} lives in {n}"),
    ("{p} lives in {o}", "{p} now lives in {n}."),
    ("{p} lives in {o}", "{p} moved to {n}"),
    ("{p} lives in {o}", "{p} has moved from {o} to {n}"),
    ("{p} lives in {o}", "{p} no longer lives in {o}"),
    ("{p} lives in {o}", "{p} doesn't live in {o} anymore"),
    ("{p} lives in {o}", "{p} relocated to {n} last month"),
];

const JOBS: &[(&str, &str, &str)] = &[
    ("Alma", "Siemens", "Bosch"),
    ("My brother", "the harbour", "the railway"),
    ("Jorge", "Vela", "Nordpack"),
    ("Ulla", "the clinic", "the university"),
];
const JOB_CHANGES: &[(&str, &str)] = &[
    ("{p} works at {o}", "{p} works at {n}"),
    ("{p} works at {o}", "{p} works for {n} now"),
    ("{p} works at {o}", "{p} left {o}"),
    ("{p} works at {o}", "{p} quit the job at {o}"),
    ("{p} works at {o}", "{p} no longer works at {o}"),
    ("{p} works at {o}", "{p} switched from {o} to {n}"),
    ("{p} works for {o}", "{p} now works for {n} instead of {o}"),
    ("{p} is employed by {o}", "{p} is employed by {n} since May"),
];

const NAMES: &[(&str, &str, &str)] = &[
    ("The project", "Heron", "Plover"),
    ("The staging database", "wren", "osprey"),
    ("The team", "Falcons", "Badgers"),
    ("The newsletter", "Harbour Notes", "Tide Table"),
];
const NAME_CHANGES: &[(&str, &str)] = &[
    ("{p} is called {o}", "{p} is called {n}"),
    ("{p} is called {o}", "{p} is now called {n}"),
    ("{p} is called {o}", "{p} was renamed to {n}"),
    ("{p} is called {o}", "{p} was renamed from {o} to {n}"),
    ("{p} is called {o}", "We renamed {o} to {n}"),
    ("{p} is called {o}", "{o} is now called {n}"),
    ("{p} is named {o}", "{p} is named {n} from now on"),
];

/// Dates that move: `(event, before, after)`.
const EVENTS: &[(&str, &str, &str)] = &[
    ("The launch", "3 March", "10 March"),
    ("The offsite", "Tuesday", "Thursday"),
    ("The dentist appointment", "9 am", "11:30"),
    ("The board meeting", "12 June", "26 June"),
    ("Choir practice", "Monday", "Wednesday"),
    ("The audit", "April", "May"),
];
const EVENT_CHANGES: &[(&str, &str)] = &[
    ("{p} is on {o}", "{p} is on {n}"),
    ("{p} is on {o}", "{p} is now on {n}"),
    ("{p} is on {o}", "{p} has been moved to {n}"),
    ("{p} is on {o}", "{p} was moved from {o} to {n}"),
    ("{p} is scheduled for {o}", "{p} is scheduled for {n}"),
    ("{p} is scheduled for {o}", "{p} was postponed to {n}"),
    ("{p} takes place on {o}", "{p} takes place on {n} instead"),
    ("{p} is planned for {o}", "We rescheduled {p} to {n}"),
    ("{p} is on {o}", "{p} has been pushed back to {n}"),
];

/// Tools that replace each other.
const TOOLS: &[(&str, &str, &str)] = &[
    ("tickets", "Jira", "Linear"),
    ("analytics", "Postgres", "ClickHouse"),
    ("chat", "Slack", "Zulip"),
    ("builds", "Make", "Bazel"),
    ("payroll", "Belt", "Arlo"),
];
const TOOL_CHANGES: &[(&str, &str)] = &[
    ("We use {o} for {p}", "We switched from {o} to {n}"),
    ("We use {o} for {p}", "We replaced {o} with {n} for {p}"),
    ("We use {o} for {p}", "We no longer use {o} for {p}"),
    ("We use {o} for {p}", "We stopped using {o} for {p}"),
    ("We use {o} for {p}", "We use {n} instead of {o} for {p}"),
    ("We use {o} for {p}", "We don't use {o} for {p} any more"),
    ("We use {o} for {p}", "We migrated {p} from {o} to {n}"),
    ("We use {o} for {p}", "We now use {n} for {p} instead"),
];

/// Reversals and other single changes, in plain talk.
const PLAIN: &[(&str, &str)] = &[
    ("The cache is enabled", "The cache is disabled"),
    ("The cache is enabled", "The cache has been disabled"),
    ("Feature flags are on in production", "Feature flags are off in production"),
    ("The shop is open on Sundays", "The shop is closed on Sundays"),
    ("Dogs are allowed in the flat", "Dogs are not allowed in the flat"),
    ("Dogs are allowed in the flat", "Dogs are no longer allowed in the flat"),
    ("Dogs are allowed in the flat", "Dogs are forbidden in the flat"),
    ("The repository is private", "The repository is public now"),
    ("Code review is optional", "Code review is required"),
    ("I like coriander", "I don't like coriander"),
    ("I like coriander", "I don't like coriander anymore"),
    ("I like coriander", "I dislike coriander"),
    ("I love night trains", "I hate night trains"),
    ("I drink coffee", "I no longer drink coffee"),
    ("I drink coffee", "I stopped drinking coffee"),
    ("I eat meat", "I don't eat meat"),
    ("I eat meat", "I no longer eat meat"),
    ("I smoke", "I quit smoking"),
    ("I prefer tea", "I prefer coffee now"),
    ("I prefer dark mode", "I prefer light mode"),
    ("I prefer tabs", "I prefer spaces"),
    ("I prefer Celsius", "I prefer Fahrenheit"),
    ("I'm vegetarian", "I'm vegan now"),
    ("I'm a vegetarian", "I'm not a vegetarian anymore"),
    ("My favourite colour is green", "My favourite colour is orange"),
    ("My favourite editor is Vim", "My favourite editor is Helix these days"),
    ("my email is tim@old.example", "my email is tim@new.example"),
    ("my phone number is 555 0134", "my new phone number is 555 0199"),
    ("my address is 12 Mill Road", "my address is 7 Parker Street"),
    ("my flight is at 9:40", "my flight is at 11:15 now"),
    ("the meeting is at 3 pm", "the meeting is at 4 pm"),
    ("the meeting is in room Amber", "the meeting is in room Fjord"),
    ("standup is at 9:30", "standup is at 10:00 from Monday on"),
    ("standup is at 9:30", "standup moved to 10:00"),
    ("the train leaves at 8:12", "the train leaves at 8:27"),
    ("the rent is 640 euros", "the rent went up to 690 euros"),
    ("the rent is 640 euros", "the rent was raised to 690 euros"),
    ("tickets cost 25 euros", "tickets cost 28 euros"),
    ("tickets cost 25 euros", "tickets now cost 28 euros"),
    ("the team has 9 people", "the team has 11 people"),
    ("the team has 9 people", "the team has grown to 11 people"),
    ("the cluster has 12 nodes", "the cluster has 16 nodes now"),
    ("we have three cats", "we have four cats"),
    ("we have two cars", "we have one car now"),
    ("Ann is married to Bo", "Ann is divorced"),
    ("Ann is single", "Ann is married to Carl"),
    ("Petra is the team lead", "Jonas is the team lead"),
    ("Petra is the head of sales", "Jonas is the new head of sales"),
    ("The CEO is Ann Lee", "Bo Ek is the new CEO"),
    ("the captain is Marek", "Tilda is the captain now"),
    ("Tilda is the coach of the juniors", "Tilda is no longer the coach of the juniors"),
    ("Rita takes 5 mg of bisoprolol", "Rita takes 10 mg of bisoprolol"),
    ("Paul weighs 82 kg", "Paul weighs 79 kg"),
    ("the office is in Mill Road", "the office moved to Parker Street"),
    ("the office is on the second floor", "the office is on the fourth floor"),
    ("the mail server is hosted in Dublin", "the mail server is hosted in Frankfurt"),
    ("the site is hosted on Vela", "the site is hosted on Belt now"),
    ("the parser is written in Go", "the parser is written in Rust now"),
    ("the parser is written in Go", "the parser was rewritten in Rust"),
    ("the API is versioned by header", "the API is no longer versioned by header"),
    ("backups run at 2 am", "backups run at 4 am"),
    ("backups run every night", "backups no longer run every night"),
    ("logs are kept for 14 days", "logs are kept for 30 days"),
    ("logs are kept for 14 days", "we keep logs for 30 days now"),
    ("sessions expire after 30 minutes", "sessions expire after 2 hours"),
    ("sessions expire after 30 minutes", "sessions now expire after 15 minutes"),
    ("the limit is 100 requests per minute", "the limit is 250 requests per minute"),
    ("the limit is 100 requests per minute", "the limit was raised to 250 requests per minute"),
    ("the limit is 100 requests per minute", "we lowered the limit to 60 requests per minute"),
    ("uploads are limited to 10 MB", "uploads are limited to 25 MB"),
    ("the minimum age is 16", "the minimum age is 18"),
    ("the trial lasts 14 days", "the trial lasts 30 days"),
    ("the trial lasts 14 days", "the trial has been extended to 30 days"),
    ("pull requests need two approvals", "pull requests need one approval"),
    ("pull requests need two approvals", "pull requests now need only one approval"),
    ("the status of ticket 4411 is open", "the status of ticket 4411 is closed"),
    ("ticket 4411 is open", "ticket 4411 is closed"),
    ("ticket 4413 is assigned to Noa", "ticket 4413 is assigned to Ravi"),
    ("ticket 4413 is assigned to Noa", "ticket 4413 was reassigned to Ravi"),
    ("the branch is protected", "the branch is not protected"),
    ("the build is green", "the build is red"),
    ("the build is green", "the build is no longer green"),
    ("the server is up", "the server is down"),
    ("the door code is 4471", "the door code is 9020"),
    ("the door code is 4471", "the door code changed to 9020"),
    ("Grandma's doctor is Dr. Okafor", "Grandma's doctor is Dr. Weiss"),
    ("Grandma's doctor is Dr. Okafor", "Grandma's new doctor is Dr. Weiss"),
    ("our bank is Nordea", "our bank is ING now"),
    ("our supplier for paper is Nordpack", "our new supplier for paper is Inkline"),
    ("we order paper from Nordpack", "we order paper from Inkline now"),
    ("we meet twice a year", "we meet four times a year"),
    ("the club meets on Mondays", "the club meets on Thursdays now"),
    ("the shop closes at 18:00", "the shop closes at 20:00"),
    ("the lake path is closed", "the lake path is open again"),
    ("the lift is broken", "the lift is working again"),
    ("the release is blocked", "the release is not blocked any more"),
    ("Deploys require a ticket", "Deploys no longer require a ticket"),
    ("Set up the review board. It has 5 members.", "Set up the review board. It has 7 members."),
    ("The train was overhauled. The timeout is 30 s.", "The timeout is 45 s."),
    ("The rota starts in week 12. The rota is led by Kim.", "The rota is led by Lars now."),
];

fn fill(template: &str, (p, o, n): (&str, &str, &str)) -> String {
    let text = template.replace("{p}", p).replace("{o}", o).replace("{n}", n);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

pub(super) fn changes() -> Vec<(String, String)> {
    let mut out: Vec<(String, String)> = Vec::new();
    for (a, t, o, n) in ATTRIBUTES {
        let put = |template: &str| fill(&template.replace("{a}", a).replace("{t}", t), ("", o, n));
        for (at, after) in AFTER.iter().enumerate() {
            out.push((put(BEFORE[at % BEFORE.len()]), put(after)));
        }
    }
    for (values, pairs) in [
        (HOMES, HOME_CHANGES),
        (JOBS, JOB_CHANGES),
        (NAMES, NAME_CHANGES),
        (EVENTS, EVENT_CHANGES),
        (TOOLS, TOOL_CHANGES),
    ] {
        for value in values {
            out.extend(pairs.iter().map(|(old, new)| (fill(old, *value), fill(new, *value))));
        }
    }
    out.extend(PLAIN.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())));
    out
}
