//! Records that are read, and not as anybody expects: how many, and where the first is.

use serde::Serialize;

use crate::frames::Frames;

/// Code of records with bytes that are no UTF-8.
pub const NOT_UTF8: &str = "not-utf8";
/// Code of records that repeat the header.
pub const HEADER_AGAIN: &str = "header-again";
/// Code of lines that are skipped as comments, and look like records.
pub const COMMENT_RECORD: &str = "comment-record";
/// Code of lines that are skipped before the first record, and look like records.
pub const SKIPPED_RECORD: &str = "skipped-record";

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
        data: &[u8],
        offset: u64,
        frames: &Frames,
        most: usize,
        header: &[u8],
    ) {
        for (&start, &stop) in frames.starts.iter().zip(&frames.stops).take(most) {
            let length = (stop - start) as usize;
            if length != header.len() && length != header.len() + MARK.len() {
                continue;
            }
            let record = data.get(start as usize..stop as usize).unwrap_or_default();
            let before = record.strip_suffix(header);
            if before.is_some_and(|before| before.is_empty() || before == MARK) {
                self.count(HEADER_AGAIN, offset + start as u64);
            }
        }
    }
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
