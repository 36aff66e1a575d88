//! The engine through its door: one program, since linking each file by itself takes longer than its tests.

mod agent_memory;
mod agent_recall;
mod ccm_defects;
mod compaction;
mod conclusions;
mod envelopes;
mod faults;
mod golden;
mod ingest;
mod memories;
mod memories_kept;
mod memories_pressed;
mod memory_tokens;
mod recall;
mod replay;
mod simulated;
mod slice2;
mod slice3;
mod slice4;
mod stage;
mod standing;
mod taking_back;
mod told;
mod tools;
mod traffic;
mod windows;
