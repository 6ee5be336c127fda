//! JSON: records, validation, values.
//!
//! Records are the values of a file, or the elements of its array ([`frame`], [`exact`], [`summary`]), or its lines.
//! Parsing validates each record fully, whichever columns are asked for, and notes where wanted members are; then it
//! converts those, in the order of the columns.

pub mod causes;
pub mod dialect;
pub mod exact;
pub(crate) mod fill;
pub mod frame;
pub mod infer;
pub mod lines;
pub(crate) mod masks;
pub(crate) mod names;
pub(crate) mod nest;
pub(crate) mod number;
pub mod parse;
pub mod path;
pub(crate) mod rescue;
pub mod rows;
pub(crate) mod scan;
pub mod summary;
pub(crate) mod unescape;
mod variant;

pub use dialect::Dialect;
pub use exact::open_starts;
pub use frame::{count, frame, gap_bytes};
pub use infer::{Summary, Wanted};
pub use lines::{count_lines, frame_lines};
pub use parse::{Framing, Parser};
pub use path::Path;
pub use summary::summarise;

/// What the head of a file says about the rest of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Values one after the other, divided by nothing, white space or commas.
    Values,
    /// One array, whose elements are the records; its opening bracket is not part of the data.
    Array,
    /// Documents that have arrays below a path, whose elements are the records; the data begins inside the first one.
    Below(Path),
    /// Documents without any: what is left of them is one record, and is wrong.
    Nowhere,
}

impl Shape {
    /// Whether a byte between records belongs to none. `0x1e` begins a record in JSON text sequences (RFC 7464).
    #[inline]
    pub(crate) fn separates(&self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | 0x1e)
            || (byte == b']' && matches!(self, Shape::Array))
    }

    /// Whether a byte outside of strings ends a loose record: a scalar or garbage at depth 0.
    #[inline]
    pub(crate) fn ends_loose(&self, byte: u8) -> bool {
        (self.separates(byte) && !matches!(byte, b' ' | b'\t'))
            || matches!(byte, b'{' | b'[')
            || (byte == b']' && matches!(self, Shape::Below(_)))
    }
}

/// White space of JSON.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether an opening brace inside a value may stand after this byte.
#[inline]
pub(crate) fn precedes_brace(byte: u8) -> bool {
    matches!(byte, b'[' | b',' | b':')
}
