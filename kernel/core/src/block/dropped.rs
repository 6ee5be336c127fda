//! Lines that options drop which were found in samples of the files: some of them may be records.

use std::collections::HashSet;

use memchr::memmem;

use super::cursor::Source;
use super::engine::Engine;
use super::error::BlockError;
use super::oddities::{BLANKS, COMMENT_RECORD, HEADER_RECORD, Oddities, SKIPPED_RECORD};
use super::spec::{Format, FoundOption, Head, ScanSpec};
use crate::charsets::Charset;
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
const SOME_RECORDS: usize = 32; // that are compared with the first one
const NO_VALUES: [&str; 11] = [
    "na",
    "n/a",
    "nan",
    "nil",
    "none",
    "null",
    "missing",
    "unknown",
    "inf",
    "infinity",
    "undefined",
]; // words that stand for a value

/// What samples have shown that files begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A record.
    Record,
    /// A header that nobody compares with the schema.
    Header,
}

/// Looks at what lies between records, where an option was found that drops lines.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    comment: Option<Vec<u8>>, // as the file has it
    skip_lines: usize,        // at the head of a file
    skipped: usize,           // of them that are looked at
    head: Option<Seen>,
    longest: usize,
    last: Option<(u64, u64)>, // the record before what is looked at
}

impl Dropped {
    pub(super) fn of(spec: &ScanSpec, charset: &Charset) -> Dropped {
        let Format::Csv(own) = &spec.format else {
            return Dropped::default();
        };
        let found = |option| own.found.contains(&option);
        let comment = own.comment.filter(|_| found(FoundOption::Comment));
        let comment = comment.map(|mark| charset.write(mark.encode_utf8(&mut [0; 4])));
        Dropped {
            comment: comment.and_then(Result::ok),
            skip_lines: own.skip_lines,
            skipped: match found(FoundOption::SkipRows) {
                true => own.skip_lines,
                false => 0,
            },
            head: match (found(FoundOption::Header), own.header) {
                (true, false) => Some(Seen::Record),
                (true, true) if !own.checks_header => Some(Seen::Header),
                _ => None,
            },
            longest: spec.max_record_bytes,
            last: None,
        }
    }

    /// What begins comments that are looked at.
    pub(super) fn comment(&self) -> Option<&[u8]> {
        self.comment.as_deref()
    }

    /// Whether the first records of a file are looked at.
    pub(super) fn wants_first(&self) -> bool {
        self.head == Some(Seen::Record)
    }

    /// Look at the first record of a file, and at some after it. `data` begins with it, at `offset`; the content is
    /// known to go on to `end`.
    pub(super) fn first(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
        (data, offset, end): (&[u8], u64, u64),
        odd: &mut Oddities,
    ) -> Result<(), BlockError> {
        self.head = None;
        let wanted = FIRST_BYTES.min(end - offset) as usize;
        let read;
        let data = match data.get(..wanted) {
            Some(data) => data,
            None => {
                read = source.bytes(offset, wanted)?;
                &read
            }
        };
        let at_end = (data.len() as u64) < FIRST_BYTES;
        let frames = engine.frame(data, at_end);
        let records = frames.starts.iter().zip(&frames.stops);
        let mut records = records.take(1 + SOME_RECORDS).map(|(&start, &stop)| {
            engine.names(data.get(start as usize..stop as usize).unwrap_or_default())
        });
        let Some(first) = records.next().transpose()? else {
            return Ok(());
        };
        let others = records.collect::<Result<Vec<_>, _>>()?;
        if names_columns(&first, &others) {
            odd.count(HEADER_RECORD, offset);
        }
        Ok(())
    }

    /// Take nothing for the record before what follows, which is not the first one of its file either.
    pub(super) fn forget(&mut self) {
        self.last = None;
        self.head = None;
    }

    /// Look at the lines before the first record of a file.
    pub(super) fn before(
        &self,
        source: &mut Source,
        engine: &dyn Engine,
        head: &Head,
        odd: &mut Oddities,
    ) -> Result<(), BlockError> {
        let has_header = head.header_record.is_some();
        let looks_at_header = self.head == Some(Seen::Header) && has_header;
        if self.skipped == 0 && !looks_at_header && (self.comment.is_none() || !has_header) {
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
        for _ in 0..self.skip_lines {
            let rest = before.get(position..).unwrap_or_default();
            let Some(step) = engine.resume_after(rest, true).filter(|&step| step > 0) else {
                return Ok(());
            };
            let line = rest.get(..step).unwrap_or_default();
            let fits = self.skipped > 0 && (has_header || fits(engine, line)?);
            if fits && has_fields(engine, line, width)? {
                odd.count(SKIPPED_RECORD, position as u64);
            }
            position += step;
        }
        let frames = engine.frame(before.get(position..).unwrap_or_default(), true);
        let ends = frames.starts.first().zip(frames.stops.first());
        let Some((&start, &stop)) = ends.filter(|_| has_header) else {
            return Ok(());
        };
        let (start, stop) = (position + start as usize, position + stop as usize);
        let names = head.header.as_deref().unwrap_or_default();
        let record = before.get(start..stop).unwrap_or_default();
        if looks_at_header && names.iter().any(|name| is_value(name)) && fits(engine, record)? {
            odd.count(SKIPPED_RECORD, start as u64);
        }
        let gap = before.get(stop..).unwrap_or_default();
        self.comments(engine, gap, stop as u64, width, odd)
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
        let mark = self.comment();
        mark.is_some_and(|mark| memmem::find(gap, mark).is_some())
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
            let mut places = (0..line.len()).step_by(unit);
            let content = |at| line.get(at..)?.strip_prefix(self.comment()?);
            let found = places.find_map(|at| Some((at, content(at)?)));
            if let Some((mark, content)) = found
                && has_fields(engine, content, width)?
                && fits(engine, content)?
            {
                odd.count(COMMENT_RECORD, offset + (position + mark) as u64);
            }
            position += step;
        }
        Ok(())
    }
}

/// Whether a first record names the columns of records after it: each of its fields is another name, and a column has
/// numbers or dates below.
fn names_columns(first: &[String], others: &[Vec<String>]) -> bool {
    let mut seen = HashSet::new();
    let are_names = first
        .iter()
        .all(|name| is_name(name) && seen.insert(name.trim_matches(BLANKS).to_ascii_lowercase()));
    let has_values = |column: usize| {
        let below = others.iter().filter_map(|record| record.get(column));
        let mut below = below.filter(|value| !value.trim_matches(BLANKS).is_empty());
        below.next().is_some_and(|value| is_value(value)) && below.all(|value| is_value(value))
    };
    are_names && (0..first.len()).any(has_values)
}

/// Whether a text may name a column: it has a letter, and is no number, date, or word for a value.
fn is_name(text: &str) -> bool {
    let text = text.trim_matches(BLANKS);
    text.contains(|c: char| c.is_ascii_alphabetic() || !c.is_ascii())
        && !is_value(text)
        && !NO_VALUES.contains(&text.to_ascii_lowercase().as_str())
}

/// Whether a text is written like a number, a date or a time.
fn is_value(text: &str) -> bool {
    let text = text.trim_matches(BLANKS);
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
        && text.contains(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_digit() || "+-.,:/ %TZeE".contains(c))
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
