//! CSV: where records and fields are, and what becomes of them.
//!
//! One state machine finds everything ([`machine`]); nothing depends on the parity of quotes, so stray quotes, escapes
//! and ragged records cost what others cost.

mod framing;
mod grammar;
mod layout;
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
