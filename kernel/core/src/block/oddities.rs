//! Records that are read, and not as anybody expects: how many, and where the first is.

use std::cmp::Reverse;
use std::sync::Arc;

use memchr::memchr_iter;
use memchr::memmem::Finder;
use serde::Serialize;

use super::engine::Engine;
use super::error::BlockError;
use super::spec::{CsvSpec, Head};
use crate::charsets::Charset;
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
const MOST_NEEDLES: usize = 4; // one of which stands in few records
const MOST_BYTES_OF_SEVERAL: usize = 1024; // a longer header may be cut, and then another one be looked for in each part
const SAMPLE_BYTES: usize = 4096;

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
    pub(super) fn of(own: &CsvSpec, head: &Head, charset: &Charset) -> Option<Header> {
        let record = head.header_record.clone()?;
        let names = head.header.as_deref().unwrap_or_default().iter();
        let marks = [own.quote, own.escape, own.escape_escape]
            .into_iter()
            .flatten();
        let written = marks.filter_map(|mark| charset.write(mark.encode_utf8(&mut [0; 4])).ok());
        Some(Header {
            bare: Arc::new(Bare::of(&record, written.flatten())),
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
    around: Around,
    bytes: Vec<u8>,
    needles: Vec<Needle>, // the longest first
}

/// A part of a header, which stands in it however the names are written.
#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    start: usize, // in the bare bytes
    stop: usize,
}

impl Bare {
    fn of(record: &[u8], marks: impl Iterator<Item = u8>) -> Bare {
        let around = Around::of(marks.chain(*b" \t\0"));
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'_';
        let is_plain = |byte: &u8| is_name(*byte) && !around.has(*byte);
        let (mut parts, mut passed): (Vec<(usize, &[u8])>, usize) = (Vec::new(), 0);
        for part in record.chunk_by(|one, other| is_plain(one) == is_plain(other)) {
            if part.first().is_some_and(is_plain) {
                parts.push((passed, part.get(..MOST_NEEDLE_BYTES).unwrap_or(part)));
            }
            passed += around.outside(part.iter()).count();
        }
        parts.sort_by_key(|(_, part)| Reverse(part.len()));
        parts.truncate(if record.len() > MOST_BYTES_OF_SEVERAL {
            1
        } else {
            MOST_NEEDLES
        });
        let needle = |(start, part): (usize, &[u8])| Needle {
            finder: Finder::new(part).into_owned(),
            start,
            stop: start + part.len(),
        };
        Bare {
            bytes: around.outside(record.iter()).collect(),
            needles: parts.into_iter().map(needle).collect(),
            around,
        }
    }

    fn is_of(&self, record: &[u8]) -> bool {
        record.len() >= self.bytes.len().max(1)
            && self
                .around
                .outside(record.iter())
                .eq(self.bytes.iter().copied())
    }

    /// Whether a record in these bytes may be the header; they may begin and end inside of a long one. With `ends_anywhere` any
    /// byte may be before it, and after it.
    fn may_be_in(&self, data: &[u8], ends_anywhere: bool) -> bool {
        let Some(needle) = self.rarest(data) else {
            return true;
        };
        let before = self.bytes.get(..needle.start).unwrap_or_default();
        let after = self.bytes.get(needle.stop..).unwrap_or_default();
        let is_end =
            |byte: Option<u8>| ends_anywhere || byte.is_none_or(|byte| !byte.is_ascii_graphic());
        let agrees = |one: &u8, other: Option<u8>| other.is_none_or(|other| *one == other);
        needle.finder.find_iter(data).any(|place| {
            let (left, right) = data.split_at_checked(place).unwrap_or((data, &[]));
            let right = right.get(needle.stop - needle.start..).unwrap_or_default();
            let mut right = self.around.outside(right.iter());
            let mut left = self.around.outside(left.iter().rev());
            after.iter().all(|one| agrees(one, right.next()))
                && is_end(right.next())
                && before.iter().rev().all(|one| agrees(one, left.next()))
                && is_end(left.next())
        })
    }

    /// The needle that is met least where these bytes begin: a name may stand in each of their records.
    fn rarest(&self, data: &[u8]) -> Option<&Needle> {
        let sample = data.get(..SAMPLE_BYTES).unwrap_or(data);
        let met = |needle: &&Needle| needle.finder.find_iter(sample).count();
        self.needles.iter().min_by_key(met) // the first of several
    }
}

/// Bytes that may stand around the names of a header.
#[derive(Debug)]
struct Around([bool; 256]);

impl Around {
    fn of(bytes: impl Iterator<Item = u8>) -> Around {
        let mut around = [false; 256];
        for byte in bytes {
            around[usize::from(byte)] = true;
        }
        Around(around)
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    /// The bytes that are none of them.
    fn outside<'b>(&'b self, bytes: impl Iterator<Item = &'b u8>) -> impl Iterator<Item = u8> {
        bytes.copied().filter(|&byte| !self.has(byte))
    }
}

/// Tells bytes that may hold what is odd from those that hold nothing of it, fast.
pub struct Suspects {
    comment: Option<u8>,
    begins_anywhere: bool, // lines end as the user said: perhaps with a letter
    header: Option<Arc<Bare>>,
}

impl Suspects {
    /// Of a file with this header. The bytes of `marks` may stand around its names, and lines may begin with `comment`:
    /// after any byte with `begins_anywhere`.
    pub fn new(
        header: Option<&[u8]>,
        marks: impl Iterator<Item = u8>,
        comment: Option<&[u8]>,
        begins_anywhere: bool,
    ) -> Suspects {
        Suspects {
            comment: comment.and_then(first_of),
            begins_anywhere,
            header: header.map(|record| Arc::new(Bare::of(record, marks))),
        }
    }

    /// Of a file whose header is known.
    pub(super) fn of(
        own: &CsvSpec,
        header: Option<&Header>,
        comment: Option<&[u8]>,
    ) -> Option<Suspects> {
        (comment.is_some() || header.is_some()).then(|| Suspects {
            comment: comment.and_then(first_of),
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
                .is_some_and(|header| header.may_be_in(data, self.begins_anywhere))
    }
}

/// A byte of a mark that is looked for: none before it is ASCII that is seen.
fn first_of(mark: &[u8]) -> Option<u8> {
    mark.iter().copied().find(|&byte| byte != 0)
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

    /// Whether lines may hold this header.
    fn may_hold(header: &str, lines: &str, ends_anywhere: bool) -> bool {
        let bare = Bare::of(header.as_bytes(), [b'"'].into_iter());
        bare.may_be_in(lines.as_bytes(), ends_anywhere)
    }

    #[test]
    fn a_header_is_suspected_however_its_names_are_written() {
        for again in [
            "id,name",
            "\"id\",\"name\"",
            "\u{feff}id , name\t",
            "id,\"name\" \r",
        ] {
            assert!(may_hold("id,name", &format!("1,x\n{again}\n2,y\n"), false));
            assert!(may_hold("id,name", &format!("{again}\n"), false));
        }
        let long = format!("id,name,{}", "x".repeat(2 * MOST_BYTES_OF_SEVERAL));
        for part in [&long[1..], &long[..1000]] {
            assert!(may_hold(&long, part, false)); // the rest is in other bytes
        }
        assert!(may_hold("name", "x\nname\ny\n", false));
        assert!(may_hold("id,name", "1,xZid,nameZ2,y", true));
        assert!(may_hold("a-b,-", "a-b,-\n", false));
        assert!(may_hold("+,-", "1,2\n", false)); // nothing to look for
    }

    #[test]
    fn names_that_stand_in_records_are_no_headers() {
        let rows = |row: &str| format!("{row}\n").repeat(1000);
        for row in [
            "7,name number 5",
            "7,x name",
            "my id,name",
            "id,names",
            "name,id",
        ] {
            assert!(!may_hold("id,name", &rows(row), false), "{row}");
        }
        for row in ["name number 5", "no name", "name1"] {
            assert!(!may_hold("name", &rows(row), false), "{row}");
        }
        assert!(!may_hold("number,xname", &rows("xname,5,number"), false));
    }

    #[test]
    fn of_several_names_the_one_that_is_met_least_is_looked_for() {
        let bare = Bare::of(b"longest,id,short", [b'"'].into_iter());
        let place = |data: &[u8]| bare.rarest(data).map(|needle| needle.start);
        assert_eq!(place(b"1,2,3\n"), Some(0));
        assert_eq!(place(b"longest\nlongest\n"), Some(11));
        assert_eq!(place(b"longest short\nlongest short\n"), Some(8));
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
