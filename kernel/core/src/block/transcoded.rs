//! Files in other encodings than UTF-8: records are read in UTF-8, and told by their places in the file.

use super::engine::{Engine, Skipping, Stateless};
use super::error::BlockError;
use super::layout::FileLayout;
use super::lines::Look;
use crate::charsets::{Charset, Text};
use crate::frames::{Counted, Frames};
use crate::lines::Bounds;
use crate::parsed::{Parsed, Stopped};

const FIRST_LOOK_BYTES: usize = 4096; // each look is four times as long as the one before
const FIRST_PIECE_BYTES: usize = 256 * 1024; // so that a record that is given up does not cost a whole buffer

/// Reads records in UTF-8.
pub(super) struct Transcoded {
    pub charset: Charset,
    pub inner: Box<dyn Engine>,
    /// Whether marks are found in the bytes as they are: they are ASCII, and so is every byte that looks like it.
    pub is_raw: bool,
    /// Whether a part of a code unit at the end of a file is text of the last record; else it is of none.
    pub keeps_part: bool,
}

impl Transcoded {
    fn text(&self, data: &[u8], stop: usize, at_end: bool) -> Text {
        self.charset
            .in_utf8(data, stop, at_end, at_end && self.keeps_part)
    }

    /// The text of a look. A part of a code unit at its end is no line feed, and is of the line before it; of XML, whose
    /// records no lines end, it is nothing.
    fn shown(&self, data: &[u8], at_end: bool) -> Text {
        let keeps_part = self.keeps_part || self.inner.lines().is_some();
        self.charset.in_utf8(data, 0, at_end, at_end && keeps_part)
    }

    /// What a look at growing beginnings of the data finds, as a place in it.
    fn near(
        &self,
        data: &[u8],
        at_end: bool,
        look: impl Fn(&[u8], bool) -> Option<usize>,
    ) -> Option<usize> {
        if self.is_raw {
            return look(data, at_end);
        }
        let mut shown = FIRST_LOOK_BYTES;
        loop {
            let is_all = shown >= data.len();
            let part = data.get(..shown).unwrap_or(data);
            let text = self.shown(part, at_end && is_all);
            if let Some(found) = look(&text.bytes, false) {
                return Some(text.unit(found));
            }
            if is_all {
                let found = look(&text.bytes, true).filter(|_| at_end);
                return found.map(|found| text.end(found));
            }
            shown = shown.saturating_mul(4);
        }
    }

    /// What `read` makes of the first records, with the places that they have in the file.
    fn read(
        &self,
        data: &[u8],
        bounds: Bounds,
        read: impl Fn(&[u8], Bounds) -> Result<Parsed, BlockError>,
        read_framed: impl Fn(&[u8], Frames) -> Result<Parsed, BlockError>,
    ) -> Result<Parsed, BlockError> {
        let mut shown = FIRST_PIECE_BYTES;
        loop {
            let is_all = shown >= data.len();
            let part = data.get(..shown).unwrap_or(data);
            let at_end = bounds.at_end && is_all;
            let text = self.text(part, bounds.stop, at_end);
            let shorter = Bounds {
                stop: text.stop,
                at_end,
                record_bytes: bounds.record_bytes / self.charset.unit().0, // no text has fewer bytes than units
                ..bounds
            };
            let mut parsed = read(&text.bytes, shorter)?;
            let is_empty = parsed.frames.starts.is_empty();
            if is_empty && parsed.stopped == Stopped::Long {
                return self.read_one(data, bounds, read_framed);
            }
            if !is_empty || parsed.frames.next_start > 0 || is_all {
                parsed.frames = text.frames(parsed.frames);
                return Ok(parsed);
            }
            shown = shown.saturating_mul(4);
        }
    }

    /// The same for one record, which may be too long; in its own bytes it may be short enough.
    fn read_one(
        &self,
        data: &[u8],
        bounds: Bounds,
        read_framed: impl Fn(&[u8], Frames) -> Result<Parsed, BlockError>,
    ) -> Result<Parsed, BlockError> {
        let mut shown = FIRST_PIECE_BYTES;
        loop {
            let is_all = shown >= data.len();
            let part = data.get(..shown).unwrap_or(data);
            let at_end = bounds.at_end && is_all;
            let text = self.text(part, 0, at_end);
            let mut frames = self.inner.frame(&text.bytes, at_end);
            if let Some(&next) = frames.starts.get(1) {
                frames.next_start = next as usize; // a position in the text
            }
            frames.starts.truncate(1);
            frames.stops.truncate(1);
            frames.malformed.retain(|&record| record == 0);
            let ends = (frames.starts.first(), frames.stops.first());
            let (Some(&from), Some(&to)) = ends else {
                if !is_all {
                    shown = shown.saturating_mul(4);
                    continue;
                }
                return Ok(Parsed {
                    frames: text.frames(frames),
                    ..Parsed::default()
                });
            };
            let alone = Frames {
                starts: vec![from],
                stops: vec![to],
                malformed: frames.malformed.clone(),
                next_start: text.bytes.len(),
            };
            let frames = text.frames(frames);
            let ends = (frames.starts.first(), frames.stops.first());
            let (start, stop) = (ends.0.map_or(0, |&at| at), ends.1.map_or(0, |&at| at));
            if start as usize >= bounds.stop || (stop - start) as usize > bounds.record_bytes {
                let stopped = match start as usize >= bounds.stop {
                    true => Stopped::Owned,
                    false => Stopped::Long,
                };
                return Ok(Parsed {
                    frames: Frames {
                        next_start: start as usize,
                        ..Frames::default()
                    },
                    stopped,
                    ..Parsed::default()
                });
            }
            let parsed = read_framed(&text.bytes, alone)?;
            return Ok(Parsed { frames, ..parsed });
        }
    }
}

impl Engine for Transcoded {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.read(
            data,
            bounds,
            |text, bounds| self.inner.parse(text, bounds),
            |text, frames| self.inner.parse_framed(text, frames, false),
        )
    }

    fn notice(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.read(
            data,
            bounds,
            |text, bounds| self.inner.notice(text, bounds),
            |text, frames| self.inner.parse_framed(text, frames, true),
        )
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        if self.is_raw {
            return self.inner.find(data, bounds);
        }
        let one = |_: &[u8], frames| {
            Ok(Parsed {
                rows: 1,
                frames,
                ..Parsed::default()
            })
        };
        self.read(
            data,
            bounds,
            |text, bounds| self.inner.find(text, bounds),
            one,
        )
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        if self.is_raw {
            return self.inner.frame(data, at_end);
        }
        let text = self.text(data, 0, at_end);
        text.frames(self.inner.frame(&text.bytes, at_end))
    }

    fn count(&self, data: &[u8]) -> Counted {
        if self.is_raw {
            return self.inner.count(data);
        }
        let text = self.text(data, 0, false);
        let counted = self.inner.count(&text.bytes);
        Counted {
            next_start: text.unit(counted.next_start),
            ..counted
        }
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let is_cut = at_end && !self.keeps_part;
        let part = if is_cut {
            data.len() % self.charset.unit().0
        } else {
            0
        }; // of a code unit: of no record
        let whole = data.get(..data.len() - part)?;
        let gap = self.near(whole, at_end, |text, at_end| {
            self.inner.gap_bytes(text, at_end)
        })?;
        Some(if gap == whole.len() { data.len() } else { gap })
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.near(data, at_end, |text, at_end| {
            self.inner.resume_after(text, at_end)
        })
    }

    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        let inner = self.inner.skipping();
        Some(Box::new(Past {
            engine: self,
            inner: inner.unwrap_or_else(|| Box::new(Stateless(self.inner.as_ref()))),
        }))
    }

    fn unfinished(&self) -> &'static str {
        self.inner.unfinished()
    }

    /// Those that are longer in UTF-8 than any text of the longest allowed length are long.
    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        if self.is_raw {
            return self.inner.open_starts(data, longest);
        }
        let longest = match self.charset {
            Charset::Utf16(_) => longest.saturating_mul(3) / 2,
            Charset::Utf32(_) => longest,
            _ => longest.saturating_mul(3),
        };
        let text = self.text(data, 0, false);
        let mut starts = self.inner.open_starts(&text.bytes, longest)?;
        text.locate(&mut starts);
        Some(starts)
    }

    fn unit_bytes(&self) -> u64 {
        self.charset.unit().0 as u64
    }

    fn needs_context(&self) -> bool {
        self.inner.needs_context()
    }

    fn computed_start(&self, position: u64, data_start: u64) -> Option<u64> {
        self.inner.computed_start(position, data_start)
    }

    fn first_start(&self, before: &[u8], after: &[u8], at_start: bool, at_end: bool) -> Look {
        if self.is_raw {
            return self.inner.first_start(before, after, at_start, at_end);
        }
        let part = before.len() % self.charset.unit().0;
        let before = self.charset.text(before.get(part..).unwrap_or_default());
        let after = self.shown(after, at_end);
        let first = |at_end| {
            let before = before.as_bytes();
            self.inner
                .first_start(before, &after.bytes, at_start, at_end)
        };
        match first(false) {
            Look::Start(step) => Look::Start(after.unit(step)),
            Look::After if at_end => match first(true) {
                Look::Start(step) => Look::Start(after.end(step)),
                more => more,
            },
            more => more,
        }
    }

    fn layout(&self) -> Option<&FileLayout> {
        self.inner.layout()
    }

    fn names(&self, record: &[u8]) -> Result<Vec<String>, BlockError> {
        self.inner.names(self.charset.text(record).as_bytes())
    }
}

/// Goes past what is given up, in UTF-8.
struct Past<'e> {
    engine: &'e Transcoded,
    inner: Box<dyn Skipping + 'e>,
}

impl Skipping for Past<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let look = |text: &[u8], at_end| self.inner.resume_after(text, at_end);
        self.engine.near(data, at_end, look)
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        if self.engine.is_raw {
            return self.inner.drop_bytes(data);
        }
        let text = self.engine.text(data, 0, false);
        text.unit(self.inner.drop_bytes(&text.bytes))
    }

    fn never_ends(&self, data: &[u8]) -> bool {
        if self.engine.is_raw {
            return self.inner.never_ends(data);
        }
        self.inner
            .never_ends(&self.engine.text(data, 0, true).bytes)
    }
}
