-- Format 10: embeddings apart from their sign bits. Code computes `signs` and `embedded`.
ALTER TABLE vectors RENAME TO vectors_9;
DROP TABLE embedded;
CREATE TABLE vector_index(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text INTEGER NOT NULL UNIQUE,
  model INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL,
  replaces INTEGER NOT NULL,
  signs BLOB
);
CREATE TABLE vectors(
  text INTEGER PRIMARY KEY,
  vector BLOB NOT NULL
);
CREATE TABLE embedded(
  model INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  directions BLOB NOT NULL,
  PRIMARY KEY(model, scope)
) WITHOUT ROWID;
INSERT INTO vector_index(id, text, model, sum, kind, at, replaces)
SELECT id, text, model, sum, kind, at, 1 FROM vectors_9 ORDER BY id;
INSERT INTO vectors(text, vector) SELECT text, vector FROM vectors_9 WHERE vector IS NOT NULL ORDER BY text;
DROP TABLE vectors_9;
