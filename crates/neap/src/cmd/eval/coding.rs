//! Whether the file that a coding agent turns to next is in what would be recalled for it.
//!
//! A turn that reads or writes a file is a move to it. If the same file was read or written before, but not in the last turns,
//! which any agent has in sight, the move is asked for: with what was last said or done, is one of the turns that read or wrote
//! the file in the context, or a passage of it that names the file?

use neap_core::recall::Shown;
use neap_core::tokens::Tokens;
use neap_engine::{Asking, Here, Recollection};

use super::Options;
use super::data::Turn;
use super::feed::{Told, occasion};
use super::tally::Tally;
use crate::out::Failure;

/// Turns that an agent has in sight.
const IN_SIGHT: usize = 3;
/// What is recalled for such work, in tokens.
const BUDGET: u64 = 4_000;
/// What a turn says when it reads or writes a file.
const MOVES: [&str; 2] = ["data-tool-type=\"read\"", "data-tool-type=\"write\""];
const ENDINGS: [&str; 34] = [
    "go", "ts", "tsx", "js", "jsx", "py", "rs", "md", "json", "jsonl", "yaml", "yml", "toml", "sh", "txt", "css",
    "html", "sql", "c", "h", "cpp", "hpp", "mod", "sum", "lock", "swift", "rb", "java", "kt", "cs", "php", "vue",
    "xml", "ini",
];

/// Follows a session of a coding agent, and asks before each move.
pub(crate) async fn follow(told: &mut Told, options: &Options, tally: &mut Tally) -> Result<(), Failure> {
    let conversation = told.conversation.clone();
    let files: Vec<Option<String>> = conversation.turns.iter().map(|turn| moved_to(&turn.text)).collect();
    for at in 1..conversation.turns.len() {
        let Some(file) = &files[at] else { continue };
        let seen = at.saturating_sub(IN_SIGHT);
        let before: Vec<usize> = (0..at).filter(|before| files[*before].as_ref() == Some(file)).collect();
        if before.is_empty() || before.iter().any(|before| *before >= seen) {
            continue;
        }
        let found = recalled(told, options, &conversation.turns[..at]).await?;
        // Turns are texts, one for one, so their places are known.
        let is_one =
            |item: &Shown| before.contains(&(item.card.nth as usize - 1)) && item.text.contains(file.as_str());
        let is_there = found.shown.iter().any(is_one);
        let sum = tally.moves.entry(BUDGET).or_default();
        *sum = (sum.0 + 1, sum.1 + u64::from(is_there));
    }
    Ok(())
}

/// What is recalled after these turns, of those before the last few.
async fn recalled(told: &mut Told, options: &Options, turns: &[Turn]) -> Result<Recollection, Failure> {
    told.tell_turns(turns.len()).await?;
    let question = turns.last().map_or("", |turn| turn.text.as_str());
    let session = occasion(turns.last().map_or(0, |turn| turn.session))?;
    let asking = Asking {
        embedding: told.meaning(question).await?,
        here: Some(Here { session, in_sight: IN_SIGHT as u64 }),
        weights: options.weights.clone(),
        ..Asking::new(question, Tokens(BUDGET))
    };
    Ok(told.engine.recollect(&asking).await?)
}

/// The file that a turn reads or writes, by its last name.
fn moved_to(text: &str) -> Option<String> {
    let start = MOVES.iter().filter_map(|mark| text.find(mark).map(|at| at + mark.len())).min()?;
    let is_path = |c: char| c.is_alphanumeric() || "._/~-".contains(c);
    let words = text[start..].split(|c: char| !is_path(c)).map(|word| word.trim_end_matches('.'));
    words.filter_map(|word| word.rsplit('/').next()).find(|name| is_file(name)).map(str::to_owned)
}

fn is_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_move_is_read() {
        let read = "<tool-use data-tool-type=\"read\">\nRead file: pkg/cloud/sync.go</summary>";
        assert_eq!(moved_to(read).as_deref(), Some("sync.go"));
        assert_eq!(moved_to("see pkg/cloud/sync.go"), None);
        assert_eq!(moved_to("<tool-use data-tool-type=\"write\"> v1.2. etc."), None);
    }
}
