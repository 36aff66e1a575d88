//! The checks can turn red: each fault that is put in on purpose is seen, and called by its name.

use neap_sim::disk::Backend;
use neap_sim::plant::Plant;
use neap_sim::{Config, simulate};

/// Some seed among the first few shows the fault, and what it shows is one of these.
#[track_caller]
fn check(plant: Plant, invariants: &[&str]) {
    let config = Config { turns: 120, backend: Backend::Memory, plant: Some(plant) };
    let mut seen = Vec::new();
    for seed in 1..=12 {
        if let Err(failure) = simulate(seed, &config) {
            for violation in &failure.violations {
                if invariants.contains(&violation.invariant) {
                    return;
                }
            }
            seen.push(failure.to_string());
        }
    }
    panic!("{plant:?} was not seen as {invariants:?}, but: {seen:#?}");
}

#[test]
fn a_lost_commit_is_seen() {
    check(Plant::LostCommit, &["durability", "I2"]);
}

#[test]
fn an_acknowledgement_before_durability_is_seen() {
    check(Plant::EarlyAcknowledgement, &["durability", "I2"]);
}

#[test]
fn a_conflict_taken_for_success_is_seen() {
    check(Plant::ConflictAsSuccess, &["durability", "I2", "I10"]);
}

#[test]
fn a_changed_word_is_seen() {
    check(Plant::ChangedWord, &["durability"]);
}

#[test]
fn a_lost_row_is_seen() {
    check(Plant::LostRow, &["I3"]);
}

#[test]
fn words_of_another_session_are_seen() {
    check(Plant::WrongSession, &["I11"]);
}

#[test]
fn an_effort_that_cannot_be_found_is_seen() {
    check(Plant::BlindSearch, &["I6"]);
}

#[test]
fn a_log_that_lost_its_beginning_is_seen() {
    check(Plant::ShortLog, &["I2", "I9"]);
}

#[test]
fn a_count_that_is_too_low_is_seen() {
    check(Plant::Undercount, &["I1"]);
}

#[test]
fn an_orphaned_tool_call_is_seen() {
    check(Plant::OrphanResult, &["I7"]);
}

#[test]
fn an_error_taken_for_a_summary_is_seen() {
    check(Plant::ErrorAsSummary, &["I12"]);
}

#[test]
fn decay_a_turn_too_late_is_seen() {
    check(Plant::LateDecay, &["I6"]);
}

#[test]
fn eviction_a_turn_too_late_is_seen() {
    check(Plant::LateEviction, &["I6"]);
}

#[test]
fn a_memory_written_twice_is_seen() {
    check(Plant::RepeatedWrite, &["writes"]);
}

#[test]
fn a_rule_that_is_not_looked_at_is_seen() {
    check(Plant::CensorSkipped, &["censors"]);
}

#[test]
fn a_memory_that_no_layer_pays_for_is_seen() {
    check(Plant::UncountedMemory, &["layers"]);
}

#[test]
fn a_forged_mark_is_seen() {
    check(Plant::ForgedMark, &["marks"]);
}

#[test]
fn memories_of_another_agent_are_seen() {
    check(Plant::WrongAgent, &["I11"]);
}

#[test]
fn records_in_the_system_text_are_seen() {
    check(Plant::RecordsInSystem, &["system text"]);
}

#[test]
fn a_remark_in_what_a_model_said_is_seen() {
    check(Plant::RemarkInReply, &["remarks"]);
}

#[test]
fn a_model_that_speaks_as_a_person_is_seen() {
    check(Plant::ModelAsPerson, &["trust"]);
}

#[test]
fn a_request_that_is_forwarded_too_long_is_seen() {
    check(Plant::ForwardedWhole, &["I1"]);
}

#[test]
fn a_forwarded_call_without_its_result_is_seen() {
    check(Plant::ForwardedOrphan, &["I7"]);
}

#[test]
fn a_reply_that_the_proxy_forgets_is_seen() {
    check(Plant::ForgottenReply, &["once"]);
}

#[test]
fn a_history_that_is_recorded_again_is_seen() {
    check(Plant::ForgottenHistory, &["once"]);
}

#[test]
fn words_of_another_tenant_are_seen() {
    check(Plant::WrongTenant, &["I11"]);
}

#[test]
fn a_hook_event_that_is_recorded_twice_is_seen() {
    check(Plant::LateDelivery, &["once"]);
}

#[test]
fn a_transcript_that_is_imported_twice_is_seen() {
    check(Plant::UnstableKeys, &["once"]);
}

#[test]
fn a_message_of_a_host_that_is_recorded_twice_is_seen() {
    check(Plant::RepeatedRecord, &["once"]);
}

#[test]
fn a_message_that_search_does_not_find_is_seen() {
    check(Plant::DeafSearch, &["search"]);
}
