//! Records of several lines: the first line of each matches a pattern, and named groups of a pattern are its columns.
//!
//! Only the first [`HEAD_BYTES`] of a line say whether it begins a record, so a start is found from any place of a
//! file by a look at single lines. Both patterns are matched in time linear in the text.

mod pattern;
mod starts;
mod table;

pub use pattern::RecordPattern;
pub use starts::{HEAD_BYTES, Starts, StartsWith};
