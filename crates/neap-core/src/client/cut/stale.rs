//! What of a history is stale: results that a later call replaced, contents of files that were read again or changed
//! since, and old images. A cut replaces these first, each with a line; the call stays. What the agent works on is the
//! opposite: the newest content of files that it edited in its last turns, which a cut keeps as it is.

use std::collections::BTreeMap;

use super::points::{BlockPos, ToolPairs};
use crate::base::digest::Digest;
use crate::base::tokens::Tokens;
use crate::client::request::{ContentBlock, HistoryItem};
use crate::client::tool_use::{FileAccess, ToolUse};

/// The newest images stay.
const IMAGES_KEPT: usize = 3;
/// A line in place of less would save nothing.
const STALE_MIN: Tokens = Tokens(96);
/// What such a line costs.
pub(super) const LINE_TOKENS: Tokens = Tokens(48);
/// Bytes of text that weigh as much as an image.
const MEDIA_WEIGHT: usize = 8_000;
const BLOCK_WEIGHT: usize = 32;
/// Contents and edits of one file that are compared with a later one; of older ones nothing is known.
const CONTENTS_MAX: usize = 64;
const EDITS_MAX: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StaleReason {
    /// The same was read or asked again.
    Repeated,
    /// The file was changed.
    Changed,
    OldImage,
}

impl StaleReason {
    /// For a model, after "left out here:".
    pub(super) fn as_str(self) -> &'static str {
        match self {
            StaleReason::Repeated => "a later call has it again",
            StaleReason::Changed => "the file was changed later",
            StaleReason::OldImage => "an older image",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StaleBlock {
    pub(super) reason: StaleReason,
    /// The item that made it stale.
    pub(super) since: usize,
    /// About what a line in its place saves.
    pub(super) saved: Tokens,
}

/// A file that the agent used in its last turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileInWork {
    /// Calls and results from which its newest content can be read: the last reads, and the edits since.
    pub(super) pairs: Vec<(BlockPos, BlockPos)>,
    pub(super) is_edited: bool,
    /// The item that used it last.
    last_use: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Staleness {
    pub(super) blocks: BTreeMap<BlockPos, StaleBlock>,
    /// Edited ones first, then by their last use, the newest first.
    pub(super) in_work: Vec<FileInWork>,
}

impl Staleness {
    /// Files are in work if they were used at `recent_from` or later. A person's own images at `present_from` or later,
    /// and before `opening_end`, stay.
    pub(super) fn of(
        (items, weights): (&[HistoryItem], &ItemWeights),
        pairs: &ToolPairs,
        recent_from: usize,
        (opening_end, present_from): (usize, usize),
    ) -> Self {
        let mut found = Finder { items, weights, recent_from, ..Finder::new(items, weights) };
        for (call, result) in pairs.answered.iter().filter(|(_, result)| result.0 < items.len()) {
            found.add_answer(*call, *result);
        }
        found.add_images(opening_end, present_from);
        found.finish()
    }
}

/// By which the tokens of items are divided among their blocks.
pub(super) struct ItemWeights(Vec<usize>);

impl ItemWeights {
    pub(super) fn of(items: &[HistoryItem]) -> Self {
        Self(items.iter().map(|item| item.blocks.iter().map(weight).sum()).collect())
    }

    /// About what a block costs.
    pub(super) fn block_tokens(&self, items: &[HistoryItem], (at, nth): BlockPos) -> Tokens {
        self.share(items, at, items[at].blocks.get(nth).map_or(0, weight))
    }

    fn share(&self, items: &[HistoryItem], at: usize, weight: usize) -> Tokens {
        Tokens(items[at].tokens.0 * weight as u64 / self.0[at].max(1) as u64)
    }
}

/// Of the images in a block.
fn image_weight(block: &ContentBlock) -> usize {
    match block {
        // A line that replaces the block would take other media along.
        ContentBlock::ToolResult { content, .. }
            if content.iter().any(|part| part.is_media() && !part.is_image()) =>
        {
            0
        }
        ContentBlock::ToolResult { content, .. } => content.iter().map(image_weight).sum(),
        ContentBlock::Other { .. } if block.is_image() => BLOCK_WEIGHT + MEDIA_WEIGHT,
        ContentBlock::Text(_)
        | ContentBlock::Thinking
        | ContentBlock::ToolCall(_)
        | ContentBlock::Other { .. } => 0,
    }
}

fn weight(block: &ContentBlock) -> usize {
    BLOCK_WEIGHT
        + match block {
            ContentBlock::Text(text) => text.len(),
            ContentBlock::ToolCall(call) => call.arguments.len(),
            ContentBlock::ToolResult { content, .. } => content.iter().map(weight).sum(),
            ContentBlock::Other { .. } if block.is_media() => MEDIA_WEIGHT,
            ContentBlock::Other { .. } | ContentBlock::Thinking => BLOCK_WEIGHT,
        }
}

/// An answered call.
#[derive(Clone, Copy)]
struct Answer<'a> {
    call: BlockPos,
    result: BlockPos,
    tool_use: &'a ToolUse,
    /// Of its content.
    weight: usize,
    failed: bool,
}

impl Answer<'_> {
    /// Whether the same call has a newer answer here. What a command prints is that even if it is short, or if the
    /// command fails; a search or a request that gave much and then little failed this time.
    fn is_newer_than(&self, earlier: &Self) -> bool {
        let says_as_much = self.weight >= earlier.weight / 2;
        says_as_much && !self.failed || self.tool_use.is_command && (says_as_much || !self.failed)
    }
}

#[derive(Default)]
struct FileState<'a> {
    /// Reads and writes that no later one replaced.
    contents: Vec<(Answer<'a>, FileAccess)>,
    edits: Vec<Answer<'a>>,
    last_use: usize,
    /// The item that changed it last.
    changed_at: Option<usize>,
}

/// A path, and where it is valid.
type FileKey<'a> = (Option<Digest>, &'a str);

impl<'a> FileState<'a> {
    /// Adds a content, and returns the ones that it replaces.
    fn replace_contents(&mut self, answer: Answer<'a>, access: FileAccess) -> Vec<Answer<'a>> {
        let last_edit = self.edits.last().map(|edit| edit.result);
        let mut replaced = Vec::new();
        self.contents.retain(|(earlier, of)| {
            let was_edited = last_edit.is_some_and(|edit| edit > earlier.result);
            let is_as_long = answer.weight >= earlier.weight / 2;
            let stays = !replaces(access, *of, was_edited || is_as_long);
            if !stays {
                replaced.push(*earlier);
            }
            stays
        });
        self.contents.push((answer, access));
        let first = self.contents[0].0.result;
        self.edits.retain(|edit| edit.result > first);
        replaced
    }

    fn forget_oldest(&mut self) {
        self.contents.drain(..self.contents.len().saturating_sub(CONTENTS_MAX));
        self.edits.drain(..self.edits.len().saturating_sub(EDITS_MAX));
    }
}

struct Finder<'a> {
    items: &'a [HistoryItem],
    weights: &'a ItemWeights,
    recent_from: usize,
    /// Stands for the shell's directory; none until it changes.
    directory: Option<Digest>,
    blocks: BTreeMap<BlockPos, StaleBlock>,
    files: BTreeMap<FileKey<'a>, FileState<'a>>,
    answers: BTreeMap<(Option<Digest>, Digest), Answer<'a>>,
}

impl<'a> Finder<'a> {
    fn new(items: &'a [HistoryItem], weights: &'a ItemWeights) -> Self {
        let (blocks, files, answers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { items, weights, recent_from: 0, directory: None, blocks, files, answers }
    }

    fn add_answer(&mut self, call: BlockPos, result: BlockPos) {
        let Some(tool_use) = self.items[call.0].blocks.tool_use(call.1) else { return };
        let block = &self.items[result.0].blocks[result.1];
        let ContentBlock::ToolResult { failed, .. } = block else { return };
        let content = if tool_use.writes_whole_file() { &self.items[call.0].blocks[call.1] } else { block };
        let answer = Answer { call, result, tool_use, weight: weight(content), failed: *failed };
        let directory = self.directory.filter(|_| tool_use.is_relative);
        if let Some(target) = &tool_use.moves_to {
            self.move_to(target);
        }
        for file in tool_use.files.iter().filter(|_| !failed) {
            let is_absolute = file.path.starts_with(['/', '~']);
            let place = file.place.or(directory.filter(|_| !is_absolute));
            self.add_file_use((place, &file.path), file.access, answer);
        }
        let Some(question) = tool_use.question.filter(|_| tool_use.files.is_empty()) else { return };
        let earlier = self.answers.get(&(directory, question)).copied();
        if earlier.is_none_or(|earlier| answer.is_newer_than(&earlier)) {
            self.answers.insert((directory, question), answer);
            if let Some(earlier) = earlier {
                self.mark(earlier.result, StaleReason::Repeated, result.0);
            }
        }
    }

    fn move_to(&mut self, target: &str) {
        let from = self.directory.filter(|_| !target.starts_with(['/', '~']));
        let from = from.as_ref().map_or(&[][..], |from| &from.bytes()[..]);
        self.directory = Some(Digest::of("directory", &[from, target.as_bytes()]));
    }

    fn add_file_use(&mut self, key: FileKey<'a>, access: FileAccess, answer: Answer<'a>) {
        let mut file = self.files.remove(&key).unwrap_or_default();
        file.last_use = answer.result.0;
        match access {
            FileAccess::Edit => file.edits.push(answer),
            FileAccess::ReadWhole | FileAccess::ReadPart(_) | FileAccess::Write => {
                let reason = match access {
                    FileAccess::Write => StaleReason::Changed,
                    FileAccess::ReadWhole | FileAccess::ReadPart(_) | FileAccess::Edit => StaleReason::Repeated,
                };
                for earlier in file.replace_contents(answer, access) {
                    self.mark_content(&earlier, reason, answer.result.0);
                }
            }
        }
        file.forget_oldest();
        if matches!(access, FileAccess::Edit | FileAccess::Write) {
            file.changed_at = Some(answer.result.0);
        }
        self.files.insert(key, file);
    }

    /// Every content that was edited since, of a file that is no longer worked on, is stale.
    fn finish(mut self) -> Staleness {
        let mut in_work = Vec::new();
        for file in std::mem::take(&mut self.files).into_values() {
            let is_edited = file.changed_at.is_some_and(|at| at >= self.recent_from);
            if is_edited || file.last_use >= self.recent_from {
                let contents = file.contents.iter().map(|(answer, _)| (answer.call, answer.result));
                let edits = file.edits.iter().map(|answer| (answer.call, answer.result));
                in_work.push(FileInWork {
                    pairs: contents.chain(edits).collect(),
                    is_edited,
                    last_use: file.last_use,
                });
                continue;
            }
            for (content, _) in &file.contents {
                let edit = file.edits.iter().find(|edit| edit.result > content.result);
                if let Some(edit) = edit {
                    self.mark_content(content, StaleReason::Changed, edit.result.0);
                }
            }
        }
        in_work.sort_by_key(|file: &FileInWork| (!file.is_edited, std::cmp::Reverse(file.last_use)));
        Staleness { blocks: self.blocks, in_work }
    }

    fn add_images(&mut self, opening_end: usize, present_from: usize) {
        let items = self.items.iter().enumerate();
        let places = items.flat_map(|(at, item)| {
            item.blocks.iter().enumerate().map(move |(nth, block)| ((at, nth), image_weight(block)))
        });
        let places: Vec<(BlockPos, usize)> = places.filter(|(_, weight)| *weight > 0).collect();
        for (nth, (place, weight)) in places.iter().enumerate() {
            let (at, is_own) = (place.0, self.items[place.0].is_turn_start());
            let stays = is_own && (at < opening_end || at >= present_from);
            if let Some(((since, _), _)) = places.get(nth + IMAGES_KEPT).filter(|_| !stays) {
                let tokens = self.weights.share(self.items, at, *weight);
                self.mark_tokens(*place, tokens, StaleReason::OldImage, *since);
            }
        }
    }

    /// The content of a file is in a result, or in the arguments of the call that wrote it.
    fn mark_content(&mut self, answer: &Answer<'a>, reason: StaleReason, since: usize) {
        let place = if answer.tool_use.writes_whole_file() { answer.call } else { answer.result };
        self.mark(place, reason, since);
    }

    fn mark(&mut self, place: BlockPos, reason: StaleReason, since: usize) {
        self.mark_tokens(place, self.weights.block_tokens(self.items, place), reason, since);
    }

    /// `tokens` go.
    fn mark_tokens(&mut self, place: BlockPos, tokens: Tokens, reason: StaleReason, since: usize) {
        if tokens >= STALE_MIN {
            let saved = tokens.saturating_sub(LINE_TOKENS);
            self.blocks.entry(place).or_insert(StaleBlock { reason, since, saved });
        }
    }
}

/// Whether a content replaces an earlier one of the same file. One that is much shorter, with no edit in between, is no
/// newer version: it was truncated, or says only that nothing has changed.
fn replaces(access: FileAccess, earlier: FileAccess, is_newer_version: bool) -> bool {
    match (access, earlier) {
        (FileAccess::Write, _) => true,
        (FileAccess::ReadWhole, _) => is_newer_version,
        (FileAccess::ReadPart(part), FileAccess::ReadPart(other)) => part == other && is_newer_version,
        (FileAccess::ReadPart(_), FileAccess::ReadWhole | FileAccess::Write | FileAccess::Edit)
        | (FileAccess::Edit, _) => false,
    }
}
