//! The binary as people and programs use it: one program, since linking each file by itself takes longer than its tests.

mod agents;
mod api;
mod bad_input;
mod budget;
mod callers;
mod canary;
mod chat;
mod client;
mod demo;
#[path = "../../neap-sqlite/tests/disk/mod.rs"]
mod disk;
mod doctor;
mod economy;
mod embedders;
mod eval;
mod expected;
mod help;
mod hook;
mod hook_line;
mod hook_random;
mod hostile;
#[cfg(target_os = "linux")]
mod http2;
mod import;
mod import_embedding;
mod import_offer;
mod install;
mod keys;
mod kill;
mod lost;
mod lost_random;
mod mcp;
mod mcp_cancel;
mod mcp_http;
mod mcp_input;
mod mcp_many;
mod mcp_resources;
mod mcp_suite;
mod memories;
mod memory;
mod memory_proof;
#[path = "../../neap-model/tests/mock/mod.rs"]
mod mock;
mod models;
mod outage;
mod own_paths;
mod packages;
mod passing;
mod platforms;
mod postgres;
mod projects;
mod proof;
mod proof_model;
mod proxy;
mod readme;
mod related;
mod replay;
mod reply_kill;
mod rig;
mod run;
mod sdk;
mod serve;
mod sessions;
mod tenants;
mod terminal;
#[cfg(target_os = "linux")]
mod tls;
mod token_ratio;
mod tools;
mod trimming;
mod trust;
mod uploads;
#[path = "../../neap-engine/tests/wait/mod.rs"]
mod wait;
mod window;
mod wire;
