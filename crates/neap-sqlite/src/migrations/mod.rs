//! The upgrade of older formats, inside one transaction.
//!
//! Each migration is frozen: SQL of its own, which takes a store from one format to the next and names no other code, so that
//! a later change of the schema cannot change it. What only code can compute it leaves empty, and says so. Once the tables
//! are today's, today's code computes all of that, from the events.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::{progress, rebuild, schema, task, vectors};

struct Migration {
    to: i64,
    sql: &'static str,
    leaves: Option<DueRows>,
}

/// Rows that a migration leaves to code, in the order in which they are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DueRows {
    /// What was last asked for, in the rows of sessions.
    Tasks,
    /// Words, cards and withheld turns of every text.
    Index,
    Progress,
    /// The sign bits and sums of embeddings.
    Signs,
}

/// A migration that is here never changes. A new format adds one, and today's tables ([`schema`]) change with it.
const MIGRATIONS: [Migration; 10] = [
    Migration { to: 2, sql: include_str!("v2.sql"), leaves: None },
    Migration { to: 3, sql: include_str!("v3.sql"), leaves: None },
    Migration { to: 4, sql: include_str!("v4.sql"), leaves: None },
    Migration { to: 5, sql: include_str!("v5.sql"), leaves: Some(DueRows::Tasks) },
    Migration { to: 6, sql: include_str!("v6.sql"), leaves: Some(DueRows::Index) },
    Migration { to: 7, sql: include_str!("v7.sql"), leaves: None },
    Migration { to: 8, sql: include_str!("v8.sql"), leaves: None },
    Migration { to: 9, sql: include_str!("v9.sql"), leaves: Some(DueRows::Progress) },
    Migration { to: 10, sql: include_str!("v10.sql"), leaves: Some(DueRows::Signs) },
    Migration { to: 11, sql: include_str!("v11.sql"), leaves: None },
];

/// Upgrades an older database, inside the caller's transaction: nobody sees a store with rows that are still due.
pub(super) fn upgrade(db: &Connection) -> rusqlite::Result<()> {
    let from = schema::format(db)?;
    let mut due = BTreeSet::new();
    for Migration { to, sql, leaves } in MIGRATIONS.iter().filter(|migration| migration.to > from) {
        db.execute_batch(sql)?;
        db.pragma_update(None, "user_version", to)?;
        due.extend(*leaves);
    }
    due.into_iter().try_for_each(|rows| compute(db, rows))
}

fn compute(db: &Connection, rows: DueRows) -> rusqlite::Result<()> {
    match rows {
        DueRows::Tasks => task::backfill_tasks(db),
        DueRows::Index => rebuild::reindex_all(db),
        DueRows::Progress => progress::initialize(db),
        DueRows::Signs => vectors::compute_signs(db),
    }
}

#[cfg(test)]
mod tests {
    use neap_core::base::digest::Digest;

    use super::*;

    /// Stores that were upgraded by one text must not differ from stores that another one upgrades.
    #[test]
    fn no_migration_changes_once_it_is_there() {
        const FROZEN: [(i64, &str); 10] = [
            (2, "8a78d5dd32cc1148d5bc2568a64a2425"),
            (3, "907436726a8fb78248937b25ca6979c2"),
            (4, "67f4424e2aef5da2049ab7c6c30d14e4"),
            (5, "6b09a38647f58e0b3691749090d490d8"),
            (6, "923f6a1c7a8692140e249e2d7f6338e6"),
            (7, "52688cfbaff6b82e4609b44f0e9850ae"),
            (8, "647eb9522036165c6b80b8def4bd44ac"),
            (9, "1080be28309b8e0cc4ecbc2a7dadb065"),
            (10, "929b071f201074563b9df4f82d1b7d79"),
            (11, "00836b4118de01cae1021bef2a19628d"),
        ];
        let digest = |sql: &str| Digest::of("migration", &[sql.as_bytes()]).to_string();
        let found = MIGRATIONS.map(|migration| (migration.to, digest(migration.sql)));
        assert_eq!(found, FROZEN.map(|(to, digest)| (to, digest.to_owned())));
    }

    #[test]
    fn the_migrations_lead_to_the_format_of_today() {
        assert!(MIGRATIONS.iter().map(|migration| migration.to).eq(2..=schema::FORMAT));
    }
}
