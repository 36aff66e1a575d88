//! Masks secrets in items of a client's history.

use super::request::{ContentBlock, HistoryItem};
use crate::text::secrets::{Masking, mask_call, mask_id};

/// Masks an item of a client's history for the record; the provider gets the original.
pub fn mask_item(masking: Masking, mut item: HistoryItem) -> (HistoryItem, u32) {
    if masking == Masking::Off {
        return (item, 0);
    }
    // Blocks are shared with the request: copy only those with a secret.
    let mut places = 0;
    let masked: Vec<Option<ContentBlock>> =
        item.blocks.iter().map(|block| mask_block(masking, block, &mut places)).collect();
    if masked.iter().any(Option::is_some) {
        for (block, masked) in item.blocks.iter_mut().zip(masked) {
            if let Some(masked) = masked {
                *block = masked;
            }
        }
    }
    (item, places)
}

/// The masked block; `None` if it has no secret.
fn mask_block(masking: Masking, block: &ContentBlock, places: &mut u32) -> Option<ContentBlock> {
    match block {
        ContentBlock::Text(text) => {
            let (masked, count) = masking.mask(text);
            *places += count;
            (count > 0).then(|| ContentBlock::Text(masked.into_owned()))
        }
        ContentBlock::ToolCall(call) => {
            let masked = mask_call(masking, call.clone());
            let is_changed = masked != *call;
            *places += u32::from(is_changed);
            is_changed.then_some(ContentBlock::ToolCall(masked))
        }
        ContentBlock::ToolResult { id, content, failed } => {
            let safe_id = mask_id(masking, id);
            let masked: Vec<Option<ContentBlock>> =
                content.iter().map(|block| mask_block(masking, block, places)).collect();
            if safe_id == *id && masked.iter().all(Option::is_none) {
                return None;
            }
            let merged = content.iter().zip(masked).map(|(block, masked)| masked.unwrap_or_else(|| block.clone()));
            Some(ContentBlock::ToolResult { id: safe_id, content: merged.collect(), failed: *failed })
        }
        ContentBlock::Other { kind, json } => {
            let (safe, count) = masking.mask(kind);
            *places += count;
            (count > 0).then(|| ContentBlock::Other { kind: safe.into_owned(), json: json.clone() })
        }
        ContentBlock::Thinking => None,
    }
}
