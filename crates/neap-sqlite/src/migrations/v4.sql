-- Format 4: blocks. Rows that were packed one by one become blocks as their session continues.
CREATE TABLE blocks(
  stream INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  sum INTEGER NOT NULL,
  kinds TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY(stream, last_seq)
) WITHOUT ROWID;
UPDATE sessions SET cold = 0;
