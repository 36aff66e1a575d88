-- Format 6: cards, and embeddings. Code indexes every text again.
CREATE TABLE cards(
  text INTEGER PRIMARY KEY,
  kind INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  nth INTEGER NOT NULL,
  at INTEGER NOT NULL,
  who TEXT,
  tokens INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  terms BLOB NOT NULL
);
CREATE TABLE frequencies(
  term INTEGER PRIMARY KEY,
  texts INTEGER NOT NULL
);
CREATE TABLE counts(
  scope INTEGER PRIMARY KEY,
  texts INTEGER NOT NULL,
  length INTEGER NOT NULL,
  sum INTEGER NOT NULL
);
CREATE TABLE models(
  model INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  UNIQUE(name, dimensions)
);
CREATE TABLE vectors(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  text INTEGER NOT NULL UNIQUE,
  model INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER NOT NULL,
  vector BLOB
);
CREATE TABLE embedded(
  model INTEGER NOT NULL,
  scope INTEGER NOT NULL,
  texts INTEGER NOT NULL,
  PRIMARY KEY(model, scope)
) WITHOUT ROWID;
CREATE TABLE unembedded(
  text INTEGER PRIMARY KEY
);
CREATE TABLE withheld(
  stream INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(stream, turn)
) WITHOUT ROWID;
