//! Files in an encoding with a byte for each character, the first 128 of which are those of ASCII.

use super::engine::{Engine, found};
use super::error::BlockError;
use super::layout::FileLayout;
use super::lines::Look;
use crate::charsets::Charset;
use crate::frames::{Counted, Frames};
use crate::lines::Bounds;
use crate::parsed::{Parsed, Stopped};

/// Finds records in the bytes as they are, and reads them in UTF-8. The marks of the format are ASCII.
pub(super) struct Transcoded {
    pub charset: Charset,
    pub inner: Box<dyn Engine>,
}

impl Transcoded {
    /// What `read` makes of the data in UTF-8, with the places that the records have in the file.
    fn read(
        &self,
        data: &[u8],
        bounds: Bounds,
        read: impl Fn(&[u8], Bounds) -> Result<Parsed, BlockError>,
    ) -> Result<Parsed, BlockError> {
        let whole = self.charset.whole(data, bounds.stop, bounds.at_end);
        let (text, stop) = whole.ok_or_else(|| BlockError::invariant("a byte is a character"))?;
        let mut parsed = read(&text, Bounds { stop, ..bounds })?;
        let frames = &mut parsed.frames;
        if parsed.stopped == Stopped::Long && frames.starts.is_empty() {
            return self.read_one(data, bounds, read);
        }
        let (starts, stops) = (&mut frames.starts, &mut frames.stops);
        frames.next_start = self.charset.locate(&text, starts, stops, frames.next_start);
        Ok(parsed)
    }

    /// The same for one record, which is too long in UTF-8; its own bytes may be few enough.
    fn read_one(
        &self,
        data: &[u8],
        bounds: Bounds,
        read: impl Fn(&[u8], Bounds) -> Result<Parsed, BlockError>,
    ) -> Result<Parsed, BlockError> {
        let mut records = found(|data, at_end| self.frame(data, at_end), data, bounds);
        let frames = &mut records.frames;
        let (Some(&start), Some(&stop)) = (frames.starts.first(), frames.stops.first()) else {
            return Ok(records);
        };
        if let Some(&next) = frames.starts.get(1) {
            frames.next_start = next as usize;
        }
        frames.starts.truncate(1);
        frames.stops.truncate(1);
        let record = data.get(start as usize..stop as usize).unwrap_or_default();
        let text = self.charset.text(record);
        let all = Bounds {
            stop: text.len().max(1),
            at_end: true,
            rows: 1,
            record_bytes: usize::MAX,
        };
        let parsed = read(text.as_bytes(), all)?;
        if parsed.rows != 1 {
            return Err(BlockError::invariant("the text of a record is one record"));
        }
        Ok(Parsed {
            frames: records.frames,
            ..parsed
        })
    }
}

impl Engine for Transcoded {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.read(data, bounds, |text, bounds| self.inner.parse(text, bounds))
    }

    fn notice(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.read(data, bounds, |text, bounds| self.inner.notice(text, bounds))
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.inner.find(data, bounds)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        self.inner.frame(data, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        self.inner.count(data)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.inner.gap_bytes(data, at_end)
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.inner.resume_after(data, at_end)
    }

    fn droppable(&self, data: &[u8]) -> usize {
        self.inner.droppable(data)
    }

    fn unfinished(&self) -> &'static str {
        self.inner.unfinished()
    }

    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        self.inner.open_starts(data, longest)
    }

    fn needs_context(&self) -> bool {
        self.inner.needs_context()
    }

    fn computed_start(&self, position: u64, data_start: u64) -> Option<u64> {
        self.inner.computed_start(position, data_start)
    }

    fn first_start(&self, before: &[u8], after: &[u8], at_start: bool, at_end: bool) -> Look {
        self.inner.first_start(before, after, at_start, at_end)
    }

    fn layout(&self) -> Option<&FileLayout> {
        self.inner.layout()
    }

    fn names(&self, record: &[u8]) -> Result<Vec<String>, BlockError> {
        self.inner.names(self.charset.text(record).as_bytes())
    }
}
