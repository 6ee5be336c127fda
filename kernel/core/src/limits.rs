//! Bounds, each with its reason.

/// Most bytes of the texts of one column in one batch: the offsets of Arrow's `Utf8` have 31 bits.
pub const MAX_COLUMN_BYTES: usize = i32::MAX as usize;

/// Most characters of a value that a fault shows.
pub const SHOWN_CHARS: usize = 40;
