//! Records in bytes: where they are, and how many.

use super::grammar::RowTag;
use super::scan::Scanner;
use crate::frames::{Counted, Frames};

const FIRST_LOOK_BYTES: usize = 4096; // each look is four times as long as the one before

/// Find the complete records of `data`, which begins outside of all records.
pub fn frame(data: &[u8], at_end: bool, tag: &RowTag) -> Frames {
    let symbols = tag.symbols(data);
    let mut scanner = Scanner::new(tag, &symbols, 0);
    scanner.run(0);
    let next_start = if at_end && scanner.is_between() {
        data.len()
    } else {
        scanner.next_start * tag.width()
    };
    let (mut starts, stops) = (scanner.starts, in_bytes(scanner.stops, tag));
    starts.truncate(stops.len());
    Frames {
        starts: in_bytes(starts, tag),
        stops,
        malformed: Vec::new(),
        next_start,
    }
}

/// Count the records that [`frame`] finds before the end of a file.
pub fn count(data: &[u8], tag: &RowTag) -> Counted {
    let symbols = tag.symbols(data);
    let mut scanner = Scanner::new(tag, &symbols, 0);
    scanner.run(0);
    Counted {
        records: scanner.stops.len(),
        next_start: scanner.next_start * tag.width(),
    }
}

/// Length of what is before the first record; nothing where more of it may follow.
///
/// A look goes no further than a few times that.
pub fn gap_bytes(data: &[u8], at_end: bool, tag: &RowTag) -> Option<usize> {
    let mut shown = FIRST_LOOK_BYTES;
    loop {
        let part = data.get(..shown).unwrap_or(data);
        let symbols = tag.symbols(part);
        let mut scanner = Scanner::new(tag, &symbols, 0);
        if let Some(first) = scanner.first(0) {
            return Some(first * tag.width());
        }
        if part.len() == data.len() {
            let gap = if scanner.is_between() {
                data.len()
            } else {
                scanner.next_start * tag.width()
            };
            return at_end.then_some(gap);
        }
        shown = shown.saturating_mul(4);
    }
}

/// Row tags whose elements do not end in `data`, or are longer than `longest` bytes.
///
/// Nothing if `data`, which begins outside of all records, does not begin with one of them: then what it begins with
/// may hide others.
pub fn open_starts(data: &[u8], longest: usize, tag: &RowTag) -> Option<Vec<i64>> {
    let symbols = tag.symbols(data);
    let mut scanner = Scanner::new(tag, &symbols, 0);
    scanner.longest = (longest / tag.width()) as i64;
    scanner.run(0);
    let mut found = scanner.long;
    found.append(&mut scanner.open);
    found.sort_unstable();
    (found.first() == Some(&0)).then(|| in_bytes(found, tag))
}

fn in_bytes(mut positions: Vec<i64>, tag: &RowTag) -> Vec<i64> {
    if tag.width() > 1 {
        let width = tag.width() as i64;
        positions.iter_mut().for_each(|position| *position *= width);
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_elements_of_one_name_outside_of_comments_and_values() {
        let tag = RowTag::new(b"a", 1, false).expect("a name");
        let frames = frame(b"<!--<a>--><a x='<a>'>1</a> <ab/><a/>", true, &tag);
        assert_eq!(
            (frames.starts, frames.stops, frames.next_start),
            (vec![10, 32], vec![26, 36], 36)
        );
    }

    #[test]
    fn row_tags_without_an_end_are_told() {
        let tag = RowTag::new(b"r\0\x03\x26", 2, false).expect("a name");
        let wide = |text: &str| {
            text.encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>()
        };
        let data = wide("<r\u{2603}><r\u{2603}>1</r\u{2603}><r\u{2602}><r\u{2603}>");
        assert_eq!(open_starts(&data, 1000, &tag), Some(vec![0, 36]));
        assert_eq!(count(&data, &tag).records, 0);
    }
}
