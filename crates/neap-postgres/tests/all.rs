//! The store through its door, on a real server: one program, since linking each file by itself takes longer than its
//! tests. `NEAP_TEST_POSTGRES` names the server, and `NEAP_TEST_PGBOUNCER` a pgbouncer before it; `cargo xtask test` starts
//! them.

mod bad_servers;
mod bouncer;
mod contract;
mod damage;
mod scene;
mod tenants;
mod writers;
