//! CSV: where records and fields are, and what becomes of them.
//!
//! `reference.py` of the Python package defines where records are. Here one state machine decides ([`machine`]), so stray
//! quotes, escapes and ragged records cost what others cost. Lines in which the quotes are in order are passed many at a
//! time ([`leap`]). Both tell where fields are on one tape ([`tape`]), from which columns are filled, one after the other
//! ([`rows`]).

mod framing;
mod grammar;
mod layout;
mod leap;
mod machine;
mod parse;
mod reading;
mod room;
mod rows;
mod split_points;
mod steps;
mod summary;
mod tape;
mod texts;
mod values;
mod variant;

pub use framing::{count, frame, open_starts};
pub use grammar::{Dialect, Grammar, Mark};
pub use layout::{Layout, Meaning, Named, Object, Rescue, Shape, Typing};
pub use parse::{Limits, Parser};
pub use split_points::last_split_point;
pub use summary::summarise;
