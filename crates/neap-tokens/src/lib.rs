//! Counts tokens exactly as the encodings of OpenAI do, without a moment's preparation.
//!
//! A program that counts for the first time usually unpacks some megabytes of tables, which takes longer than many a program runs.
//! Here the build lays the tables out as they are read, so that only the pages are touched that a text needs.
//!
//! A text is cut into *pieces* (`split`) by the kinds of its characters; a piece that is a token counts one; in any other, neighbours
//! are joined in the order in which the encoding learnt them (`merge`).

mod class;
mod hash;
mod merge;
mod split;
mod table;

use merge::Merge;
use table::Table;

/// One byte-pair encoding.
#[derive(Debug)]
pub struct Encoding {
    table: Table,
    /// The length of the piece that a text begins with.
    first: fn(&str) -> usize,
}

/// The encoding of the gpt-4o, gpt-4.1, gpt-5 and o-series families.
pub static O200K: Encoding =
    Encoding { table: Table(include_bytes!(concat!(env!("OUT_DIR"), "/o200k.table"))), first: split::o200k };

/// The encoding of gpt-4, gpt-3.5 and the text embedding models.
pub static CL100K: Encoding =
    Encoding { table: Table(include_bytes!(concat!(env!("OUT_DIR"), "/cl100k.table"))), first: split::cl100k };

impl Encoding {
    /// How many tokens a text has.
    ///
    /// ```
    /// assert_eq!(neap_tokens::O200K.count("tiktoken is great!"), 6);
    /// ```
    pub fn count(&self, text: &str) -> usize {
        let mut merge = Merge::new(self.table);
        self.pieces(text).map(|piece| merge.count(piece.as_bytes())).sum()
    }

    /// The pieces of a text: no token reaches from one into the next.
    pub fn pieces<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let (mut rest, first) = (text, self.first);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, after) = rest.split_at(first(rest));
            rest = after;
            Some(piece)
        })
    }
}
