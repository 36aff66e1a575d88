//! What a censor looks for, and what comes of finding it (003, Censors; DESIGN, decision 14).

use crate::memory::{Action, Author};

/// The strictest that an author's rule may be: what comes from tools and files steers, a model's rule refuses, only
/// a person's ends a turn.
pub fn allowed(author: Author, action: Action) -> Action {
    action.min(match author {
        Author::Person => Action::Abort,
        Author::Model => Action::Refuse,
        Author::Tool | Author::Import => Action::Steer,
    })
}
