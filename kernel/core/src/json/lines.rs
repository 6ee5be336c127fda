//! JSON Lines: every line is a record, and lines of white space are none.

use crate::frames::{Counted, Frames};
use crate::lines::Records;
use crate::lines::grammar::Grammar;

/// Whether a line holds only white space; all control characters are.
#[inline]
pub(crate) fn is_blank(units: &[u8]) -> bool {
    units.iter().all(|&unit| unit <= b' ')
}

/// Find the complete records of `data`, which begins with a line.
pub fn frame_lines(data: &[u8], lines: &Grammar, at_end: bool) -> Frames {
    let mut frames = Frames::default();
    frames.next_start = records(data, lines, at_end, |start, stop| {
        frames.starts.push(start as i64);
        frames.stops.push(stop as i64);
    });
    frames
}

/// Count the records that [`frame_lines`] finds.
pub fn count_lines(data: &[u8], lines: &Grammar, at_end: bool) -> Counted {
    let mut seen = 0;
    let next_start = records(data, lines, at_end, |_, _| seen += 1);
    Counted {
        records: seen,
        next_start,
    }
}

/// Length of the blank lines at the front of `data`, and whether a line that is a record is complete after them.
pub(crate) fn blank_bytes(data: &[u8], lines: &Grammar, at_end: bool) -> (usize, bool) {
    let found = Records::new(lines, data, data.len(), at_end);
    let (mut position, mut is_record) = (0, false);
    found.each(0, |start, stop, next| {
        is_record = !is_blank(data.get(start..stop).unwrap_or_default());
        if !is_record {
            position = next;
        }
        !is_record
    });
    (position, is_record)
}

fn records(
    data: &[u8],
    lines: &Grammar,
    at_end: bool,
    mut each: impl FnMut(usize, usize),
) -> usize {
    let (units, width) = (lines.units(data), lines.width());
    let found = Records::new(lines, &units, data.len(), at_end);
    let mut next_start = 0;
    found.each(0, |start, stop, next| {
        let line = units.get(start / width..stop / width).unwrap_or_default();
        let is_whole = (stop - start).is_multiple_of(width); // else it ends with a part of a code unit
        if !(is_whole && is_blank(line)) {
            each(start, stop);
        }
        next_start = next;
        true
    });
    next_start
}
