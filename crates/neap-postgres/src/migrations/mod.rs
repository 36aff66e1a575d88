//! Creates the tables, and changes those of older formats; each step is a frozen file.

use neap_store::DatabaseFault;
use tokio_postgres::Client;

use crate::db_error::DbError;

/// From each format to the next.
const STEPS: [&str; 1] = [include_str!("0001_first.sql")];
pub(crate) const FORMAT: i64 = STEPS.len() as i64;

/// Any number of servers may start at once; one of them migrates. "Neap" in ASCII.
const LOCK: i64 = 0x4e65_6170;

pub(crate) async fn migrate(client: &mut Client) -> Result<(), DbError> {
    // A read-only server can be read if nothing is to be done.
    if stored_format(client).await? == FORMAT {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    transaction.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await?;
    let stored = stored_format(transaction.client()).await?;
    let missing = STEPS.iter().zip(1..).skip_while(|(_, number)| *number <= stored);
    for (step, number) in missing {
        transaction.batch_execute(step).await?;
        transaction.batch_execute(&format!("INSERT INTO neap.formats(number) VALUES ({number})")).await?;
    }
    Ok(transaction.commit().await?)
}

/// 0 for a database without tables of ours.
async fn stored_format(client: &Client) -> Result<i64, DbError> {
    // Not `to_regclass`, which would repeat what it knew before another server's tables were waited for.
    let exists = "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'neap' AND c.relname = 'formats')";
    if !client.query_typed_one(exists, &[]).await?.try_get::<_, bool>(0)? {
        return Ok(0);
    }
    let found = client.query_typed_one("SELECT coalesce(max(number), 0) FROM neap.formats", &[]).await?;
    let found: i64 = found.try_get(0)?;
    if found > FORMAT {
        return Err(DatabaseFault::Newer { found, supported: FORMAT }.into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use neap_core::base::digest::Digest;

    use super::*;

    /// Databases that were made by one text must not differ from those that another one makes.
    #[test]
    fn no_step_changes_once_it_is_there() {
        const FROZEN: [&str; 1] = ["c77c751d3313e8b2db49f5236050a165"];
        let digest = |sql: &str| Digest::of("migration", &[sql.as_bytes()]).to_string();
        assert_eq!(STEPS.map(digest), FROZEN);
    }
}
