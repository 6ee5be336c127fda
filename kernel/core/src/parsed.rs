//! The answer of a parser.

use arrow_array::ArrayRef;

use crate::fault::Fault;
use crate::frames::Frames;

/// Why a parser stopped where it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stopped {
    /// The next record is not complete in these bytes.
    #[default]
    Input,
    /// As many rows as were asked for.
    Rows,
    /// The next record is not of this range: it starts at `stop` or after it.
    Owned,
    /// Everything is read, and nothing follows.
    End,
    /// The next record is longer than a record may be.
    Long,
    /// The next record may not fit into the columns of this batch.
    Bytes,
}

/// Records as columns, and what is wrong with them. Every column has `rows` rows, one for each record of `frames`.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// Number of records.
    pub rows: usize,
    /// One for each field that is asked for, in the order of the schema; then the rescued data, if that is asked for.
    pub columns: Vec<ArrayRef>,
    /// Where the records are.
    pub frames: Frames,
    /// Why there are no more.
    pub stopped: Stopped,
    /// At most one for each record, by record.
    pub faults: Vec<Fault>,
    /// Records with another number of fields than expected, and how many those have.
    pub counts: Vec<(u32, u32)>,
    /// Records that only the reference engine can read; their rows hold anything.
    pub undecided: Vec<u32>,
    /// Whether all records are known to be UTF-8.
    pub is_utf8: bool,
}
