//! Where records are: of a fixed length, behind their lengths, or lines.

use std::num::NonZero;

use serde::Deserialize;

use super::expand::{Ended, expand};
use super::layout::{Leaf, Notation, NotationSpec, Piece};
use crate::fault::Code;
use crate::frames::{Counted, Frames};
use crate::lines::grammar::Grammar;
use crate::lines::{Bounds, Records, Taking};
use crate::parsed::{Parsed, Stopped};

/// Bytes in front of a record, or of a block, that say how long it is.
pub(super) const HEADER_BYTES: usize = 4;
/// How many bytes of a block are still to come, where nothing tells that: those up to the end of the file.
const LOST: usize = usize::MAX;

/// How records are found; see the Python class `CobolRecords`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindingSpec {
    /// The way.
    pub records: Way,
    /// Bytes after the last one.
    pub file_end: usize,
    /// Which are read; the others are bytes between records.
    pub segments: Option<SegmentsSpec>,
    /// Which have all those up to the next of them as their children.
    #[serde(default)]
    pub roots: Option<SegmentsSpec>,
}

/// One way to find records.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Way {
    /// Each has so many bytes.
    Fixed(NonZero<usize>),
    /// Four bytes in front say how many; see the Python class `HeaderRecords`.
    Headers(Header),
    /// The same, of one segment or of several; see the Python class `SpannedRecords`.
    Spanned(Header),
    /// The same in blocks, whose lengths are in front of them; see the Python class `BlockedRecords`.
    Blocks(Header, Header),
    /// An item says how many; see the Python class `FieldRecords`.
    Field(Box<FieldSpec>),
    /// As many as its items have; see the Python class `ShiftedRecords`.
    Shifted(Box<ShiftedSpec>),
    /// They are lines, ended by these bytes, or any line end of ASCII.
    Lines(Option<Vec<u8>>),
}

/// An item that says how long a record is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    field: SegmentsSpec,
    lengths: Vec<(String, i64)>,
    factor: i64,
    adjustment: i64,
}

/// What records are made of, and what is around that.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShiftedSpec {
    pieces: Vec<Piece>,
    notation: NotationSpec,
    before: usize,
    after: usize,
}

/// Length of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// So many bytes.
    Known(usize),
    /// Nothing says it.
    Unknown,
    /// The bytes that say it are not there.
    Open,
}

impl Length {
    fn known(self) -> Option<usize> {
        match self {
            Length::Known(length) => Some(length),
            _ => None,
        }
    }
}

/// How four bytes say a length.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// Whether the number comes first; nothing stands for either.
    big_endian: Option<bool>,
    /// How many bytes follow more than that.
    adjustment: i64,
}

impl Header {
    /// Bytes after those of a header; `None` if they say none.
    pub(super) fn length(self, header: [u8; HEADER_BYTES]) -> Option<usize> {
        let [a, b, c, d] = header;
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_le_bytes([c, d]));
        if (high > 0) == (low > 0) || self.big_endian.is_some_and(|big| big != (high > 0)) {
            return None;
        }
        usize::try_from(i64::from(high.max(low)) + self.adjustment).ok()
    }

    /// The same of a block, whose number may have 31 bits.
    fn block_length(self, header: [u8; HEADER_BYTES]) -> Option<usize> {
        let [a, .., d] = header;
        let is_little = self.big_endian == Some(false);
        let (number, other) = match is_little {
            true => (u32::from_le_bytes(header), a),
            false => (u32::from_be_bytes(header), d),
        };
        if number < 1 << 31 {
            return match is_little || other < 0x80 {
                true => self.length(header),
                false => None,
            };
        }
        usize::try_from(i64::from(number & 0x7FFF_FFFF) + self.adjustment).ok()
    }
}

/// Which records are read; see the Python class `Segments`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentsSpec {
    pub start: usize,
    pub leaf: Leaf,
    pub ids: Vec<String>,
    pub notation: NotationSpec,
}

/// Finds records.
#[derive(Clone, Debug)]
pub struct Finder {
    way: Way,
    trailer: usize,
    notation: Option<Notation>, // of what says how long a record is
    segments: Option<Kinds>,
    roots: Option<Kinds>,
    lines: Option<Grammar>,
}

/// Some kinds of records.
#[derive(Clone, Debug)]
struct Kinds {
    spec: SegmentsSpec,
    notation: Notation,
}

impl Kinds {
    fn new(spec: &SegmentsSpec) -> Result<Kinds, String> {
        Ok(Kinds {
            notation: Notation::new(&spec.notation)?,
            spec: spec.clone(),
        })
    }

    /// Whether a record, as far as it is there, is of one of them.
    fn has(&self, record: &[u8]) -> bool {
        let leaf = &self.spec.leaf;
        let start = self.spec.start + leaf.at;
        let told = record.get(start..self.stop().min(record.len()));
        let key = told.and_then(|data| self.notation.key(leaf, data));
        key.is_some_and(|key| self.spec.ids.contains(&key))
    }

    /// How many bytes of a record tell its kind.
    fn stop(&self) -> usize {
        self.spec.start + self.spec.leaf.at + self.spec.leaf.size
    }

    /// Whether a record whose beginning is shown is of one of them.
    fn begins(&self, part: &[u8]) -> bool {
        part.len() >= self.stop() && self.has(part)
    }
}

impl FieldSpec {
    /// The length that a text says; `None` if that is none.
    fn length(&self, key: Option<String>) -> Option<usize> {
        let number = if self.lengths.is_empty() {
            let text = key.filter(|text| {
                (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
            });
            text?.parse::<i64>().ok()?
        } else {
            let of = |wanted: &str| self.lengths.iter().find(|(text, _)| text == wanted);
            key.and_then(|key| of(&key)).or_else(|| of("_"))?.1
        };
        usize::try_from(number * self.factor + self.adjustment).ok()
    }
}

/// A record: where it starts and stops, and where the next one starts.
type Place = (usize, usize, usize);

impl Finder {
    /// Of what Python says.
    ///
    /// # Errors
    /// If that has no meaning.
    pub fn new(spec: &FindingSpec) -> Result<Finder, String> {
        let kinds = |spec: &Option<SegmentsSpec>| spec.as_ref().map(Kinds::new).transpose();
        let lines = match &spec.records {
            Way::Lines(mark) => Some(Grammar::new(mark.as_deref(), None, 1, false)?),
            _ => None,
        };
        let notation = match &spec.records {
            Way::Field(own) => Some(&own.field.notation),
            Way::Shifted(own) => Some(&own.notation),
            _ => None,
        };
        Ok(Finder {
            way: spec.records.clone(),
            notation: notation.map(Notation::new).transpose()?,
            trailer: spec.file_end,
            segments: kinds(&spec.segments)?,
            roots: kinds(&spec.roots)?,
            lines,
        })
    }

    /// The way in which it finds them.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The bytes in front of a trailer, as far as they are known.
    pub fn content<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let shown = data.len().saturating_sub(self.trailer);
        data.get(..shown).unwrap_or_default()
    }

    /// Whether a record is read.
    fn is_read(&self, record: &[u8], code: Option<Code>) -> bool {
        match (&self.segments, &self.way) {
            (Some(kinds), Way::Spanned(header)) if code.is_none() => {
                kinds.has(&header.joined(record))
            }
            (Some(kinds), _) if code.is_none() => kinds.has(record),
            _ => true,
        }
    }

    /// Whether only the record before tells where one starts.
    pub fn is_walked(&self) -> bool {
        self.roots.is_some() || !matches!(self.way, Way::Fixed(_) | Way::Lines(_))
    }

    /// Length of the record that some content begins with, with what is in front of it.
    fn length(&self, content: &[u8]) -> Length {
        let length = match (&self.way, &self.notation) {
            (Way::Spanned(header), _) => return header.span(content).0,
            (Way::Fixed(length), _) => Some(length.get()),
            (Way::Headers(header) | Way::Blocks(header, _), _) => match content.first_chunk() {
                Some(&bytes) => header.length(bytes).map(|length| length + HEADER_BYTES),
                None => return Length::Open,
            },
            (Way::Field(own), Some(notation)) => {
                let start = own.field.start + own.field.leaf.at;
                let stop = start + own.field.leaf.size;
                let Some(data) = content.get(start..stop) else {
                    return Length::Open;
                };
                own.length(notation.key(&own.field.leaf, data))
                    .filter(|&length| length >= stop)
            }
            (Way::Shifted(own), Some(notation)) => {
                let Some(rest) = content.get(own.before..) else {
                    return Length::Open;
                };
                match expand(&own.pieces, notation, rest, &mut Vec::new()) {
                    Ok(used) => Some(own.before + used + own.after),
                    Err(Ended::Short) => return Length::Open,
                    Err(Ended::Uncounted) => None,
                }
            }
            _ => None,
        };
        length.map_or(Length::Unknown, Length::Known)
    }

    /// How many bytes of a block are still to come after `passed`, in front of which there were `left`.
    pub fn left_after(&self, mut passed: &[u8], mut left: usize) -> usize {
        let Way::Blocks(_, blocks) = &self.way else {
            return 0;
        };
        while let Some(after) = passed.get(left..)
            && !after.is_empty()
        {
            let header = after.first_chunk();
            left = header
                .and_then(|&header| blocks.block_length(header))
                .unwrap_or(LOST);
            passed = after.get(HEADER_BYTES..).unwrap_or_default();
        }
        left - passed.len()
    }

    /// Go through complete records as [`Finder::each_single`] does; a root and all up to the next root are one.
    fn each(
        &self,
        content: &[u8],
        at_end: bool,
        around: (usize, usize),
        mut take: impl FnMut(Place, Option<Code>) -> bool,
    ) -> usize {
        let Some(roots) = &self.roots else {
            return self.each_single(content, at_end, around, take);
        };
        let mut open: Option<(usize, Option<Code>)> = None; // where a root begins, or what has none
        let (mut passed, mut is_refused) = (0, false);
        let end = self.each_single(content, at_end, around, |(start, stop, next), code| {
            let record = content.get(start..stop).unwrap_or_default();
            let is_root = code.is_none() && roots.has(record);
            if (is_root || code.is_some())
                && let Some((first, found)) = open.take()
            {
                is_refused = !take((first, start, start), found);
                if is_refused {
                    return false;
                }
                passed = start;
            }
            if code.is_some() {
                is_refused = !take((start, stop, next), code);
                passed = if is_refused { passed } else { next };
                return !is_refused;
            }
            open.get_or_insert((start, (!is_root).then_some(Code::NotBegun)));
            true
        });
        if let Some((first, found)) = open
            && !is_refused
            && (at_end || roots.begins(content.get(end..).unwrap_or_default()))
            && take((first, end, end), found)
        {
            passed = end;
        }
        passed
    }

    /// The single records of one that is taken as a whole.
    pub(super) fn singles(&self, record: &[u8], mut take: impl FnMut(usize, usize)) {
        self.each_single(record, true, (0, usize::MAX), |(start, stop, _), _| {
            take(start, stop);
            true
        });
    }

    /// Go through the complete records of some content, which begins with one, or in a block of which `left` bytes are
    /// still to come, for as long as they are taken; blocks from `stop` on are left. Returns how far that went.
    fn each_single(
        &self,
        content: &[u8],
        at_end: bool,
        (left, stop): (usize, usize),
        mut take: impl FnMut(Place, Option<Code>) -> bool,
    ) -> usize {
        if let Way::Blocks(_, blocks) = self.way {
            return self.each_in_blocks(content, at_end, (left, stop), blocks, take);
        }
        let size = content.len();
        let mut start = 0;
        if let Some(grammar) = &self.lines {
            let records = Records::new(grammar, content, size, at_end);
            records.each(0, |from, stop, next| {
                let is_taken = take((from, stop, next), None);
                start = if is_taken { next } else { start };
                is_taken
            });
            return start;
        }
        while start < size {
            let rest = content.get(start..).unwrap_or_default();
            let (length, broken) = match &self.way {
                Way::Spanned(header) => header.span(rest),
                _ => (self.length(rest), None),
            };
            if let Some(length) = length.known().filter(|&length| length <= rest.len()) {
                let stop = start + length;
                if !take((start, stop, stop), broken) {
                    return start;
                }
                start = stop;
                continue;
            }
            let code = match length {
                Length::Unknown => Code::BadRecordHeader,
                _ => Code::ShortRecord,
            };
            return match at_end && take((start, size, size), Some(code)) {
                true => size,
                false => start,
            };
        }
        start
    }

    fn each_in_blocks(
        &self,
        content: &[u8],
        at_end: bool,
        (mut left, stop): (usize, usize),
        blocks: Header,
        mut take: impl FnMut(Place, Option<Code>) -> bool,
    ) -> usize {
        let (size, mut start) = (content.len(), 0);
        while start < size {
            let rest = content.get(start..).unwrap_or_default();
            if left == 0 {
                if start >= stop {
                    break;
                }
                if let Some(&header) = rest.first_chunk()
                    && let Some(length) = blocks.block_length(header)
                {
                    let first = start + HEADER_BYTES;
                    if first == size && length > 0 {
                        let is_told = at_end && take((size, size, size), Some(Code::MissingBytes));
                        return if is_told { size } else { start };
                    }
                    (start, left) = (first, length);
                    continue;
                }
            }
            let end = match left {
                0 => LOST,
                _ => start.saturating_add(left),
            };
            let length = self.length_in_block(rest, left);
            let has_header = rest.len() >= HEADER_BYTES || (left > 0 && left < HEADER_BYTES);
            let code = match length {
                Some(_) => None,
                None if has_header => Some(Code::BadRecordHeader),
                None => Some(Code::ShortRecord),
            };
            let next = length.map_or(end, |length| start + length);
            let is_whole = next <= size && (length.is_some() || has_header);
            let (next, code) = match is_whole {
                true => (next, code),
                false if at_end => (size, code.or(Some(Code::ShortRecord))),
                false => break,
            };
            let is_cut = is_whole && next == size && left > next - start; // between two records
            if (is_cut && !at_end) || !take((start, next, next), code) {
                break;
            }
            if is_cut {
                take((size, size, size), Some(Code::MissingBytes));
            }
            left = left.saturating_sub(next - start);
            start = next;
        }
        start
    }

    /// Length of the record that the rest of a block begins with; `None` if it says none that is in the block.
    fn length_in_block(&self, rest: &[u8], left: usize) -> Option<usize> {
        let length = self.length(rest.get(..left.min(rest.len()))?).known();
        length.filter(|&length| length <= left)
    }

    /// The records at the front of `data`, cut to `bounds`, and what is wrong with those that are malformed; the first
    /// are in a block of which `left` bytes are still to come.
    pub fn find(&self, data: &[u8], bounds: Bounds, left: usize) -> (Parsed, Vec<Code>) {
        let content = self.content(data);
        let is_blocked = matches!(self.way, Way::Blocks(..));
        let mut taking = Taking::new(Bounds {
            stop: if is_blocked { usize::MAX } else { bounds.stop },
            ..bounds
        });
        let (mut codes, mut malformed, mut rows) = (Vec::new(), Vec::new(), 0);
        let mut is_refused = false;
        let around = (left, bounds.stop);
        let passed = self.each(
            content,
            bounds.at_end,
            around,
            |(start, stop, next), code| {
                if self.is_read(content.get(start..stop).unwrap_or_default(), code) {
                    is_refused = !taking.take(start, stop, next);
                    if is_refused {
                        return false;
                    }
                    if let Some(code) = code {
                        codes.push(code);
                        malformed.push(rows);
                    }
                    rows += 1;
                }
                true
            },
        );
        let mut found = taking.finish(content.len());
        found.frames.next_start = passed;
        found.frames.malformed = malformed;
        if !is_refused && bounds.at_end && passed >= content.len() {
            found.frames.next_start = data.len();
            found.stopped = Stopped::End;
        }
        (found, codes)
    }

    /// All complete records at the front of `data`.
    pub fn frame(&self, data: &[u8], at_end: bool, left: usize) -> Frames {
        let bounds = Bounds {
            stop: usize::MAX,
            at_end,
            rows: usize::MAX,
            record_bytes: usize::MAX,
        };
        self.find(data, bounds, left).0.frames
    }

    /// How many those are.
    pub fn count(&self, data: &[u8], left: usize) -> Counted {
        let content = self.content(data);
        let mut records = 0;
        let next_start = self.each(
            content,
            false,
            (left, usize::MAX),
            |(start, stop, _), code| {
                let is_read = self.is_read(content.get(start..stop).unwrap_or_default(), code);
                records += usize::from(is_read);
                true
            },
        );
        Counted {
            records,
            next_start,
        }
    }

    /// Length of what lies between records at the front of `data`; `None` where more of it may follow.
    pub fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let content = self.content(data);
        let begins = self.segments.is_none() || matches!(self.way, Way::Blocks(..));
        if begins && (self.trailer == 0 || !content.is_empty()) {
            return Some(0);
        }
        let mut found = None;
        self.each(
            content,
            at_end,
            (0, usize::MAX),
            |(start, stop, _), code| {
                let is_read = self.is_read(content.get(start..stop).unwrap_or_default(), code);
                found = is_read.then_some(start);
                !is_read
            },
        );
        found.or(at_end.then_some(data.len()))
    }

    /// Where reading goes on after a record that is given up, in a block of which `left` bytes are still to come.
    pub fn resume_after(&self, data: &[u8], at_end: bool, left: usize) -> Option<usize> {
        let content = self.content(data);
        if self.roots.is_some() {
            let (_, root) = self.next_root(content, at_end, false);
            return root.or(at_end.then_some(content.len()));
        }
        let length = match &self.way {
            Way::Fixed(length) if at_end => return Some(length.get().min(data.len())),
            Way::Fixed(length) => Some(length.get()),
            Way::Blocks(..) if left == 0 => None,
            Way::Blocks(..) => self.length_in_block(content, left).or(Some(left)),
            _ => self.length(content).known(),
        };
        let known = length.filter(|&length| length <= content.len());
        known.or(at_end.then_some(content.len()))
    }

    /// Where the complete records end that belong to a root, and where the next one begins, if it is seen. That is not
    /// the first record, unless it `seeks` one.
    pub fn next_root(
        &self,
        content: &[u8],
        at_end: bool,
        mut seeks: bool,
    ) -> (usize, Option<usize>) {
        let Some(roots) = &self.roots else {
            return (0, None);
        };
        let (mut end, mut found) = (0, None);
        self.each_single(
            content,
            at_end,
            (0, usize::MAX),
            |(start, stop, _), code| {
                let record = content.get(start..stop).unwrap_or_default();
                if seeks && (code.is_some() || roots.has(record)) {
                    found = Some(start);
                    return false;
                }
                (seeks, end) = (true, stop);
                true
            },
        );
        let rest = content.get(end..).unwrap_or_default();
        let is_next = found.is_none() && seeks && roots.begins(rest);
        (end, found.or(is_next.then_some(end)))
    }

    /// What tells whether a record is a root, if there are roots: so many bytes of it.
    pub fn root_bytes(&self) -> Option<usize> {
        self.roots.as_ref().map(Kinds::stop)
    }

    /// What is known of the length of the record that `data` begins with, in such a block: `None` if more bytes are
    /// needed for that, 0 if nothing tells it.
    pub fn told_length(&self, data: &[u8], left: usize) -> Option<usize> {
        let content = self.content(data);
        if let Way::Blocks(..) = self.way {
            let length = self.length_in_block(content, left);
            return length.or((content.len() >= HEADER_BYTES).then_some(left));
        }
        match self.length(content) {
            Length::Known(length) => Some(length),
            Length::Unknown => Some(0),
            Length::Open => None,
        }
    }
}
