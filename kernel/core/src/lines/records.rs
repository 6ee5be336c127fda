//! The complete records at the front of some bytes: where they are, or how many.

use memchr::{memchr, memchr_iter, memrchr};

use super::grammar::{Ending, Grammar, Search, Text};
use crate::bits::{Finder, Marks};
use crate::frames::{Counted, Frames};

/// Records one after the other; the last one needs no terminator at the end of a file.
pub(crate) struct Records<'a> {
    grammar: &'a Grammar,
    units: &'a [u8],
    size: usize,
    at_end: bool,
    search: Searching<'a>,
    seen: Marks,
}

/// How the next terminator is looked for.
enum Searching<'a> {
    Bytes(Finder<'a, 2, 0>),
    Text(Text<'a>),
}

impl<'a> Records<'a> {
    /// Of `size` bytes that begin with a record, and their code units.
    pub(crate) fn new(grammar: &'a Grammar, units: &'a [u8], size: usize, at_end: bool) -> Self {
        let bytes = |marks| Searching::Bytes(Finder::new(units, marks, []));
        let search = match grammar.ending() {
            Ending::Line => bytes(*b"\r\n"),
            Ending::Delimiter(finder) => match finder.needle() {
                &[unit] => bytes([unit; 2]),
                _ => Searching::Text(Text(units, finder)),
            },
        };
        Records {
            grammar,
            units,
            size,
            at_end,
            search,
            seen: Marks::NONE,
        }
    }

    /// Where the record that starts at byte `start` stops, and where the next one starts, in bytes.
    #[inline]
    pub(crate) fn after(&mut self, start: usize) -> Option<(usize, usize)> {
        let mut seen = self.seen;
        let found = match &self.search {
            Searching::Bytes(search) => self.find(search, &mut seen, start),
            Searching::Text(search) => self.find(search, &mut seen, start),
        };
        self.seen = seen;
        found
    }

    /// Hand over where each record from `start` on starts, where it stops, and where the next one starts, for as long
    /// as `take` wants more. Faster than asking for one after the other.
    pub(crate) fn each(&self, start: usize, take: impl FnMut(usize, usize, usize) -> bool) {
        match &self.search {
            Searching::Bytes(search) => self.walk(search, start, take),
            Searching::Text(search) => self.walk(search, start, take),
        }
    }

    #[inline(always)] // so that `seen` stays in registers: twice as fast
    fn walk(
        &self,
        search: &impl Search,
        mut start: usize,
        mut take: impl FnMut(usize, usize, usize) -> bool,
    ) {
        let mut seen = Marks::NONE;
        while let Some((stop, next)) = self.find(search, &mut seen, start)
            && take(start, stop, next)
        {
            start = next;
        }
    }

    #[inline(always)] // as the loop that it serves
    fn find(&self, search: &impl Search, seen: &mut Marks, start: usize) -> Option<(usize, usize)> {
        let shift = self.grammar.width().trailing_zeros(); // of a position in units, for one in bytes
        match self
            .grammar
            .end(search, seen, self.units, start >> shift, self.at_end)
        {
            Some((stop, next)) => Some((stop << shift, next << shift)),
            None if self.at_end && start < self.size => Some((self.size, self.size)),
            None => None,
        }
    }
}

/// Where the complete records of `data` are, which begins with one; all that no later byte can change.
pub fn frame(data: &[u8], grammar: &Grammar, at_end: bool) -> Frames {
    let units = grammar.units(data);
    let mut frames = Frames::default();
    let records = Records::new(grammar, &units, data.len(), at_end);
    records.each(0, |start, stop, next| {
        frames.starts.push(start as i64);
        frames.stops.push(stop as i64);
        frames.next_start = next;
        true
    });
    frames
}

/// How many records [`frame`] finds.
pub fn count(data: &[u8], grammar: &Grammar, at_end: bool) -> Counted {
    let units = grammar.units(data);
    let mut counted = Counted::default();
    if grammar.is_plain() && memchr(b'\r', &units).is_none() {
        let last = memrchr(b'\n', &units);
        counted.records = memchr_iter(b'\n', &units).count();
        counted.next_start = last.map_or(0, |last| last + 1) * grammar.width();
    }
    let records = Records::new(grammar, &units, data.len(), at_end);
    records.each(counted.next_start, |_, _, next| {
        counted.records += 1;
        counted.next_start = next;
        true
    });
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn end(frames: &mut Frames, stop: usize, next: usize) {
        frames.starts.push(frames.next_start as i64);
        frames.stops.push(stop as i64);
        frames.next_start = next;
    }

    /// One unit at a time: starts, stops, where the next record starts.
    fn slow(units: &[u8], delimiter: Option<&[u8]>, escape: Option<u8>, at_end: bool) -> Frames {
        let mut frames = Frames::default();
        let (mut at, mut is_escaped) = (0, false);
        while at < units.len() {
            let rest = &units[at..];
            let length = match delimiter {
                Some(delimiter) if rest.starts_with(delimiter) => delimiter.len(),
                None if rest.starts_with(b"\r\n") => 2,
                None if rest == b"\r" && !at_end => 0,
                None if b"\r\n".contains(&rest[0]) => 1,
                _ => 0,
            };
            let is_escape = escape == Some(rest[0]) && !is_escaped;
            let ends = length > 0 && !is_escaped;
            if ends {
                end(&mut frames, at, at + length);
            }
            at += if ends { length } else { 1 };
            is_escaped = is_escape;
        }
        if at_end && frames.next_start < units.len() {
            end(&mut frames, units.len(), units.len());
        }
        frames
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"ab|\\\r\n\x85".as_slice()), 0..40)
    }

    fn delimiters() -> impl Strategy<Value = Option<&'static [u8]>> {
        let all: [Option<&[u8]>; 6] = [
            None,
            Some(b"|"),
            Some(b"||"),
            Some(b"|a|"),
            Some(b"\n"),
            Some(b"abab"),
        ];
        proptest::sample::select(all.to_vec())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn records_are_those_that_one_unit_at_a_time_finds(
            data in text(), delimiter in delimiters(), escapes in any::<bool>(), at_end in any::<bool>(), cut in 0usize..4,
        ) {
            let escape: Option<&[u8]> = escapes.then_some(b"\\");
            let expected = slow(&data, delimiter, escape.map(|unit| unit[0]), at_end);
            let grammar = Grammar::new(delimiter, escape, 1, false).expect("they fit together");
            let found = frame(&data, &grammar, at_end);
            prop_assert_eq!(&found, &expected);
            let counted = count(&data, &grammar, at_end);
            prop_assert_eq!((counted.records, counted.next_start), (found.starts.len(), found.next_start));

            let widen = |units: &[u8]| units.iter().flat_map(|&unit| [0, 0, 0, unit]).collect::<Vec<u8>>();
            let written = (delimiter.map(widen), escape.map(widen));
            let grammar = Grammar::new(written.0.as_deref(), written.1.as_deref(), 4, true).expect("they fit together");
            let mut data = widen(&data);
            data.resize(data.len() + cut, b'\n');
            let found = frame(&data, &grammar, at_end);
            let times_4 = |positions: &[i64]| positions.iter().map(|position| position * 4).collect::<Vec<_>>();
            if !at_end || cut == 0 {
                prop_assert_eq!(found.starts, times_4(&expected.starts));
                prop_assert_eq!(found.stops, times_4(&expected.stops));
            } else {
                prop_assert_eq!((found.next_start, found.stops.last()), (data.len(), Some(&(data.len() as i64))));
            }
        }
    }

    #[test]
    fn grammars_that_contradict_themselves_are_refused() {
        let new =
            |delimiter, escape, width| Grammar::new(delimiter, escape, width, false).map(drop);
        assert!(new(Some(b""), None, 1).is_err());
        assert!(new(Some(b"a\\"), Some(b"\\"), 1).is_err());
        assert!(new(None, Some(b"\n"), 1).is_err());
        assert!(new(None, Some(b"ab"), 1).is_err());
        assert!(new(None, None, 3).is_err());
        assert!(new(Some(b"\xa7\0"), None, 2).is_err());
        assert!(new(Some(b"\xa7"), None, 1).is_ok());
    }
}
