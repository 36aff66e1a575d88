-- Format 1: the tables as the first version made them.
CREATE TABLE sessions(
  stream INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  texts INTEGER NOT NULL,
  head TEXT NOT NULL
);
CREATE TABLE events(
  stream INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  sum INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY(stream, seq)
) WITHOUT ROWID;
CREATE TABLE efforts(
  text INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE(stream, id)
);
CREATE TABLE exchanges(
  stream INTEGER NOT NULL,
  scope TEXT NOT NULL,
  last_seq INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY(stream, scope, last_seq)
) WITHOUT ROWID;
CREATE INDEX exchanges_by_turn ON exchanges(stream, turn);
CREATE TABLE turn_ids(
  stream INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(stream, turn_id)
) WITHOUT ROWID;
-- The words come analysed; to the ascii tokenizer everything beyond ASCII is part of a word.
CREATE VIRTUAL TABLE words USING fts5(
  terms, content='', contentless_delete=1, detail=none, tokenize='ascii'
);
