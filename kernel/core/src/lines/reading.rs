//! Which records one call reads, and their contents as a column.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer};

use crate::charsets::Charset;
use crate::frames::Frames;
use crate::limits::MAX_COLUMN_BYTES;
use crate::parsed::{Parsed, Stopped};

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

/// Takes records for as long as its bounds allow.
pub(crate) struct Taking {
    bounds: Bounds,
    frames: Frames,
    stopped: Option<Stopped>,
}

impl Taking {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Taking {
            bounds,
            frames: Frames::default(),
            stopped: None,
        }
    }

    /// Take a record, if it may be read: the answer is whether it was.
    #[inline]
    pub(crate) fn take(&mut self, start: usize, stop: usize, next: usize) -> bool {
        self.stopped = self.refused(start);
        if self.stopped.is_none() && stop - start > self.bounds.record_bytes {
            self.stopped = Some(Stopped::Long);
        }
        if self.stopped.is_some() {
            return false;
        }
        self.frames.starts.push(start as i64);
        self.frames.stops.push(stop as i64);
        self.frames.next_start = next;
        true
    }

    /// The records that were taken of `size` bytes, and why there are no more; no columns yet.
    pub(crate) fn finish(self, size: usize) -> Parsed {
        let next_start = self.frames.next_start;
        let stopped = self
            .stopped
            .unwrap_or_else(|| match self.refused(next_start) {
                _ if self.bounds.at_end && next_start >= size => Stopped::End,
                refused => refused.unwrap_or(Stopped::Input),
            });
        Parsed {
            rows: self.frames.starts.len(),
            frames: self.frames,
            stopped,
            ..Parsed::default()
        }
    }

    /// Why a record that starts here is not read, however long it is.
    #[inline]
    fn refused(&self, start: usize) -> Option<Stopped> {
        if start >= self.bounds.stop {
            Some(Stopped::Owned)
        } else if self.frames.starts.len() >= self.bounds.rows {
            Some(Stopped::Rows)
        } else {
            None
        }
    }
}

/// How the values of records are made from their bytes.
#[derive(Clone, Copy)]
pub(super) enum Values<'a> {
    /// They are the bytes.
    Bytes,
    /// They are texts of an encoding; code units of this width tell what is ASCII.
    Texts(&'a Charset, &'a [u8], usize),
}

/// Add a column of binary values with the bytes of each record of `data`.
pub(super) fn add_bytes(data: &[u8], parsed: &mut Parsed) {
    let (offsets, bytes) = gather(data, Values::Bytes, &parsed.frames);
    add(Arc::new(BinaryArray::new(offsets, bytes, None)), parsed);
}

/// Add a column of texts with the text of each record of `data`, whose code units are `units`.
pub(super) fn add_texts(data: &[u8], charset: &Charset, units: &[u8], parsed: &mut Parsed) {
    if *charset == Charset::Utf8 {
        let (offsets, bytes) = gather(data, Values::Bytes, &parsed.frames);
        if let Ok(texts) = StringArray::try_new(offsets, bytes, None) {
            return add(Arc::new(texts), parsed); // they were UTF-8, as nearly always
        }
    }
    let values = Values::Texts(charset, units, charset.unit().0);
    let (offsets, bytes) = gather(data, values, &parsed.frames);
    add(Arc::new(StringArray::new(offsets, bytes, None)), parsed);
}

/// The values of the records one after the other: of as many as have room in a column.
fn gather(data: &[u8], values: Values<'_>, frames: &Frames) -> (OffsetBuffer<i32>, Buffer) {
    let span = frames.stops.last().map_or(0, |&stop| stop as usize);
    let mut bytes = Vec::with_capacity(span.min(MAX_COLUMN_BYTES));
    let mut offsets = Vec::with_capacity(frames.starts.len() + 1);
    offsets.push(0);
    for (&start, &stop) in frames.starts.iter().zip(&frames.stops) {
        let before = bytes.len();
        append(data, values, start as usize, stop as usize, &mut bytes);
        if bytes.len() > MAX_COLUMN_BYTES {
            bytes.truncate(before);
            break;
        }
        offsets.push(bytes.len() as i32);
    }
    (OffsetBuffer::new(offsets.into()), bytes.into())
}

/// Add a column; records that had no room in it are left to the next call.
fn add(column: ArrayRef, parsed: &mut Parsed) {
    let frames = &mut parsed.frames;
    if let Some(&next_start) = frames.starts.get(column.len()) {
        frames.next_start = next_start as usize;
        frames.starts.truncate(column.len());
        frames.stops.truncate(column.len());
        parsed.rows = column.len();
        parsed.stopped = Stopped::Bytes;
    }
    parsed.columns.push(column);
}

#[inline]
fn append(data: &[u8], values: Values<'_>, start: usize, stop: usize, bytes: &mut Vec<u8>) {
    let record = data.get(start..stop).unwrap_or_default();
    match values {
        Values::Bytes => bytes.extend_from_slice(record),
        Values::Texts(charset, units, width) => match ascii(units, width, start, stop) {
            Some(text) => bytes.extend_from_slice(text),
            None => {
                charset.append(record, bytes);
            }
        },
    }
}

/// The text from one byte to another, if it is ASCII and ends with a whole code unit.
#[inline]
fn ascii(units: &[u8], width: usize, start: usize, stop: usize) -> Option<&[u8]> {
    let units = units.get(start / width..stop / width)?;
    (stop.is_multiple_of(width) && units.is_ascii()).then_some(units)
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
            let mut taking = Taking::new(bounds);
            let records = [(0, 3, 4), (4, 7, 8), (8, 9, 9)];
            let complete = if bounds.at_end { 3 } else { 2 };
            let mut left = records.iter().take(complete);
            while left
                .next()
                .is_some_and(|&(start, stop, next)| taking.take(start, stop, next))
            {}
            let parsed = taking.finish(9);
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
