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
enum Ending {
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

    /// Whether a text that is cut by this is texts.
    pub(super) fn keeps_utf8(&self) -> bool {
        match &self.ending {
            Ending::Line => true,
            Ending::Delimiter(finder) => str::from_utf8(finder.needle()).is_ok(),
        }
    }

    /// A search for marks: bytes where a terminator may begin.
    pub(super) fn search<'a>(&'a self, units: &'a [u8]) -> Search<'a> {
        let bytes = |bytes| Search::Byte(Finder::new(units, bytes, []), Marks::NONE);
        match &self.ending {
            Ending::Line => bytes(*b"\r\n"),
            Ending::Delimiter(finder) => match finder.needle() {
                &[unit] => bytes([unit; 2]),
                _ => Search::Delimiter(units, finder),
            },
        }
    }

    /// Where the record that starts at `start` ends; `None` if no unit of these tells. With one search, starts only
    /// increase.
    #[inline]
    pub(super) fn end(
        &self,
        search: &mut Search,
        units: &[u8],
        start: usize,
        at_end: bool,
    ) -> Option<End> {
        let mut from = start;
        loop {
            let at = search.next(from)?;
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

/// Looks for marks from left to right.
pub(super) enum Search<'a> {
    /// One of two bytes.
    Byte(Finder<'a, 2, 0>, Marks),
    /// Several bytes.
    Delimiter(&'a [u8], &'a memmem::Finder<'static>),
}

impl Search<'_> {
    #[inline]
    fn next(&mut self, from: usize) -> Option<usize> {
        match self {
            Search::Byte(finder, marks) => {
                let at = finder.next_first(marks, from);
                (at < finder.len()).then_some(at)
            }
            Search::Delimiter(units, finder) => {
                finder.find(units.get(from..)?).map(|found| from + found)
            }
        }
    }
}
