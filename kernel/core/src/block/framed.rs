//! Files whose records are found in their own bytes, and decoded one by one: marks are ASCII, or begin with ASCII, and no
//! other character holds a byte that looks like it.

use super::engine::{Engine, Skipping};
use super::error::BlockError;
use super::layout::FileLayout;
use super::lines::Look;
use crate::charsets::{Charset, transcode};
use crate::frames::{Counted, Frames};
use crate::lines::Bounds;
use crate::parsed::{Parsed, Stopped};

/// Finds records by one engine, and reads their texts by another.
pub(super) struct Framed {
    pub charset: Charset,
    /// Its marks are those of the file.
    pub raw: Box<dyn Engine>,
    /// Its marks are in UTF-8.
    pub inner: Box<dyn Engine>,
}

impl Framed {
    fn read(&self, data: &[u8], bounds: Bounds, notices: bool) -> Result<Parsed, BlockError> {
        let mut found = self.raw.find(data, bounds)?;
        let ends = found.frames.starts.iter().zip(&found.frames.stops);
        let records = ends.map(|(&start, &stop)| (start as usize, stop as usize));
        let (texts, starts, stops) = transcode(data, records, &self.charset);
        let frames = Frames {
            starts,
            stops,
            malformed: found.frames.malformed.clone(),
            next_start: texts.len(),
        };
        let parsed = self.inner.parse_framed(&texts, frames, notices)?;
        if let Some(&next) = found.frames.starts.get(parsed.rows) {
            found.frames.next_start = next as usize;
            found.frames.starts.truncate(parsed.rows);
            found.frames.stops.truncate(parsed.rows);
            let rows = parsed.rows;
            let malformed = &mut found.frames.malformed;
            malformed.retain(|&record| (record as usize) < rows);
            found.stopped = Stopped::Bytes;
        }
        Ok(Parsed {
            frames: found.frames,
            stopped: found.stopped,
            ..parsed
        })
    }
}

impl Engine for Framed {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.read(data, bounds, false)
    }

    fn notice(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.read(data, bounds, true)
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.raw.find(data, bounds)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        self.raw.frame(data, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        self.raw.count(data)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.raw.gap_bytes(data, at_end)
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.raw.resume_after(data, at_end)
    }

    fn droppable(&self, data: &[u8]) -> usize {
        self.raw.droppable(data)
    }

    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        self.raw.skipping()
    }

    fn unfinished(&self) -> &'static str {
        self.raw.unfinished()
    }

    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        self.raw.open_starts(data, longest)
    }

    fn needs_context(&self) -> bool {
        self.raw.needs_context()
    }

    fn first_start(&self, before: &[u8], after: &[u8], at_start: bool, at_end: bool) -> Look {
        self.raw.first_start(before, after, at_start, at_end)
    }

    fn layout(&self) -> Option<&FileLayout> {
        self.inner.layout()
    }

    fn names(&self, record: &[u8]) -> Result<Vec<String>, BlockError> {
        self.inner.names(self.charset.text(record).as_bytes())
    }
}
