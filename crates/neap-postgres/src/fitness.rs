//! Whether a server can hold a store: version, settings, the role, and row-level security.

use neap_store::DatabaseFault;
use tokio_postgres::Client;

use crate::db_error::DbError;

/// The oldest version that the tests run on.
const VERSION_MIN: i64 = 160_000;

pub(crate) struct Fitness {
    pub(crate) version: String,
    pub(crate) warnings: Vec<String>,
}

const SETTINGS: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
    current_setting('server_encoding'), current_setting('synchronous_commit'), current_setting('fsync'),
    current_setting('full_page_writes'),
    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)";

/// Refuses what would lose or mix up data; warns of what might.
pub(crate) async fn check(client: &Client) -> Result<Fitness, DbError> {
    let row = client.query_typed_one(SETTINGS, &[]).await?;
    let (version, number): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
    if number < VERSION_MIN {
        let why = format!("it is PostgreSQL {version}; a store needs {} or later", VERSION_MIN / 10_000);
        return Err(DatabaseFault::Unfit(why).into());
    }
    let encoding: String = row.try_get(2)?;
    if encoding != "UTF8" {
        return Err(DatabaseFault::Unfit(format!("its encoding is {encoding}; a store needs UTF8")).into());
    }
    let mut warnings = Vec::new();
    if row.try_get::<_, String>(3)? == "off" {
        let why = "synchronous_commit is off: what was accepted could be lost; set it to on".to_owned();
        return Err(DatabaseFault::Unfit(why).into());
    }
    for (column, setting) in [(4, "fsync"), (5, "full_page_writes")] {
        if row.try_get::<_, String>(column)? == "off" {
            warnings.push(format!("{setting} is off: a power failure may lose or damage what was stored"));
        }
    }
    if row.try_get(6)? {
        let why = "the role is a superuser or has BYPASSRLS: the database does not keep tenants apart for it";
        warnings.push(why.to_owned());
    }
    Ok(Fitness { version, warnings })
}

/// Tables with a tenant that are not protected by a forced policy.
const UNPROTECTED: &str = "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE n.nspname = 'neap' AND c.relkind IN ('r', 'p')
      AND NOT (c.relrowsecurity AND c.relforcerowsecurity
               AND (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) = 1
               AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd = '*' AND p.polroles = '{0}'
                           AND pg_get_expr(p.polqual, p.polrelid) = '(tenant = neap.tenant())'
                           AND pg_get_expr(p.polwithcheck, p.polrelid) = '(tenant = neap.tenant())'))
    ORDER BY 1";

pub(crate) async fn check_protection(client: &Client) -> Result<(), DbError> {
    // Names are printed with their schema unless that is on the path, as it is for a role of the schema's name.
    client.batch_execute("BEGIN READ ONLY; SET LOCAL search_path = pg_catalog").await?;
    let rows = client.query_typed(UNPROTECTED, &[]).await?;
    client.batch_execute("COMMIT").await?;
    let names: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    if names.is_empty() {
        return Ok(());
    }
    let why = format!("row-level security is not forced, or has another policy, on {}", names.join(", "));
    Err(DatabaseFault::RowsUnprotected(why).into())
}
