//! Where an agent works, by its header or by what its system prompt says of the folder.

use neap_core::base::project_id::{Place, ProjectId};
use neap_core::client::{ClientRequest, ContentBlock, HistoryItem, Speaker};

/// Items that may describe the environment: agents put it first.
const ITEMS_MAX: usize = 4;
/// How agents begin a description of their environment in the user's place.
const ENVIRONMENT: [&str; 2] = ["<environment_context>", "<env>"];
const FOLDER_LABEL: &str = "orking directory: ";
const FOLDER_TAGS: (&str, &str) = ("<cwd>", "</cwd>");
const FOLDER_BYTES_MAX: usize = 4_096;

/// The place of a request. Only what the program says counts, never what a person or tool wrote.
pub fn place_of(request: &ClientRequest) -> Place {
    let named = request.signals.project.as_deref().and_then(|name| ProjectId::from_name(name).ok());
    if let Some(project) = named {
        return Place::Project(project);
    }
    let spoken = request.items.iter().take(ITEMS_MAX).flat_map(environment_texts);
    let folder = std::iter::once(request.system.as_str()).chain(spoken).find_map(folder_in);
    folder.map_or(Place::Unknown, |folder| Place::Folder(folder.to_owned()))
}

fn environment_texts(item: &HistoryItem) -> impl Iterator<Item = &str> {
    let is_system = item.speaker == Speaker::System;
    item.blocks.iter().filter_map(move |block| match block {
        ContentBlock::Text(text) => {
            let begins = |mark: &&str| text.trim_start().starts_with(*mark);
            (is_system || ENVIRONMENT.iter().any(begins)).then_some(text.as_str())
        }
        ContentBlock::Thinking
        | ContentBlock::ToolCall(_)
        | ContentBlock::ToolResult { .. }
        | ContentBlock::Other { .. } => None,
    })
}

fn folder_in(text: &str) -> Option<&str> {
    let labelled = || text.split_once(FOLDER_LABEL)?.1.lines().next();
    let tagged = || Some(text.split_once(FOLDER_TAGS.0)?.1.split_once(FOLDER_TAGS.1)?.0);
    let folder = tagged().or_else(labelled)?.trim().trim_matches('`');
    (!folder.is_empty() && folder.len() <= FOLDER_BYTES_MAX).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_found_where_agents_name_it() {
        for (text, want) in [
            (
                "You help.\n<env>\nWorking directory: /home/ann/shop\nIs directory a git repo: Yes",
                Some("/home/ann/shop"),
            ),
            ("# Environment\n - Primary working directory: /srv/x y", Some("/srv/x y")),
            ("<environment_context>\n  <cwd>/a/b</cwd>\n  <shell>zsh</shell>", Some("/a/b")),
            ("<cwd></cwd>", None),
            ("nothing of the kind", None),
        ] {
            assert_eq!(folder_in(text), want, "{text}");
        }
    }

    #[test]
    fn what_a_person_pasted_is_no_place() {
        let item =
            |speaker, text: &str| HistoryItem::uncounted(speaker, vec![ContentBlock::Text(text.to_owned())]);
        let texts = |item: &HistoryItem| environment_texts(item).count();
        assert_eq!(texts(&item(Speaker::User, "see: <cwd>/etc</cwd>")), 0);
        assert_eq!(texts(&item(Speaker::User, "<environment_context><cwd>/etc</cwd>")), 1);
        assert_eq!(texts(&item(Speaker::System, "Working directory: /x")), 1);
    }
}
