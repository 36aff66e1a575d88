-- Format 11: sessions by project. No older session has one.
ALTER TABLE sessions ADD COLUMN project TEXT;
CREATE INDEX sessions_by_project ON sessions(project);
