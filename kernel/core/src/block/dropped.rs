//! Lines that options drop which were found in samples of the files: some of them may be records.

use super::cursor::Source;
use super::engine::Engine;
use super::error::BlockError;
use super::oddities::{COMMENT_RECORD, Oddities, SKIPPED_RECORD};
use super::spec::{Format, FoundOption, Head, ScanSpec};
use crate::frames::Frames;
use crate::lines::Bounds;

const FIRST_BYTES: u64 = 64 * 1024; // in which the first record is looked for
const BYTE_ORDER_MARKS: [&[u8]; 5] = [
    b"\xef\xbb\xbf",
    b"\xff\xfe\0\0",
    b"\0\0\xfe\xff",
    b"\xff\xfe",
    b"\xfe\xff",
];
const LEAST_FIELDS: usize = 2; // any line has one

/// Looks at what lies between records, where an option was found that drops lines.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    comment: Option<u8>,
    skipped: usize, // lines at the head of a file
    longest: usize,
    last: Option<(u64, u64)>, // the record before what is looked at
}

impl Dropped {
    pub(super) fn of(spec: &ScanSpec) -> Dropped {
        let Format::Csv(own) = &spec.format else {
            return Dropped::default();
        };
        let found = |option| own.found.contains(&option);
        let comment = own.comment.and_then(|mark| u8::try_from(mark).ok());
        Dropped {
            comment: comment.filter(|_| found(FoundOption::Comment)),
            skipped: match found(FoundOption::SkipRows) {
                true => own.skip_lines,
                false => 0,
            },
            longest: spec.max_record_bytes,
            last: None,
        }
    }

    /// Take nothing for the record before what follows.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    /// Look at the lines before the first record of a file.
    pub(super) fn before(
        &self,
        source: &mut Source,
        engine: &dyn Engine,
        head: &Head,
        odd: &mut Oddities,
    ) -> Result<(), BlockError> {
        if self.skipped == 0 && (self.comment.is_none() || head.header_record.is_none()) {
            return Ok(());
        }
        let wanted = (head.data_start + FIRST_BYTES) as usize;
        let data = source.bytes(0, wanted)?;
        let at_end = data.len() < wanted;
        let (before, rest) = data
            .split_at_checked(head.data_start as usize)
            .unwrap_or((&data, &[]));
        let width = match &head.header {
            Some(names) => names.len(),
            None => {
                let frames = engine.frame(rest, at_end);
                let first = frames.starts.first().zip(frames.stops.first());
                let first = first.and_then(|(&from, &to)| rest.get(from as usize..to as usize));
                first.map_or(Ok(0), |record| Ok(engine.names(record)?.len()))?
            }
        };
        let marked = BYTE_ORDER_MARKS.iter().find(|mark| data.starts_with(mark));
        let mut position = marked.map_or(0, |mark| mark.len());
        for _ in 0..self.skipped {
            let rest = before.get(position..).unwrap_or_default();
            let Some(step) = engine.resume_after(rest, true).filter(|&step| step > 0) else {
                return Ok(());
            };
            let line = rest.get(..step).unwrap_or_default();
            let fits = head.header.is_some() || fits(engine, line)?;
            if fits && has_fields(engine, line, width)? {
                odd.count(SKIPPED_RECORD, position as u64);
            }
            position += step;
        }
        if self.comment.is_none() || head.header_record.is_none() {
            return Ok(());
        }
        let frames = engine.frame(before.get(position..).unwrap_or_default(), true);
        let Some(header_stop) = frames.stops.first().map(|&stop| position + stop as usize) else {
            return Ok(());
        };
        let gap = before.get(header_stop..).unwrap_or_default();
        self.comments(engine, gap, header_stop as u64, width, odd)
    }

    /// Look at what lies between the last record and `stop`.
    pub(super) fn between(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
        stop: u64,
        odd: &mut Oddities,
    ) -> Result<(), BlockError> {
        let Some((from, to)) = self.last.take().filter(|_| self.comment.is_some()) else {
            return Ok(());
        };
        if stop.saturating_sub(to) <= 2 * engine.unit_bytes() {
            return Ok(()); // a terminator
        }
        let longest = (to - from).saturating_add(self.longest as u64);
        let data = source.bytes(from, (stop - from).min(longest) as usize)?;
        let (record, gap) = data
            .split_at_checked((to - from) as usize)
            .unwrap_or((&data, &[]));
        if self.may_hold(gap) {
            let width = engine.names(record)?.len();
            self.comments(engine, gap, to, width, odd)?;
        }
        Ok(())
    }

    /// Look at what lies between the first `most` of these records; `data` lies at `offset`.
    pub(super) fn inside(
        &mut self,
        engine: &dyn Engine,
        data: &[u8],
        offset: u64,
        frames: &Frames,
        most: usize,
        odd: &mut Oddities,
    ) -> Result<(), BlockError> {
        if self.comment.is_none() {
            return Ok(());
        }
        let terminator = 2 * engine.unit_bytes() as usize;
        let mut last: Option<(usize, usize)> = None;
        for (&start, &stop) in frames.starts.iter().zip(&frames.stops).take(most) {
            let (start, stop) = (start as usize, stop as usize);
            if let Some((from, to)) = last
                && start - to > terminator
            {
                let gap = data.get(to..start).unwrap_or_default();
                if self.may_hold(gap) {
                    let width = engine.names(data.get(from..to).unwrap_or_default())?.len();
                    self.comments(engine, gap, offset + to as u64, width, odd)?;
                }
            }
            last = Some((start, stop));
        }
        self.last = last.map(|(from, to)| (offset + from as u64, offset + to as u64));
        Ok(())
    }

    fn may_hold(&self, gap: &[u8]) -> bool {
        self.comment.is_some_and(|mark| gap.contains(&mark))
    }

    /// Count the comments that have as many fields as records have, and values for their columns. `gap` begins at
    /// `offset` with what ends a record.
    fn comments(
        &self,
        engine: &dyn Engine,
        gap: &[u8],
        offset: u64,
        width: usize,
        odd: &mut Oddities,
    ) -> Result<(), BlockError> {
        let unit = engine.unit_bytes() as usize;
        let mut position = 0;
        while let Some(rest) = gap.get(position..).filter(|rest| !rest.is_empty()) {
            let step = engine.resume_after(rest, true).unwrap_or(rest.len()).max(1);
            let line = rest.get(..step).unwrap_or_default();
            if let Some(mark) = line.iter().position(|&byte| Some(byte) == self.comment) {
                let mark = mark / unit * unit;
                let content = line.get(mark + unit..).unwrap_or_default();
                if has_fields(engine, content, width)? && fits(engine, content)? {
                    odd.count(COMMENT_RECORD, offset + (position + mark) as u64);
                }
            }
            position += step;
        }
        Ok(())
    }
}

/// Whether a line has as many fields as records have.
fn has_fields(engine: &dyn Engine, line: &[u8], width: usize) -> Result<bool, BlockError> {
    if width < LEAST_FIELDS {
        return Ok(false);
    }
    let frames = engine.frame(line, true);
    let [start] = frames.starts[..] else {
        return Ok(false); // nothing, or another comment
    };
    let stop = frames.stops.first().copied().unwrap_or_default();
    let record = line.get(start as usize..stop as usize).unwrap_or_default();
    Ok(engine.names(record)?.len() == width)
}

/// Whether a line is one record whose values fit their columns.
fn fits(engine: &dyn Engine, line: &[u8]) -> Result<bool, BlockError> {
    let bounds = Bounds {
        stop: line.len().max(1),
        at_end: true,
        rows: usize::MAX,
        record_bytes: usize::MAX,
    };
    let parsed = engine.parse(line, bounds)?;
    Ok(parsed.rows == 1 && parsed.faults.is_empty())
}
