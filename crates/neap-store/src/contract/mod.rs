//! The guarantees of [`Store`] as tests, one suite for every backend; each test takes an empty store. What only
//! one backend can suffer (a flipped byte, a full disk) is tested with that backend.

mod access;
mod agreement;
mod candidates;
mod commits;
mod embeddings;
mod erasures;
mod filters;
mod fixture;
mod links;
mod lists;
mod logs;
mod memories;
mod neighbours;
mod projects;
mod repairs;
mod searches;
mod texts;

pub use access::*;
pub use agreement::{propose_alike, propose_alike_of_many, recall_alike};
pub use candidates::*;
pub use commits::*;
pub use embeddings::*;
pub use erasures::*;
pub use filters::*;
pub use fixture::*;
pub use links::*;
pub use lists::*;
pub use logs::*;
pub use memories::*;
pub use neighbours::*;
pub use projects::*;
pub use repairs::*;
pub use searches::*;
pub use texts::*;

use crate::{Finding, Severity, Store};

/// Findings of an examination above [`Severity::Note`].
pub async fn faults(store: &dyn Store) -> Vec<Finding> {
    let findings = store.examine(None).await.expect("an examination can be made");
    findings.into_iter().filter(|finding| finding.severity > Severity::Note).collect()
}

/// Passes the names of all tests of the contract to a macro of the caller's, which makes a test of each for its backend.
#[macro_export]
macro_rules! contract_tests {
    ($with:ident) => {
        $with! {
            a_commit_is_read_back
            an_unknown_session_is_empty
            a_stale_commit_changes_nothing
            a_turn_id_counts_once
            any_text_is_kept
            sessions_are_apart
            a_log_is_its_newest_part
            a_log_is_read_from_either_end
            a_turn_taken_back_is_in_no_log
            turns_may_end_in_any_order
            tool_rounds_are_whole
            events_are_listed_by_kind
            a_footprint_adds_up
            turns_may_overlap
            a_word_finds_its_message
            an_effort_is_indexed_anew
            a_history_is_linked
            a_rebuild_gives_the_same
            an_erased_session_is_gone
            memories_are_read_back
            memories_are_listed_newest_first
            a_memory_is_recalled_by_its_words
            memories_are_recalled_by_time
            a_superseded_fact_is_found_on_request
            what_is_set_aside_is_never_found
            a_memory_has_its_history
            memories_come_due
            an_erased_memory_is_gone
            what_is_quoted_of_an_erased_memory_is_gone
            memories_are_rebuilt_the_same
            agents_are_apart
            a_stale_memory_changes_nothing
            a_text_is_proposed_by_its_rarest_words
            a_proposal_says_what_is_known_of_a_text
            a_question_is_answered_at_once
            visits_are_bounded
            proposals_are_filtered
            proposals_are_narrowed_to_projects
            proposals_are_narrowed_to_speakers_and_efforts
            what_is_narrowed_to_is_found_among_many
            agents_are_searched_when_named
            meaning_proposes_the_nearest
            a_text_that_changes_is_embedded_anew
            another_model_takes_over
            what_was_said_beside_is_found
            texts_are_read_by_their_ids
            a_withheld_turn_has_no_words
            a_rebuild_proposes_the_same
            what_is_erased_is_not_proposed
            bad_questions_are_answered
        }
    };
}
