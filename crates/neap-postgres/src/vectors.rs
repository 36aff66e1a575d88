//! Embeddings of texts, and which texts lack one.
//!
//! `vectors` has the embedding of each text, `vector_index` its sign bits and what a search filters by. The `id` of a
//! row there grows with every change, so a cache reads the rows above the last `id` it knows. Where an embedding was
//! removed, a row without signs stays and says so. An embedding is current while its checksum equals the card's.
//! `embedded` counts and adds up the embeddings of each model and scope.

use std::collections::{BTreeMap, HashMap};

use neap_core::recall::Embedding;
use neap_store::backend::card::{CardRow, TermCounts, kind_number};
use neap_store::vectors::{MeanVector, sign_bytes, similarity};

use crate::db_error::DbError;
use crate::sql::params;
use crate::tx::{Statement, Tx};

/// What is stored of a text.
pub(crate) struct StoredText {
    /// The terms and length of its card.
    pub(crate) card: Option<(TermCounts, u32)>,
    pub(crate) vector: Option<StoredVector>,
}

#[derive(Clone)]
pub(crate) struct StoredVector {
    pub(crate) model: i64,
    /// Checksum of the embedded text.
    pub(crate) sum: i64,
    pub(crate) bytes: Vec<u8>,
}

/// What is stored of these texts, and of those of these efforts.
pub(crate) async fn stored_texts(
    tx: &Tx,
    stream: i64,
    texts: &Vec<i64>,
    efforts: &Vec<&str>,
) -> Result<BTreeMap<i64, StoredText>, DbError> {
    let sql = "SELECT t.text, c.terms, c.length, i.model, i.sum, v.vector
        FROM (SELECT unnest($2::bigint[]) AS text
              UNION SELECT text FROM neap.efforts WHERE tenant = $1 AND stream = $3 AND id = ANY($4)) t
        LEFT JOIN neap.cards c ON c.tenant = $1 AND c.text = t.text
        LEFT JOIN neap.vector_index i ON i.tenant = $1 AND i.text = t.text AND i.signs IS NOT NULL
        LEFT JOIN neap.vectors v ON v.tenant = $1 AND v.text = t.text AND i.text IS NOT NULL";
    let mut stored = BTreeMap::new();
    for row in tx.query(sql, params![&tx.tenant(), texts, &stream, efforts]).await? {
        let terms: Option<Vec<u8>> = row.try_get(1)?;
        let length: Option<i64> = row.try_get(2)?;
        let card = terms.zip(length).map(|(terms, length)| (TermCounts::from_bytes(terms), length as u32));
        let (model, sum, bytes): (Option<i64>, Option<i64>, Option<Vec<u8>>) =
            (row.try_get(3)?, row.try_get(4)?, row.try_get(5)?);
        let vector = model.zip(sum).zip(bytes).map(|((model, sum), bytes)| StoredVector { model, sum, bytes });
        stored.insert(row.try_get(0)?, StoredText { card, vector });
    }
    Ok(stored)
}

pub(crate) type Sums = BTreeMap<i64, (i64, MeanVector)>;

/// By model: how many embeddings a scope has, and the sum of their directions.
pub(crate) async fn scope_sums(tx: &Tx, scope: i64) -> Result<Sums, DbError> {
    let sql = "SELECT model, texts, directions FROM neap.embedded WHERE tenant = $1 AND scope = $2";
    let mut sums = Sums::new();
    for row in tx.query(sql, params![&tx.tenant(), &scope]).await? {
        let directions = MeanVector::from_bytes(row.try_get(2)?).unwrap_or_default();
        sums.insert(row.try_get(0)?, (row.try_get(1)?, directions));
    }
    Ok(sums)
}

pub(crate) fn as_values(bytes: &[u8]) -> Vec<i8> {
    bytes.iter().map(|byte| byte.cast_signed()).collect()
}

/// Changes to the embeddings of one scope, as columns.
pub(crate) struct VectorBatch {
    /// The id of the last row that was changed.
    pub(crate) last_id: i64,
    first_id: i64,
    sums: Sums,
    changed_models: Vec<i64>,
    gone: Vec<i64>,
    gone_ids: Vec<i64>,
    texts: Vec<i64>,
    ids: Vec<i64>,
    models: Vec<i64>,
    checksums: Vec<i64>,
    kinds: Vec<i64>,
    times: Vec<i64>,
    signs: Vec<Vec<u8>>,
    vectors: Vec<Vec<u8>>,
    queued: Vec<i64>,
    unqueued: Vec<i64>,
    /// Columns of the changed sums.
    counts: Vec<i64>,
    directions: Vec<Vec<u8>>,
}

impl VectorBatch {
    pub(crate) fn new(last_id: i64, sums: Sums) -> Self {
        Self {
            last_id,
            first_id: last_id,
            sums,
            changed_models: Vec::new(),
            gone: Vec::new(),
            gone_ids: Vec::new(),
            texts: Vec::new(),
            ids: Vec::new(),
            models: Vec::new(),
            checksums: Vec::new(),
            kinds: Vec::new(),
            times: Vec::new(),
            signs: Vec::new(),
            vectors: Vec::new(),
            queued: Vec::new(),
            unqueued: Vec::new(),
            counts: Vec::new(),
            directions: Vec::new(),
        }
    }

    /// A text that had nothing waits for its embedding.
    pub(crate) fn queue(&mut self, text: i64) {
        self.queued.push(text);
    }

    /// Ensures that a text has a current embedding, or is queued for one, or that nothing is left if the text is
    /// gone. `texts` are all rowids that a memory may have had; its embedding moves with it. `card` is what there
    /// is from now on.
    pub(crate) fn sync(
        &mut self,
        texts: &[i64],
        stored: &BTreeMap<i64, StoredText>,
        card: Option<(i64, &CardRow)>,
    ) {
        let mut has_vector = false;
        for text in texts {
            let Some(vector) = stored.get(text).and_then(|stored| stored.vector.as_ref()) else { continue };
            match card {
                Some((own, row)) if i64::from(row.checksum) == vector.sum && !has_vector => {
                    has_vector = true;
                    if own != *text {
                        self.remove(*text, vector);
                        self.put(own, row, vector.model, vector.bytes.clone());
                    }
                }
                Some(_) | None => self.remove(*text, vector),
            }
        }
        for text in texts {
            let is_queued = !has_vector && card.is_some_and(|(own, _)| own == *text);
            if is_queued { &mut self.queued } else { &mut self.unqueued }.push(*text);
        }
    }

    pub(crate) fn put(&mut self, text: i64, row: &CardRow, model: i64, bytes: Vec<u8>) {
        let at = (row.kind, row.at.0, row.checksum);
        self.put_meta(text, (kind_number(at.0), at.1, at.2.into()), model, bytes);
    }

    /// `meta` is kind, time and checksum of the text.
    pub(crate) fn put_meta(&mut self, text: i64, meta: (i64, i64, i64), model: i64, bytes: Vec<u8>) {
        let values = as_values(&bytes);
        self.change_sums(model, 1, |directions| directions.add(&values));
        self.last_id += 1;
        self.texts.push(text);
        self.ids.push(self.last_id);
        self.models.push(model);
        self.kinds.push(meta.0);
        self.times.push(meta.1);
        self.checksums.push(meta.2);
        self.signs.push(sign_bytes(&values));
        self.vectors.push(bytes);
        self.unqueued.push(text);
    }

    fn remove(&mut self, text: i64, vector: &StoredVector) {
        self.subtract(vector);
        self.last_id += 1;
        self.gone.push(text);
        self.gone_ids.push(self.last_id);
    }

    pub(crate) fn subtract(&mut self, vector: &StoredVector) {
        let values = as_values(&vector.bytes);
        self.change_sums(vector.model, -1, |directions| directions.subtract(&values));
    }

    fn change_sums(&mut self, model: i64, by: i64, change: impl FnOnce(&mut MeanVector)) {
        let (texts, directions) = self.sums.entry(model).or_default();
        *texts += by;
        change(directions);
        if !self.changed_models.contains(&model) {
            self.changed_models.push(model);
        }
    }

    pub(crate) fn write<'a>(&'a mut self, tenant: &'a &'a str, scope: &'a i64) -> Vec<Statement<'a>> {
        for model in &self.changed_models {
            let (texts, directions) = &self.sums[model];
            self.counts.push(*texts);
            self.directions.push(directions.to_bytes());
        }
        let mut statements = Vec::new();
        if !self.gone.is_empty() {
            let sql =
                "UPDATE neap.vector_index i SET id = q.id, model = 0, sum = 0, kind = 0, at = 0, replaces = true,
                  signs = NULL
                FROM unnest($2::bigint[], $3::bigint[]) q(text, id)
                WHERE i.tenant = $1 AND i.text = q.text AND i.signs IS NOT NULL";
            statements.push(Statement(sql, params![tenant, &self.gone, &self.gone_ids]));
            let sql = "DELETE FROM neap.vectors WHERE tenant = $1 AND text = ANY($2)";
            statements.push(Statement(sql, params![tenant, &self.gone]));
        }
        if !self.texts.is_empty() {
            let sql = "INSERT INTO neap.vector_index(tenant, scope, text, id, model, sum, kind, at, signs, replaces)
                SELECT $1, $2, q.*, false FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                  $7::bigint[], $8::bigint[], $9::bytea[]) q
                ON CONFLICT (tenant, text) DO UPDATE SET id = EXCLUDED.id, model = EXCLUDED.model, sum = EXCLUDED.sum,
                  kind = EXCLUDED.kind, at = EXCLUDED.at, signs = EXCLUDED.signs, replaces = true";
            let Self { texts, ids, models, checksums, kinds, times, signs, vectors, .. } = self;
            let params = params![tenant, scope, texts, ids, models, checksums, kinds, times, signs];
            statements.push(Statement(sql, params));
            let sql = "INSERT INTO neap.vectors(tenant, text, vector)
                SELECT $1, * FROM unnest($2::bigint[], $3::bytea[])
                ON CONFLICT (tenant, text) DO UPDATE SET vector = EXCLUDED.vector";
            statements.push(Statement(sql, params![tenant, texts, vectors]));
        }
        if !self.unqueued.is_empty() {
            let sql = "DELETE FROM neap.unembedded WHERE tenant = $1 AND text = ANY($2)";
            statements.push(Statement(sql, params![tenant, &self.unqueued]));
        }
        if !self.queued.is_empty() {
            let sql = "INSERT INTO neap.unembedded(tenant, text)
                SELECT $1, * FROM unnest($2::bigint[]) ON CONFLICT DO NOTHING";
            statements.push(Statement(sql, params![tenant, &self.queued]));
        }
        if !self.counts.is_empty() {
            let sql = "INSERT INTO neap.embedded(tenant, scope, model, texts, directions)
                SELECT $1, $2, * FROM unnest($3::bigint[], $4::bigint[], $5::bytea[])
                ON CONFLICT (tenant, model, scope) DO UPDATE SET texts = EXCLUDED.texts,
                  directions = EXCLUDED.directions";
            let params = params![tenant, scope, &self.changed_models, &self.counts, &self.directions];
            statements.push(Statement(sql, params));
        }
        if self.last_id != self.first_id {
            let sql = "UPDATE neap.tenants SET vectors = $2 WHERE tenant = $1";
            statements.push(Statement(sql, params![tenant, &self.last_id]));
        }
        statements
    }
}

/// The similarity of each of these texts that has an embedding of this model.
pub(crate) async fn similarities(
    tx: &Tx,
    query: &Embedding,
    model: i64,
    texts: &Vec<i64>,
) -> Result<HashMap<i64, f64>, DbError> {
    if texts.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = "SELECT v.text, v.vector FROM unnest($2::bigint[]) q(text)
        JOIN neap.vectors v ON v.tenant = $1 AND v.text = q.text
        JOIN neap.vector_index i ON i.tenant = $1 AND i.text = q.text AND i.model = $3 AND i.signs IS NOT NULL";
    let mut found = HashMap::with_capacity(texts.len());
    for row in tx.query(sql, params![&tx.tenant(), texts, &model]).await? {
        let vector: &[u8] = row.try_get(1)?;
        found.insert(row.try_get(0)?, similarity(query, &as_values(vector)));
    }
    Ok(found)
}

pub(crate) async fn model_number(tx: &Tx, name: &str, dimensions: usize) -> Result<Option<i64>, DbError> {
    let sql = "SELECT model FROM neap.models WHERE tenant = $1 AND name = $2 AND dimensions = $3";
    let dimensions = crate::sql::usize_to_sql(dimensions);
    let row = tx.query_opt(sql, params![&tx.tenant(), &name.as_bytes(), &dimensions]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}
