//! What ends a record.

use std::borrow::Cow;

use memchr::memmem;

use crate::bits::{Finder, Marks};
use crate::units::{OTHER, narrow};

/// The end of a record: where its terminator begins, and where the next record does.
pub(super) type End = (usize, usize);

/// How records of text are ended.
#[derive(Clone, Debug)]
pub struct Grammar {
    ending: Ending,
    escape: Option<u8>,
    width: usize,
    big_endian: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Ending {
    /// `\n`, `\r\n` or `\r`.
    Line,
    /// Always the same bytes.
    Delimiter(Box<memmem::Finder<'static>>),
}

impl Grammar {
    /// Records that are ended by `delimiter`, or by line terminators; a terminator after an odd run of escapes is
    /// data. Both are written in the encoding of the file, whose code units have `width` bytes.
    ///
    /// # Errors
    /// If the parts are of no use together, or if units outside of ASCII must be told apart.
    pub fn new(
        delimiter: Option<&[u8]>,
        escape: Option<&[u8]>,
        width: usize,
        big_endian: bool,
    ) -> Result<Grammar, String> {
        if ![1, 2, 4].contains(&width) {
            return Err("code units have 1, 2 or 4 bytes".into());
        }
        let units = |written: &[u8]| {
            let units = narrow(written, width, big_endian);
            match width > 1 && units.contains(&OTHER) {
                true => Err(
                    "delimiters and escapes outside of ASCII, in code units of several bytes"
                        .to_string(),
                ),
                false => Ok(units),
            }
        };
        let delimiter = delimiter.map(units).transpose()?;
        let escape = match escape.map(units).transpose()?.as_deref() {
            None => None,
            Some(&[unit]) => Some(unit),
            Some(_) => return Err("an escape is one code unit".into()),
        };
        let terminators = delimiter.as_deref().unwrap_or(b"\r\n");
        if terminators.is_empty() {
            return Err("a delimiter has at least one code unit".into());
        }
        if escape.is_some_and(|escape| terminators.contains(&escape)) {
            return Err("an escape that is part of a terminator".into());
        }
        let ending = match delimiter {
            None => Ending::Line,
            Some(units) => Ending::Delimiter(Box::new(memmem::Finder::new(&units).into_owned())),
        };
        Ok(Grammar {
            ending,
            escape,
            width,
            big_endian,
        })
    }

    /// Bytes of one code unit.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether the first byte of a code unit is its highest.
    pub fn is_big_endian(&self) -> bool {
        self.big_endian
    }

    /// The code units of some bytes, one byte each.
    pub(crate) fn units<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        match self.width {
            1 => Cow::Borrowed(data),
            width => Cow::Owned(narrow(data, width, self.big_endian)),
        }
    }

    /// Whether each line feed ends a record where there is no carriage return.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.ending, Ending::Line) && self.escape.is_none()
    }

    /// What ends records.
    pub(super) fn ending(&self) -> &Ending {
        &self.ending
    }

    /// Where the record that starts at `start` ends; `None` if no unit of these tells. With one `seen`, starts
    /// only increase.
    #[inline(always)] // so that `seen` stays in registers
    pub(super) fn end(
        &self,
        search: &impl Search,
        seen: &mut Marks,
        units: &[u8],
        start: usize,
        at_end: bool,
    ) -> Option<End> {
        let mut from = start;
        loop {
            let at = search.next(seen, from)?;
            if !self.is_escaped(units, start, at) {
                return self.ended_at(units, at, at_end);
            }
            from = at + 1;
        }
    }

    /// Whether an odd run of escapes is before `at`. Every run is looked at once: marks hold no escapes.
    #[inline]
    fn is_escaped(&self, units: &[u8], start: usize, at: usize) -> bool {
        let Some(escape) = self.escape else {
            return false;
        };
        let record = units.get(start..at).unwrap_or_default();
        let others = record.iter().rev().position(|&unit| unit != escape);
        others.unwrap_or(record.len()) % 2 == 1
    }

    #[inline]
    fn ended_at(&self, units: &[u8], at: usize, at_end: bool) -> Option<End> {
        match &self.ending {
            Ending::Delimiter(finder) => Some((at, at + finder.needle().len())),
            Ending::Line => match units.get(at..)? {
                [b'\n', ..] => Some((at, at + 1)),
                [b'\r', b'\n', ..] => Some((at, at + 2)),
                [b'\r'] if !at_end => None, // a line feed may still follow
                _ => Some((at, at + 1)),
            },
        }
    }
}

/// Looks for marks, with which a terminator may begin, from left to right.
pub(super) trait Search {
    /// The first mark at or after `from`; `seen` remembers what was looked at already.
    fn next(&self, seen: &mut Marks, from: usize) -> Option<usize>;
}

impl Search for Finder<'_, 2, 0> {
    #[inline(always)] // as the loop that it serves
    fn next(&self, seen: &mut Marks, from: usize) -> Option<usize> {
        let at = self.next_first(seen, from);
        (at < self.len()).then_some(at)
    }
}

/// Looks for a text.
pub(super) struct Text<'a>(pub(super) &'a [u8], pub(super) &'a memmem::Finder<'static>);

impl Search for Text<'_> {
    #[inline]
    fn next(&self, _: &mut Marks, from: usize) -> Option<usize> {
        let found = self.1.find(self.0.get(from..)?)?;
        Some(from + found)
    }
}
