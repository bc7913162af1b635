-- A run writes fewer pages: it stands in one index until it is compacted and in the one that retention reads from
-- then on, and its number is given by its opener (epoch and count), so that no counter is written with it.
CREATE TABLE fewer (
    -- Never used again, so that a late append cannot reach another run.
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    workflow   TEXT NOT NULL,
    version    TEXT,
    plan       INTEGER NOT NULL,
    durability TEXT NOT NULL,
    principal  TEXT,
    tenant     TEXT,
    labels     TEXT NOT NULL,
    client_key TEXT,
    retry_of   TEXT,
    created    INTEGER NOT NULL,
    phase      TEXT NOT NULL,
    failure    TEXT,
    ended      INTEGER,
    owner      INTEGER NOT NULL,
    parked     INTEGER NOT NULL DEFAULT 0,
    -- When to wake it. Holds while it is parked; else the last row of the log knows.
    due        INTEGER,
    compacted  INTEGER NOT NULL DEFAULT 0,
    -- Known once it is compacted; else the last row of the log knows.
    updated    INTEGER,
    events     INTEGER NOT NULL DEFAULT 0,
    bytes      INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO fewer SELECT * FROM runs;
DROP TABLE runs;
ALTER TABLE fewer RENAME TO runs;

CREATE INDEX runs_created ON runs (created);
-- Unfinished, or finished and still in the log.
CREATE INDEX runs_open ON runs (owner) WHERE compacted = 0;
CREATE INDEX runs_kept ON runs (ended, bytes) WHERE compacted = 1;
CREATE UNIQUE INDEX runs_client_key ON runs (client_key, workflow, coalesce(principal, ''))
    WHERE client_key IS NOT NULL;
