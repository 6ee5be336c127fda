//! The settings of a dialect, as bytes.

use memchr::memmem;

/// Carriage return.
pub const CR: u8 = b'\r';
/// Line feed.
pub const LF: u8 = b'\n';
/// What white space is at the edges of fields: every byte up to the space.
pub const LAST_BLANK: u8 = b' ';
/// Separates fields where the separator is runs of blanks.
pub(super) const BLANKS: [u8; 2] = *b" \t";
/// The separator that stands for those.
const RUNS: &[u8] = br"\s+";

const LONGEST_MARK: usize = 4; // of UTF-8

/// One character that means something, as the data has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    bytes: [u8; LONGEST_MARK],
    length: usize,
}

impl From<u8> for Mark {
    fn from(byte: u8) -> Mark {
        Mark {
            bytes: [byte, 0, 0, 0],
            length: 1,
        }
    }
}

impl Mark {
    /// A mark of some bytes.
    ///
    /// # Errors
    /// If they are none, or more than a character has.
    pub fn new(written: &[u8]) -> Result<Mark, String> {
        let mut bytes = [0; LONGEST_MARK];
        match bytes.get_mut(..written.len()) {
            Some(front) if !written.is_empty() => front.copy_from_slice(written),
            _ => return Err("a mark is one character".into()),
        }
        let length = written.len();
        Ok(Mark { bytes, length })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The first of them.
    pub(super) fn first(&self) -> u8 {
        self.bytes[0]
    }

    /// The only byte of a mark that has no more.
    pub(super) fn single(self) -> Option<u8> {
        (self.length == 1).then_some(self.bytes[0])
    }

    /// The first byte after the mark, if one is at `at`.
    #[inline(always)]
    pub(crate) fn after(&self, data: &[u8], at: usize) -> Option<usize> {
        let next = at.wrapping_add(self.length); // in the data, or at its end, where the mark is
        let is_first = data.get(at) == Some(&self.first());
        (is_first && (self.length == 1 || self.is_at(data, at))).then_some(next)
    }

    #[cold] // so that marks of one byte pay for no more than that
    fn is_at(&self, data: &[u8], at: usize) -> bool {
        data.get(at..)
            .is_some_and(|rest| rest.starts_with(self.bytes()))
    }
}

/// How fields and records are written; the Python class `CsvGrammar` says more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Separates fields; not empty. `\s+` stands for runs of spaces and tabs.
    pub sep: Vec<u8>,
    /// Encloses fields; `None` for no quoting at all.
    pub quote: Option<Mark>,
    /// Hides the mark or byte after it inside quotes; `None` without one, and where quotes are doubled.
    pub escape: Option<Mark>,
    /// Makes an escape after it data: the escape itself, which then hides any byte; or another, or `None`, and then the
    /// escape hides quotes only.
    pub escape_escape: Option<Mark>,
    /// Whether a quote inside quotes is written twice.
    pub doubled: bool,
    /// Whether a quoted field with text after its closing quote is empty, and not quoted.
    pub skips_values: bool,
    /// Begins lines to skip.
    pub comment: Option<Mark>,
    /// Ends records; `None` for LF, CR and CRLF, mixed as they come.
    pub line_sep: Option<Vec<u8>>,
    /// Whether quoted fields may hold terminators.
    pub multi_line: bool,
    /// Whether white space before a field is skipped when looking for its quote.
    pub trim_leading: bool,
}

impl Dialect {
    /// Whether the escape hides whatever comes after it, itself too.
    #[inline]
    pub(super) fn escapes_itself(&self) -> bool {
        self.escape_escape == self.escape
    }
}

/// A dialect whose parts do not contradict each other, prepared for reading.
#[derive(Clone, Debug)]
pub struct Grammar {
    dialect: Dialect,
    is_plain_sep: bool,
    is_plain_feed: bool,
    is_runs: bool,
    has_long_marks: bool,
}

/// What begins at a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// No terminator.
    No,
    /// One that ends before this position.
    Ends(usize),
    /// A carriage return: only the next byte, which is not there yet, says how long it is.
    Undecided,
}

impl Grammar {
    /// Check a dialect; an error says what contradicts what.
    pub fn new(dialect: Dialect) -> Result<Grammar, String> {
        let is_runs = dialect.sep == RUNS;
        let sep = match is_runs {
            true => &BLANKS[..],
            false => &dialect.sep,
        };
        let line_ends = dialect.line_sep.as_deref().unwrap_or(&[LF, CR]);
        if sep.is_empty() || line_ends.is_empty() {
            return Err("a separator has at least one byte".into());
        }
        let escape_escape = dialect.escape_escape.filter(|_| !dialect.escapes_itself());
        let specials = [
            dialect.quote,
            dialect.escape,
            dialect.comment,
            escape_escape,
        ];
        for (number, special) in specials
            .iter()
            .enumerate()
            .filter_map(|(i, each)| each.map(|mark| (i, mark)))
        {
            let is_part = |mark: &[u8]| match Some(special) == dialect.comment && !is_runs {
                true => mark.starts_with(special.bytes()), // later ones may be of characters of several bytes
                false => memmem::find(mark, special.bytes()).is_some(),
            };
            let is_delimiter = is_part(sep) || is_part(line_ends) || is_part(&[LF, CR]);
            if is_delimiter
                || specials
                    .iter()
                    .skip(number + 1)
                    .any(|&other| other == Some(special))
            {
                return Err("quote, escape and comment are marks of their own".into());
            }
        }
        if sep.contains(&CR) || sep.contains(&LF) {
            return Err("a separator has no line ends".into());
        }
        if let Some(line_sep) = &dialect.line_sep
            && (memmem::find(sep, line_sep).is_some()
                || memmem::find(line_sep, sep).is_some()
                || is_runs && line_sep.iter().any(|byte| BLANKS.contains(byte)))
        {
            return Err("neither of separator and line separator contains the other".into());
        }
        if is_runs && dialect.trim_leading {
            return Err("between runs of blanks there is no white space to skip".into());
        }
        if dialect.quote.is_none() && dialect.escape.is_some()
            || dialect.doubled && dialect.escape.is_some()
            || dialect.escape.is_none() && dialect.escape_escape.is_some()
        {
            return Err("an escape needs a quote that is not doubled".into());
        }
        let begins_line_sep = dialect
            .line_sep
            .as_ref()
            .is_some_and(|line_sep| line_sep.first() == sep.first());
        let is_plain_sep = sep.len() == 1 && !begins_line_sep;
        let is_plain_feed = dialect
            .line_sep
            .as_ref()
            .is_none_or(|line_sep| *line_sep == [LF]);
        let in_fields = [dialect.quote, dialect.escape, dialect.escape_escape];
        let has_long_marks = in_fields.iter().flatten().any(|mark| mark.length > 1);
        Ok(Grammar {
            dialect,
            is_plain_sep,
            is_plain_feed,
            is_runs,
            has_long_marks,
        })
    }

    /// The settings.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Whether quotes may hide terminators.
    pub(super) fn spans_lines(&self) -> bool {
        self.dialect.multi_line
    }

    /// Whether a mark inside of fields has several bytes.
    pub(super) fn has_long_marks(&self) -> bool {
        self.has_long_marks
    }

    /// Whether fields stand between runs of blanks.
    #[inline]
    pub(super) fn is_runs(&self) -> bool {
        self.is_runs
    }

    /// The first byte from `at` on that is no blank, of those that stand between fields.
    #[inline]
    pub(super) fn after_run(&self, data: &[u8], at: usize) -> usize {
        let rest = data.get(at..).unwrap_or_default();
        let run = rest.iter().take_while(|byte| BLANKS.contains(byte));
        at.wrapping_add(run.count()) // in the data, or at its end
    }

    /// Whether a byte may be part of a separator.
    pub(super) fn separates(&self, byte: u8) -> bool {
        match self.is_runs {
            true => BLANKS.contains(&byte),
            false => self.dialect.sep.contains(&byte),
        }
    }

    /// The blanks at the front of a line that are part of no field.
    pub(crate) fn indent(&self, line: &[u8]) -> usize {
        match self.is_runs {
            true => self.after_run(line, 0),
            false => 0,
        }
    }

    /// Whether the first byte of a separator is all of it, and never begins a terminator.
    #[inline]
    pub(super) fn is_plain_sep(&self) -> bool {
        self.is_plain_sep
    }

    /// Whether a line feed outside quotes is a terminator, and all of it.
    #[inline]
    pub(super) fn is_plain_feed(&self) -> bool {
        self.is_plain_feed
    }

    /// The first byte of the separator.
    #[inline]
    pub(super) fn sep_byte(&self) -> u8 {
        match self.is_runs {
            true => BLANKS[0],
            false => self.dialect.sep.first().copied().unwrap_or(0),
        }
    }

    /// Bytes that begin a terminator; the same twice where there is one.
    pub(super) fn terminator_bytes(&self) -> [u8; 2] {
        match self.dialect.line_sep.as_deref() {
            Some([first, ..]) => [*first, *first],
            _ => [LF, CR],
        }
    }

    /// Whether a terminator begins at `at`.
    #[inline]
    pub(super) fn terminator(&self, data: &[u8], at: usize, at_end: bool) -> Terminator {
        let Some(rest) = data.get(at..) else {
            return Terminator::No;
        };
        if let Some(line_sep) = &self.dialect.line_sep {
            return if rest.starts_with(line_sep) {
                Terminator::Ends(at + line_sep.len())
            } else {
                Terminator::No
            };
        }
        match rest {
            [LF, ..] => Terminator::Ends(at + 1),
            [CR, LF, ..] => Terminator::Ends(at + 2),
            [CR, _, ..] => Terminator::Ends(at + 1),
            [CR] if at_end => Terminator::Ends(at + 1),
            [CR] => Terminator::Undecided,
            _ => Terminator::No,
        }
    }

    /// Whether the separator stands at `at`.
    #[inline]
    pub(super) fn is_separator(&self, data: &[u8], at: usize) -> bool {
        data.get(at..)
            .is_some_and(|rest| rest.starts_with(&self.dialect.sep))
    }

    /// Whether a record that would begin at `at` is a comment.
    #[inline]
    pub(crate) fn is_comment(&self, data: &[u8], at: usize) -> bool {
        let comment = self.dialect.comment;
        comment.is_some_and(|mark| mark.after(data, at).is_some())
    }

    /// Whether a comment may begin with these bytes, if more follow.
    pub(crate) fn may_begin_comment(&self, rest: &[u8]) -> bool {
        let comment = self.dialect.comment;
        comment.is_some_and(|mark| mark.bytes().starts_with(rest))
    }
}
