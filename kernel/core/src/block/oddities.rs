//! Records that are read, and not as anybody expects: how many, and where the first is.

use std::sync::Arc;

use memchr::memchr_iter;
use memchr::memmem::Finder;
use serde::Serialize;

use super::engine::Engine;
use super::error::BlockError;
use super::spec::{CsvSpec, Head};
use crate::frames::Frames;

/// Code of records with bytes that are no UTF-8.
pub const NOT_UTF8: &str = "not-utf8";
/// Code of records that repeat the header.
pub const HEADER_AGAIN: &str = "header-again";
/// Code of lines that are skipped as comments, and look like records.
pub const COMMENT_RECORD: &str = "comment-record";
/// Code of lines that are skipped before the first record, and look like records.
pub const SKIPPED_RECORD: &str = "skipped-record";
/// Code of records that look like the header of their file, where samples have shown none.
pub const HEADER_RECORD: &str = "header-record";

pub(super) const BLANKS: [char; 2] = [' ', '\t'];
const MOST_NEEDLE_BYTES: usize = 256; // a part of the header that is looked for

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Records with one oddity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Oddity {
    /// Which.
    pub code: &'static str,
    /// How many records have it.
    pub records: u64,
    /// The place of the first, in the content of the file.
    pub offset: u64,
}

/// The oddities of a block, in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    found: Vec<Oddity>,
}

impl Oddities {
    /// Those found so far.
    pub(super) fn found(&self) -> &[Oddity] {
        &self.found
    }

    pub(super) fn count(&mut self, code: &'static str, offset: u64) {
        match self.found.iter_mut().find(|each| each.code == code) {
            Some(known) => known.records += 1,
            None => self.found.push(Oddity {
                code,
                records: 1,
                offset,
            }),
        }
    }

    /// Count the first `most` of these records that are no UTF-8; `data` lies at `offset`.
    pub(super) fn take_texts(&mut self, data: &[u8], offset: u64, frames: &Frames, most: usize) {
        let records = frames.starts.iter().zip(&frames.stops).take(most);
        let (Some(first), Some(last)) = (
            frames.starts.first(),
            frames.stops.get(..most.min(frames.stops.len())),
        ) else {
            return;
        };
        let range = *first as usize..last.last().map_or(0, |&stop| stop as usize);
        if is_utf8(data.get(range).unwrap_or_default()) {
            return;
        }
        for (&start, &stop) in records {
            let record = data.get(start as usize..stop as usize).unwrap_or_default();
            if let Err(error) = std::str::from_utf8(record) {
                let place = start as u64 + error.valid_up_to() as u64;
                self.count(NOT_UTF8, offset + place);
            }
        }
    }

    /// Count the first `most` of these records that are the header of the file, perhaps after a byte order mark.
    pub(super) fn take_headers(
        &mut self,
        engine: &dyn Engine,
        data: &[u8],
        offset: u64,
        frames: &Frames,
        most: usize,
        header: &Header,
    ) -> Result<(), BlockError> {
        for (&start, &stop) in frames.starts.iter().zip(&frames.stops).take(most) {
            let record = data.get(start as usize..stop as usize).unwrap_or_default();
            if header.is_again(engine, record)? {
                self.count(HEADER_AGAIN, offset + start as u64);
            }
        }
        Ok(())
    }
}

/// The header of a file, which may come again with other quotes and blanks around its names.
#[derive(Debug)]
pub(super) struct Header {
    record: Vec<u8>,
    names: Vec<String>,
    bare: Arc<Bare>,
}

impl Header {
    /// Of a file whose header is a record.
    pub(super) fn of(own: &CsvSpec, head: &Head) -> Option<Header> {
        let record = head.header_record.clone()?;
        let names = head.header.as_deref().unwrap_or_default().iter();
        let marks = [own.quote, own.escape].into_iter().flatten();
        let marks = marks.filter_map(|mark| u8::try_from(mark).ok());
        Some(Header {
            bare: Arc::new(Bare::of(&record, marks)),
            names: names.map(|name| name.trim_matches(BLANKS).into()).collect(),
            record,
        })
    }

    /// Whether a record is the header again, however its names are written.
    fn is_again(&self, engine: &dyn Engine, record: &[u8]) -> Result<bool, BlockError> {
        let record = record.strip_prefix(MARK).unwrap_or(record);
        if !self.bare.is_of(record) {
            return Ok(false);
        }
        if record == self.record {
            return Ok(true);
        }
        let names = engine.names(record)?;
        let names = names.iter().map(|name| name.trim_matches(BLANKS));
        Ok(names.eq(&self.names))
    }
}

/// A header without what may stand around its names.
#[derive(Debug)]
struct Bare {
    around: Vec<u8>,
    bytes: Vec<u8>,
    needle: Finder<'static>,
    place: (usize, usize), // where the needle begins in the bytes, and where it ends
}

impl Bare {
    fn of(record: &[u8], marks: impl Iterator<Item = u8>) -> Bare {
        let around: Vec<u8> = marks.chain(*b" \t\0").collect();
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80 || *byte == b'_';
        let mut longest: (usize, &[u8]) = (0, &[]);
        let mut passed = 0;
        for part in record.chunk_by(|one, other| is_plain(one) == is_plain(other)) {
            if part.first().is_some_and(is_plain) && part.len() > longest.1.len() {
                longest = (passed, part);
            }
            passed += without(part, &around).count();
        }
        let (start, part) = longest;
        let part = part.get(..MOST_NEEDLE_BYTES).unwrap_or(part);
        Bare {
            bytes: without(record, &around).collect(),
            needle: Finder::new(part).into_owned(),
            place: (start, start + part.len()),
            around,
        }
    }

    fn is_of(&self, record: &[u8]) -> bool {
        record.len() >= self.bytes.len().max(1)
            && without(record, &self.around).eq(self.bytes.iter().copied())
    }

    /// Whether a record in these bytes may be the header; they may begin and end inside of it.
    fn may_be_in(&self, data: &[u8]) -> bool {
        let (start, stop) = self.place;
        let before = self.bytes.get(..start).unwrap_or_default();
        let after = self.bytes.get(stop..).unwrap_or_default();
        let is_inside = |byte: &&u8| !self.around.contains(byte);
        start == stop
            || self.needle.find_iter(data).any(|place| {
                let (left, right) = data.split_at_checked(place).unwrap_or((data, &[]));
                let right = right.get(stop - start..).unwrap_or_default();
                let left = left.iter().rev().filter(is_inside);
                let right = right.iter().filter(is_inside);
                before
                    .iter()
                    .rev()
                    .zip(left)
                    .all(|(one, other)| one == other)
                    && after.iter().zip(right).all(|(one, other)| one == other)
            })
    }
}

/// Tells bytes that may hold what is odd from those that hold nothing of it, fast.
pub struct Suspects {
    comment: Option<u8>,
    begins_anywhere: bool, // lines end as the user said
    header: Option<Arc<Bare>>,
}

impl Suspects {
    /// Of a file with this header. `marks` may stand around its names, and lines may begin with `comment`: after any
    /// byte with `begins_anywhere`.
    pub fn new(
        header: Option<&[u8]>,
        marks: impl Iterator<Item = u8>,
        comment: Option<u8>,
        begins_anywhere: bool,
    ) -> Suspects {
        Suspects {
            comment,
            begins_anywhere,
            header: header.map(|record| Arc::new(Bare::of(record, marks))),
        }
    }

    /// Of a file whose header is known.
    pub(super) fn of(
        own: &CsvSpec,
        header: Option<&Header>,
        comment: Option<u8>,
    ) -> Option<Suspects> {
        (comment.is_some() || header.is_some()).then(|| Suspects {
            comment,
            begins_anywhere: own.line_sep.is_some(),
            header: header.map(|header| header.bare.clone()),
        })
    }

    /// Whether a part of a file may hold it.
    pub fn may_be_in(&self, data: &[u8]) -> bool {
        let begins = |place: usize| {
            let before = place.checked_sub(1).and_then(|place| data.get(place));
            self.begins_anywhere || before.is_none_or(|before| !before.is_ascii_graphic())
        };
        self.comment
            .is_some_and(|mark| memchr_iter(mark, data).any(begins))
            || self
                .header
                .as_ref()
                .is_some_and(|header| header.may_be_in(data))
    }
}

/// The bytes that are none of `around`.
fn without(bytes: &[u8], around: &[u8]) -> impl Iterator<Item = u8> {
    bytes.iter().copied().filter(|byte| !around.contains(byte))
}

fn is_utf8(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The oddities of lines.
    fn odd(lines: &[u8], most: usize) -> Vec<Oddity> {
        let mut frames = Frames::default();
        let mut start = 0;
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            frames.starts.push(start);
            start += line.len() as i64;
            frames.stops.push(start - 1);
        }
        let mut oddities = Oddities::default();
        oddities.take_texts(lines, 100, &frames, most);
        oddities.found().to_vec()
    }

    #[test]
    fn records_with_other_bytes_are_counted_with_the_first_place() {
        let lines = b"a\n\xc3\xa9x\xe9\n\xff\xff\nb\n";
        let found = |records| {
            [Oddity {
                code: NOT_UTF8,
                records,
                offset: 105,
            }]
        };
        assert_eq!(odd(lines, usize::MAX), found(2));
        assert_eq!(odd(lines, 2), found(1));
        assert_eq!(odd(lines, 1), []);
        assert_eq!(odd("a\né\n".as_bytes(), usize::MAX), []);
        assert_eq!(odd(b"\xc3\n\xa9\n", usize::MAX).len(), 1); // a character that two records share is in none
    }
}
