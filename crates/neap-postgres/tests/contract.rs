//! The contract of `Store`, and the same answers as the memory backend gives (I9).

use neap_store::contract::{self, propose_alike, propose_alike_of_many, recall_alike};

use crate::scene::with_store;

macro_rules! contract {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            with_store(stringify!($name), async |store| contract::$name(&store).await);
        })*
    };
}

neap_store::contract_tests!(contract);

#[test]
fn it_recalls_what_memory_recalls() {
    for seed in [1, 7, 1_234_567] {
        with_store("recall", async |store| recall_alike(&store, seed).await);
    }
}

#[test]
fn it_proposes_what_memory_proposes() {
    for seed in [1, 7, 1_234_567] {
        with_store("propose", async |store| propose_alike(&store, seed).await);
    }
}

#[test]
fn it_proposes_what_memory_proposes_of_many() {
    with_store("propose of many", async |store| propose_alike_of_many(&store).await);
}
