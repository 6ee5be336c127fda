//! Steps through a file from a record boundary on, in bounded memory.

use super::engine::{Engine, Stateless};
use super::error::{BlockError, Kind};
use super::open_records::OpenRecords;
use super::source::ReadAt;
use super::spec::UNKNOWN_END;
use crate::lines::Bounds;
use crate::parsed::{Parsed, Stopped};

/// How much of a rejected record is kept for people to look at.
pub(super) const RAW_BYTES: usize = 64 * 1024;
/// A record is longer than allowed.
pub(super) const TOO_LONG: &str = "record-too-long";
/// A file ends inside quotes.
pub(super) const UNCLOSED: &str = "unclosed-quote";

const EDGE_BYTES: u64 = 16 * 1024; // read past the stop together with what lies before it
const OVERRUN_BYTES: u64 = 64 * 1024; // of the first read that begins after the stop
const SLACK_BYTES: usize = 4096; // a terminator that is cut by the edge of the buffer is shorter

/// A source, and what its errors are in our words.
pub(super) struct Source(pub Box<dyn ReadAt>);

impl Source {
    /// Bytes from `offset` on; fewer than `length` where the content ends.
    pub(super) fn bytes(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, BlockError> {
        let mut bytes = vec![0; length];
        let read = self.read(offset, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// The same into some room; returns how many.
    fn read(&mut self, offset: u64, room: &mut [u8]) -> Result<usize, BlockError> {
        let most = room.len();
        let read = self.0.read_at(offset, room);
        Ok(read.map_err(|error| error.at(offset))?.min(most))
    }

    /// Whether there is a byte at `offset`.
    pub(super) fn reaches(&mut self, offset: u64) -> Result<bool, BlockError> {
        Ok(!self.bytes(offset, 1)?.is_empty())
    }

    pub(super) fn is_damaged(&mut self) -> bool {
        self.0.is_damaged()
    }

    /// Length of the content, once its end was reached.
    pub(super) fn end(&mut self) -> Result<u64, BlockError> {
        let end = self.0.content_end();
        end.ok_or_else(|| {
            BlockError::invariant("the end of the content is known after it was reached")
        })
    }
}

/// The next records of a file.
pub(super) enum Step {
    /// Some that are complete; [`Cursor::pass`] goes past them.
    Records(Parsed),
    /// One that was given up, and passed: where it starts, how many bytes were skipped, why, how it begins.
    Skipped(Skipped),
    /// None: none starts before the stop, or the file has ended.
    End,
}

/// A record that was given up.
#[derive(Clone, Debug)]
pub(super) struct Skipped {
    pub offset: u64,
    pub length: u64,
    pub code: &'static str,
    pub raw: Vec<u8>,
}

/// How far reading goes, and how much at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub max_record_bytes: usize,
    pub read_bytes: u64,
    /// Of the first read; each one after it is twice as long, up to `read_bytes`.
    pub first_read_bytes: u64,
}

/// Where reading is.
pub(super) struct Cursor {
    end: u64,
    sizes: Sizes,
    buffer: Vec<u8>, // as long as it ever was: bytes that a read replaces need not be cleared before
    passed: usize,   // of the buffer
    filled: usize,   // of the buffer, those that are passed included
    position: u64,
    next_bytes: u64, // of a read before the stop
    overrun_bytes: u64,
    /// What is done with records.
    pub work: Work,
    /// Whether a [`Cursor::step`] passed lines that are no records, and not blank.
    pub passed_lines: bool,
    open: OpenRecords,
}

/// What is done with records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// They are found.
    Find,
    /// They are decoded.
    Read,
    /// They are decoded, and what they have besides is told.
    Notice,
}

impl Cursor {
    /// At a record boundary of content of `end` bytes, perhaps [`UNKNOWN_END`].
    pub(super) fn new(position: u64, end: u64, sizes: Sizes, work: Work) -> Cursor {
        Cursor {
            end,
            sizes,
            buffer: Vec::new(),
            passed: 0,
            filled: 0,
            position,
            next_bytes: sizes.first_read_bytes,
            overrun_bytes: OVERRUN_BYTES,
            work,
            passed_lines: false,
            open: OpenRecords::default(),
        }
    }

    /// Offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What was read from there on.
    pub(super) fn data(&self) -> &[u8] {
        self.buffer
            .get(self.passed..self.filled)
            .unwrap_or_default()
    }

    /// Whether the next step is of a range that ends at `stop`.
    pub(super) fn is_before(&self, engine: &dyn Engine, stop: u64) -> bool {
        self.position < stop || engine.is_in_group()
    }

    /// Go past so many bytes.
    pub(super) fn pass(&mut self, engine: &dyn Engine, bytes: usize) {
        if engine.has_groups() {
            engine.note_passed(self.data().get(..bytes).unwrap_or_default());
        }
        self.passed += bytes;
        self.position += bytes as u64;
    }

    fn read_to(&self) -> u64 {
        self.position + self.data().len() as u64
    }

    fn at_end(&self) -> bool {
        self.read_to() >= self.end
    }

    /// Whether the content ends where reading is, because it is damaged: a record may be cut off there.
    pub(super) fn is_torn(&self, source: &mut Source) -> bool {
        self.at_end() && source.is_damaged()
    }

    /// Deal with the next records that start before `stop`; reads end a little after it.
    pub(super) fn step(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
        stop: u64,
    ) -> Result<Step, BlockError> {
        loop {
            if let Some(taken) = self.take(source, engine, stop)? {
                return Ok(taken);
            }
            if !self.is_before(engine, stop) {
                return Ok(Step::End); // after what lies between records
            }
            let longest = self.sizes.max_record_bytes.saturating_add(SLACK_BYTES);
            let is_long = self.data().len() > longest;
            if self.at_end() {
                let is_for_sure = is_long && self.gap_bytes(source, engine).is_some();
                if self.data().is_empty() || (self.is_torn(source) && !is_for_sure) {
                    return Ok(Step::End); // what is cut off may have been whole, but not what is too long already
                }
                return self.give_up(source, engine, engine.unfinished());
            }
            if !is_long {
                self.fill(source, stop, EDGE_BYTES)?;
            } else if self.gap_bytes(source, engine).is_none() {
                if let Some(open) = self.skip_gap(source, engine)? {
                    return Ok(Step::Skipped(open)); // a comment; it may be of any length
                }
            } else {
                return self.give_up(source, engine, TOO_LONG);
            }
        }
    }

    /// Read on, if [`Cursor::count`] can count what is then there; where it cannot, the next records need a
    /// [`Cursor::step`].
    pub(super) fn fill_to_count(
        &mut self,
        source: &mut Source,
        stop: u64,
    ) -> Result<bool, BlockError> {
        if self.read_to() >= stop.min(self.end) {
            return Ok(false);
        }
        self.fill(source, stop, 0)?;
        Ok(!self.at_end() && self.data().len() <= self.sizes.max_record_bytes)
    }

    /// Count the records that end in what was read, and go past them.
    pub(super) fn count(&mut self, engine: &dyn Engine) -> u64 {
        let counted = engine.count(self.data());
        self.pass(engine, counted.next_start);
        counted.records as u64
    }

    /// Where the next record starts: after what lies between records, or the end of the content.
    pub(super) fn gap_stop(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
    ) -> Result<u64, BlockError> {
        loop {
            if let Some(gap) = self.gap_bytes(source, engine) {
                return Ok(self.position + gap as u64);
            }
            if self.at_end() {
                return Ok(self.end);
            }
            let complete = engine.frame(self.data(), false).next_start;
            self.pass(engine, complete);
            if self.data().len() > self.sizes.max_record_bytes.saturating_add(SLACK_BYTES) {
                if let Some(open) = self.skip_gap(source, engine)? {
                    return Ok(open.offset);
                }
            } else {
                self.fill(source, self.position, 0)?;
            }
        }
    }

    fn gap_bytes(&self, source: &mut Source, engine: &dyn Engine) -> Option<usize> {
        engine.gap_bytes(self.data(), self.at_end() && !self.is_torn(source))
    }

    fn take(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
        stop: u64,
    ) -> Result<Option<Step>, BlockError> {
        let is_torn = self.is_torn(source);
        let whole_at_end = self.at_end() && !is_torn;
        let unit = engine.unit_bytes();
        while let known @ 1.. = self.open.bytes_before(self.position, self.read_to(), unit) {
            if engine.has_groups() && !self.is_before(engine, stop) {
                break;
            }
            let is_all = known == self.data().len();
            let data = self.data().get(..known).unwrap_or_default();
            let left = usize::try_from(stop.saturating_sub(self.position)).unwrap_or(usize::MAX);
            let mut bounds = Bounds {
                stop: left.clamp(1, data.len()),
                at_end: whole_at_end && is_all,
                rows: usize::MAX,
                record_bytes: self.sizes.max_record_bytes,
            };
            if is_torn && engine.has_groups() && engine.frame(data, false).starts.is_empty() {
                // A record in front of damage is complete, though more of its group is to come.
                let frames = engine.frame(data, true);
                let is_whole = !frames.starts.is_empty() && frames.malformed.first() != Some(&0);
                if is_whole {
                    (bounds.at_end, bounds.rows) = (true, 1);
                }
            }
            let parsed = match self.work {
                Work::Find => engine.find(data, bounds)?,
                Work::Read => engine.parse(data, bounds)?,
                Work::Notice => engine.notice(data, bounds)?,
            };
            if !parsed.frames.starts.is_empty() {
                return Ok(Some(Step::Records(parsed)));
            }
            let gap = data.get(..parsed.frames.next_start).unwrap_or_default();
            self.passed_lines |= gap.iter().any(|byte| !b"\r\n \t\0".contains(byte));
            self.pass(engine, parsed.frames.next_start); // only what lies between records
            if parsed.stopped == Stopped::Long {
                return self.give_up(source, engine, TOO_LONG).map(Some);
            }
            if parsed.frames.next_start == 0 {
                if is_all {
                    break;
                }
                self.open.forget(self.position);
            }
        }
        Ok(None)
    }

    fn give_up(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
        code: &'static str,
    ) -> Result<Step, BlockError> {
        let is_long = self.data().len() > self.sizes.max_record_bytes;
        let code = if is_long { TOO_LONG } else { code };
        let (skipped, _) = self.skip(source, engine, code)?;
        Ok(Step::Skipped(skipped))
    }

    /// Skip what lies between records, of any length; what never ends is given up.
    fn skip_gap(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
    ) -> Result<Option<Skipped>, BlockError> {
        self.passed_lines = true;
        let (skipped, never_ends) = self.skip(source, engine, engine.unfinished())?;
        let is_given_up = never_ends && !self.is_torn(source);
        Ok(is_given_up.then_some(skipped))
    }

    /// Go on where the format would after what begins here, in bounded memory; and whether the file ends before that
    /// does.
    fn skip(
        &mut self,
        source: &mut Source,
        engine: &dyn Engine,
        code: &'static str,
    ) -> Result<(Skipped, bool), BlockError> {
        let offset = self.position;
        self.note_open(engine);
        let mut skipping = engine
            .skipping()
            .unwrap_or_else(|| Box::new(Stateless(engine)));
        let mut resume = skipping.resume_after(self.data(), self.at_end());
        let kept = RAW_BYTES
            .min(self.sizes.max_record_bytes)
            .min(resume.unwrap_or(usize::MAX))
            .min(self.data().len());
        let mut raw = self.data().get(..kept).unwrap_or_default().to_vec();
        let resume = loop {
            if let Some(resume) = resume {
                break resume;
            }
            self.pass(engine, skipping.drop_bytes(self.data()));
            self.fill(source, self.end, 0)?;
            resume = skipping.resume_after(self.data(), self.at_end());
        };
        let never_ends = self.at_end() && skipping.never_ends(self.data());
        self.pass(engine, resume);
        let length = self.position - offset;
        raw.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        let skipped = Skipped {
            offset,
            length,
            code,
            raw,
        };
        Ok((skipped, never_ends))
    }

    /// Look for records that do not end in what was read, if that was not yet done.
    fn note_open(&mut self, engine: &dyn Engine) {
        let read_to = self.read_to();
        let longest = self.sizes.max_record_bytes;
        if !self.open.is_known(read_to)
            && let Some(starts) = engine.open_starts(self.data(), longest)
        {
            self.open = OpenRecords::new(&starts, self.position, read_to);
        }
    }

    /// Read on: to `stop` in full reads or in growing ones, the last one `edge` bytes further, after it in growing small
    /// ones.
    fn fill(&mut self, source: &mut Source, stop: u64, edge: u64) -> Result<(), BlockError> {
        let read_to = self.read_to();
        let mut wanted = if read_to < stop {
            let (rest, most) = (stop - read_to, self.next_bytes);
            self.next_bytes = (2 * most).min(self.sizes.read_bytes);
            if rest <= most { rest + edge } else { most }
        } else {
            let wanted = self.overrun_bytes;
            self.overrun_bytes = (2 * wanted).min(self.sizes.read_bytes.max(OVERRUN_BYTES));
            wanted
        };
        wanted = wanted.min(self.end - read_to);
        self.buffer.copy_within(self.passed..self.filled, 0);
        (self.passed, self.filled) = (0, self.filled - self.passed);
        let length = usize::try_from(wanted)
            .map_err(|_| BlockError::invariant("a read fits into memory"))?;
        let read_stop = self.filled + length;
        if self.buffer.len() < read_stop {
            self.buffer.resize(read_stop, 0);
        }
        let room = self.buffer.get_mut(self.filled..read_stop);
        let read = source.read(read_to, room.unwrap_or_default())?;
        self.filled += read;
        if read < length {
            let found = read_to + read as u64;
            if self.end < UNKNOWN_END {
                return Err(truncated(found, self.end));
            }
            self.end = found;
        }
        Ok(())
    }
}

/// The file ends before its planned size.
pub(super) fn truncated(found: u64, planned: u64) -> BlockError {
    BlockError::new(
        Kind::SourceChanged,
        "source-truncated",
        "the file became shorter while it was read",
    )
    .at(found)
    .seen(format!("{found} bytes where {planned} were planned"))
    .fix("plan the scan again when the file is complete")
}
