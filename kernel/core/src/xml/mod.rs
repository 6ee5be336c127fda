//! XML: elements of one name are records, wherever they are.
//!
//! Framing looks for marks ([`frame`], [`summary`]): it knows row tags, comments, CDATA, instructions and quotes, and
//! nothing else. Parsing checks each record as the parser of the reference does ([`element`]), and then converts its parts
//! along the columns ([`fill`]).

mod element;
mod fill;
pub mod frame;
pub(crate) mod grammar;
pub mod infer;
mod inside;
mod letters;
pub mod members;
mod names;
pub mod parse;
mod plain;
mod rescue;
mod rows;
pub(crate) mod scan;
mod skip;
pub mod summary;
mod text;
mod tree;
mod variant;

pub use frame::{count, frame, gap_bytes, open_starts};
pub use grammar::{PLACES, RowTag};
pub use infer::{Summary, Wanted};
pub use members::Naming;
pub use parse::Parser;
pub use skip::Skipping;
pub use summary::summarise;
