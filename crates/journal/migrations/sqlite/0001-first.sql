-- Times are microseconds since the Unix epoch.

-- Each opening of the store. A run belongs to exactly one.
CREATE TABLE owners (
    epoch           INTEGER PRIMARY KEY AUTOINCREMENT,
    host            TEXT,
    pid             INTEGER,
    process_started INTEGER,
    opened          INTEGER NOT NULL,
    seen            INTEGER NOT NULL,
    lease           INTEGER NOT NULL,
    has_left        INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The stored form of each plan, once.
CREATE TABLE plans (
    number INTEGER PRIMARY KEY,
    hash   TEXT NOT NULL UNIQUE,
    plan   TEXT NOT NULL
) STRICT;

-- A number is never used again, so that a late append cannot reach another run.
CREATE TABLE runs (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
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

CREATE INDEX runs_created ON runs (created);
CREATE INDEX runs_plan ON runs (plan);
CREATE INDEX runs_unfinished ON runs (owner) WHERE ended IS NULL;
CREATE INDEX runs_parked ON runs (due) WHERE ended IS NULL AND parked = 1;
CREATE INDEX runs_finished ON runs (ended, bytes) WHERE ended IS NOT NULL;
CREATE INDEX runs_uncompacted ON runs (number) WHERE ended IS NOT NULL AND compacted = 0;
CREATE UNIQUE INDEX runs_client_key ON runs (client_key, workflow, coalesce(principal, ''))
    WHERE client_key IS NOT NULL;

-- What is appended, in the order in which it came, whatever run it is for.
CREATE TABLE log (
    number INTEGER PRIMARY KEY,
    run    INTEGER NOT NULL,
    first  INTEGER NOT NULL,
    count  INTEGER NOT NULL,
    epoch  INTEGER NOT NULL,
    form   INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    due    INTEGER,
    events BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX log_order ON log (run, first);

-- All events of a finished run.
CREATE TABLE archive (
    run    INTEGER PRIMARY KEY,
    form   INTEGER NOT NULL,
    events BLOB NOT NULL
) STRICT;

-- Long values, once each, and the runs that hold them.
CREATE TABLE stored_values (
    number INTEGER PRIMARY KEY,
    hash   BLOB NOT NULL UNIQUE,
    body   BLOB NOT NULL
) STRICT;

CREATE TABLE value_uses (
    run  INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (run, hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX value_uses_hash ON value_uses (hash);

-- Commands on their way to a run. One that was taken stays until its effect is in the log.
CREATE TABLE inbox (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run    INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    what   TEXT NOT NULL,
    taker  INTEGER
) STRICT;

CREATE INDEX inbox_run ON inbox (run);

CREATE TABLE kept (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
