//! Records by a copybook: items at places of records, each column filled for a tile of records.

mod expand;
mod hierarchy;
mod layout;
mod parse;
mod records;
mod spanned;
mod value;

pub use layout::{CobolSpec, Notation};
pub use parse::Parser;
pub use records::{Finder, FindingSpec, Header, Way};
pub use spanned::Ending;
