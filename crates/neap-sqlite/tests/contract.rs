//! The contract of `Store`, held against each backend.
#![allow(clippy::unwrap_used, reason = "in a test a panic is a result")]

use std::future::Future;

use neap_sqlite::SqliteStore;
use neap_store::{MemStore, contract};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

macro_rules! contract {
    ($($name:ident)*) => {
        mod mem {
            use super::*;
            $(#[test]
            fn $name() {
                block_on(contract::$name(&MemStore::new()));
            })*
        }
        mod sqlite {
            use super::*;
            $(#[test]
            fn $name() {
                let dir = tempfile::tempdir().unwrap();
                let store = SqliteStore::open(&dir.path().join("neap.db")).unwrap();
                block_on(contract::$name(&store));
            })*
        }
    };
}

neap_store::contract_tests!(contract);
