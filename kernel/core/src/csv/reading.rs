//! The records of one call while they are read: which ones are taken, and why no more.

use super::grammar::{CR, Dialect, Mark};
use super::parse::Limits;
use super::rows::Rows;
use super::tape::Tape;
use crate::frames::Frames;
use crate::parsed::{Parsed, Stopped};

/// Records while they are read: which ones are, and what became of them.
pub(super) struct Reading<'a> {
    pub data: &'a [u8],
    pub limits: Limits,
    pub dialect: &'a Dialect,
    pub rows: Rows<'a>,
    pub frames: Frames,
    pub stopped: Option<Stopped>,
}

impl Reading<'_> {
    /// Whether what begins at a line start may be read; if not, `stopped` says why.
    #[inline]
    pub(super) fn owns(&mut self, start: usize) -> bool {
        if start >= self.limits.stop {
            self.stopped = Some(Stopped::Owned);
        } else if self.frames.starts.len() >= self.limits.max_rows {
            self.stopped = Some(Stopped::Rows);
        }
        self.stopped.is_none()
    }

    /// Whether a record is read, which is one of the frames then; if not, `stopped` says why.
    #[inline]
    pub(super) fn admits(&mut self, start: usize, stop: usize) -> bool {
        let bytes = stop.wrapping_sub(start); // not before it
        if bytes > self.limits.max_record_bytes {
            self.stopped = Some(Stopped::Long);
        } else if !self.rows.has_room(bytes) {
            self.stopped = Some(Stopped::Bytes);
        } else {
            self.frames.starts.push(start as i64);
            self.frames.stops.push(stop as i64);
        }
        self.stopped.is_none()
    }

    /// Read the proven records of the tape from one on, whose lines are those from `line` to `next`, and leave those that
    /// are not read, the first of which `stopped` is about; returns where the line begins that is not read.
    pub(super) fn admit_proven(
        &mut self,
        tape: &mut Tape,
        from: usize,
        mut line: usize,
        next: usize,
    ) -> usize {
        let records = tape.records().get(from..).unwrap_or_default();
        let bytes = next.wrapping_sub(line); // not before it
        let most = self
            .limits
            .max_rows
            .saturating_sub(self.frames.starts.len());
        let fits = bytes <= self.limits.max_record_bytes && records.len() < most;
        if fits && self.rows.has_room(bytes) {
            let (starts, stops) = (&mut self.frames.starts, &mut self.frames.stops);
            starts.extend(records.iter().map(|record| tape.start_of(record) as i64));
            stops.extend(records.iter().map(|record| tape.stop_of(record) as i64));
            return next;
        }
        for (number, record) in records.iter().enumerate() {
            let (start, stop) = (tape.start_of(record), tape.stop_of(record));
            if !self.owns(line) || !self.admits(start, stop) {
                let has_rows = self.stopped == Some(Stopped::Rows); // then blank lines before it are left too
                tape.keep(from.wrapping_add(number));
                return if has_rows { line } else { start };
            }
            let is_return = self.data.get(stop) == Some(&CR); // a line feed follows
            line = stop.wrapping_add(1 + usize::from(is_return)); // in the data
        }
        let is_all = line == next || self.owns(line); // or else blank lines after them are left too
        if is_all { next } else { line }
    }

    /// The same after the columns are filled, which may show that there is room.
    #[cold]
    pub(super) fn admits_after(&mut self, tape: &mut Tape, start: usize, stop: usize) -> bool {
        self.fill(tape, start);
        self.stopped = None;
        self.admits(start, stop)
    }

    /// End a record whose fields the machine has told of.
    pub(super) fn walked(
        &mut self,
        tape: &mut Tape,
        start: usize,
        stop: usize,
        is_malformed: bool,
    ) {
        if is_malformed {
            let number = self.frames.starts.len() - 1; // it is the last one
            self.frames.malformed.push(number as u32); // a record has a byte: fewer than 2^32 of them
        }
        tape.push_walked(start, stop, is_malformed);
    }

    /// Add the records of the tape to the columns; the next one starts at `next`.
    pub(super) fn fill(&mut self, tape: &mut Tape, next: usize) {
        let is_first = self.rows.is_empty();
        let quote = self.dialect.quote.and_then(Mark::single); // where the machine has not told of all
        self.rows.push(tape.fields(self.data, quote), self.dialect);
        if is_first {
            self.reserve(next);
        }
        tape.restart(next);
    }

    /// Make room for all records, which may be like those before `next`.
    #[cold]
    fn reserve(&mut self, next: usize) {
        let left = self.limits.stop.min(self.data.len()).saturating_sub(next);
        let rows = self.frames.starts.len().saturating_mul(left) / next.max(1);
        self.rows.reserve(left, next);
        let rows = rows.saturating_add(rows / 16).min(left);
        self.frames.starts.reserve(rows);
        self.frames.stops.reserve(rows);
    }

    pub(super) fn finish(mut self, tape: &mut Tape, next: usize) -> Parsed {
        self.fill(tape, next);
        self.frames.next_start = next;
        Parsed {
            frames: self.frames,
            stopped: self.stopped.unwrap_or_default(),
            ..self.rows.finish()
        }
    }
}
