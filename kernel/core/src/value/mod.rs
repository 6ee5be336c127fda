//! Texts to values, one grammar in each file.

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
