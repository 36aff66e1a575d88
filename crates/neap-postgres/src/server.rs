//! A database and the connections to it: opened once, then a store for each tenant.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use neap_core::base::access::TenantName;
use neap_core::text::secrets::Masking;
use neap_store::{DatabaseFault, StoreError};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, NoTls};

use crate::db_error::DbError;
use crate::fitness::{self, Fitness};
use crate::migrations;
use crate::store::PostgresStore;
use crate::store_url::StoreUrl;
use crate::vector_cache::VectorCache;

/// How long a request waits for a connection.
const WAIT: Duration = Duration::from_secs(10);
const CONNECT: Duration = Duration::from_secs(10);

pub struct PostgresServer {
    pool: Pool,
    /// Without the password.
    name: String,
    fitness: Fitness,
    caches: Mutex<BTreeMap<TenantName, Weak<VectorCache>>>,
}

impl PostgresServer {
    /// Connects, creates the database and its tables if there are none and the role may, and checks that they keep
    /// tenants apart. The connections belong to the runtime that calls this.
    pub async fn open(url: &str) -> Result<Arc<Self>, StoreError> {
        let url = StoreUrl::parse(url)?;
        let name = url.name.clone();
        Self::connect(url).await.map(Arc::new).map_err(|error| error.into_store_error(&name))
    }

    async fn connect(url: StoreUrl) -> Result<Self, DbError> {
        let StoreUrl { mut config, name, pool_size } = url;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        config.application_name("neap");
        let manager_config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), NoTls, manager_config);
        let pool = Pool::builder(manager)
            .max_size(pool_size)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .build()
            .map_err(|e| DatabaseFault::Failed(e.to_string()))?;
        let first: Result<Object, DbError> = pool.get().await.map_err(DbError::from);
        let mut client = match first {
            Err(error) if is_missing_database(&error) => {
                create_database(&config).await?;
                pool.get().await?
            }
            first => first?,
        };
        let fitness = fitness::check(&client).await?;
        migrations::migrate(&mut client).await?;
        fitness::check_protection(&client).await?;
        drop(client);
        Ok(Self { pool, name, fitness, caches: Mutex::default() })
    }

    /// The store of one tenant. It reads and writes nothing of any other.
    pub fn tenant(self: &Arc<Self>, tenant: TenantName) -> PostgresStore {
        let mut caches = self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        caches.retain(|_, cache| cache.strong_count() > 0);
        let known = caches.get(&tenant).and_then(Weak::upgrade);
        let cache = known.unwrap_or_else(|| {
            let cache = Arc::<VectorCache>::default();
            caches.insert(tenant.clone(), Arc::downgrade(&cache));
            cache
        });
        PostgresStore { server: self.clone(), tenant, cache, masking: Masking::default() }
    }

    /// Host, port and database.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What should be changed on the server, although it works.
    pub fn warnings(&self) -> &[String] {
        &self.fitness.warnings
    }

    pub(crate) fn version(&self) -> &str {
        &self.fitness.version
    }

    pub(crate) async fn client(&self) -> Result<Object, DbError> {
        Ok(self.pool.get().await?)
    }
}

fn is_missing_database(error: &DbError) -> bool {
    matches!(error, DbError::Sql(error) if crate::db_error::fault(error) == DatabaseFault::NoDatabase)
}

/// Through the database that every server has.
async fn create_database(config: &Config) -> Result<(), DbError> {
    let Some(name) = config.get_dbname().or(config.get_user()) else {
        return Err(DatabaseFault::NoDatabase.into());
    };
    let quoted = name.replace('"', "\"\"");
    let mut maintenance = config.clone();
    maintenance.dbname("postgres");
    let (client, connection) = maintenance.connect(NoTls).await?;
    let connection = tokio::spawn(connection);
    let statement = format!("CREATE DATABASE \"{quoted}\" TEMPLATE template0 ENCODING 'UTF8'");
    let created = client.batch_execute(&statement).await;
    connection.abort();
    match created {
        Err(error) if is_taken(&error) => Ok(()),
        Err(error) if matches!(crate::db_error::fault(&error), DatabaseFault::NotAllowed(_)) => {
            Err(DatabaseFault::NoDatabase.into())
        }
        created => Ok(created?),
    }
}

/// Another server was faster.
fn is_taken(error: &tokio_postgres::Error) -> bool {
    let codes = [SqlState::DUPLICATE_DATABASE, SqlState::UNIQUE_VIOLATION];
    error.code().is_some_and(|code| codes.contains(code))
}
