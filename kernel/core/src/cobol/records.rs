//! Where records are: of a fixed length, behind their lengths, or lines.

use std::num::NonZero;

use serde::Deserialize;

use super::layout::{Leaf, Notation, NotationSpec};
use crate::fault::Code;
use crate::frames::{Counted, Frames};
use crate::lines::grammar::Grammar;
use crate::lines::{Bounds, Records, Taking};
use crate::parsed::{Parsed, Stopped};

/// Bytes in front of a record that say how long it is.
const HEADER_BYTES: usize = 4;

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
}

/// One way to find records.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Way {
    /// Each has so many bytes.
    Fixed(NonZero<usize>),
    /// Four bytes in front say how many; see the Python class `HeaderRecords`.
    Headers {
        /// Whether the number comes first; nothing stands for either.
        big_endian: Option<bool>,
        /// How many bytes a record has more than that.
        adjustment: i64,
    },
    /// They are lines, ended by these bytes, or any line end of ASCII.
    Lines(Option<Vec<u8>>),
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
    segments: Option<(SegmentsSpec, Notation)>,
    lines: Option<Grammar>,
}

/// A record: where it starts and stops, and where the next one starts.
type Place = (usize, usize, usize);

impl Finder {
    /// Of what Python says.
    ///
    /// # Errors
    /// If that has no meaning.
    pub fn new(spec: &FindingSpec) -> Result<Finder, String> {
        let segments = spec.segments.as_ref();
        let lines = match &spec.records {
            Way::Lines(mark) => Some(Grammar::new(mark.as_deref(), None, 1, false)?),
            _ => None,
        };
        Ok(Finder {
            way: spec.records.clone(),
            trailer: spec.file_end,
            segments: segments
                .map(|segments| {
                    Ok::<_, String>((segments.clone(), Notation::new(&segments.notation)?))
                })
                .transpose()?,
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
        let Some((spec, notation)) = self.segments.as_ref().filter(|_| code.is_none()) else {
            return true;
        };
        let start = spec.start + spec.leaf.at;
        let stop = (start + spec.leaf.size).min(record.len());
        let key = record
            .get(start..stop)
            .and_then(|data| notation.key(&spec.leaf, data));
        key.is_some_and(|key| spec.ids.contains(&key))
    }

    /// Length of the record behind a header, with that; `None` if it says none.
    pub fn length(&self, header: &[u8]) -> Option<usize> {
        let Way::Headers {
            big_endian,
            adjustment,
        } = &self.way
        else {
            return None;
        };
        let [a, b, c, d] = *header.first_chunk::<HEADER_BYTES>()?;
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_le_bytes([c, d]));
        if (high > 0) == (low > 0) || big_endian.is_some_and(|big| big != (high > 0)) {
            return None;
        }
        let length = i64::from(high.max(low)) + adjustment;
        Some(usize::try_from(length).ok()? + HEADER_BYTES)
    }

    /// Go through the complete records of some content, which begins with one, for as long as they are taken.
    fn each(
        &self,
        content: &[u8],
        at_end: bool,
        mut take: impl FnMut(Place, Option<Code>) -> bool,
    ) {
        let size = content.len();
        if let Some(grammar) = &self.lines {
            let records = Records::new(grammar, content, size, at_end);
            return records.each(0, |start, stop, next| take((start, stop, next), None));
        }
        let mut start = 0;
        while start < size {
            let rest = content.get(start..).unwrap_or_default();
            let length = match &self.way {
                Way::Fixed(length) => Some(length.get()),
                _ => self.length(rest),
            };
            if let Some(length) = length.filter(|&length| length <= rest.len()) {
                let stop = start + length;
                if !take((start, stop, stop), None) {
                    return;
                }
                start = stop;
                continue;
            }
            if at_end {
                let is_lost = length.is_none() && rest.len() >= HEADER_BYTES;
                let code = if is_lost {
                    Code::BadRecordHeader
                } else {
                    Code::ShortRecord
                };
                take((start, size, size), Some(code));
            }
            return;
        }
    }

    /// The records at the front of `data`, cut to `bounds`, and what is wrong with the last one.
    pub fn find(&self, data: &[u8], bounds: Bounds) -> (Parsed, Code) {
        let content = self.content(data);
        let mut taking = Taking::new(bounds);
        let (mut passed, mut broken, mut is_refused) = (0, None, false);
        self.each(content, bounds.at_end, |(start, stop, next), code| {
            if self.is_read(content.get(start..stop).unwrap_or_default(), code) {
                is_refused = !taking.take(start, stop, next);
                if is_refused {
                    return false;
                }
                broken = code;
            }
            passed = next;
            true
        });
        let mut found = taking.finish(content.len());
        found.frames.next_start = passed;
        if !is_refused && bounds.at_end {
            found.frames.next_start = data.len();
            found.stopped = Stopped::End;
        }
        if broken.is_some() {
            found.frames.malformed.push((found.rows - 1) as u32);
        }
        (found, broken.unwrap_or(Code::ShortRecord))
    }

    /// All complete records at the front of `data`.
    pub fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        let bounds = Bounds {
            stop: usize::MAX,
            at_end,
            rows: usize::MAX,
            record_bytes: usize::MAX,
        };
        self.find(data, bounds).0.frames
    }

    /// How many those are.
    pub fn count(&self, data: &[u8]) -> Counted {
        let content = self.content(data);
        let mut counted = Counted::default();
        self.each(content, false, |(start, stop, next), code| {
            let is_read = self.is_read(content.get(start..stop).unwrap_or_default(), code);
            counted.records += usize::from(is_read);
            counted.next_start = next;
            true
        });
        counted
    }

    /// Length of what lies between records at the front of `data`; `None` where more of it may follow.
    pub fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let content = self.content(data);
        if self.segments.is_none() && (self.trailer == 0 || !content.is_empty()) {
            return Some(0);
        }
        let mut found = None;
        self.each(content, at_end, |(start, stop, _), code| {
            let is_read = self.is_read(content.get(start..stop).unwrap_or_default(), code);
            found = is_read.then_some(start);
            !is_read
        });
        found.or(at_end.then_some(data.len()))
    }

    /// Where reading goes on after a record that is given up.
    pub fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let content = self.content(data);
        let length = match &self.way {
            Way::Fixed(length) if at_end => return Some(length.get().min(data.len())),
            Way::Fixed(length) => Some(length.get()),
            _ => self.length(content),
        };
        let known = length.filter(|&length| length <= content.len());
        known.or(at_end.then_some(content.len()))
    }

    /// Whether nothing tells how long the record is that `data` begins with.
    pub fn is_lost(&self, data: &[u8]) -> bool {
        let content = self.content(data);
        matches!(self.way, Way::Headers { .. })
            && content.len() >= HEADER_BYTES
            && self.length(content).is_none()
    }
}
