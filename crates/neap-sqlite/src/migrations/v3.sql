-- Format 3: memories.
CREATE TABLE memories(
  text INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  shelf INTEGER NOT NULL AS (text >> 27),
  at INTEGER NOT NULL,
  due INTEGER,
  body TEXT NOT NULL
);
CREATE INDEX memories_by_time ON memories(shelf, at);
CREATE INDEX memories_by_due ON memories(stream, due) WHERE due IS NOT NULL;
CREATE TABLE memory_events(
  stream INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY(stream, memory, seq)
) WITHOUT ROWID;
