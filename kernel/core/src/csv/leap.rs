//! Whole lines at once, 64 bytes at a time, where the quotes are in order.
//!
//! Where every quote opens or closes a field as a careful writer writes it, a byte is in quotes if the quotes before it
//! are odd in number, and that is a few instructions for 64 bytes. Each block is proven before its lines count: a quote
//! that opens stands right after an edge, or is the second of two. The first line with anything else is left to the
//! machine, which is the definition; so is the end of the data.

use super::grammar::{CR, Grammar, LF};
use crate::bits::{BLOCK, hits};

/// What a dialect must be for leaps: one byte for each delimiter.
#[derive(Clone, Copy)]
pub(super) struct Leaper {
    sep: u8,
    quote: Option<u8>,
    escape: Option<u8>,
    comment: Option<u8>,
    doubled: bool,
    returns: bool, // a carriage return may end a line
    spans: bool,   // quotes may hide line ends
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
    start: u64,
    inside: u64, // all bits or none
}

impl Leaper {
    /// `None` for dialects that only the machine reads.
    pub(super) fn new(grammar: &Grammar) -> Option<Leaper> {
        let dialect = grammar.dialect();
        (grammar.is_plain_sep() && grammar.is_plain_feed()).then(|| Leaper {
            sep: grammar.sep_byte(),
            quote: dialect.quote,
            escape: dialect.escape,
            comment: dialect.comment,
            doubled: dialect.doubled,
            returns: dialect.line_sep.is_none(),
            spans: dialect.multi_line,
        })
    }

    /// Pass lines from the line start `start` on, and look at no byte from `limit` on.
    pub(super) fn leap(&self, data: &[u8], start: usize, limit: usize, mark: usize) -> Leap {
        let mut leap = Leap {
            next: start,
            ..Leap::default()
        };
        let within = data.get(start..limit.min(data.len())).unwrap_or_default();
        let (blocks, _) = within.as_chunks::<BLOCK>();
        let mut carry = Carry {
            edge: 1,
            quote: 0,
            carriage: 0,
            start: 1,
            inside: 0,
        };
        let mut is_pending = 0; // whether the line at `next` is a record
        let mut base = start;
        for block in blocks {
            let (starts, blanks, faults) = self.masks(block, &mut carry);
            let trusted = starts & below_or_at(faults);
            if trusted != 0 {
                let top = 63 ^ trusted.leading_zeros();
                let records = trusted & !blanks;
                leap.records = leap
                    .records
                    .wrapping_add(is_pending) // no more than bytes
                    .wrapping_add((records & !(1 << top)).count_ones() as usize);
                is_pending = (records >> top) as usize & 1;
                leap.pass(base, trusted & !u64::from(base == start), mark);
                leap.next = base.wrapping_add(top as usize); // in the data
            }
            if faults != 0 {
                return leap;
            }
            base = base.wrapping_add(BLOCK); // at most the length of the data
        }
        if carry.start != 0 && base > start {
            leap.records = leap.records.wrapping_add(is_pending);
            leap.pass(base, 1, mark);
            leap.next = base;
        }
        leap
    }

    /// Where lines begin in a block, which of them are blank, and where something is not in order.
    #[inline(always)]
    fn masks(&self, block: &[u8; BLOCK], carry: &mut Carry) -> (u64, u64, u64) {
        let of = |byte: Option<u8>| byte.map_or(0, |byte| hits(block, [byte]));
        let quotes = of(self.quote);
        let seps = hits(block, [self.sep]);
        let feeds = hits(block, [LF]);
        let carriages = if self.returns { hits(block, [CR]) } else { 0 };
        let inside = parity(quotes) ^ carry.inside;
        let opening = quotes & inside;
        let edges = seps | feeds | carriages;
        let halves = if self.doubled { u64::MAX } else { 0 };
        let after_edge = edges << 1 | carry.edge;
        let after_quote = quotes << 1 | carry.quote;
        let (feeds_outside, carriages_outside) = (feeds & !inside, carriages & !inside);
        let starts = feeds_outside << 1 | carry.start;
        let mut faults = opening & !(after_edge | after_quote & halves);
        faults |= (carriages_outside << 1 | carry.carriage) & !feeds;
        faults |= of(self.escape) & inside;
        faults |= starts & of(self.comment);
        if !self.spans {
            faults |= (feeds | carriages) & inside;
        }
        *carry = Carry {
            edge: edges >> 63,
            quote: quotes >> 63,
            carriage: carriages_outside >> 63,
            start: feeds_outside >> 63,
            inside: 0u64.wrapping_sub(inside >> 63),
        };
        (starts, starts & (feeds | carriages), faults)
    }
}

impl Leap {
    #[inline]
    fn pass(&mut self, base: usize, starts: u64, mark: usize) {
        if self.first.is_none() && starts != 0 {
            self.first = Some(base.wrapping_add(starts.trailing_zeros() as usize));
        }
        if self.marked.is_none() && base.saturating_add(BLOCK) > mark {
            let late = starts & u64::MAX.unbounded_shl(mark.saturating_sub(base) as u32);
            if late != 0 {
                self.marked = Some(base.wrapping_add(late.trailing_zeros() as usize));
            }
        }
    }
}

/// For every bit, whether the bits up to it are odd in number.
#[inline]
fn parity(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32]
        .iter()
        .fold(bits, |bits, shift| bits ^ bits << shift)
}

/// All bits up to the lowest one of a mask; all there are if it has none.
#[inline]
fn below_or_at(bits: u64) -> u64 {
    bits ^ bits.wrapping_sub(1)
}
