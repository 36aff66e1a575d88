//! Splits long texts at paragraph, line and sentence ends.

pub(crate) const CHUNK_BYTES_MAX: usize = 1_200;
/// A chunk ends at the last paragraph break after this many bytes, else at the last line, sentence or word break.
const CHUNK_BYTES_MIN: usize = 400;

/// Splits a text into chunks; joined they are the text.
pub fn split_chunks(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while rest.len() > CHUNK_BYTES_MAX {
        let piece = &rest[..rest.floor_char_boundary(CHUNK_BYTES_MAX)];
        let tail = &piece[piece.ceil_char_boundary(CHUNK_BYTES_MIN)..];
        let ends = ["\n\n", "\n", ". ", " "];
        let end = ends.iter().find_map(|end| tail.rfind(end).map(|at| at + end.len()));
        let cut = end.map_or(piece.len(), |end| piece.len() - tail.len() + end);
        let (chunk, after) = rest.split_at(cut);
        out.push(chunk);
        rest = after;
    }
    if !rest.is_empty() {
        out.push(rest);
    }
    out
}
