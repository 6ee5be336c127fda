//! CSV: where records and fields are, and what becomes of them.
//!
//! One state machine finds everything ([`machine`]), so stray quotes, escapes and ragged records cost what others cost.
//! Who only counts records passes lines in which the quotes are in order many at a time ([`leap`]).

mod framing;
mod grammar;
mod layout;
mod leap;
mod machine;
mod parse;
mod rescue;
mod rows;
mod split_points;
mod steps;
mod summary;
mod texts;
mod values;

pub use framing::{count, frame};
pub use grammar::{Dialect, Grammar};
pub use layout::{Layout, Meaning, Named, Rescue, Shape};
pub use parse::{Limits, Parser};
pub use split_points::last_split_point;
pub use summary::summarise;
