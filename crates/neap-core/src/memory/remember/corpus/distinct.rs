//! Statements that are all true at once: none may take the place of another, or be merged with it.

use super::templates::{EFFECTS, PREDICATES, SUBJECTS, TEMPLATES, WORK};

/// Records of two sentences that share one of them.
const SHARED: &[(&str, &[&str])] = &[
    (
        "Set up the incident review board for the platform group.",
        &[
            "Response costs reduced by 35%.",
            "Alert fatigue decreased by 80%.",
            "Mean time to recovery improved by 22 minutes.",
            "The board meets in the Garnet room.",
            "Attendance is optional for contractors.",
            "Minutes are kept in the shared drive.",
            "It was proposed by the security leads.",
            "Two rotating chairs run the discussion.",
            "Action items expire after 30 days.",
            "The template has 6 sections.",
        ],
    ),
    (
        "All services are deployed through the release train.",
        &[
            "This has been the workflow since January.",
            "Exceptions are allowed for prototypes.",
            "The train leaves every Tuesday.",
            "Hotfixes may skip the queue.",
            "Rollbacks take 4 minutes on average.",
            "The data team has its own schedule.",
            "Release notes are generated from commits.",
            "Nobody deploys during the holiday freeze.",
            "Canary traffic starts at 5%.",
            "Mobile clients follow the store review.",
        ],
    ),
    (
        "I started training for the half marathon.",
        &[
            "My long run is on Sunday.",
            "My coach is called Renate.",
            "I drink two litres of water a day.",
            "I bought shoes for 140 euros.",
            "My knee hurts after 8 km.",
            "Intervals are on Wednesday.",
            "The race starts at 9 am.",
            "I sleep eight hours before long runs.",
            "My brother runs it as well.",
            "I stopped smoking for it.",
        ],
    ),
    (
        "The kitchen is being renovated.",
        &[
            "The counter is oak.",
            "The floor is slate.",
            "The plumber comes on Monday.",
            "The electrician comes on Thursday.",
            "The budget is 18,000 euros.",
            "The oven arrives in week 32.",
            "We eat in the living room until then.",
            "The wall to the hall was removed.",
            "The paint is called Sage Mist.",
            "The deposit was 2,000 euros.",
        ],
    ),
    (
        "Customer onboarding was redesigned last quarter.",
        &[
            "Drop-off fell by 12%.",
            "Support tickets fell by 40%.",
            "The welcome mail is sent after 10 minutes.",
            "Enterprise accounts get a personal call.",
            "The checklist has 7 steps.",
            "Trial length stays at 14 days.",
            "The design was led by Ines.",
            "Copy was reviewed by legal.",
            "The video lasts 90 seconds.",
            "Translations exist for 9 languages.",
        ],
    ),
    (
        "Grandma moved into the ground-floor flat.",
        &[
            "Her nurse visits on Tuesday and Friday.",
            "Her doctor is Dr. Okafor.",
            "She takes 5 mg of bisoprolol.",
            "She takes 20 mg of simvastatin.",
            "The rent is 640 euros.",
            "Heating costs 90 euros a month.",
            "The landlord is Mr. Brandt.",
            "Her cat is called Minka.",
            "Her phone number ends in 41.",
            "The spare key is with the neighbour.",
        ],
    ),
    (
        "The search service was rewritten in Rust.",
        &[
            "Memory use fell by 60%.",
            "Latency fell by 25%.",
            "The index is rebuilt at night.",
            "The old service was written in Java.",
            "Three engineers worked on it.",
            "It listens on port 7700.",
            "Metrics are exposed on port 9100.",
            "Queries are limited to 256 terms.",
            "Logs are kept for 14 days.",
            "Snapshots are kept for 90 days.",
        ],
    ),
    (
        "The summer festival is run by volunteers.",
        &[
            "Tickets cost 25 euros.",
            "Children under 12 enter free.",
            "The main stage holds 900 people.",
            "The tent stage holds 200 people.",
            "Parking costs 5 euros.",
            "The gates open at noon.",
            "Music ends at midnight.",
            "Dogs are not allowed on the grounds.",
            "Guide dogs are allowed everywhere.",
            "The headliner plays on Saturday.",
        ],
    ),
];

/// A rule, and exceptions to it or particular cases beside it.
const RULES: &[&[&str]] = &[
    &[
        "Pull requests need two approvals",
        "Pull requests need one approval for documentation",
        "Pull requests by bots need three approvals",
        "Pull requests need no approval when the build is broken",
    ],
    &[
        "The office opens at 8 am",
        "The office opens at 10 am on Saturdays",
        "The office opens at noon during August",
        "The workshop opens at 7 am",
    ],
    &[
        "Employees get 28 days of leave",
        "Employees over fifty get 31 days of leave",
        "Interns get 12 days of leave",
        "Employees get 3 days of leave for a wedding",
    ],
    &[
        "Deploys are allowed",
        "Deploys are not allowed on Fridays",
        "Deploys are not allowed during the audit",
        "Deploys of the billing service are not allowed",
    ],
    &[
        "Shipping is free",
        "Shipping is not free for furniture",
        "Shipping costs 9 euros to Norway",
        "Express shipping costs 15 euros",
    ],
    &[
        "The log level is info",
        "The log level is debug in staging",
        "The log level is warn for the scheduler",
        "The log level of the proxy is error",
    ],
    &[
        "Passwords expire after 90 days",
        "Passwords of service accounts expire after 365 days",
        "Passwords expire after 30 days for administrators",
        "Passwords never expire in the sandbox",
    ],
    &[
        "Tim drinks coffee in the morning",
        "Tim drinks tea in the evening",
        "Tim drinks no coffee after dinner",
        "Tim drinks water during meetings",
    ],
    &[
        "Refunds take 5 days",
        "Refunds take 10 days for foreign cards",
        "Refunds take 2 days if the customer has a gold account",
        "Partial refunds take 7 days",
    ],
    &[
        "The speed limit is 50",
        "The speed limit is 30 near the school",
        "The speed limit is 20 within the car park",
        "The speed limit on the bypass is 100",
    ],
    &[
        "Tests run on every push",
        "Tests run on Windows only at night",
        "Slow tests run once a week",
        "Tests do not run for markdown changes",
    ],
    &[
        "Cats are allowed in the flat",
        "Dogs are not allowed in the flat",
        "Dogs are allowed in the garden",
        "Birds are allowed if the neighbours agree",
    ],
    &[
        "The gym is open on Sunday",
        "The pool is closed on Sunday",
        "The gym is closed on public holidays",
        "The sauna is open on Sunday from 10",
    ],
    &[
        "Backups are encrypted",
        "Local scratch backups are not encrypted",
        "Backups are encrypted with age",
        "Backups of the wiki are encrypted with gpg",
    ],
    &[
        "Ana eats fish",
        "Ana does not eat raw fish",
        "Ana eats no fish while she is pregnant",
        "Ana's son does not eat fish",
    ],
    &[
        "The API returns JSON",
        "The API returns CSV for exports",
        "The API returns XML if the header asks for it",
        "The legacy API returns XML",
    ],
    &[
        "The discount is 10%",
        "The discount is 20% for students",
        "The discount is 15% on orders above 200 euros",
        "The staff discount is 30%",
    ],
    &[
        "Meetings last 30 minutes",
        "Meetings with clients last 60 minutes",
        "Meetings last 15 minutes on Fridays",
        "Board meetings last 3 hours",
    ],
    &[
        "Children pay half price",
        "Children under six pay nothing",
        "Children pay full price for the boat trip",
        "Groups of children pay a third",
    ],
    &[
        "The cache is enabled",
        "The cache is disabled in tests",
        "The image cache is disabled",
        "The cache is disabled for signed-in users",
    ],
];

/// Plain talk, one statement a line.
const PLAIN: &str = include_str!("plain.txt");

pub(super) fn distinct() -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for (shared, others) in SHARED {
        // The shared sentence first in one half, last in the other.
        out.extend(others.iter().enumerate().map(|(n, other)| match n % 2 {
            0 => format!("{shared} {other}"),
            _ => format!("{other} {shared}"),
        }));
    }
    out.extend(RULES.iter().flat_map(|rules| rules.iter().map(|rule| (*rule).to_owned())));
    const DAYS: [&str; 5] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"];
    for (template, values) in TEMPLATES {
        out.extend(values.iter().enumerate().map(|(n, (subject, value))| {
            template.replacen("{}", subject, 1).replacen("{}", value, 1).replacen("{}", DAYS[n % DAYS.len()], 1)
        }));
    }
    for subject in SUBJECTS {
        out.extend(PREDICATES.iter().map(|predicate| format!("{subject} {predicate}")));
    }
    for work in WORK {
        out.extend(EFFECTS.iter().map(|effect| format!("The {work} migration {effect}.")));
    }
    out.extend(PLAIN.lines().map(str::to_owned));
    out
}
