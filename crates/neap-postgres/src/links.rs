//! Links from digests of client histories to sessions.

use neap_core::base::digest::Digest;
use neap_core::base::ids::{SessionId, TurnNo};

use crate::db_error::DbError;
use crate::sql::params;
use crate::tx::Tx;

/// The sessions that recorded each digest, oldest first.
pub(crate) async fn sessions_by_digest(
    tx: &Tx,
    digests: &[Digest],
) -> Result<Vec<Vec<(SessionId, TurnNo)>>, DbError> {
    let keys: Vec<&[u8]> = digests.iter().map(|digest| digest.bytes().as_slice()).collect();
    let sql = "SELECT q.nth, s.name, l.turn FROM unnest($2::bytea[]) WITH ORDINALITY q(digest, nth)
        JOIN neap.links l ON l.tenant = $1 AND l.digest = q.digest
        JOIN neap.sessions s ON s.tenant = $1 AND s.stream = l.stream
        ORDER BY q.nth, l.stream";
    let mut all = vec![Vec::new(); digests.len()];
    for row in tx.query(sql, params![&tx.tenant(), &keys]).await? {
        let (nth, turn): (i64, i64) = (row.try_get(0)?, row.try_get(2)?);
        let id = SessionId::parse(row.try_get(1)?).ok();
        all[nth as usize - 1].extend(id.map(|id| (id, TurnNo(turn as u64))));
    }
    Ok(all)
}
