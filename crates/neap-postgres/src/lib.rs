//! A store in Postgres: one database for many machines. Each tenant has a store of its own in it; a tenant's commits
//! come one after another, those of different tenants at once.
//!
//! Start with `migrations/` (what is stored), then `commit` (how it gets there), `tx` (how a statement is kept to its
//! tenant) and `search/`.

mod cards;
mod commit;
mod counts;
mod db_error;
mod derived_rows;
mod embeddings;
mod erase;
mod events;
mod examine;
mod fitness;
mod footprint;
mod heads;
mod links;
mod log;
mod memories;
mod memory_recall;
mod migrations;
mod rebuild;
mod repair;
mod search;
mod server;
mod sql;
mod store;
mod store_url;
mod texts;
mod tx;
mod vector_cache;
mod vectors;
mod write;

pub use server::PostgresServer;
pub use store::PostgresStore;
