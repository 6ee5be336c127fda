//! Where the texts of some records are.

use std::borrow::Cow;

use crate::charsets::Charset;
use crate::columns::{Cells, Place};
use crate::log::RecordPattern;

/// White space at the edges of texts: this byte and those below it.
const LAST_SPACE: u8 = b' ';

/// How texts are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Meaning {
    pub null_value: String,
    pub trim_leading: bool,
    pub trim_trailing: bool,
}

impl Meaning {
    /// What is left of the text in `bytes[start..stop]`; nothing if it is blank, or means null.
    #[inline(always)] // once a value
    fn text(&self, bytes: &[u8], start: usize, stop: usize) -> Option<(usize, usize)> {
        let (mut first, mut last) = (start, stop);
        let is_space = |at: usize| bytes.get(at).is_some_and(|&byte| byte <= LAST_SPACE);
        while first < last && is_space(first) {
            first += 1;
        }
        if first >= last {
            return None;
        }
        while is_space(last - 1) {
            last -= 1; // not below `first`, which is no space
        }
        let left = (
            if self.trim_leading { first } else { start },
            if self.trim_trailing { last } else { stop },
        );
        let is_null = |null: &str| bytes.get(left.0..left.1) == Some(null.as_bytes());
        (self.null_value.is_empty() || !is_null(&self.null_value)).then_some(left)
    }
}

/// Where a column is: its first place and the one after its last, from 0 on; and whether its values are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub first: usize,
    pub last: usize,
    pub is_binary: bool,
}

/// How the columns of a record are found.
pub(super) enum Places<'a> {
    /// Characters of lines, which are more or less UTF-8.
    Characters(&'a [Extent]),
    /// Bytes, in this encoding.
    Bytes(&'a [Extent], &'a Charset),
    /// Groups of a pattern; a record has one place if it matches. The first one has none if nothing begins it.
    Groups(&'a RecordPattern, bool),
}

/// Where the places of a column are.
#[derive(Clone, Copy, Debug)]
enum Span {
    Data(usize, usize),
    Apart(usize, usize),
}

#[derive(Clone, Copy, Debug)]
struct Row {
    start: usize,
    stop: usize,
    places: usize,
    looked_up: Option<usize>, // where its spans begin
}

/// Some records, one after the other.
#[derive(Debug, Default)]
pub(super) struct Tile {
    rows: Vec<Row>,
    spans: Vec<Span>,
    apart: Vec<u8>,        // texts that are not in the data: UTF-8
    lacks_beginning: bool, // of the first record: nothing begins it
}

impl Tile {
    /// Hold other records.
    pub(super) fn hold(
        &mut self,
        data: &[u8],
        records: impl DoubleEndedIterator<Item = (usize, usize)> + Clone,
        places: &Places<'_>,
    ) {
        self.rows.clear();
        self.spans.clear();
        self.apart.clear();
        let (extents, charset) = match places {
            Places::Characters(extents) => (*extents, None),
            Places::Bytes(extents, charset) => (*extents, Some(*charset)),
            Places::Groups(pattern, is_begun) => {
                return self.hold_groups(data, records, pattern, *is_begun);
            }
        };
        let is_wide = charset.is_some_and(|charset| charset.unit().0 > 1);
        let first = records.clone().next().map_or(0, |(start, _)| start);
        let last = records.clone().next_back().map_or(0, |(_, stop)| stop);
        let is_plain = !is_wide && data.get(first..last).is_some_and(<[u8]>::is_ascii);
        for (start, stop) in records {
            let record = data.get(start..stop).unwrap_or_default();
            let (mut places, mut looked_up) = (record.len(), None);
            if !is_plain && (is_wide || !record.is_ascii()) {
                looked_up = Some(self.spans.len());
                match charset {
                    Some(charset) => self.look_up_bytes(record, start, extents, charset),
                    None => places = self.look_up_text(record, start, extents),
                }
            }
            self.rows.push(Row {
                start,
                stop,
                places,
                looked_up,
            });
        }
    }

    /// Hold records by the groups of a pattern.
    fn hold_groups(
        &mut self,
        data: &[u8],
        records: impl Iterator<Item = (usize, usize)>,
        pattern: &RecordPattern,
        first_is_begun: bool,
    ) {
        let mut captures = pattern.captures();
        self.lacks_beginning = !first_is_begun;
        for (start, stop) in records {
            let record = data.get(start..stop).unwrap_or_default();
            let text = String::from_utf8_lossy(record);
            let is_begun = self.is_begun(self.rows.len());
            let looked_up = self.spans.len();
            let spans = &mut self.spans;
            let is_match = match &text {
                Cow::Borrowed(text) => captures.read(text, |from, to| {
                    spans.push(Span::Data(start + from, start + to));
                }),
                Cow::Owned(text) => {
                    let before = self.apart.len();
                    self.apart.extend_from_slice(text.as_bytes());
                    captures.read(text, |from, to| {
                        spans.push(Span::Apart(before + from, before + to));
                    })
                }
            };
            if !is_begun {
                let nothing = |span: &mut Span| *span = Span::Data(start, start);
                spans.iter_mut().skip(looked_up).for_each(nothing);
            }
            self.rows.push(Row {
                start,
                stop,
                places: usize::from(is_match && is_begun),
                looked_up: Some(looked_up),
            });
        }
    }

    /// Whether something begins a record.
    pub(super) fn is_begun(&self, row: usize) -> bool {
        row > 0 || !self.lacks_beginning
    }

    /// How many records there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Length in bytes and number of places of a record.
    #[inline]
    pub(super) fn size(&self, row: usize) -> (usize, usize) {
        let row = self.rows.get(row);
        row.map_or((0, 0), |row| (row.stop - row.start, row.places))
    }

    /// Whether a record has fewer places than that.
    pub(super) fn has_shorter(&self, least: usize) -> bool {
        self.rows.iter().any(|row| row.places < least)
    }

    /// Whether nothing of it is anywhere but in the data.
    pub(super) fn is_text(&self) -> bool {
        self.apart.is_empty()
    }

    /// The places of each column in a record of bytes, and their texts, apart if they are not UTF-8.
    #[cold]
    fn look_up_bytes(
        &mut self,
        record: &[u8],
        start: usize,
        extents: &[Extent],
        charset: &Charset,
    ) {
        for extent in extents {
            let (from, to) = (
                extent.first.min(record.len()),
                extent.last.min(record.len()),
            );
            let bytes = record.get(from..to).unwrap_or_default();
            let is_here = match charset {
                Charset::Utf8 => std::str::from_utf8(bytes).is_ok(),
                Charset::Table(_) | Charset::Codes(_) => bytes.is_ascii(),
                Charset::Utf16(_) | Charset::Utf32(_) => false,
            };
            if extent.is_binary || is_here {
                self.spans.push(Span::Data(start + from, start + to));
                continue;
            }
            let before = self.apart.len();
            charset.append(bytes, &mut self.apart);
            self.spans.push(Span::Apart(before, self.apart.len()));
        }
    }

    /// The places of each column in a record of characters, which is apart if it is not UTF-8; answers how many it has.
    #[cold]
    fn look_up_text(&mut self, record: &[u8], start: usize, extents: &[Extent]) -> usize {
        let text = String::from_utf8_lossy(record);
        let before = self.apart.len();
        let is_here = matches!(text, Cow::Borrowed(_));
        if !is_here {
            self.apart.extend_from_slice(text.as_bytes());
        }
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let offset = |place: usize| starts.get(place).copied().unwrap_or(text.len());
        for extent in extents {
            let (from, to) = (offset(extent.first), offset(extent.last));
            self.spans.push(match is_here {
                true => Span::Data(start + from, start + to),
                false => Span::Apart(before + from, before + to),
            });
        }
        starts.len()
    }
}

/// The texts of one column of a tile.
pub(super) struct OneColumn<'a> {
    pub data: &'a [u8],
    pub tile: &'a Tile,
    pub extent: Extent,
    pub number: usize,
    pub meaning: &'a Meaning,
}

impl OneColumn<'_> {
    #[inline(always)] // once a value
    fn span(&self, row: usize) -> Option<Span> {
        let row = self.tile.rows.get(row)?;
        if let Some(begin) = row.looked_up {
            return self.tile.spans.get(begin + self.number).copied();
        }
        let from = row.start.saturating_add(self.extent.first).min(row.stop);
        let to = row.start.saturating_add(self.extent.last).min(row.stop);
        Some(Span::Data(from, to))
    }
}

impl Cells for OneColumn<'_> {
    fn rows(&self) -> usize {
        self.tile.len()
    }

    fn bytes(&self) -> &[u8] {
        self.data
    }

    #[inline(always)] // once a value
    fn place(&self, row: usize) -> Place {
        match self.span(row) {
            None => Place::Nothing,
            Some(Span::Data(start, stop)) if self.extent.is_binary => match start < stop {
                true => Place::At(start, stop),
                false => Place::Nothing,
            },
            Some(Span::Data(start, stop)) => self
                .meaning
                .text(self.data, start, stop)
                .map_or(Place::Nothing, |(start, stop)| Place::At(start, stop)),
            Some(Span::Apart(..)) => Place::Apart,
        }
    }

    fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        let (bytes, start, stop) = match self.span(row)? {
            Span::Data(start, stop) => (self.data, start, stop),
            Span::Apart(start, stop) => (self.tile.apart.as_slice(), start, stop),
        };
        let (start, stop) = self.meaning.text(bytes, start, stop)?;
        Some(String::from_utf8_lossy(bytes.get(start..stop)?))
    }
}
