-- Whether a run was imported without its sensitive values, so that nobody makes a run of it.
ALTER TABLE runs ADD COLUMN masked INTEGER NOT NULL DEFAULT 0;
