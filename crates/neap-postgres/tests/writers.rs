//! Many writers on one session: every word is there once, in order, and nobody is locked out.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use neap_core::base::ids::{Seq, TurnNo};
use neap_core::base::message::Scope;
use neap_core::session::state::SessionState;
use neap_postgres::PostgresServer;
use neap_store::contract::{TestStream, faults, turn_completed, turn_started};
use neap_store::{EventStore, StoreError, StoredEvent};

use crate::scene::{block_on, new_tenant, url};

const WRITERS: usize = 8;
const TURNS: usize = 25;

/// Each writer has a server object of its own, as a process would.
#[test]
fn eight_writers_share_a_session() {
    let Some(url) = url("many writers") else { return };
    block_on(async {
        let server = PostgresServer::open(&url).await.unwrap();
        let store = new_tenant(&server);
        let stream = TestStream::create(&store, "shared").await;
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let (url, tenant, stream) = (url.clone(), store.tenant().clone(), stream.clone());
            writers.push(tokio::spawn(async move {
                let own = PostgresServer::open(&format!("{url}?pool_size=2")).await.unwrap().tenant(tenant);
                let (mut conflicts, mut own_stream) = (0, stream);
                for turn in 0..TURNS {
                    loop {
                        let text = format!("writer {writer} turn {turn}");
                        let next: TurnNo = own_stream.state.turn().next();
                        let said = vec![
                            turn_started(next, &text, Some(&text)),
                            turn_completed(next, "yes", Scope::Ambient),
                        ];
                        match own_stream.append(&own, said).await {
                            Ok(()) => break,
                            Err(StoreError::Conflict { .. }) => {
                                conflicts += 1;
                                let state: SessionState = own.load(&own_stream.id).await.unwrap().unwrap();
                                own_stream.state = state;
                            }
                            Err(other) => panic!("{other}"),
                        }
                    }
                }
                conflicts
            }));
        }
        let mut conflicts = 0;
        for writer in writers {
            conflicts += writer.await.unwrap();
        }
        let stored = store.events(&stream.id, Seq(0), usize::MAX).await.unwrap();
        assert_eq!(stored.len(), 1 + WRITERS * TURNS * 2, "{conflicts} conflicts");
        let seqs: Vec<u64> = stored.iter().map(|event| event.seq().0).collect();
        assert!(seqs.iter().zip(1..).all(|(seq, nth)| *seq == nth));
        let text = format!("{:?}", stored.into_iter().filter_map(StoredEvent::whole).collect::<Vec<_>>());
        for writer in 0..WRITERS {
            for turn in 0..TURNS {
                let said = format!("\"writer {writer} turn {turn}\"");
                // As the message and as the turn's id.
                assert_eq!(text.matches(&said).count(), 2, "{said}");
            }
        }
        assert!(conflicts > 0, "the scene is set");
        assert_eq!(faults(&store).await, []);
    });
}

/// Sessions of one tenant and of several do not get in each other's way.
#[test]
fn many_sessions_are_written_at_once() {
    let Some(url) = url("many sessions") else { return };
    block_on(async {
        let server = PostgresServer::open(&url).await.unwrap();
        let (one, two) = (new_tenant(&server), new_tenant(&server));
        let mut writers = Vec::new();
        for nth in 0..12 {
            let store = if nth % 2 == 0 { one.clone() } else { two.clone() };
            writers.push(tokio::spawn(async move {
                let mut stream = TestStream::create(&store, &format!("session {nth}")).await;
                for turn in 0..10 {
                    stream.add_turn(&store, &format!("apple {turn}"), "pear", Scope::Ambient).await;
                }
                assert_eq!(store.load(&stream.id).await.unwrap(), Some(stream.state));
            }));
        }
        for writer in writers {
            writer.await.unwrap();
        }
        for store in [&one, &two] {
            assert_eq!(faults(store).await, []);
        }
    });
}
