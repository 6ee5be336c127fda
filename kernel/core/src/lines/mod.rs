//! Text cut by a delimiter, and records of fixed length.

pub mod fixed;
pub mod grammar;
mod reading;
pub mod records;
pub mod text;

pub(crate) use fixed::{equal_frames, equal_pieces};
pub use reading::Bounds;
pub(crate) use reading::Taking;
pub(crate) use records::Records;
