//! Measures whether the next file that a coding agent touches would be recalled.
//!
//! A turn that reads or writes a file is a move to it. A move counts if the file was touched before, but not
//! within the last turns, which any agent still sees. It is recalled if the context for the previous turn includes
//! an earlier turn that touched the file and a passage of it names the file.

use neap_core::base::tokens::Tokens;
use neap_core::recall::ShownText;
use neap_engine::{CurrentSession, RecalledContext, RetrievalRequest};

use super::EvalOptions;
use super::conversation_store::{ConversationStore, occasion_session};
use super::data::Turn;
use super::tally::EvalTally;
use crate::LabError;

const VISIBLE_TURNS: usize = 3;
const BUDGET: u64 = 4_000;
const FILE_TOOL_MARKS: [&str; 2] = ["data-tool-type=\"read\"", "data-tool-type=\"write\""];
const EXTENSIONS: [&str; 34] = [
    "go", "ts", "tsx", "js", "jsx", "py", "rs", "md", "json", "jsonl", "yaml", "yml", "toml", "sh", "txt", "css",
    "html", "sql", "c", "h", "cpp", "hpp", "mod", "sum", "lock", "swift", "rb", "java", "kt", "cs", "php", "vue",
    "xml", "ini",
];

/// Replays a session and queries before each move.
pub(crate) async fn evaluate_moves(
    recorded: &mut ConversationStore,
    options: &EvalOptions,
    tally: &mut EvalTally,
) -> Result<(), LabError> {
    let conversation = recorded.conversation.clone();
    let files: Vec<Option<String>> = conversation.turns.iter().map(|turn| touched_file(&turn.text)).collect();
    for at in 1..conversation.turns.len() {
        let Some(file) = &files[at] else { continue };
        let visible_from = at.saturating_sub(VISIBLE_TURNS);
        let before: Vec<usize> = (0..at).filter(|before| files[*before].as_ref() == Some(file)).collect();
        if before.is_empty() || before.iter().any(|before| *before >= visible_from) {
            continue;
        }
        let found = recall_after(recorded, options, &conversation.turns[..at]).await?;
        // Each turn is one text, so positions match.
        let touches_file = |item: &ShownText| {
            before.contains(&(item.candidate.position as usize - 1)) && item.text.contains(file.as_str())
        };
        let is_recalled = found.shown.iter().any(touches_file);
        let sum = tally.moves.entry(BUDGET).or_default();
        *sum = (sum.0 + 1, sum.1 + u64::from(is_recalled));
    }
    Ok(())
}

/// What is recalled after these turns, excluding the visible ones.
async fn recall_after(
    recorded: &mut ConversationStore,
    options: &EvalOptions,
    turns: &[Turn],
) -> Result<RecalledContext, LabError> {
    recorded.record_turns(turns.len()).await?;
    let question = turns.last().map_or("", |turn| turn.text.as_str());
    let session = occasion_session("", turns.last().map_or(0, |turn| turn.session))?;
    let request = RetrievalRequest {
        embedding: recorded.embed_query(question).await?,
        current: Some(CurrentSession { session: session.into(), visible_texts: VISIBLE_TURNS as u64 }),
        weights: options.weights.clone(),
        ..RetrievalRequest::new(question, Tokens(BUDGET))
    };
    Ok(recorded.engine.retrieve(&request).await?)
}

fn touched_file(text: &str) -> Option<String> {
    let start = FILE_TOOL_MARKS.iter().filter_map(|mark| text.find(mark).map(|at| at + mark.len())).min()?;
    let is_path = |c: char| c.is_alphanumeric() || "._/~-".contains(c);
    let words = text[start..].split(|c: char| !is_path(c)).map(|word| word.trim_end_matches('.'));
    words.filter_map(|word| word.rsplit('/').next()).find(|name| has_known_extension(name)).map(str::to_owned)
}

fn has_known_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && EXTENSIONS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_move_is_read() {
        let read = "<tool-use data-tool-type=\"read\">\nRead file: pkg/cloud/sync.go</summary>";
        assert_eq!(touched_file(read).as_deref(), Some("sync.go"));
        assert_eq!(touched_file("see pkg/cloud/sync.go"), None);
        assert_eq!(touched_file("<tool-use data-tool-type=\"write\"> v1.2. etc."), None);
    }
}
