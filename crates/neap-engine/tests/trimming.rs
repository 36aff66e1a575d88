//! Long tool results through an engine: shown in short, recorded whole, and the same in every request.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::sync::Arc;

use neap_core::base::handle::{Handle, ResultKey};
use neap_core::base::message::ToolCall;
use neap_core::base::tokens::Tokens;
use neap_core::client::{Changes, LongText, ProviderReply, offered_tools, trim_text};
use neap_engine::{Engine, IncomingRequest, RecordingOutcome, RequestPlan};
use neap_model::bpe::counter_for;
use neap_model::caller::Tenancy;
use neap_model::wire::request::ToolOffer;
use neap_sqlite::SqliteStore;
use neap_store::{MemStore, Store};
use serde_json::{Value, json};

use crate::ingest::{Client, check_pairs, recounted, run};
use crate::outage::faulty::{Fault, FaultyStore};
use crate::tool_outputs::agent::{Way, bill};
use crate::tool_outputs::{Dice, Output, outputs, source_file};

const PATHS: [&str; 3] = ["/v1/messages", "/v1/chat/completions", "/v1/responses"];
const LARGE: Tokens = Tokens(100_000);

fn engine(store: &Arc<MemStore>) -> Engine {
    Engine::builder(store.clone() as Arc<dyn Store>).build()
}

async fn send(engine: &Engine, client: &Client, budget: Tokens) -> (RequestPlan, String) {
    let body = client.body();
    let plan = engine.ingest(&IncomingRequest { trims_tools: true, budget, ..client.incoming(&body) }).await;
    let sent = plan.body.clone().unwrap_or(body);
    (plan, sent)
}

fn items(client: &Client, body: &str) -> Vec<Value> {
    client.items(&serde_json::from_str(body).unwrap()).to_vec()
}

/// A turn with a call and its output, up to the request that has both.
async fn run_command(engine: &Engine, client: &mut Client, output: &str, budget: Tokens) -> (RequestPlan, String) {
    client.says("please run it");
    let (plan, _) = send(engine, client, budget).await;
    let reply = client.works(output);
    engine.complete_request(&plan, &reply).await.unwrap();
    send(engine, client, budget).await
}

/// The handle in the first line of a result.
fn handle_in(text: &str) -> Handle {
    let (_, after) = text.split_once("fetch_original ").unwrap();
    after.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn every_type_of_output_becomes_short_and_keeps_what_matters() {
    let counter = counter_for("o200k_base");
    for seed in 1..6 {
        for Output { name, text, needed, .. } in outputs(seed) {
            let handle = Handle::Result(ResultKey::new("c", &text));
            let long = LongText { text: &text, handle, key: ResultKey::text_digest(&text) };
            let short = trim_text(counter.as_ref(), &long).unwrap_or_else(|| panic!("{name} is not trimmed"));
            let (before, after) = (counter.count(&text), counter.count(&short));
            assert!(after <= Tokens(1_300) && after.0 * 3 <= before.0, "{name}: {after} of {before}");
            for line in needed {
                assert!(short.contains(&line), "{name}: {line}\n{short}");
            }
        }
    }
}

#[test]
fn a_result_is_sent_in_short_and_recorded_whole() {
    for path in PATHS {
        run(async {
            let store = Arc::new(MemStore::new());
            let (one, mut client) = (engine(&store), Client::new(path));
            let output = outputs(7).swap_remove(0).text;
            let (plan, sent) = run_command(&one, &mut client, &output, LARGE).await;
            assert_eq!((plan.fault.as_ref(), &plan.recorded), (None, &RecordingOutcome::Durable));
            assert_eq!(plan.changes, Changes { trimmed: 1, ..Changes::default() });
            assert!(
                plan.tokens_in.0 > plan.tokens_sent.0 + 2_000
                    && plan.tokens_sent >= recounted(&serde_json::from_str(&sent).unwrap())
            );
            let handle = handle_in(&sent);
            let session = plan.session.clone().unwrap();
            let whole = one.original(&session, &handle).await.unwrap();
            assert_eq!(whole.iter().map(|message| &*message.content).collect::<Vec<_>>(), [output.as_str()]);
            // A retry, another process, and the requests after it send the same.
            assert_eq!(send(&one, &client, LARGE).await.1, sent);
            assert_eq!(send(&engine(&store), &client, LARGE).await.1, sent);
            let before = items(&client, &sent);
            let reply = client.hears("it passes but for two");
            one.complete_request(&plan, &reply).await.unwrap();
            let (_, later) = run_command(&one, &mut client, &outputs(8).swap_remove(5).text, LARGE).await;
            assert_eq!(items(&client, &later)[..before.len()], before);
            check_pairs(&items(&client, &later));
        });
    }
}

#[test]
fn what_is_short_or_a_file_goes_on_byte_for_byte() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let mut client = Client::new("/v1/messages");
        for output in ["ok\n".repeat(40), source_file(&mut Dice(3), 400)] {
            let (plan, _) = run_command(&engine, &mut client, &output, LARGE).await;
            assert_eq!((plan.body, plan.changes.total()), (None, 0));
        }
    });
}

#[test]
fn in_shadow_mode_everything_is_sent_whole_and_told() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let mut client = Client::new("/v1/responses");
        client.says("run it");
        client.works(&outputs(7).swap_remove(0).text);
        let body = client.body();
        let incoming =
            IncomingRequest { trims_tools: true, shadow_mode: true, budget: LARGE, ..client.incoming(&body) };
        let plan = engine.ingest(&incoming).await;
        assert_eq!((plan.body, plan.tokens_sent), (None, plan.tokens_in));
        assert!(plan.tokens_planned.0 + 2_000 < plan.tokens_in.0 && plan.changes.trimmed == 1);
    });
}

/// Whatever the store does, the bytes are the same: a provider's cache stays valid.
#[test]
fn an_outage_changes_no_byte() {
    run(async {
        let store = Arc::new(FaultyStore::new(Arc::new(MemStore::new())));
        let engine = Engine::builder(store.clone() as Arc<dyn Store>).build();
        let mut client = Client::new("/v1/chat/completions");
        let (plan, sent) = run_command(&engine, &mut client, &outputs(7).swap_remove(2).text, LARGE).await;
        assert_eq!(plan.changes.trimmed, 1);
        store.breaks(Fault::Full, true, 0);
        let (broken, same) = send(&engine, &client, LARGE).await;
        assert!(matches!(broken.recorded, RecordingOutcome::Deferred(_)), "{:?}", broken.recorded);
        assert_eq!((same, broken.changes), (sent, plan.changes));
        store.is_mended();
        assert_eq!(engine.wait_until_recorded(std::time::Duration::from_secs(120)).await, 0);
    });
}

/// A caller whose requests are not stored could not fetch the rest.
#[test]
fn what_is_not_stored_is_not_trimmed() {
    run(async {
        let engine = Engine::builder(Arc::new(MemStore::new())).callers(Tenancy::Multi).build();
        let mut client = Client::new("/v1/messages");
        client.headers.retain(|(name, _)| name != "x-api-key");
        client.says("run it");
        client.works(&outputs(7).swap_remove(0).text);
        let (plan, _) = send(&engine, &client, LARGE).await;
        assert_eq!((plan.recorded, plan.body), (RecordingOutcome::NotRetained, None));
    });
}

#[test]
fn a_model_fetches_the_whole_by_the_handle() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("neap.db")).unwrap());
        let engine = Engine::builder(store).build();
        let mut client = Client::new("/v1/messages");
        client.says("run it");
        let offer = ToolOffer { tools: offered_tools(), has_memory_tool: false };
        let ask = async |client: &Client| {
            let body = client.body();
            let incoming = IncomingRequest {
                trims_tools: true,
                offer: Some(&offer),
                budget: LARGE,
                ..client.incoming(&body)
            };
            engine.ingest(&incoming).await
        };
        ask(&client).await;
        let output = outputs(7).swap_remove(5).text;
        client.works(&output);
        for turn in 0..3 {
            client.hears("seen");
            client.says(&format!("and then {turn}"));
            ask(&client).await;
        }
        let plan = ask(&client).await;
        let arguments = json!({"handle": handle_in(plan.body.as_ref().unwrap()).to_string()}).to_string();
        let call = ToolCall { id: "f".to_owned(), name: "fetch_original".to_owned(), arguments };
        let page: Value = serde_json::from_str(&engine.call_own_tool(&plan, &call).await).unwrap();
        assert_eq!((&page["status"], page["bytes"].as_u64()), (&json!("ok"), Some(output.len() as u64)));
        assert!(output.starts_with(page["text"].as_str().unwrap()));
        let unknown = ToolCall { arguments: json!({"handle": "r000000000000"}).to_string(), ..call };
        assert!(engine.call_own_tool(&plan, &unknown).await.contains("Nothing is stored"));
    });
}

/// I1, I7, I9: results in short are cut like everything else, and between two cuts requests only grow.
#[test]
fn a_history_with_results_in_short_is_cut_like_any_other() {
    const BUDGET: Tokens = Tokens(6_000);
    for path in PATHS {
        run(async {
            let engine = engine(&Arc::new(MemStore::new()));
            let mut client = Client::new(path);
            let (mut last, mut epoch, mut trimmed): (Vec<Value>, u64, usize) = (Vec::new(), 0, 0);
            let mut dice = Dice(5);
            for turn in 0..40 {
                client.says(&format!("Please look at module {turn} and say what is left to do in it."));
                for step in 0..2 {
                    let (plan, sent) = send(&engine, &client, BUDGET).await;
                    let body: Value = serde_json::from_str(&sent).unwrap();
                    assert!(
                        plan.overflow.is_none() && recounted(&body) <= BUDGET,
                        "I1: turn {turn}: {}",
                        recounted(&body)
                    );
                    let items = items(&client, &sent);
                    check_pairs(&items);
                    if plan.epoch == epoch {
                        assert_eq!(items[..last.len()], last, "turn {turn}");
                    }
                    (last, epoch, trimmed) = (items, plan.epoch, trimmed.max(plan.changes.trimmed));
                    let reply = if step == 0 {
                        let mut all = outputs(turn);
                        client.works(&all.swap_remove(dice.below(all.len())).text)
                    } else {
                        client.hears(&format!("Module {turn} needs nothing."))
                    };
                    engine.complete_request(&plan, &reply).await.unwrap();
                }
            }
            assert!(epoch >= 2 && trimmed >= 3, "{epoch} cuts, {trimmed} trimmed at once");
        });
    }
}

/// The figures in docs/proxy.md are of longer sessions (`cargo bench --bench trim`).
#[test]
fn a_session_with_many_results_costs_less() {
    run(async {
        let way = |trims_tools, budget| Way { trims_tools, budget };
        for budget in [Tokens(1_000_000), Tokens(30_000)] {
            let whole = bill(12, 1, way(false, budget)).await;
            let short = bill(12, 1, way(true, budget)).await;
            assert!(short.longest <= budget.0 && whole.longest <= budget.0);
            let ratio = short.dollars / whole.dollars;
            assert!(ratio < 0.8, "{ratio:.2} at {budget}: ${:.3} and ${:.3}", short.dollars, whole.dollars);
        }
    });
}

/// What is not a reply needs nothing.
#[test]
fn counts_are_of_what_is_sent() {
    run(async {
        let engine = engine(&Arc::new(MemStore::new()));
        let mut client = Client::new("/v1/messages");
        client.says("run it");
        client.works(&outputs(7).swap_remove(0).text);
        let body = client.body();
        let incoming = IncomingRequest {
            path: "/v1/messages/count_tokens",
            trims_tools: true,
            budget: LARGE,
            ..client.incoming(&body)
        };
        let counted = engine.ingest(&incoming).await;
        let (plan, sent) = send(&engine, &client, LARGE).await;
        assert_eq!((counted.body.as_deref(), counted.tokens_planned), (Some(&*sent), plan.tokens_planned));
        engine.complete_request(&plan, &ProviderReply::default()).await.unwrap();
    });
}
