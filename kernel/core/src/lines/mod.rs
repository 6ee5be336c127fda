//! Text cut by a delimiter, and records of fixed length.
