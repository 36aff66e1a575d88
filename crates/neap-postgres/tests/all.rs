//! The store through its door, on a real server: one program, since linking each file by itself takes longer than its
//! tests. `NEAP_TEST_POSTGRES` names the server; `cargo xtask test` starts one.

mod bad_servers;
mod contract;
mod scene;
mod tenants;
mod writers;
