-- Format 7: digests of clients' histories, which older versions did not record.
CREATE TABLE links(
  digest BLOB NOT NULL,
  stream INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  PRIMARY KEY(digest, stream)
) WITHOUT ROWID;
CREATE INDEX links_by_stream ON links(stream);
