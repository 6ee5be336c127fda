//! Parsers, and their answer.

use arrow_array::ArrayRef;

use crate::fault::Fault;
use crate::frames::Frames;
use crate::lines::Bounds;

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

/// Finds records and converts their values, in one pass.
pub trait Parse {
    /// Read records of `data` that no later byte can change. It begins with one, or outside of all.
    ///
    /// # Errors
    /// None, if the parser is one that finds its records: what is not supported was refused when it was made.
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, String>;

    /// Read records whose contents are known; those of lines are in UTF-8.
    ///
    /// # Errors
    /// If a record is not in the data.
    fn parse_framed(&self, data: &[u8], frames: Frames) -> Result<Parsed, String>;
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
