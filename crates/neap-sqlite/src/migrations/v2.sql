-- Format 2: how far a session is packed, events by kind, exchanges in lanes.
ALTER TABLE sessions ADD COLUMN cold INTEGER NOT NULL DEFAULT 0;
CREATE INDEX events_by_kind ON events(stream, kind, seq)
  WHERE kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced');
DROP INDEX exchanges_by_turn;
ALTER TABLE exchanges RENAME TO exchanges_1;
CREATE TABLE exchanges(
  stream INTEGER NOT NULL,
  scope TEXT NOT NULL,
  lane INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY(stream, scope, lane, turn)
) WITHOUT ROWID;
CREATE INDEX exchanges_by_turn ON exchanges(stream, turn);
-- An exchange goes into the first lane of its log that has no later turn. The highest turns of a log's lanes fall from
-- lane to lane, so the lanes that have a later turn come first. A trigger sees the exchanges that were placed before.
CREATE VIEW placed AS SELECT * FROM exchanges_1;
CREATE TRIGGER place INSTEAD OF INSERT ON placed BEGIN
  INSERT INTO exchanges(stream, scope, lane, turn, first_seq, last_seq, at, tokens)
  SELECT new.stream, new.scope, count(DISTINCT lane), new.turn, new.first_seq, new.last_seq, new.at, new.tokens
  FROM exchanges INDEXED BY exchanges_by_turn
  WHERE stream = new.stream AND turn >= new.turn AND scope = new.scope;
END;
INSERT INTO placed SELECT * FROM exchanges_1 ORDER BY stream, last_seq;
DROP TRIGGER place;
DROP VIEW placed;
DROP TABLE exchanges_1;
