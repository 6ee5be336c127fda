//! What is wrong with a record. Faults are data: a broken record costs about what a record costs.

use std::sync::Arc;

use crate::limits::SHOWN_CHARS;

/// Why a record is broken; the numbers are part of the seam and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Code {
    /// Another number of fields than expected.
    FieldCount = 1,
    /// A value is not of its column's type.
    BadValue = 2,
    /// A line ends inside quotes.
    UnclosedQuote = 3,
    /// A field has more characters than allowed.
    FieldTooLong = 4,
    /// A record is no JSON value.
    BadJson = 5,
    /// A record is a JSON value, but no object.
    NotAnObject = 6,
    /// The file ends inside a record of fixed length.
    ShortRecord = 7,
    /// A record is no XML element.
    BadXml = 8,
    /// A line ends before its last column begins.
    MissingPlaces = 9,
    /// A record has no value for a column that is NOT NULL.
    NullInNotNull = 10,
    /// A record does not match the pattern of its columns.
    NoMatch = 11,
    /// The lines before the first one that begins a record.
    NotBegun = 12,
    /// The value of a message is longer than a record may be.
    TooLong = 13,
    /// The value of a message has no record, several, or one that never ends.
    NotOneRecord = 14,
    /// Nothing tells how long a record is.
    BadRecordHeader = 15,
    /// What is at the path of the records is no array.
    NotAnArray = 16,
    /// No document of a file has the path of the records.
    PathNotFound = 17,
    /// The file ends between two records of a block.
    MissingBytes = 18,
    /// Segments are no record.
    MissingSegment = 19,
}

/// A record that breaks a rule; at most one for each record, the first by: structure before values, then file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Index of the record among those of the call.
    pub record: usize,
    /// Why.
    pub code: Code,
    /// Name of the column whose value it is; empty where it is the record.
    pub column: Arc<str>,
    /// What was seen: the value as far as it is shown, the number of fields, or what is wrong with JSON.
    pub seen: String,
    /// Spark's name of the type that was expected; empty where there is none.
    pub kind: Arc<str>,
}

/// As much of a value as a fault shows.
pub(crate) fn shown(written: &str) -> String {
    match written.char_indices().nth(SHOWN_CHARS) {
        Some((stop, _)) => format!("{}...", written.get(..stop).unwrap_or_default()),
        None => written.to_string(),
    }
}
