-- Every key begins with the tenant, and row-level security is forced: a statement that forgets its filter reads
-- nothing of another tenant, also as the owner of the tables.

CREATE SCHEMA IF NOT EXISTS neap;

CREATE TABLE neap.formats(
  number bigint PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now()
);

-- Raises an error where a transaction has no tenant: an empty answer would look like an empty store.
CREATE FUNCTION neap.tenant() RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
  tenant text := current_setting('neap.tenant', true);
BEGIN
  IF tenant IS NULL OR tenant = '' THEN
    RAISE EXCEPTION 'no tenant is set for this transaction' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN tenant;
END
$$;

-- A row for each tenant, which every commit locks: so the commits of a tenant come one after another, and the numbers
-- below are used in the order in which they become visible.
CREATE TABLE neap.tenants(
  tenant text COLLATE "C" PRIMARY KEY,
  commits bigint NOT NULL DEFAULT 0,
  streams bigint NOT NULL DEFAULT 0,
  vectors bigint NOT NULL DEFAULT 0,
  models bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE neap.sessions(
  tenant text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  name text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  efforts bigint NOT NULL DEFAULT 0,
  messages bigint NOT NULL DEFAULT 0,
  head bytea NOT NULL,
  sum bigint NOT NULL,
  project text COLLATE "C",
  PRIMARY KEY(tenant, stream),
  UNIQUE(tenant, name)
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_project ON neap.sessions(tenant, project);

CREATE TABLE neap.events(
  tenant text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  kind text COLLATE "C" NOT NULL,
  sum bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY(tenant, stream, seq)
);
CREATE INDEX events_by_kind ON neap.events(tenant, stream, kind, seq)
  WHERE kind NOT IN ('turn_started', 'turn_completed', 'efforts_referenced');

CREATE TABLE neap.efforts(
  tenant text COLLATE "C" NOT NULL,
  text bigint NOT NULL,
  stream bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY(tenant, text),
  UNIQUE(tenant, id, stream)
);

-- Within a lane the order of turns is the order in which they ended; concurrent turns are in several lanes.
CREATE TABLE neap.exchanges(
  tenant text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  scope text COLLATE "C" NOT NULL,
  lane bigint NOT NULL,
  turn bigint NOT NULL,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  at bigint NOT NULL,
  tokens bigint NOT NULL,
  PRIMARY KEY(tenant, stream, scope, lane, turn)
);
CREATE INDEX exchanges_by_turn ON neap.exchanges(tenant, stream, turn);

-- A caller's id may be longer than an index entry, so its digest is the key.
CREATE TABLE neap.turn_ids(
  tenant text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  turn_id bytea NOT NULL,
  digest bytea GENERATED ALWAYS AS (sha256(turn_id)) STORED,
  turn bigint NOT NULL,
  PRIMARY KEY(tenant, stream, digest)
);

CREATE TABLE neap.withheld(
  tenant text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  turn bigint NOT NULL,
  PRIMARY KEY(tenant, stream, turn)
);

CREATE TABLE neap.links(
  tenant text COLLATE "C" NOT NULL,
  digest bytea NOT NULL,
  stream bigint NOT NULL,
  turn bigint NOT NULL,
  PRIMARY KEY(tenant, digest, stream)
);
CREATE INDEX links_by_stream ON neap.links(tenant, stream);

CREATE TABLE neap.memories(
  tenant text COLLATE "C" NOT NULL,
  text bigint NOT NULL,
  stream bigint NOT NULL,
  shelf bigint NOT NULL,
  at bigint NOT NULL,
  due bigint,
  body bytea NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY(tenant, text)
);
CREATE INDEX memories_by_time ON neap.memories(tenant, shelf, at, text);
CREATE INDEX memories_by_due ON neap.memories(tenant, stream, due) WHERE due IS NOT NULL;

CREATE TABLE neap.memory_events(
  tenant text COLLATE "C" NOT NULL,
  stream bigint NOT NULL,
  memory bigint NOT NULL,
  seq bigint NOT NULL,
  PRIMARY KEY(tenant, stream, memory, seq)
);

CREATE TABLE neap.cards(
  tenant text COLLATE "C" NOT NULL,
  text bigint NOT NULL,
  stream bigint NOT NULL,
  kind bigint NOT NULL,
  turn bigint NOT NULL,
  nth bigint NOT NULL,
  at bigint NOT NULL,
  who bytea,
  tokens bigint NOT NULL,
  length bigint NOT NULL,
  sum bigint NOT NULL,
  terms bytea NOT NULL,
  PRIMARY KEY(tenant, text)
);
CREATE INDEX cards_by_position ON neap.cards(tenant, stream, nth) WHERE nth > 0;
CREATE INDEX cards_with_speaker ON neap.cards(tenant, text) WHERE who IS NOT NULL;

-- Which texts have a term. The hash comes first: it is also in a text's card, which finds its rows again.
CREATE TABLE neap.postings(
  tenant text COLLATE "C" NOT NULL,
  scope bigint NOT NULL,
  hash bigint NOT NULL,
  text bigint NOT NULL,
  term text COLLATE "C" NOT NULL,
  PRIMARY KEY(tenant, scope, hash, text, term)
);

CREATE TABLE neap.frequencies(
  tenant text COLLATE "C" NOT NULL,
  scope bigint NOT NULL,
  hash bigint NOT NULL,
  texts bigint NOT NULL,
  PRIMARY KEY(tenant, scope, hash)
) WITH (fillfactor = 80);

CREATE TABLE neap.counts(
  tenant text COLLATE "C" NOT NULL,
  scope bigint NOT NULL,
  texts bigint NOT NULL,
  length bigint NOT NULL,
  sum bigint NOT NULL,
  PRIMARY KEY(tenant, scope)
) WITH (fillfactor = 50);

CREATE TABLE neap.models(
  tenant text COLLATE "C" NOT NULL,
  model bigint NOT NULL,
  name bytea NOT NULL,
  dimensions bigint NOT NULL,
  PRIMARY KEY(tenant, model)
);

CREATE TABLE neap.unembedded(
  tenant text COLLATE "C" NOT NULL,
  text bigint NOT NULL,
  PRIMARY KEY(tenant, text)
);

-- A row without signs says that the text has no embedding any more. Every change gives the row a higher id.
CREATE TABLE neap.vector_index(
  tenant text COLLATE "C" NOT NULL,
  text bigint NOT NULL,
  id bigint NOT NULL,
  scope bigint NOT NULL,
  model bigint NOT NULL,
  sum bigint NOT NULL,
  kind bigint NOT NULL,
  at bigint NOT NULL,
  replaces boolean NOT NULL,
  signs bytea,
  PRIMARY KEY(tenant, text)
);
CREATE UNIQUE INDEX vector_index_by_id ON neap.vector_index(tenant, id);

CREATE TABLE neap.vectors(
  tenant text COLLATE "C" NOT NULL,
  text bigint NOT NULL,
  vector bytea NOT NULL,
  PRIMARY KEY(tenant, text)
);

CREATE TABLE neap.embedded(
  tenant text COLLATE "C" NOT NULL,
  model bigint NOT NULL,
  scope bigint NOT NULL,
  texts bigint NOT NULL,
  directions bytea NOT NULL,
  PRIMARY KEY(tenant, model, scope)
);

DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT table_name FROM information_schema.columns WHERE table_schema = 'neap' AND column_name = 'tenant'
  LOOP
    EXECUTE format('ALTER TABLE neap.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE neap.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON neap.%I USING (tenant = neap.tenant()) WITH CHECK (tenant = neap.tenant())', name);
  END LOOP;
END
$$;
