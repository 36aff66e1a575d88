//! The stores through their door: one program, since linking each file by itself takes longer than its tests.

mod access;
mod contract;
mod disk;
mod folder_import;
mod folder_view;
mod memories_random;
mod older;
mod projects_random;
mod proposals_random;
mod scene;
mod sqlite_cold;
mod sqlite_faults;
mod sqlite_flips;
mod sqlite_log;
mod sqlite_lost;
mod sqlite_memories;
mod sqlite_old_formats;
mod sqlite_processes;
mod sqlite_proposals;
