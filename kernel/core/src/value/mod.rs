//! Texts to values, one grammar in each file.

pub mod boolean;
pub mod float;
pub mod int;

/// What a text is for a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell<T> {
    /// This value.
    Value(T),
    /// No value of the type.
    Bad,
    /// Only the reference engine can tell.
    Undecided,
}

/// The text without the blanks that may surround a number: spaces and tabs.
#[inline]
pub(crate) fn without_blanks(text: &str) -> &str {
    match text.as_bytes() {
        [b' ' | b'\t', ..] | [.., b' ' | b'\t'] => text.trim_matches([' ', '\t']),
        _ => text,
    }
}
