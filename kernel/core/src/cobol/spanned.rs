//! Records of several segments, each with its length in front, and with which of the record it is.

use std::borrow::Cow;

use super::records::{HEADER_BYTES, Header, Length};
use crate::fault::Code;

/// Which segment of a record one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Only,
    First,
    Last,
    Middle,
}

/// What is known of the end of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ends with its last segment.
    Whole,
    /// What follows is no segment of it, or it has no first one.
    Broken,
    /// More segments may follow.
    Open,
}

impl Part {
    fn of([a, b, c, d]: [u8; HEADER_BYTES]) -> Part {
        match c {
            _ if d > 0 || (a, b) == (0, 0) => Part::Only,
            1 => Part::First,
            2 => Part::Last,
            3 => Part::Middle,
            _ => Part::Only,
        }
    }
}

impl Header {
    /// Length of a segment with its header, and which it is; `None` if it says no length.
    fn segment(self, header: [u8; HEADER_BYTES]) -> Option<(usize, Part)> {
        let part = Part::of(header);
        let [a, b, ..] = header;
        let plain = if part == Part::Only {
            header
        } else {
            [a, b, 0, 0]
        };
        Some((self.length(plain)? + HEADER_BYTES, part))
    }

    /// Where segments end that begin at `stop`, after others of a record, as far as they are shown.
    pub fn follow(self, content: &[u8], mut stop: usize) -> (usize, Ending) {
        while let Some(&header) = content.get(stop..).and_then(<[u8]>::first_chunk) {
            match self.segment(header) {
                Some((length, Part::Middle)) => stop += length,
                Some((length, Part::Last)) => return (stop + length, Ending::Whole),
                _ => return (stop, Ending::Broken),
            }
        }
        (stop, Ending::Open)
    }

    /// Where the record ends that some content begins with, as far as that is told; `None` if it is not.
    pub fn extent(self, content: &[u8]) -> Option<(usize, Ending)> {
        let (length, part) = self.segment(*content.first_chunk()?)?;
        Some(match part {
            Part::Only => (length, Ending::Whole),
            Part::Last => (length, Ending::Broken),
            Part::First => self.follow(content, length),
            Part::Middle => match self.follow(content, length) {
                (stop, Ending::Whole) => (stop, Ending::Broken),
                found => found,
            },
        })
    }

    /// Its length, and what is wrong with its segments.
    pub(super) fn span(self, content: &[u8]) -> (Length, Option<Code>) {
        match self.extent(content) {
            None if content.len() < HEADER_BYTES => (Length::Open, None),
            None => (Length::Unknown, None),
            Some((_, Ending::Open)) => (Length::Open, None),
            Some((length, Ending::Whole)) => (Length::Known(length), None),
            Some((length, Ending::Broken)) => (Length::Known(length), Some(Code::MissingSegment)),
        }
    }

    /// Whether a record has several segments.
    pub(super) fn has_segments(record: &[u8]) -> bool {
        let header = record.first_chunk();
        header.is_some_and(|&header| Part::of(header) != Part::Only)
    }

    /// A record as one segment: without the headers of all but the first.
    pub(super) fn joined(self, record: &[u8]) -> Cow<'_, [u8]> {
        if !Header::has_segments(record) {
            return record.into();
        }
        let mut joined = record.get(..HEADER_BYTES).unwrap_or_default().to_vec();
        let mut rest = record;
        while let Some(&header) = rest.first_chunk()
            && let Some((length, _)) = self.segment(header)
        {
            let (segment, after) = rest.split_at(length.min(rest.len()));
            joined.extend_from_slice(segment.get(HEADER_BYTES..).unwrap_or_default());
            rest = after;
        }
        joined.into()
    }
}
