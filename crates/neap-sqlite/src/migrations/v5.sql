-- Format 5: memories counted by shelf, and the last task in a session's row. Code fills in the task.
CREATE TABLE shelves(
  shelf INTEGER PRIMARY KEY,
  memories INTEGER NOT NULL
);
INSERT INTO shelves(shelf, memories) SELECT shelf, count(*) FROM memories GROUP BY shelf;
