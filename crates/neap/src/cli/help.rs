//! `neap --help`: the commands in groups. clap lists subcommands under one heading only, so the list is written
//! here from what each command says of itself.

use std::fmt::Write as _;

use clap::CommandFactory;

use super::Cli;

const GROUPS: [(&str, &[&str]); 4] = [
    ("Talk", &["demo", "chat", "run", "serve", "mcp"]),
    ("Set up", &["install", "import"]),
    ("Look", &["ui", "search", "context", "explain", "report"]),
    ("Manage", &["remember", "recall", "session", "memory", "store", "lab"]),
];

const AFTER: &str = "\
Start with `neap demo` or `neap chat`: no key, no network. Every request to a model stays under a
hard token budget, however long the conversation runs; everything else stays on disk, searchable.
`neap <COMMAND> --help` explains a command; `neap completions bash` prints shell completions.";

/// The command line, with help in groups.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let list = listed(&command);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} neap <COMMAND>\n\n{list}\nOptions:\n{{options}}{{after-help}}"
    );
    command.help_template(template).after_help(AFTER)
}

fn listed(command: &clap::Command) -> String {
    let mut list = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(list, "{heading}");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(list, "  {name:<11} {about}");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name);
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut shown: Vec<&str> = shown.collect();
        assert!(shown.len() <= 18, "{shown:?}");
        grouped.sort_unstable();
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
