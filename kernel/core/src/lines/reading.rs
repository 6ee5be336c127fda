//! Which records one call reads, and their contents as a column.

use arrow_schema::{DataType, Field};

use crate::charsets::Charset;
use crate::columns::Column;
use crate::frames::Frames;
use crate::limits::MAX_COLUMN_BYTES;
use crate::parsed::{Parsed, Stopped};
use crate::rules::Rules;

/// What a call may read, at most. Positions are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Records that start here or after it belong to others.
    pub stop: usize,
    /// Whether nothing follows the bytes that are shown.
    pub at_end: bool,
    /// Most records.
    pub rows: usize,
    /// Most bytes of the content of one record.
    pub record_bytes: usize,
}

/// The records at the front of `size` bytes that `bounds` allows, and why there are no more; no columns yet.
///
/// `after` says where the record that starts at a position stops, and where the next one starts.
pub(super) fn read(
    size: usize,
    bounds: Bounds,
    mut after: impl FnMut(usize) -> Option<(usize, usize)>,
) -> Parsed {
    let mut frames = Frames::default();
    let stopped = loop {
        let start = frames.next_start;
        if start >= size && bounds.at_end {
            break Stopped::End;
        }
        if start >= bounds.stop {
            break Stopped::Owned;
        }
        if frames.starts.len() >= bounds.rows {
            break Stopped::Rows;
        }
        let Some((stop, next)) = after(start) else {
            break Stopped::Input;
        };
        if stop - start > bounds.record_bytes {
            break Stopped::Long;
        }
        frames.starts.push(start as i64);
        frames.stops.push(stop as i64);
        frames.next_start = next;
    };
    Parsed {
        rows: frames.starts.len(),
        frames,
        stopped,
        ..Parsed::default()
    }
}

/// The one column of records that are one value.
pub(super) fn one_column(field: &Field) -> Result<Column, String> {
    match field.data_type() {
        DataType::Utf8 | DataType::Binary => Column::new(field, &Rules::default()),
        other => Err(format!("records that are one value of type {other}")),
    }
}

/// Where the values of records come from.
pub(super) enum Contents<'a> {
    /// The bytes of the record.
    Bytes(&'a [u8]),
    /// Its text, from another encoding or with replacements; code units of this width tell what is ASCII.
    Text(&'a [u8], Option<(&'a [u8], usize)>, &'a Charset),
}

impl Contents<'_> {
    #[inline]
    fn of<'a>(&'a self, start: usize, stop: usize, text: &'a mut Vec<u8>) -> &'a [u8] {
        match *self {
            Contents::Bytes(data) => data.get(start..stop).unwrap_or_default(),
            Contents::Text(data, units, charset) => {
                let ascii = units.and_then(|(units, width)| ascii(units, width, start, stop));
                ascii.unwrap_or_else(|| {
                    text.clear();
                    charset.append(data.get(start..stop).unwrap_or_default(), text);
                    text
                })
            }
        }
    }
}

/// The text from one byte to another, if it is ASCII and ends with a whole code unit.
#[inline]
fn ascii(units: &[u8], width: usize, start: usize, stop: usize) -> Option<&[u8]> {
    let units = units.get(start / width..stop / width)?;
    (stop.is_multiple_of(width) && units.is_ascii()).then_some(units)
}

/// Add a column with the value of each record. Records whose values are too much for it are left to the next call.
pub(super) fn fill(mut column: Column, contents: &Contents<'_>, parsed: &mut Parsed) {
    let frames = &mut parsed.frames;
    let bytes = frames.stops.last().map_or(0, |&stop| stop as usize);
    column.reserve(frames.starts.len(), bytes.min(MAX_COLUMN_BYTES));
    let mut text = Vec::new();
    for (&start, &stop) in frames.starts.iter().zip(&frames.stops) {
        let value = contents.of(start as usize, stop as usize, &mut text);
        if value.len() > MAX_COLUMN_BYTES - column.text_bytes() {
            break;
        }
        column.push_bytes(value);
    }
    let rows = column.len();
    if let Some(&next_start) = frames.starts.get(rows) {
        frames.next_start = next_start as usize;
        frames.starts.truncate(rows);
        frames.stops.truncate(rows);
        parsed.stopped = Stopped::Bytes;
    }
    parsed.rows = rows;
    parsed.columns.push(column.finish());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_says_why_it_stops() {
        let all = Bounds {
            stop: 9,
            at_end: true,
            rows: 9,
            record_bytes: 9,
        };
        let read = |bounds: Bounds| {
            let parsed = read(9, bounds, |at| {
                (at < 8 || bounds.at_end).then_some(((at + 3).min(9), (at + 4).min(9)))
            });
            assert_eq!(parsed.rows, parsed.frames.starts.len());
            let frames = parsed.frames;
            (frames.starts, frames.next_start, parsed.stopped)
        };
        assert_eq!(read(all), (vec![0, 4, 8], 9, Stopped::End));
        let open = Bounds {
            at_end: false,
            ..all
        };
        assert_eq!(read(open), (vec![0, 4], 8, Stopped::Input));
        let owned = |stop| read(Bounds { stop, ..all });
        assert_eq!(owned(8), (vec![0, 4], 8, Stopped::Owned));
        assert_eq!(owned(5), (vec![0, 4], 8, Stopped::Owned));
        assert_eq!(owned(4), (vec![0], 4, Stopped::Owned));
        let one = Bounds { rows: 1, ..all };
        assert_eq!(read(one), (vec![0], 4, Stopped::Rows));
        let short = Bounds {
            record_bytes: 2,
            ..all
        };
        assert_eq!(read(short), (vec![], 0, Stopped::Long));
    }
}
