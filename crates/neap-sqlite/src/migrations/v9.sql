-- Format 9: a count of commits, and checksums of derived texts. Code gives the store its identity; rows have no sum until
-- they change.
CREATE TABLE progress(
  one INTEGER PRIMARY KEY,
  body BLOB NOT NULL
);
ALTER TABLE sessions ADD COLUMN sum INTEGER;
ALTER TABLE efforts ADD COLUMN sum INTEGER;
ALTER TABLE memories ADD COLUMN sum INTEGER;
