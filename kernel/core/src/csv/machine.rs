//! The state machine: from one line start to the next, field by field.
//!
//! It jumps from one special byte to the next. Outside quotes these are the first bytes of separators and terminators;
//! a quote matters only where a field begins. Inside quotes they are those of the quote and of the escape, and without
//! `multi_line` of terminators too.

use super::grammar::{BLANKS, Grammar, LAST_BLANK, LF, Mark, Terminator};
use super::steps::{Entry, Kind, Place, Sink, Step, Tail, Written};
use crate::bits::{Finder, Marks};

/// Reads lines of some data. `OUTSIDE` is how many bytes are special outside quotes: [`MARKS`] or [`RUNS`]; `INSIDE` how
/// many are inside of them: [`LINES`] or [`SPANNING`], or one of the longer ones.
pub(super) struct Machine<'a, const OUTSIDE: usize, const INSIDE: usize> {
    data: &'a [u8],
    grammar: &'a Grammar,
    tail: Tail,
    quote: u16,      // the first byte, or NO_BYTE without one
    escape: u16,     // the same
    comment: u16,    // the same
    plain_sep: u16, // the separator, if that is one byte that never begins a terminator; else NO_BYTE
    plain_feed: u16, // the line feed, if that is a terminator; else NO_BYTE
    trims: bool,
    doubled: bool,
    hides_any: bool,                     // the escape, whatever comes after it
    finder: Finder<'a, OUTSIDE, INSIDE>, // outside quotes, inside quotes
    marks: Marks,
}

/// Stands for a byte that there is not.
const NO_BYTE: u16 = 1 << 8;

/// The first byte of a separator, and those of terminators.
pub(super) const MARKS: usize = 3;
/// The same of runs of blanks: one byte more.
pub(super) const RUNS: usize = 4;

/// Terminators end records in quotes, too: quote, escape, and the first bytes of terminators.
pub(super) const LINES: usize = 4;
/// Records may span lines: quote and escape.
pub(super) const SPANNING: usize = 2;
/// Both with one byte more: a mark has several bytes, and the machine of other dialects has no code for that.
pub(super) const LONG_LINES: usize = LINES + 1;
pub(super) const LONG_SPANNING: usize = SPANNING + 1;

/// Evaluate an expression with the constants of the machine that reads a grammar.
macro_rules! with_machine {
    ($grammar:expr, $outside:ident, $inside:ident, $call:expr) => {{
        let grammar = &$grammar;
        let (is_runs, spans_lines) = (grammar.is_runs(), grammar.spans_lines());
        match (is_runs, spans_lines, grammar.has_long_marks()) {
            (false, true, false) => with_machine!($outside MARKS, $inside SPANNING, $call),
            (false, false, false) => with_machine!($outside MARKS, $inside LINES, $call),
            (true, true, false) => with_machine!($outside RUNS, $inside SPANNING, $call),
            (true, false, false) => with_machine!($outside RUNS, $inside LINES, $call),
            (false, true, true) => with_machine!($outside MARKS, $inside LONG_SPANNING, $call),
            (false, false, true) => with_machine!($outside MARKS, $inside LONG_LINES, $call),
            (true, true, true) => with_machine!($outside RUNS, $inside LONG_SPANNING, $call),
            (true, false, true) => with_machine!($outside RUNS, $inside LONG_LINES, $call),
        }
    }};
    ($outside:ident $first:ident, $inside:ident $second:ident, $call:expr) => {{
        const $outside: usize = $crate::csv::machine::$first;
        const $inside: usize = $crate::csv::machine::$second;
        $call
    }};
}
pub(super) use with_machine;

/// What ends a field: its first byte, and the first byte after it.
pub(super) enum Edge {
    /// A separator.
    Separator { stop: usize, next: usize },
    /// A terminator, or the end of the file.
    Line { stop: usize, next: usize },
    /// The data ends, or does not tell.
    Open,
}

/// What ends the part of a field that is in quotes.
enum Closing {
    Quote { at: usize, written: Written },
    Line { stop: usize, next: usize },
    Open,
}

impl<'a, const OUTSIDE: usize, const INSIDE: usize> Machine<'a, OUTSIDE, INSIDE> {
    const HAS_LONG_MARKS: bool = INSIDE == LONG_LINES || INSIDE == LONG_SPANNING;
    const ENDS_IN_QUOTES: bool = INSIDE >= LINES;

    /// A machine for `data`.
    pub(super) fn new(data: &'a [u8], grammar: &'a Grammar, tail: Tail) -> Self {
        let [first, second] = grammar.terminator_bytes();
        let dialect = grammar.dialect();
        let quote = dialect.quote.map_or(first, |mark| mark.first());
        let escape = dialect.escape.map_or(quote, |mark| mark.first());
        let inside = [quote, escape, first, second];
        let inside = std::array::from_fn(|number| inside.get(number).copied().unwrap_or(quote));
        let outside = [grammar.sep_byte(), first, second, BLANKS[1]];
        let outside = std::array::from_fn(|number| outside.get(number).copied().unwrap_or(first));
        let byte_if = |byte: u8, holds: bool| if holds { u16::from(byte) } else { NO_BYTE };
        Machine {
            data,
            grammar,
            tail,
            quote: byte_if(quote, dialect.quote.is_some()),
            escape: byte_if(escape, dialect.escape.is_some()),
            comment: dialect
                .comment
                .map_or(NO_BYTE, |mark| u16::from(mark.first())),
            plain_sep: byte_if(grammar.sep_byte(), grammar.is_plain_sep()),
            plain_feed: byte_if(LF, grammar.is_plain_feed()),
            trims: dialect.trim_leading,
            doubled: dialect.doubled,
            hides_any: dialect.escapes_itself(),
            finder: Finder::new(data, outside, inside),
            marks: Marks::NONE,
        }
    }

    /// Read one line from `start` on; `sink` is told of its fields.
    #[inline]
    pub(super) fn line(&mut self, start: usize, entry: Entry, sink: &mut impl Sink) -> Step {
        let mut marks = self.marks; // a copy that can stay in registers
        let step = match entry {
            Entry::Line => {
                let first = self.first_field(start);
                match self.gap(start, first) {
                    None => self.fields(first, self.opening(first), &mut marks, sink),
                    Some(Step::Open(Place::Comment)) => self.comment(first, &mut marks),
                    Some(step) => step,
                }
            }
            Entry::Field => {
                let first = self.first_field(start);
                self.fields(first, self.opening(first), &mut marks, sink)
            }
            Entry::Plain => self.fields(start, None, &mut marks, sink),
            Entry::Quoted => self.fields(start, Some(start), &mut marks, sink),
            Entry::Comment => self.comment(start, &mut marks),
        };
        self.marks = marks;
        step
    }

    /// Where the first field begins of a line, or of a part of one that begins with a field.
    #[inline(always)]
    fn first_field(&self, start: usize) -> usize {
        match OUTSIDE == RUNS {
            true => self.grammar.after_run(self.data, start),
            false => start,
        }
    }

    /// What begins at a line start, if it is no record; of a comment, that it is one. `first` is where a field would
    /// begin.
    #[inline]
    fn gap(&self, start: usize, first: usize) -> Option<Step> {
        match self.terminator(first) {
            Terminator::Ends(next) => Some(Step::Line {
                kind: Kind::Blank,
                stop: first,
                next,
            }),
            Terminator::Undecided => Some(Step::Open(Place::Gap)),
            Terminator::No if first < self.data.len() => {
                let byte = self.data.get(first).copied();
                let is_first = byte.map(u16::from) == Some(self.comment);
                (is_first && self.grammar.is_comment(self.data, first))
                    .then_some(Step::Open(Place::Comment))
            }
            Terminator::No if first > start && self.tail != Tail::Open => Some(Step::Line {
                kind: Kind::Blank,
                stop: first,
                next: first,
            }),
            Terminator::No => Some(Step::Open(Place::Gap)),
        }
    }

    /// After a run of blanks: that the line ends, or the data.
    #[inline(always)]
    fn end_of_line(&self, at: usize) -> Option<Step> {
        let line = |next| Step::Line {
            kind: Kind::Record,
            stop: at,
            next,
        };
        match self.terminator(at) {
            Terminator::Ends(next) => Some(line(next)),
            Terminator::Undecided => Some(Step::Open(Place::Outside)),
            Terminator::No if at < self.data.len() => None,
            Terminator::No if self.tail == Tail::Open => Some(Step::Open(Place::Outside)),
            Terminator::No => Some(line(at)),
        }
    }

    #[inline]
    fn terminator(&self, at: usize) -> Terminator {
        self.grammar
            .terminator(self.data, at, self.tail != Tail::Open)
    }

    /// A line that is skipped: up to the next terminator, whatever the quotes say.
    #[cold]
    fn comment(&self, start: usize, marks: &mut Marks) -> Step {
        let mut at = start;
        loop {
            at = self.finder.next_first(marks, at);
            match self.terminator(at) {
                Terminator::Ends(next) => {
                    return Step::Line {
                        kind: Kind::Comment,
                        stop: at,
                        next,
                    };
                }
                Terminator::No if at < self.data.len() => at += 1,
                Terminator::No if self.tail != Tail::Open => {
                    return Step::Line {
                        kind: Kind::Comment,
                        stop: at,
                        next: at,
                    };
                }
                _ => return Step::Open(Place::Comment),
            }
        }
    }

    /// The fields of a line: one begins at `start`, and where it is quoted its content at `opened`.
    #[inline(always)] // the hot loop, and what it calls: a third of the time is saved by keeping all in registers
    fn fields(
        &self,
        mut start: usize,
        mut opened: Option<usize>,
        marks: &mut Marks,
        sink: &mut impl Sink,
    ) -> Step {
        loop {
            let edge = match opened {
                None => {
                    let edge = self.edge(start, marks);
                    if let Edge::Separator { stop, .. } | Edge::Line { stop, .. } = edge {
                        sink.field(start, stop, Written::Plain);
                    }
                    edge
                }
                Some(body) => match self.closing(body, marks) {
                    Closing::Quote { at, written } => {
                        let edge = self.edge_after_quote(self.after_quote(at), marks);
                        if let Edge::Separator { stop, .. } | Edge::Line { stop, .. } = edge {
                            let last = self.last_quote(at, stop);
                            match self.is_blank(self.after_quote(last), stop) {
                                true => sink.field(body, last, written),
                                false if self.grammar.dialect().skips_values => {
                                    sink.field(stop, stop, Written::Plain);
                                }
                                false => sink.field(start, stop, Written::Plain),
                            }
                        }
                        edge
                    }
                    Closing::Line { stop, next } => {
                        sink.field(body, stop, Written::Escaped);
                        return Step::Line {
                            kind: Kind::Malformed,
                            stop,
                            next,
                        };
                    }
                    Closing::Open => return Step::Open(Place::Quotes),
                },
            };
            match edge {
                Edge::Separator { next, .. } => {
                    start = next;
                    if OUTSIDE == RUNS
                        && let Some(step) = self.end_of_line(start)
                    {
                        return step;
                    }
                    opened = self.opening(start);
                }
                Edge::Line { stop, next } => {
                    return Step::Line {
                        kind: Kind::Record,
                        stop,
                        next,
                    };
                }
                Edge::Open => return Step::Open(Place::Outside),
            }
        }
    }

    /// Where the content of the field that begins at `start` begins, if it is quoted.
    #[inline(always)]
    pub(super) fn opening(&self, start: usize) -> Option<usize> {
        let at = if self.trims {
            self.after_blanks(start)
        } else {
            start
        };
        self.is_quote(at).then(|| self.after_quote(at))
    }

    /// Whether a quote is at `at`.
    #[inline(always)]
    fn is_quote(&self, at: usize) -> bool {
        let is_first = |&byte: &u8| u16::from(byte) == self.quote;
        self.data.get(at).is_some_and(is_first) && self.is_all(self.grammar.dialect().quote, at)
    }

    /// The first byte after the quote at `at`.
    #[inline(always)]
    fn after_quote(&self, at: usize) -> usize {
        at.wrapping_add(self.length(self.grammar.dialect().quote)) // no further than the data
    }

    /// Whether a mark is at `at`, where its first byte is.
    #[inline(always)]
    fn is_all(&self, mark: Option<Mark>, at: usize) -> bool {
        !Self::HAS_LONG_MARKS || mark.is_some_and(|mark| mark.after(self.data, at).is_some())
    }

    /// Bytes of a mark that is there.
    #[inline(always)]
    fn length(&self, mark: Option<Mark>) -> usize {
        match Self::HAS_LONG_MARKS {
            true => mark.map_or(1, |mark| mark.bytes().len()),
            false => 1,
        }
    }

    /// The first byte from `start` on that is no white space, or that begins a delimiter.
    fn after_blanks(&self, start: usize) -> usize {
        let mut at = start;
        while self.data.get(at).is_some_and(|&byte| byte <= LAST_BLANK)
            && self.terminator(at) == Terminator::No
            && !self.grammar.is_separator(self.data, at)
        {
            at += 1;
        }
        at
    }

    /// The last of the quotes from `at` on: it closes the field, and those before it are data. There is one quote where
    /// doubled ones are escaped.
    #[inline(always)]
    fn last_quote(&self, mut at: usize, stop: usize) -> usize {
        let mut next = self.after_quote(at);
        if next == stop || self.doubled {
            return at;
        }
        while next < stop && self.is_quote(next) {
            (at, next) = (next, self.after_quote(next));
        }
        at
    }

    /// Whether there is nothing but white space.
    #[inline(always)]
    fn is_blank(&self, start: usize, stop: usize) -> bool {
        let between = self.data.get(start..stop).unwrap_or_default();
        start == stop || between.iter().all(|&byte| byte <= LAST_BLANK)
    }

    /// From outside quotes: the next separator or terminator.
    #[inline(always)]
    pub(super) fn edge(&self, start: usize, marks: &mut Marks) -> Edge {
        let mut at = start;
        loop {
            at = self.finder.next_first(marks, at);
            let Some(&byte) = self.data.get(at) else {
                return match self.tail {
                    Tail::Open => Edge::Open,
                    _ => Edge::Line { stop: at, next: at },
                };
            };
            let next = at.wrapping_add(1); // at is in the data
            if u16::from(byte) == self.plain_sep {
                return Edge::Separator { stop: at, next };
            }
            if OUTSIDE == RUNS && BLANKS.contains(&byte) {
                let next = self.grammar.after_run(self.data, next);
                return Edge::Separator { stop: at, next };
            }
            if u16::from(byte) == self.plain_feed {
                return Edge::Line { stop: at, next };
            }
            if let Some(edge) = self.edge_at(at) {
                return edge;
            }
            at += 1;
        }
    }

    /// The same after a closing quote, where an edge nearly always follows at once.
    #[inline(always)]
    fn edge_after_quote(&self, at: usize, marks: &mut Marks) -> Edge {
        let next = at.wrapping_add(1);
        match self.data.get(at) {
            Some(&byte) if u16::from(byte) == self.plain_sep => {
                return Edge::Separator { stop: at, next };
            }
            Some(&byte) if u16::from(byte) == self.plain_feed => {
                return Edge::Line { stop: at, next };
            }
            _ => {}
        }
        self.edge(at, marks)
    }

    /// What begins at `at` with the first byte of a separator or terminator.
    #[inline(never)]
    fn edge_at(&self, at: usize) -> Option<Edge> {
        match self.terminator(at) {
            Terminator::Ends(next) => return Some(Edge::Line { stop: at, next }),
            Terminator::Undecided => return Some(Edge::Open),
            Terminator::No if OUTSIDE == RUNS => return None, // it is no blank
            Terminator::No if !self.grammar.is_separator(self.data, at) => return None,
            Terminator::No => {}
        }
        let next = at + self.grammar.dialect().sep.len();
        for inside in at + 1..next {
            match self.terminator(inside) {
                Terminator::Ends(next) => return Some(Edge::Line { stop: inside, next }), // it wins
                Terminator::Undecided => return Some(Edge::Open),
                Terminator::No => {}
            }
        }
        Some(Edge::Separator { stop: at, next })
    }

    /// After an escape, and after the mark or byte that it hides.
    ///
    /// One that hides quotes only hides none where it is data itself: before quoted bytes stands a quote, or the data
    /// before a safe cut, so that what makes the escape data is among them.
    #[cold]
    fn after_escape(&self, at: usize) -> usize {
        let dialect = self.grammar.dialect();
        let next = at.wrapping_add(self.length(dialect.escape)); // no further than the data
        let before = self.data.get(..at).unwrap_or_default();
        let is_data = match dialect.escape_escape {
            _ if self.hides_any => Self::ENDS_IN_QUOTES && self.terminator(next) != Terminator::No,
            Some(special) => before.ends_with(special.bytes()),
            None => false,
        };
        if is_data {
            return next;
        }
        if self.is_quote(next) {
            return self.after_quote(next);
        }
        let escape = dialect.escape.filter(|_| self.hides_any);
        escape.map_or(next, |mark| mark.after(self.data, next).unwrap_or(next + 1))
    }

    /// From inside quotes: the quote that closes them.
    #[inline(always)]
    fn closing(&self, start: usize, marks: &mut Marks) -> Closing {
        let mut at = start;
        let mut written = Written::Quoted;
        loop {
            at = self.finder.next_second(marks, at);
            let Some(&byte) = self.data.get(at) else {
                return match self.tail == Tail::Record
                    || (self.tail == Tail::File && Self::ENDS_IN_QUOTES)
                {
                    true => Closing::Line { stop: at, next: at },
                    false => Closing::Open,
                };
            };
            if u16::from(byte) == self.quote && self.is_all(self.grammar.dialect().quote, at) {
                let next = self.after_quote(at);
                let is_half = self.doubled
                    && self.data.get(next) == Some(&byte)
                    && self.is_all(self.grammar.dialect().quote, next);
                if !is_half {
                    return Closing::Quote { at, written };
                }
                written = Written::Escaped;
                at = self.after_quote(next);
                continue;
            }
            if Self::ENDS_IN_QUOTES {
                match self.terminator(at) {
                    Terminator::Ends(next) => return Closing::Line { stop: at, next },
                    Terminator::Undecided => return Closing::Open,
                    Terminator::No => {}
                }
            }
            if u16::from(byte) != self.escape || !self.is_all(self.grammar.dialect().escape, at) {
                at += 1; // what begins like a terminator, or like a mark
                continue;
            }
            written = Written::Escaped;
            if Self::HAS_LONG_MARKS || !self.hides_any {
                at = self.after_escape(at);
                continue;
            }
            at += if Self::ENDS_IN_QUOTES && self.terminator(at + 1) != Terminator::No {
                1
            } else {
                2
            };
        }
    }
}
