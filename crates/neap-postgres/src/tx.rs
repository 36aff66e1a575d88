//! A transaction of one tenant. Statements are sent when their future is first polled, so that those of one
//! [`tokio::join!`] take one round trip.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use deadpool_postgres::Object;
use neap_core::base::access::TenantName;
use tokio_postgres::Row;

use crate::db_error::DbError;
use crate::sql::Param;

pub(crate) struct Tx {
    client: Object,
    tenant: TenantName,
    is_finished: bool,
}

const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Whoever holds a tenant's lock for longer hangs.
const BEGIN_WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '10s'";

impl Tx {
    /// All statements see one snapshot.
    pub(crate) fn read(client: Object, tenant: &TenantName) -> Self {
        Self::begin(client, tenant, BEGIN_READ)
    }

    pub(crate) fn write(client: Object, tenant: &TenantName) -> Self {
        Self::begin(client, tenant, BEGIN_WRITE)
    }

    /// Nobody waits for the answer: if it is an error, so is that of the next statement.
    fn begin(client: Object, tenant: &TenantName, begin: &str) -> Self {
        // The name has no quotes: see `TenantName`.
        let statements = format!("{begin}; SELECT set_config('neap.tenant', '{tenant}', true)");
        send(client.batch_execute(&statements));
        Self { client, tenant: tenant.clone(), is_finished: false }
    }

    /// The first parameter of nearly every statement.
    pub(crate) fn tenant(&self) -> &str {
        self.tenant.as_str()
    }

    pub(crate) async fn query(&self, sql: &str, params: Vec<Param<'_>>) -> Result<Vec<Row>, DbError> {
        Ok(self.client.query_typed(sql, &params).await?)
    }

    pub(crate) async fn query_opt(&self, sql: &str, params: Vec<Param<'_>>) -> Result<Option<Row>, DbError> {
        Ok(self.client.query_typed_opt(sql, &params).await?)
    }

    pub(crate) async fn query_one(&self, sql: &str, params: Vec<Param<'_>>) -> Result<Row, DbError> {
        Ok(self.client.query_typed_one(sql, &params).await?)
    }

    /// Returns the number of rows.
    pub(crate) async fn execute(&self, sql: &str, params: Vec<Param<'_>>) -> Result<u64, DbError> {
        Ok(self.client.execute_typed(sql, &params).await?)
    }

    /// Ends a transaction that only read; nobody waits for that.
    pub(crate) fn end(mut self) {
        self.is_finished = true;
        send(self.client.batch_execute("COMMIT"));
    }

    /// Runs the last statements and commits, in one round trip. Where one of them fails, Postgres rolls back.
    pub(crate) async fn commit_after(mut self, last: Vec<Statement<'_>>) -> Result<(), DbError> {
        self.is_finished = true;
        let client = &self.client;
        let mut all: Vec<_> = last.into_iter().map(|statement| Some(Box::pin(run(client, statement)))).collect();
        let mut commit = pin!(client.batch_execute("COMMIT"));
        // In order on the first poll: that is when each is sent. A `COMMIT` after an error answers as if all were
        // well, so every answer counts.
        let (mut first_error, mut committed) = (None, None);
        let committed = std::future::poll_fn(|cx| {
            for slot in &mut all {
                if let Some(future) = slot
                    && let Poll::Ready(result) = future.as_mut().poll(cx)
                {
                    *slot = None;
                    first_error = first_error.take().or(result.err());
                }
            }
            if committed.is_none()
                && let Poll::Ready(result) = commit.as_mut().poll(cx)
            {
                committed = Some(result);
            }
            if all.iter().any(Option::is_some) {
                return Poll::Pending;
            }
            committed.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        match first_error {
            Some(error) => Err(error),
            None => Ok(committed?),
        }
    }

    pub(crate) async fn commit(self) -> Result<(), DbError> {
        self.commit_after(Vec::new()).await
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if !self.is_finished {
            // Also for a future that was dropped: the next user of the connection comes after this.
            send(self.client.batch_execute("ROLLBACK"));
        }
    }
}

async fn run(client: &Object, Statement(sql, params): Statement<'_>) -> Result<(), DbError> {
    client.execute_typed(sql, &params).await?;
    Ok(())
}

/// A statement whose rows are not read.
pub(crate) struct Statement<'a>(pub(crate) &'a str, pub(crate) Vec<Param<'a>>);

/// Sends a request without waiting for its answer.
fn send(request: impl Future) {
    let mut request: Pin<&mut _> = pin!(request);
    // It is sent by the first poll; the answer is dropped by the connection.
    let _ = request.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}
