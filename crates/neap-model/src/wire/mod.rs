//! Wire formats, preserved byte for byte.
//!
//! A client's request stays text: members keep their order and spacing, values are untouched. Unknown fields, roles
//! and item kinds pass through, and an edit changes nothing but what it names. `openai`, `responses` and `anthropic`
//! are the parts of each protocol that [`client`](crate::client) writes and reads.

pub(crate) mod anthropic;
pub mod json;
pub(crate) mod openai;
pub mod request;
pub(crate) mod responses;
pub mod tool_filter;

#[cfg(test)]
mod tests;
