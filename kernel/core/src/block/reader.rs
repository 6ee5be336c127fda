//! The loop: entry, ownership, digest, limit, report.

use std::collections::VecDeque;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{Schema, SchemaRef};
use serde::Serialize;
use serde_json::Value;

use super::batches::Batches;
use super::cursor::{Cursor, Sizes, Source, Step, Work};
use super::dropped::Dropped;
use super::engine::{Engine, engine_of};
use super::error::{BlockError, Kind};
use super::head;
use super::lines::Look;
use super::oddities::{Header, Oddities, Oddity, Suspects};
use super::rejects::Reject;
use super::rows::{Delivered, Rows};
use super::source::ReadAt;
use super::spec::{BlockSpec, Format, Head, Mode, ScanSpec, UNKNOWN_END};
use crate::charsets::Charset;
use crate::parsed::Parsed;
use crate::quoting::quoted_bytes;

const QUOTED_BYTES: usize = 80; // of a record that ends a scan
const FEW_BYTES: u64 = 64 * 1024; // of the first read where a limit perhaps ends it
const LOOK_BYTES: u64 = 4096; // first look; doubled while it does not decide
const LONGEST_LOOK_BYTES: u64 = 1 << 20; // from here on the look slides along a record that has no end in sight
const NEAR_BYTES: [usize; 2] = [64 * 1024, 1 << 20]; // before a block: the second where the first shows nothing
const BEHIND_STOP_BYTES: u64 = 16 * 1024; // tell whether a record starts before the stop: four times the head of a line

/// Rows: columns in the order of the scan's schema.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The columns, each of `rows` rows.
    pub columns: Vec<ArrayRef>,
    /// Number of rows; there may be no columns.
    pub rows: usize,
}

impl Batch {
    /// Some of the rows, without a copy.
    pub fn slice(&self, start: usize, rows: usize) -> Batch {
        Batch {
            columns: self
                .columns
                .iter()
                .map(|column| column.slice(start, rows))
                .collect(),
            rows,
        }
    }

    /// Bytes of the rows.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| bytes_of(column)).sum()
    }
}

/// Bytes of the rows of a column; its parts have more than those.
fn bytes_of(column: &dyn Array) -> usize {
    let span = |offsets: &[i32]| {
        let (first, last) = (offsets.first(), offsets.last());
        first
            .zip(last)
            .map(|(&first, &last)| (first as usize, (last - first) as usize))
    };
    let inside = if let Some(list) = column.as_list_opt::<i32>() {
        span(list.offsets()).map(|(first, items)| bytes_of(&list.values().slice(first, items)))
    } else if let Some(map) = column.as_map_opt() {
        span(map.offsets()).map(|(first, items)| bytes_of(&map.entries().slice(first, items)))
    } else if let Some(members) = column.as_struct_opt() {
        Some(
            members
                .columns()
                .iter()
                .map(|member| bytes_of(member))
                .sum(),
        )
    } else {
        column.to_data().get_slice_memory_size().ok()
    };
    inside.unwrap_or(0)
        + if column.data_type().is_nested() {
            5 * column.len()
        } else {
            0
        }
}

/// What a reader did: the line of the ledger. The spans of the blocks of a file tile it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// First byte that the reader answered for.
    pub span_start: u64,
    /// Where the next record starts. That of an empty span lies before the end of the block where nobody looked for it.
    pub span_stop: u64,
    /// Rows that were delivered.
    pub rows: u64,
    /// Records that broke a rule.
    pub rejects: u64,
    /// `blake3:` and the digest of the bytes of the span; empty if it was not asked for.
    pub digest: String,
    /// Length of the content of a compressed file, by the reader that reached its end.
    pub content_bytes: Option<u64>,
}

/// A record that has something which no column takes, or a value that does not fit its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noticed {
    /// Offset of its first byte.
    pub offset: u64,
    /// Those parts of it, as JSON.
    pub kept: String,
    /// Its text.
    pub record: String,
}

/// Number of rows, and records that were given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Rows.
    pub rows: u64,
    /// Records that were given up; they are no rows here.
    pub given_up: u64,
    /// Where the first of them starts, and why it was given up.
    pub first: Option<(u64, &'static str)>,
}

/// Reads one block.
pub struct BlockReader {
    spec: ScanSpec,
    block: BlockSpec,
    source: Source,
    engine: Box<dyn Engine>,
    rows: Rows,
    schema: SchemaRef,
    batches: Batches,
    rejects: VecDeque<Reject>,
    noticed: Vec<Noticed>,
    oddities: Oddities,
    dropped: Dropped,
    header: Option<Header>, // where the file has one
    is_utf8: bool,          // what the texts of the file are said to be
    phase: Phase,
    remaining: Option<u64>,
    passed_to: u64,
    span: Span,
    last_row: Option<u64>,
    records: u64,
    delivered: u64,
    rejected: u64,
    report: Option<Report>,
}

enum Phase {
    Before,
    Reading(Cursor),
    After,
}

/// The bytes that are answered for.
struct Span {
    start: Option<u64>,
    stop: Option<u64>,
    hashed_to: u64,
    hasher: Option<blake3::Hasher>,
}

impl BlockReader {
    /// A reader of one block.
    ///
    /// # Errors
    /// If a document says what has no meaning here, or asks for what the kernel does not do.
    pub fn open(
        spec_json: &str,
        block_json: &str,
        source: Box<dyn ReadAt>,
    ) -> Result<BlockReader, BlockError> {
        let block = BlockSpec::read(block_json)?;
        let (start, stop, ..) = block.block;
        let place = |error: BlockError| error.of(block.path(), (start, stop));
        let spec = ScanSpec::read(spec_json).map_err(place)?;
        let tail = tail_of(&block);
        let head = block.head.as_ref();
        if spec.needs_head && head.is_none() {
            let rule = "the host says what the head of a file of this format says";
            return Err(place(BlockError::bad_document(rule, "no head")));
        }
        let charset = Head::charset(head, spec.codes.as_ref()).map_err(place)?;
        let is_utf8 = charset == Charset::Utf8;
        let engine = engine_of(&spec, &tail, head, &charset).map_err(place)?;
        let dropped = Dropped::of(&spec, &charset);
        let mut rows = Rows::new(&spec, &block, charset).map_err(place)?;
        rows.set_layout(&spec, engine.layout().cloned());
        let is_first = start == 0 || block.is_aligned();
        Ok(BlockReader {
            schema: Schema::new(rows.fields().cloned().collect::<Vec<_>>()).into(),
            batches: Batches::new(spec.batch_rows, spec.batch_bytes),
            rejects: VecDeque::new(),
            noticed: Vec::new(),
            oddities: Oddities::default(),
            dropped,
            header: None,
            is_utf8,
            phase: if block.limit == Some(0) {
                Phase::After
            } else {
                Phase::Before
            },
            remaining: block.limit,
            passed_to: start,
            span: Span {
                start: is_first.then_some(start),
                stop: None,
                hashed_to: 0,
                hasher: block.with_digest.then(blake3::Hasher::new),
            },
            last_row: None,
            records: 0,
            delivered: 0,
            rejected: 0,
            report: None,
            source: Source(source),
            spec,
            block,
            engine,
            rows,
        })
    }

    /// The file, for the block that begins where this one ended.
    pub fn into_source(self) -> Box<dyn ReadAt> {
        self.source.0
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next rows; `None` after the last ones.
    ///
    /// # Errors
    /// If the file cannot be read or is not the one that was planned, a header disagrees, or, in mode FAILFAST, a
    /// record breaks a rule. Nothing can be read after that.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, BlockError> {
        let found = self.advance();
        if found.is_err() {
            self.phase = Phase::After;
            self.batches = Batches::new(self.spec.batch_rows, self.spec.batch_bytes);
        }
        found.map_err(|error| self.located(error))
    }

    /// The records that broke a rule so far, and were not taken yet, in order.
    pub fn take_rejects(&mut self) -> Vec<Reject> {
        std::mem::take(&mut self.rejects).into()
    }

    /// The records with something that no column takes, or does not fit it, that were not taken yet.
    pub fn take_noticed(&mut self) -> Vec<Noticed> {
        std::mem::take(&mut self.noticed)
    }

    /// Notice no more of them.
    pub fn stop_noticing(&mut self) {
        self.spec.notices = false;
        if let Phase::Reading(cursor) = &mut self.phase
            && cursor.work == Work::Notice
        {
            cursor.work = Work::Read;
        }
    }

    /// What is odd about the records that were read so far.
    pub fn oddities(&self) -> &[Oddity] {
        self.oddities.found()
    }

    /// Why a record broke a rule, in one sentence.
    pub fn reason(&self, reject: &Reject) -> String {
        self.rows.words().reason(reject)
    }

    /// The line of the ledger: once the block was read to its end, without a limit.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Number of records that were found and are no ones given up, for messages.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Offset of the last row that was found, for messages.
    pub fn last_row(&self) -> Option<u64> {
        self.last_row
    }

    /// Bytes of the block that were read so far: all of them only where no limit and no error has ended it before.
    pub fn passed_bytes(&self) -> u64 {
        let (start, stop, ..) = self.block.block;
        self.passed_to.clamp(start, stop) - start
    }

    /// Count the records by framing alone, as mode PERMISSIVE has rows. Called instead of reading.
    ///
    /// # Errors
    /// Those of reading; and in other modes, where only reading tells.
    pub fn count(&mut self) -> Result<Counted, BlockError> {
        let counted = match self.spec.mode {
            Mode::Permissive => self.count_frames(),
            _ => Err(BlockError::new(
                Kind::Usage,
                "bad-call",
                "records are counted by framing in mode PERMISSIVE alone",
            )),
        };
        counted.map_err(|error| self.located(error))
    }

    fn located(&self, error: BlockError) -> BlockError {
        let (start, stop, ..) = self.block.block;
        let mut error = error.of(self.block.path(), (start, stop));
        error.place.offset = error.place.offset.or(self.last_row);
        if !error.place.notes.is_empty() {
            error.place.row.get_or_insert(self.records);
        }
        error
    }

    fn advance(&mut self) -> Result<Option<Batch>, BlockError> {
        loop {
            let is_over = matches!(self.phase, Phase::After);
            if let Some(batch) = self.batches.take(is_over)? {
                return Ok(Some(batch));
            }
            match std::mem::replace(&mut self.phase, Phase::After) {
                Phase::After => return Ok(None),
                Phase::Before => {
                    let entry = self.enter()?;
                    self.hash_prefix(entry)?;
                    let work = match self.rows.decodes(self.block.validate) {
                        true if self.spec.notices => Work::Notice,
                        true => Work::Read,
                        false => Work::Find,
                    };
                    let (_, stop, ..) = self.block.block;
                    if self.engine.has_groups() && entry < stop {
                        self.span.start.get_or_insert(entry);
                    }
                    self.phase = Phase::Reading(self.cursor(entry, work));
                }
                Phase::Reading(mut cursor) => {
                    let has_more = self.read_on(&mut cursor);
                    self.passed_to = self.passed_to.max(cursor.position());
                    if has_more? {
                        self.phase = Phase::Reading(cursor);
                    }
                }
            }
        }
    }

    /// Deal with the next records; whether there may be more.
    fn read_on(&mut self, cursor: &mut Cursor) -> Result<bool, BlockError> {
        let (_, stop, ..) = self.block.block;
        if self.span.stop.is_some() || !cursor.is_before(self.engine.as_ref(), stop) {
            return self.finish(cursor).map(|()| false);
        }
        let step = cursor.step(&mut self.source, self.engine.as_ref(), stop)?;
        let offset = cursor.position();
        let (first, delivered) = match step {
            Step::End => return self.finish(cursor).map(|()| false),
            Step::Skipped(skipped) => {
                let first = skipped.offset;
                if self.claim(first)? {
                    self.look_between(first)?;
                    self.dropped.forget();
                    self.hash(first, first + skipped.length, None)?;
                    (first, Some(self.rows.give_up(skipped)?))
                } else {
                    (first, None)
                }
            }
            Step::Records(parsed) => {
                let starts = &parsed.frames.starts;
                let first = offset + starts.first().copied().unwrap_or_default() as u64;
                let last = offset + starts.last().copied().unwrap_or_default() as u64;
                if !self.claim(first)? {
                    (first, None)
                } else if last >= stop && !self.engine.has_groups() {
                    return Err(BlockError::invariant("a step ends before the block does"));
                } else if !parsed.undecided.is_empty() {
                    return Err(undecided(first));
                } else {
                    let (next, count) = (parsed.frames.next_start, starts.len() as u64);
                    let data = cursor.data().get(..next).unwrap_or_default();
                    if cursor.work == Work::Notice {
                        self.noticed
                            .extend(self.rows.noticed(data, offset, &parsed));
                    }
                    self.look_inside(cursor, &parsed)?;
                    self.hash(offset, offset + next as u64, Some(data))?;
                    let delivered = self.rows.deliver(data, offset, parsed, self.remaining)?;
                    cursor.pass(self.engine.as_ref(), next);
                    self.records += count;
                    (first, Some(delivered))
                }
            }
        };
        let Some(delivered) = delivered else {
            return self.finish_at(first).map(|()| false);
        };
        self.add(delivered)?;
        Ok(self.remaining != Some(0))
    }

    fn add(&mut self, delivered: Delivered) -> Result<(), BlockError> {
        let Delivered {
            batch,
            rejects,
            last,
            lacking,
        } = delivered;
        self.rejected += rejects.len() as u64;
        if self.spec.mode == Mode::FailFast
            && let Some(first) = rejects.first().cloned()
        {
            let reason = self.rows.words().reason(&first);
            let seen = quoted_bytes(&first.raw, QUOTED_BYTES);
            return Err(BlockError {
                reject: Some(Box::new(first.clone())),
                ..BlockError::new(Kind::Record, first.code, reason)
                    .at(first.offset)
                    .seen(seen)
            });
        }
        self.rejects.extend(rejects);
        if let Some(error) = lacking {
            return Err(error);
        }
        self.last_row = last.or(self.last_row);
        let wanted = self
            .remaining
            .and_then(|left| usize::try_from(left).ok())
            .unwrap_or(batch.rows);
        let batch = if wanted < batch.rows {
            batch.slice(0, wanted)
        } else {
            batch
        };
        if let Some(left) = &mut self.remaining {
            *left -= batch.rows as u64;
        }
        self.delivered += batch.rows as u64;
        self.batches.add(batch)
    }

    fn finish(&mut self, cursor: &mut Cursor) -> Result<(), BlockError> {
        let (_, stop, ..) = self.block.block;
        if cursor.position() >= stop && (self.block.is_aligned() || self.is_without_start()) {
            return self.finish_at(cursor.position());
        }
        let mut end = cursor.gap_stop(&mut self.source, self.engine.as_ref())?;
        self.span.start.get_or_insert(end);
        if cursor.is_torn(&mut self.source) && end < stop {
            end = self.source.end()?;
        }
        self.finish_at(end)
    }

    /// Whether no record was found in a block that is not the last one.
    ///
    /// The blocks inside of one long record, or of many lines that are none, do not look for its end, which would take
    /// quadratic time: their spans are empty, at their starts where no context tells more. The block whose record it is
    /// goes on to that end.
    fn is_without_start(&self) -> bool {
        let (_, stop, ..) = self.block.block;
        self.span.start.is_none() && stop < self.block.content_bytes()
    }

    /// The block ends where the next record starts.
    fn finish_at(&mut self, end: u64) -> Result<(), BlockError> {
        let (start, stop, ..) = self.block.block;
        let end = match self.block.is_aligned() {
            true => stop,
            false if end >= stop && self.is_without_start() && !self.engine.needs_context() => {
                start
            }
            false => end,
        };
        self.look_between(end)?;
        self.span.stop = Some(end);
        let start = *self.span.start.get_or_insert(end);
        let content_bytes = self.reached_end(end)?;
        self.passed_to = content_bytes.unwrap_or(stop);
        self.hash(self.span.hashed_to, end, None)?;
        if self.block.limit.is_none() {
            let digest = self
                .span
                .hasher
                .as_ref()
                .map(|hasher| format!("blake3:{}", hasher.finalize().to_hex()));
            self.report = Some(Report {
                span_start: start,
                span_stop: end,
                rows: self.delivered,
                rejects: self.rejected,
                digest: digest.unwrap_or_default(),
                content_bytes,
            });
        }
        Ok(())
    }

    /// Make sure that the last block of a compressed file ends where the content does.
    fn reached_end(&mut self, end: u64) -> Result<Option<u64>, BlockError> {
        let (_, stop, ..) = self.block.block;
        let planned = self.block.content_bytes();
        if !self.block.is_compressed() || stop < planned {
            return Ok(None);
        }
        if planned < UNKNOWN_END && self.source.reaches(planned)? {
            let rule = "a compressed file holds more than when it was planned";
            return Err(BlockError::new(Kind::SourceChanged, "source-changed", rule)
                .seen(format!("content after byte {planned}"))
                .fix("plan again"));
        }
        if self.source.reaches(end)? {
            return Err(BlockError::invariant(
                "the last block of a file ends with its content",
            ));
        }
        self.source.end().map(Some)
    }

    /// Look at records that were found, at what lies between them, and before them.
    fn look_inside(&mut self, cursor: &Cursor, parsed: &Parsed) -> Result<(), BlockError> {
        let (frames, offset) = (&parsed.frames, cursor.position());
        let data = cursor.data().get(..frames.next_start).unwrap_or_default();
        let wanted = self.remaining.and_then(|left| usize::try_from(left).ok());
        let wanted = wanted.unwrap_or(usize::MAX);
        let are_texts = self.spec.are_texts && cursor.work != Work::Find;
        let odd = &mut self.oddities;
        if are_texts && self.is_utf8 && !parsed.is_utf8 {
            odd.take_texts(data, offset, frames, wanted);
        }
        let (source, engine) = (&mut self.source, self.engine.as_ref());
        if let Some(header) = &self.header {
            odd.take_headers(engine, data, offset, frames, wanted, header)?;
        }
        let first = frames.starts.first().copied().unwrap_or_default() as u64;
        if self.dropped.wants_first() {
            let known = cursor.data().get(first as usize..).unwrap_or_default();
            let known = (known, offset + first, self.block.content_bytes());
            self.dropped.first(source, engine, known, odd)?;
        }
        self.dropped.between(source, engine, offset + first, odd)?;
        self.dropped
            .inside(engine, data, offset, frames, wanted, odd)
    }

    /// Look at what lies between the last record and `stop`.
    fn look_between(&mut self, stop: u64) -> Result<(), BlockError> {
        let (source, engine) = (&mut self.source, self.engine.as_ref());
        self.dropped
            .between(source, engine, stop, &mut self.oddities)
    }

    /// Count what is found; where the bytes may hold what is odd, find it by reading them again.
    fn count_frames(&mut self) -> Result<Counted, BlockError> {
        if let Some(counted) = self.count_plain()? {
            return Ok(counted);
        }
        self.oddities = Oddities::default();
        self.dropped = Dropped::of(&self.spec, self.rows.charset());
        (self.phase, self.records) = (Phase::Before, 0);
        self.rows.leave_out_given_up();
        while self.advance()?.is_some() {}
        Ok(Counted {
            rows: self.delivered,
            given_up: self.rejected,
            first: self.rejects.front().map(|first| (first.offset, first.code)),
        })
    }

    /// Count records; `None` where some of them, or lines between them, may be odd.
    fn count_plain(&mut self) -> Result<Option<Counted>, BlockError> {
        let (_, stop, ..) = self.block.block;
        let entry = self.enter()?;
        self.phase = Phase::After;
        let suspects = match &self.spec.format {
            Format::Csv(own) => Suspects::of(own, self.header.as_ref(), self.dropped.comment()),
            _ => None,
        };
        let is_suspect = |data: &[u8]| suspects.as_ref().is_some_and(|each| each.may_be_in(data));
        let mut cursor = self.cursor(entry, Work::Find);
        let mut counted = Counted::default();
        let mut looks_first = self.dropped.wants_first();
        while cursor.is_before(self.engine.as_ref(), stop) {
            if !looks_first && cursor.fill_to_count(&mut self.source, stop)? {
                if is_suspect(cursor.data()) {
                    return Ok(None);
                }
                let records = cursor.count(self.engine.as_ref());
                counted.rows += records;
                self.records += records;
                continue;
            }
            let step = cursor.step(&mut self.source, self.engine.as_ref(), stop)?;
            if is_suspect(cursor.data()) || (cursor.passed_lines && suspects.is_some()) {
                return Ok(None);
            }
            match step {
                Step::End => break,
                Step::Skipped(skipped) if skipped.offset < stop || self.engine.has_groups() => {
                    counted.given_up += 1;
                    counted.first.get_or_insert((skipped.offset, skipped.code));
                }
                Step::Skipped(_) => {}
                Step::Records(parsed) => {
                    if looks_first {
                        self.look_inside(&cursor, &parsed)?;
                    }
                    let starts = &parsed.frames.starts;
                    let owned = match self.engine.has_groups() {
                        true => starts.len(),
                        false => starts
                            .partition_point(|&start| cursor.position() + (start as u64) < stop),
                    };
                    counted.rows += owned as u64;
                    self.records += owned as u64;
                    cursor.pass(self.engine.as_ref(), parsed.frames.next_start);
                }
            }
            looks_first = false;
        }
        if self.dropped.comment().is_some() {
            let from = cursor.position();
            let end = cursor.gap_stop(&mut self.source, self.engine.as_ref())?;
            let longest = (end - from).min(self.spec.max_record_bytes as u64);
            if is_suspect(&self.source.bytes(from, longest as usize)?) {
                return Ok(None);
            }
        }
        self.passed_to = stop;
        Ok(Some(counted))
    }

    fn cursor(&self, entry: u64, work: Work) -> Cursor {
        let read_bytes = self.spec.read_bytes as u64;
        let sizes = Sizes {
            max_record_bytes: self.spec.max_record_bytes,
            read_bytes,
            first_read_bytes: match self.remaining {
                Some(_) => read_bytes.min(FEW_BYTES), // of which perhaps the first records are wanted
                None => read_bytes,
            },
        };
        Cursor::new(entry, self.block.content_bytes(), sizes, work)
    }

    // ------------------------------------------------------------------ entry

    /// The first record boundary at or after the start of the block.
    fn enter(&mut self) -> Result<u64, BlockError> {
        let (start, _, _, known, _) = self.block.block;
        let content_bytes = self.block.content_bytes();
        let head = match self.block.head.clone() {
            Some(head) => head,
            None => {
                let engine = self.engine.as_ref();
                let head = head::read(&mut self.source, engine, &self.spec, start, content_bytes)?;
                if head.header.is_some() {
                    self.engine = engine_of(
                        &self.spec,
                        &tail_of(&self.block),
                        Some(&head),
                        &Charset::Utf8,
                    )?;
                    let layout = self.engine.layout().cloned();
                    self.rows.set_layout(&self.spec, layout);
                }
                head
            }
        };
        let data_start = head.data_start;
        if start == 0 {
            let (source, engine) = (&mut self.source, self.engine.as_ref());
            self.dropped
                .before(source, engine, &head, &mut self.oddities)?;
        }
        self.header = match &self.spec.format {
            Format::Csv(own) => Header::of(own, &head, self.rows.charset()),
            _ => None,
        };
        if start <= data_start {
            return Ok(data_start);
        }
        self.dropped.forget();
        if known.is_none() && content_bytes == UNKNOWN_END && self.engine.needs_context() {
            return self.follow(data_start);
        }
        if self.ends_before(start)? {
            return self.source.end();
        }
        if let Some(known) = known {
            return Ok(known.max(data_start));
        }
        if self.engine.needs_context() {
            return Err(BlockError::invariant(
                "this format needs the boundary index to start inside a file",
            )
            .seen("a block without its first record start")
            .fix("plan the scan with splitscan"));
        }
        let first = match self.engine.computed_start(start, data_start) {
            Some(first) => Some(first).filter(|&first| first <= content_bytes),
            None => self.look_around(data_start)?,
        };
        match first {
            Some(first) if !self.ends_before(first)? => Ok(first),
            _ if content_bytes < UNKNOWN_END => Ok(content_bytes),
            _ => self.source.end(),
        }
    }

    /// The first record boundary at or after the start of a block of content that is gone through up to there anyway.
    ///
    /// What is right before the block tells it, if a look at the head shows that such bytes do; else all records before
    /// it are found.
    fn follow(&mut self, data_start: u64) -> Result<u64, BlockError> {
        let (start, ..) = self.block.block;
        let head = self.source.bytes(data_start, NEAR_BYTES[0])?;
        let mut from = data_start;
        if self.engine.last_split_point(&head).is_some() {
            for near in NEAR_BYTES {
                let low = data_start.max(start.saturating_sub(near as u64));
                let window = self.source.bytes(low, (start - low) as usize)?;
                if (window.len() as u64) < start - low {
                    return self.source.end();
                }
                if let Some(point) = self.engine.last_split_point(&window) {
                    from = low + point as u64;
                    break;
                }
            }
        }
        let mut cursor = self.cursor(from, Work::Find);
        while cursor.is_before(self.engine.as_ref(), start) {
            match cursor.step(&mut self.source, self.engine.as_ref(), start)? {
                Step::End => break,
                Step::Skipped(_) => {}
                Step::Records(parsed) => {
                    cursor.pass(self.engine.as_ref(), parsed.frames.next_start);
                }
            }
        }
        let found = cursor.gap_stop(&mut self.source, self.engine.as_ref())?;
        Ok(match found < start || self.ends_before(found)? {
            true => self.source.end()?,
            false => found,
        })
    }

    fn ends_before(&mut self, position: u64) -> Result<bool, BlockError> {
        Ok(self.block.content_bytes() == UNKNOWN_END && !self.source.reaches(position)?)
    }

    /// The first record start at or after the start of the block; its stop, where none starts before that.
    fn look_around(&mut self, floor: u64) -> Result<Option<u64>, BlockError> {
        let (start, stop, ..) = self.block.block;
        let mut size = self.block.content_bytes();
        let mut position = start.next_multiple_of(self.engine.unit_bytes());
        let (mut before_bytes, mut after_bytes) = (LOOK_BYTES, LOOK_BYTES);
        while position < size {
            let low = floor.max(position.saturating_sub(before_bytes));
            let seen = stop.saturating_add(BEHIND_STOP_BYTES).max(position + 1);
            let mut high = size.min(position + after_bytes).min(seen);
            let window = self.source.bytes(low, (high - low) as usize)?;
            if (window.len() as u64) < high - low && size == UNKNOWN_END {
                high = low + window.len() as u64;
                size = high;
            }
            let (before, after) = window
                .split_at_checked((position - low) as usize)
                .unwrap_or((&window, &[]));
            match self
                .engine
                .first_start(before, after, low == floor, high == size)
            {
                Look::Start(step) => return Ok(Some(size.min(position + step as u64))),
                Look::Before if low == floor => {
                    return Err(
                        BlockError::invariant("nothing before the data is asked for").at(position),
                    );
                }
                Look::Before => before_bytes *= 2,
                Look::After if high == size => {
                    return Err(
                        BlockError::invariant("nothing after the end is asked for").at(position)
                    );
                }
                Look::After if high == seen => return Ok(Some(stop)),
                Look::After if after_bytes >= LONGEST_LOOK_BYTES => position += after_bytes / 2,
                Look::After => after_bytes *= 2,
            }
        }
        Ok(None)
    }

    // ------------------------------------------------------ ownership, digest

    /// Whether the record that starts at `first` is of this block.
    fn claim(&mut self, first: u64) -> Result<bool, BlockError> {
        let (start, stop, ..) = self.block.block;
        if first < start {
            return Err(
                BlockError::invariant("a block has no record that starts before it").at(first),
            );
        }
        let is_ours = first < stop || self.engine.has_groups();
        if is_ours {
            self.span.start.get_or_insert(first);
        }
        Ok(is_ours)
    }

    /// The first block answers for everything before the first record.
    fn hash_prefix(&mut self, entry: u64) -> Result<(), BlockError> {
        self.span.hashed_to = self.span.start.unwrap_or(entry);
        self.hash(self.span.hashed_to, entry, None)
    }

    /// Hash bytes of the span; those that are no longer at hand are read again.
    fn hash(&mut self, start: u64, stop: u64, data: Option<&[u8]>) -> Result<(), BlockError> {
        let (Some(hasher), Some(span_start)) = (&mut self.span.hasher, self.span.start) else {
            return Ok(());
        };
        let (_, block_stop, ..) = self.block.block;
        let stop = if self.block.is_aligned() {
            stop.min(block_stop)
        } else {
            stop
        };
        let mut low = self.span.hashed_to.max(span_start);
        let until = if data.is_some() {
            start.min(stop)
        } else {
            stop
        };
        while low < until {
            let wanted = (until - low).min(self.spec.read_bytes as u64) as usize;
            let chunk = self.source.bytes(low, wanted)?;
            hasher.update(&chunk);
            low = if chunk.is_empty() {
                until
            } else {
                low + chunk.len() as u64
            };
        }
        if let Some(data) = data {
            let from = start.max(span_start).saturating_sub(start) as usize;
            let to = stop.saturating_sub(start) as usize;
            hasher.update(data.get(from..to.min(data.len())).unwrap_or_default());
        }
        self.span.hashed_to = stop;
        Ok(())
    }
}

/// Whether scans of a document are read here; planning asks.
///
/// # Errors
/// If not: what is not supported, or has no meaning.
pub fn check(spec_json: &str) -> Result<(), BlockError> {
    ScanSpec::read(spec_json).and_then(|spec| engine_of(&spec, "}", None, &Charset::Utf8).map(drop))
}

/// What ends the texts of what does not fit.
pub(super) fn tail_of(block: &BlockSpec) -> String {
    format!(",\"_file_path\":{}}}", Value::from(block.path()))
}

pub(super) fn undecided(offset: u64) -> BlockError {
    BlockError::new(
        Kind::Usage,
        "unsupported-scan",
        "the kernel decides every value of a scan that it reads",
    )
    .at(offset)
    .seen("a value that only the Python engine can read")
    .fix("read it by the Python engine")
}
