//! What goes into the state machine, and what comes out of it.

/// Where the machine enters a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A record, a blank line or a comment begins here.
    Line,
    /// A field begins here.
    Field,
    /// In a field that is not quoted, or after a closing quote.
    Plain,
    /// Inside quotes.
    Quoted,
    /// In a comment.
    Comment,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A record.
    Record,
    /// A record that ends inside quotes.
    Malformed,
    /// Nothing.
    Blank,
    /// A line to skip.
    Comment,
}

/// Where the data ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a record, and not in quotes.
    Outside,
    /// Before a record, or in a blank line.
    Gap,
    /// Inside quotes.
    Quotes,
    /// In a comment.
    Comment,
}

/// What the machine found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A line that no later byte can change.
    Line {
        /// What it is.
        kind: Kind,
        /// First byte of its terminator.
        stop: usize,
        /// First byte after that.
        next: usize,
    },
    /// The data ends before the line does.
    Open(Place),
}

/// How a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// As it stands.
    Plain,
    /// In quotes, which are left out.
    Quoted,
    /// In quotes, with escapes or doubled quotes to resolve.
    Escaped,
}

/// Takes the fields of a line.
pub(super) trait Sink {
    /// A field ends: its bytes.
    fn field(&mut self, start: usize, stop: usize, written: Written);
}

impl Sink for () {
    #[inline]
    fn field(&mut self, _start: usize, _stop: usize, _written: Written) {}
}

/// What comes after the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Perhaps more.
    Open,
    /// Nothing: the file ends.
    File,
    /// Nothing: the data is the content of one record, which may end inside quotes.
    Record,
}

impl Tail {
    /// Of data that the file ends with, or not.
    pub(super) fn of(at_end: bool) -> Tail {
        if at_end { Tail::File } else { Tail::Open }
    }
}
