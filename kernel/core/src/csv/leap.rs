//! Whole lines at once, 64 bytes at a time, where the quotes are in order.
//!
//! Where every quote opens or closes a field as a careful writer writes it, a byte is in quotes if the quotes before it
//! are odd in number, and that is a few instructions for 64 bytes. Each block is proven before its lines count: a quote
//! that opens stands right after an edge, or is the second of two. Where fields are asked for, a quote that closes also
//! stands right before an edge, or is the first of two. The first line with anything else is left to the machine, which
//! decides; so is the end of the data.

use super::grammar::{CR, Grammar, LF, Mark};
use super::reading::Reading;
use super::tape::Tape;
use crate::bits::{BLOCK, Level, Task, Vectors};

/// What a dialect must be for leaps: one byte for each delimiter and mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaper {
    sep: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    comment: Option<u8>,
    doubled: bool,
    returns: bool, // a carriage return may end a line
    spans: bool,   // quotes may hide line ends
    is_usual: bool,
    level: Level,
}

/// The lines that were passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Leap {
    /// Where the line begins that was not passed.
    pub next: usize,
    /// Records that were passed.
    pub records: usize,
    /// The first line start after the one where the leap began.
    pub first: Option<usize>,
    /// The first of them that is not before the mark.
    pub marked: Option<usize>,
}

/// What one block hands on to the next: each is bit 0 of a mask.
struct Carry {
    edge: u64,
    quote: u64,
    carriage: u64,
    closing: u64,
    start: u64,
    inside: u64, // all bits or none
}

impl Carry {
    /// Before a line.
    const LINE: Carry = Carry {
        edge: 1,
        quote: 0,
        carriage: 0,
        closing: 0,
        start: 1,
        inside: 0,
    };
}

/// What is where in a block.
struct Masks {
    /// Line feeds that end lines.
    feeds: u64,
    /// Bytes after a carriage return that is outside quotes.
    returned: u64,
    /// First bytes of delimiters outside quotes.
    edges: u64,
    /// Second ones of two quotes.
    halves: u64,
    /// First bytes of lines.
    starts: u64,
    /// Those of lines without any other.
    blanks: u64,
    /// Bytes that tell that something is not in order, on their line or right before them.
    faults: u64,
}

impl Leaper {
    /// `None` for dialects that only the machine reads.
    pub(super) fn new(grammar: &Grammar) -> Option<Leaper> {
        let dialect = grammar.dialect();
        let byte = |mark: Option<Mark>| match mark {
            Some(mark) => mark.single().map(Some),
            None => Some(None),
        };
        let (quote, escape) = (byte(dialect.quote)?, byte(dialect.escape)?);
        let comment = byte(dialect.comment)?;
        let leaper = Leaper {
            sep: grammar.sep_byte(),
            quote,
            escape,
            comment,
            doubled: dialect.doubled,
            returns: dialect.line_sep.is_none(),
            spans: dialect.multi_line,
            is_usual: false,
            level: Level::best(),
        };
        let is_usual = leaper == leaper.as_usual();
        let is_one = grammar.is_plain_sep() && grammar.is_plain_feed();
        is_one.then_some(Leaper { is_usual, ..leaper })
    }

    /// The dialect that most files have, with the same separator and quote.
    #[inline(always)] // so that its parts are known
    fn as_usual(self) -> Leaper {
        Leaper {
            quote: Some(self.quote.unwrap_or_default()),
            escape: None,
            comment: None,
            doubled: true,
            returns: true,
            spans: true,
            ..self
        }
    }

    /// The same for every kind of processor that this one can be.
    #[cfg(test)]
    pub(super) fn on_every_level(self) -> impl Iterator<Item = Leaper> {
        Level::every().map(move |level| Leaper { level, ..self })
    }

    /// Pass lines from the line start `start` on, and look at no byte from `limit` on.
    pub(super) fn leap(&self, data: &[u8], start: usize, limit: usize, mark: usize) -> Leap {
        self.level.run(Leaping {
            leaper: *self,
            data,
            start,
            limit,
            mark,
        })
    }

    /// Pass lines from the line start `start` on, whose fields go to the tape, until that is full, or `reading` leaves
    /// one. None that may begin where `reading` stops. Returns where the line begins that was not passed.
    #[inline]
    pub(super) fn read(
        &self,
        data: &[u8],
        start: usize,
        tape: &mut Tape,
        reading: &mut Reading<'_>,
    ) -> usize {
        self.level.run(Splitting {
            leaper: *self,
            data,
            start,
            tape,
            reading,
        })
    }

    /// What is where in a block; with `FIELDS`, quotes that close are proven too.
    #[inline(always)]
    fn masks<V: Vectors, const FIELDS: bool>(
        self,
        block: &[u8; BLOCK],
        carry: &mut Carry,
    ) -> Masks {
        let of = |byte: Option<u8>| byte.map_or(0, |byte| V::hits(block, [byte]));
        let quotes = of(self.quote);
        let seps = V::hits(block, [self.sep]);
        let feeds = V::hits(block, [LF]);
        let carriages = if self.returns {
            V::hits(block, [CR])
        } else {
            0
        };
        let inside = V::parity(quotes) ^ carry.inside;
        let opening = quotes & inside;
        let edges = seps | feeds | carriages;
        let halves = if self.doubled { u64::MAX } else { 0 };
        let after_edge = edges << 1 | carry.edge;
        let after_quote = (quotes << 1 | carry.quote) & halves;
        let (feeds_outside, carriages_outside) = (feeds & !inside, carriages & !inside);
        let starts = feeds_outside << 1 | carry.start;
        let returned = carriages_outside << 1 | carry.carriage;
        let mut faults = opening & !(after_edge | after_quote);
        faults |= returned & !feeds;
        faults |= of(self.escape) & inside;
        faults |= starts & of(self.comment);
        if !self.spans {
            faults |= (feeds | carriages) & inside;
        }
        let closing = quotes & !inside;
        if FIELDS {
            faults |= (closing << 1 | carry.closing) & !(edges | quotes & halves);
        }
        *carry = Carry {
            edge: edges >> 63,
            quote: quotes >> 63,
            carriage: carriages_outside >> 63,
            closing: closing >> 63,
            start: feeds_outside >> 63,
            inside: 0u64.wrapping_sub(inside >> 63),
        };
        Masks {
            feeds: feeds_outside,
            returned,
            edges: edges & !inside & !(returned & feeds),
            halves: opening & after_quote,
            starts,
            blanks: starts & (feeds | carriages),
            faults,
        }
    }
}

/// [`Leaper::leap`].
struct Leaping<'a> {
    leaper: Leaper,
    data: &'a [u8],
    start: usize,
    limit: usize,
    mark: usize,
}

impl Task for Leaping<'_> {
    type Answer = Leap;

    #[inline(always)] // as it is asked for
    fn run<V: Vectors>(self) -> Leap {
        let leaper = self.leaper;
        match leaper.is_usual {
            true => self.with::<V>(leaper.as_usual()),
            false => self.with::<V>(leaper),
        }
    }
}

impl Leaping<'_> {
    #[inline(always)] // as above
    fn with<V: Vectors>(self, leaper: Leaper) -> Leap {
        let Leaping {
            data,
            start,
            limit,
            mark,
            ..
        } = self;
        let mut leap = Leap {
            next: start,
            ..Leap::default()
        };
        let within = data.get(start..limit.min(data.len())).unwrap_or_default();
        let (blocks, _) = within.as_chunks::<BLOCK>();
        let mut carry = Carry::LINE;
        let (mut base, mut watch) = (start, start);
        let mut last = (start, 0); // of the blocks in which lines begin: where it is, and the lines
        for block in blocks {
            let masks = leaper.masks::<V, false>(block, &mut carry);
            let starts = masks.starts & below_or_at(masks.faults);
            leap.records = leap
                .records
                .wrapping_add((starts & !masks.blanks).count_ones() as usize); // no more than bytes
            if base >= watch {
                watch = leap.pass(base, starts & !u64::from(base == start), mark);
            }
            last = if starts == 0 { last } else { (base, starts) };
            if masks.faults != 0 {
                break;
            }
            base = base.wrapping_add(BLOCK); // at most the length of the data
        }
        let is_line = base > start && base == start.wrapping_add(within.len() & !(BLOCK - 1));
        if is_line && carry.start != 0 {
            leap.pass(base, 1, mark);
            leap.next = base;
        } else if let (from, starts @ 1..) = last {
            leap.next = from.wrapping_add(63 ^ starts.leading_zeros() as usize); // in the data
            let is_blank = |&byte: &u8| byte == LF || byte == CR && leaper.returns;
            let is_record = !data.get(leap.next).is_some_and(is_blank);
            leap.records = leap.records.wrapping_sub(usize::from(is_record)); // it is not passed
        }
        leap
    }
}

/// [`Leaper::read`].
struct Splitting<'a, 'r> {
    leaper: Leaper,
    data: &'a [u8],
    start: usize,
    tape: &'a mut Tape,
    reading: &'a mut Reading<'r>,
}

impl Task for Splitting<'_, '_> {
    type Answer = usize;

    #[inline(always)] // as it is asked for
    fn run<V: Vectors>(self) -> usize {
        let leaper = self.leaper;
        match leaper.is_usual {
            true => self.with::<V>(leaper.as_usual()),
            false => self.with::<V>(leaper),
        }
    }
}

impl Splitting<'_, '_> {
    #[inline(always)] // as above
    fn with<V: Vectors>(self, leaper: Leaper) -> usize {
        let Splitting {
            data,
            start,
            tape,
            reading,
            ..
        } = self;
        let within = data.get(start..reading.limits.stop.min(data.len()));
        let (blocks, _) = within.unwrap_or_default().as_chunks::<BLOCK>();
        let mut carry = Carry::LINE;
        let (mut base, mut line) = (start, start);
        let known = tape.records().len();
        for block in blocks {
            let masks = leaper.masks::<V, true>(block, &mut carry);
            let sound = below(masks.faults);
            let (edges, mut feeds) = (masks.edges & sound, masks.feeds & sound);
            let before = tape.words();
            tape.push_edges::<V>(tape.place(base), edges, masks.halves & sound);
            while feeds != 0 {
                let feed = below_or_at(feeds);
                let bit = feed ^ feed >> 1;
                feeds &= !feed;
                let at = base.wrapping_add(bit.trailing_zeros() as usize); // in the data
                let end = before.wrapping_add((edges & feed).count_ones() as usize); // in the tape
                let stop = at.wrapping_sub(usize::from(masks.returned & bit != 0));
                match stop == line {
                    true => tape.skip(end),
                    false => tape.push_proven(line, stop, end),
                }
                line = at.wrapping_add(1);
            }
            if masks.faults != 0 || !tape.reaches(line) {
                break;
            }
            base = base.wrapping_add(BLOCK); // at most the length of the data
        }
        tape.rewind();
        reading.admit_proven(tape, known, start, line)
    }
}

impl Leap {
    /// Lines begin in a block; returns from which block on that must be told.
    #[inline(never)] // what it looks at would push the state of the loop out of registers
    fn pass(&mut self, base: usize, starts: u64, mark: usize) -> usize {
        if starts != 0 && self.first.is_none() {
            self.first = Some(base.wrapping_add(starts.trailing_zeros() as usize));
        }
        let late = starts & u64::MAX.unbounded_shl(mark.saturating_sub(base).min(BLOCK) as u32);
        if late != 0 && self.marked.is_none() {
            self.marked = Some(base.wrapping_add(late.trailing_zeros() as usize));
        }
        match (self.first, self.marked) {
            (None, _) => base,
            (_, None) => mark.saturating_sub(BLOCK - 1),
            _ => usize::MAX,
        }
    }
}

/// All bits below the lowest one of a mask; all there are if it has none.
#[inline]
fn below(bits: u64) -> u64 {
    !bits & bits.wrapping_sub(1)
}

/// All bits up to the lowest one of a mask; all there are if it has none.
#[inline]
fn below_or_at(bits: u64) -> u64 {
    bits ^ bits.wrapping_sub(1)
}
