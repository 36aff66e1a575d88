//! A store on top of another one, which changes only what it names.

use std::sync::Arc;

use async_trait::async_trait;
use neap_core::base::digest::Digest;
use neap_core::base::ids::{Seq, SessionId, Stamp, StreamId, TurnNo};
use neap_core::base::message::Scope;
use neap_core::memory::{Memory, MemoryId, MemoryKind, RecallRequest, RecallResponse};
use neap_core::recall::{Candidates, Embedding, Query, RankedResults, RankedSearch, TextId, UnembeddedText};
use neap_core::session::log::{Log, LogRequest};
use neap_core::session::state::SessionState;
use neap_core::text::secrets::Masking;

use crate::{
    AgentInfo, Commit, EventStore, Finding, Footprint, Maintenance, MemoryStore, SearchStore, SessionInfo, Store,
    StoreError, StoredEvent,
};

/// From a list of the methods of each trait: the operations, the layer whose methods forward them, and the traits for every
/// layer.
macro_rules! layer {
    ($($trait:ident {
        $(= $setting:ident() -> $value:ty;)?
        $($operation:ident $method:ident($($arg:ident: $type:ty),*) -> $output:ty;)*
    })*) => {
        /// A method of a store.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Operation {
            $($($operation,)*)*
        }

        /// A layer is a [`Store`]: each method first calls [`before`](StoreLayer::before), then the store below.
        #[async_trait]
        pub trait StoreLayer: Send + Sync {
            /// The store below.
            fn inner(&self) -> &dyn Store;

            /// An error is the operation's result, and the store below is not called.
            async fn before(&self, _operation: Operation) -> Result<(), StoreError> {
                Ok(())
            }

            $($(
                async fn $method(&self, $($arg: $type),*) -> Result<$output, StoreError> {
                    self.before(Operation::$operation).await?;
                    self.inner().$method($($arg),*).await
                }
            )*)*
        }

        $(
            #[async_trait]
            impl<L: StoreLayer> $trait for L {
                $(
                    fn $setting(&self) -> $value {
                        self.inner().$setting()
                    }
                )?
                $(
                    async fn $method(&self, $($arg: $type),*) -> Result<$output, StoreError> {
                        StoreLayer::$method(self, $($arg),*).await
                    }
                )*
            }
        )*
    };
}

layer! {
    EventStore {
        = masking() -> Masking;
        Commit commit(commit: Commit) -> ();
        Load load(stream: &StreamId) -> Option<SessionState>;
        LastSeq last_seq(stream: &StreamId) -> Seq;
        Events events(stream: &StreamId, from: Seq, max: usize) -> Vec<StoredEvent>;
        EventsOfKinds events_of_kinds(stream: &StreamId, kinds: &[&str], before: Option<Seq>, max: usize) -> Vec<StoredEvent>;
        Log log(stream: &StreamId, request: &LogRequest) -> Log;
        TurnById turn_by_id(stream: &StreamId, turn_id: &str) -> Option<TurnNo>;
        TurnSpan turn_span(stream: &StreamId, turn: TurnNo) -> Option<(Seq, Seq)>;
        SessionsByDigest sessions_by_digest(digests: &[Digest]) -> Vec<Vec<(SessionId, TurnNo)>>;
    }
    SearchStore {
        FindCandidates find_candidates(query: &Query) -> Candidates;
        Texts texts(ids: &[TextId]) -> Vec<Option<Arc<str>>>;
        Search search(request: &RankedSearch) -> RankedResults;
        Scopes scopes(ids: &[TextId]) -> Vec<Option<Scope>>;
        Unembedded unembedded(model: &str, max: usize) -> Vec<UnembeddedText>;
        PutEmbeddings put_embeddings(model: &str, batch: Vec<(TextId, Arc<str>, Embedding)>) -> ();
    }
    MemoryStore {
        Recall recall(stream: &StreamId, request: &RecallRequest) -> RecallResponse;
        Memories memories(stream: &StreamId, ids: &[MemoryId]) -> Vec<Memory>;
        ListMemories list_memories(stream: &StreamId, kind: Option<MemoryKind>, before: Option<MemoryId>, max: usize) -> Vec<Memory>;
        MemoriesDue memories_due(stream: &StreamId, now: Stamp, max: usize) -> Vec<Memory>;
        MemoryHistory memory_history(stream: &StreamId, id: MemoryId) -> Vec<StoredEvent>;
    }
    Maintenance {
        Sessions sessions() -> Vec<SessionInfo>;
        Agents agents() -> Vec<AgentInfo>;
        Footprint footprint(stream: Option<&StreamId>) -> Footprint;
        Examine examine(stream: Option<&StreamId>) -> Vec<Finding>;
        Rebuild rebuild(stream: &StreamId) -> Vec<Finding>;
        Scrub scrub(stream: &StreamId, now: Stamp) -> u64;
        EraseMemory erase_memory(stream: &StreamId, id: MemoryId, now: Stamp) -> u64;
    }
}
