//! Where records are, and why a call stopped.

/// The complete records at the front of some bytes; positions are relative to the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// First byte of each record, strictly increasing.
    pub starts: Vec<i64>,
    /// First byte after each record's content; the terminator is not included.
    pub stops: Vec<i64>,
    /// Records (by index) that end inside quotes.
    pub malformed: Vec<u32>,
    /// Where the next record starts: everything before it is dealt with.
    pub next_start: usize,
}

/// Records by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many there are.
    pub records: usize,
    /// Where the next record starts, as in [`Frames`].
    pub next_start: usize,
}

/// What a piece of a file does to a parser that enters it in one state; the Python class of that name says more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The state in which the parser leaves.
    pub state: i64,
    /// First record start in the piece.
    pub first: Option<usize>,
    /// Last record start in the piece.
    pub last: Option<usize>,
    /// First record start at or after the mark.
    pub marked: Option<usize>,
    /// How many records start in the piece.
    pub records: Option<usize>,
}
