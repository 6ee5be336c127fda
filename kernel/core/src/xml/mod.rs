//! XML: elements of one name are records, wherever they are.
//!
//! Framing looks for marks ([`frame`], [`summary`]): it knows row tags, comments, CDATA, instructions and quotes, and
//! nothing else.

pub mod frame;
pub(crate) mod grammar;
pub(crate) mod scan;
pub mod summary;

pub use frame::{count, frame, open_starts};
pub use grammar::{PLACES, RowTag};
pub use summary::summarise;
