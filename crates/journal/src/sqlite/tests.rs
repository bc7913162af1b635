//! What only the store in SQLite does: its file, its fences between processes, compaction, a full disk.
