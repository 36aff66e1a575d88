//! Counts tokens exactly as OpenAI's encodings do, without loading time.
//!
//! Tokenizers usually unpack some megabytes of tables first, which takes longer than many a program runs. Here the
//! build lays the tables out as they are read, so a count touches only the pages it needs.
//!
//! A text is split into *pieces* (`split`) by character class. A piece that is a token counts one; in any other,
//! neighbours are merged in the order in which the encoding learnt them (`merge`).

mod class;
mod hash;
mod merge;
mod split;
mod table;

use merge::PairMerger;
use table::TokenTable;

#[derive(Debug)]
pub struct Encoding {
    table: TokenTable,
    first_piece_len: fn(&str) -> usize,
}

/// The encoding of the gpt-4o, gpt-4.1, gpt-5 and o-series families.
pub static O200K: Encoding = Encoding {
    table: TokenTable(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.table"))),
    first_piece_len: split::o200k_piece_len,
};

/// The encoding of gpt-4, gpt-3.5 and the text embedding models.
pub static CL100K: Encoding = Encoding {
    table: TokenTable(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.table"))),
    first_piece_len: split::cl100k_piece_len,
};

impl Encoding {
    /// The number of tokens in a text.
    ///
    /// ```
    /// assert_eq!(neap_tokens::O200K.count("tiktoken is great!"), 6);
    /// ```
    pub fn count(&self, text: &str) -> usize {
        let mut merger = PairMerger::new(self.table);
        self.pieces(text).map(|piece| merger.count(piece.as_bytes())).sum()
    }

    /// The pieces of a text; no token spans two.
    pub fn pieces<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let (mut rest, first_len) = (text, self.first_piece_len);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, after) = rest.split_at(first_len(rest));
            rest = after;
            Some(piece)
        })
    }
}
