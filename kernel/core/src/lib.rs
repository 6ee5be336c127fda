//! Record formats and values of splitscan: bytes in, Arrow columns and faults out.
//!
//! Nothing here knows threads, Spark or Python, and but for `block` no files. The Python package has a reference engine that defines every
//! answer given here; this crate gives the same answers, fast. Positions are offsets in the bytes that were handed
//! over. A record belongs to the range that holds its first byte: `start <= first_byte < stop`.
#![deny(unsafe_code)] // allowed in `bits`, and for one call of Arrow

pub mod bits;
pub mod block;
pub mod charsets;
pub mod cobol;
pub mod codes;
pub mod columns;
pub mod csv;
pub mod fault;
pub mod filling;
pub mod fit;
pub mod fixed;
pub mod frames;
pub mod json;
pub mod kinds;
pub mod limits;
pub mod lines;
pub mod log;
pub mod parsed;
pub mod places;
pub(crate) mod quoting;
pub mod rules;
pub mod units;
pub mod value;
pub(crate) mod variant;
pub(crate) mod windows;
pub mod xml;
