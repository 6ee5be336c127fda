//! The block reader: exactly the records whose first byte lies in a block, as batches of the schema of a scan.
//!
//! It is made of two documents, what every task of the scan knows and the block ([`spec`]), and a source of bytes
//! ([`ReadAt`]); it knows no host. `start <= first byte < stop` decides whose a record is; a report says which bytes
//! were dealt with, and the spans of the blocks of a file tile it.

mod batches;
mod cobol;
mod content;
mod cursor;
mod dropped;
mod engine;
mod error;
mod filling;
mod fixed;
mod framed;
mod head;
mod inference;
mod inflate;
mod json;
mod kinds;
mod layout;
mod lines;
mod log;
mod messages;
mod oddities;
mod open_records;
mod project;
mod reader;
mod rejects;
mod rows;
mod source;
pub mod spec;
mod transcoded;
mod xml;

pub use content::{Content, SeekPoint};
pub use error::{BlockError, Kind, Where};
pub use inference::{MemberSummary, fitter};
pub use messages::{MessageReader, Messages};
pub use oddities::{Oddity, Suspects};
pub use project::{metadata_members, project};
pub use reader::{Batch, BlockReader, Counted, Noticed, Report, check};
pub use rejects::Reject;
pub use source::{HostError, LocalFile, ReadAt};

#[cfg(test)]
mod tests;
