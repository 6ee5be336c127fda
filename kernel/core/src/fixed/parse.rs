//! Records to rows.

use std::num::NonZero;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};

use super::tile::{Extent, Meaning, OneColumn, Places, Tile};
use crate::charsets::Charset;
use crate::columns::Cells;
use crate::fault::{Code, Fault, shown};
use crate::filling::{Filling, Outcome, Rescue};
use crate::frames::Frames;
use crate::kinds::kind_name;
use crate::lines::grammar::Grammar;
use crate::lines::{Bounds, Records, Taking, equal_pieces};
use crate::log::RecordPattern;
use crate::parsed::{Parse, Parsed, Stopped};
use crate::quoting::Members;
use crate::rules::Rules;

const TILE_ROWS: usize = 1024;
const TILE_BYTES: usize = 1 << 17; // stays in the second cache with its columns

/// How records are found, and what their places are.
#[derive(Clone, Debug)]
pub enum Framing {
    /// Lines in UTF-8; places are characters.
    Lines(Grammar),
    /// So many bytes, which are places, and texts of an encoding.
    Length(NonZero<usize>, Charset),
    /// Records of a log that were found before, in UTF-8; places are those of the groups of a pattern.
    Log(RecordPattern),
}

/// Where columns are, and how their texts are written.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// The first place of each column, from 0 on, and the one after its last; of a log, nothing.
    pub places: Vec<(usize, usize)>,
    /// A record with fewer places than this is broken: there, the last column of all begins.
    pub least: usize,
    /// Text of a null, beside blank ones.
    pub null_value: String,
    /// Whether white space before values is dropped.
    pub trim_leading: bool,
    /// Whether white space after values is dropped.
    pub trim_trailing: bool,
}

/// Reads records of one layout.
#[derive(Clone, Debug)]
pub struct Parser {
    framing: Framing,
    schema: SchemaRef,
    rules: Vec<Rules>,
    extents: Vec<Extent>,
    least: usize,
    meaning: Meaning,
    rescue: Option<Rescue>,
    said: Vec<(Arc<str>, Arc<str>)>, // of each column: its name, and that of its type
    names: Vec<String>,
}

/// A value that is not in its column: row and column.
type Refused = (usize, usize);

impl Parser {
    /// A parser for the columns of `schema`, each with its rules. An error says what is not supported.
    pub fn new(
        framing: Framing,
        schema: SchemaRef,
        layout: Layout,
        rules: Vec<Rules>,
        rescue: Option<Rescue>,
    ) -> Result<Parser, String> {
        let fields = schema.fields();
        let mut layout = layout;
        if matches!(framing, Framing::Log(..)) {
            layout.places = vec![(0, 0); fields.len()];
        }
        if layout.places.len() != fields.len() || rules.len() != fields.len() {
            return Err("each column has a place and rules".into());
        }
        if matches!(&framing, Framing::Lines(lines) if lines.width() > 1) {
            return Err("values are read from UTF-8: transcode the records first".into());
        }
        Filling::new(&schema, &rules, rescue.as_ref())?;
        let has_bytes = matches!(framing, Framing::Length(..));
        let extents = layout
            .places
            .iter()
            .zip(fields)
            .map(|(&(first, last), field)| Extent {
                first,
                last,
                is_binary: has_bytes && *field.data_type() == DataType::Binary,
            });
        let said = fields.iter().map(|field| {
            let kind = kind_name(field.data_type());
            (field.name().as_str().into(), kind.into())
        });
        Ok(Parser {
            extents: extents.collect(),
            said: said.collect(),
            names: fields.iter().map(|field| field.name().clone()).collect(),
            least: match &framing {
                Framing::Lines(_) => layout.least,
                Framing::Length(length, _) => length.get(),
                Framing::Log(..) => 1, // the whole of it
            },
            framing,
            rules,
            meaning: Meaning {
                null_value: layout.null_value,
                trim_leading: layout.trim_leading,
                trim_trailing: layout.trim_trailing,
            },
            rescue,
            schema,
        })
    }
}

impl Parse for Parser {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, String> {
        let mut taking = Taking::new(bounds);
        match &self.framing {
            Framing::Lines(grammar) => {
                let records = Records::new(grammar, data, data.len(), bounds.at_end);
                records.each(0, |start, stop, next| taking.take(start, stop, next));
            }
            Framing::Length(length, _) => equal_pieces(data, *length, bounds.at_end, &mut taking),
            Framing::Log(_) => return Err("records of a log are found before they are read".into()),
        }
        let found = taking.finish(data.len());
        self.fill(data, found.frames, found.stopped)
    }

    fn parse_framed(&self, data: &[u8], frames: Frames) -> Result<Parsed, String> {
        let range = |(&start, &stop): (&i64, &i64)| {
            let range = usize::try_from(start).ok()?..usize::try_from(stop).ok()?;
            data.get(range)
        };
        let mut spans = frames.starts.iter().zip(&frames.stops);
        match spans.all(|span| range(span).is_some()) {
            true => self.fill(data, frames, Stopped::End),
            false => Err("a record is not in the data".into()),
        }
    }
}

impl Parser {
    fn fill(
        &self,
        data: &[u8],
        mut frames: Frames,
        mut stopped: Stopped,
    ) -> Result<Parsed, String> {
        let mut filling = Filling::new(&self.schema, &self.rules, self.rescue.as_ref())?;
        let (mut tile, mut refused) = (Tile::default(), Vec::new());
        let rows = frames.starts.len();
        let end = frames.stops.last().map_or(0, |&stop| stop as usize);
        let mut from = 0;
        while from < rows {
            let (to, bytes) = self.tile(&frames, from, &filling);
            if to == from {
                frames.next_start = frames.starts.get(from).map_or(0, |&start| start as usize);
                stopped = Stopped::Bytes;
                break;
            }
            let mut spans = (from..to).filter_map(|row| span(&frames, row));
            let is_begun = from > 0 || frames.malformed.first() != Some(&0);
            tile.hold(data, spans.clone(), &self.places(is_begun));
            let next = spans.next_back().map_or(end, |(_, stop)| stop);
            self.push(data, bytes, &tile, &mut filling, &mut refused);
            filling.expect(end.saturating_sub(next), rows - to);
            from = to;
        }
        frames.starts.truncate(from);
        frames.stops.truncate(from);
        if let Framing::Length(length, _) = &self.framing {
            let last = from.checked_sub(1).and_then(|row| span(&frames, row));
            let is_cut = last.is_some_and(|(start, stop)| stop - start < length.get());
            frames.malformed = is_cut.then(|| (from - 1) as u32).into_iter().collect();
        }
        Ok(Parsed {
            frames,
            stopped,
            ..filling.finish()
        })
    }

    /// How columns are found in records; something begins the first of them, or nothing does.
    fn places(&self, is_begun: bool) -> Places<'_> {
        match &self.framing {
            Framing::Lines(_) => Places::Characters(&self.extents),
            Framing::Length(_, charset) => Places::Bytes(&self.extents, charset),
            Framing::Log(pattern) => Places::Groups(pattern, is_begun),
        }
    }

    /// Where the records from one on end that are filled in together, and how many bytes they have.
    fn tile(&self, frames: &Frames, from: usize, filling: &Filling<'_>) -> (usize, usize) {
        let most_rows = if from == 0 {
            Filling::SAMPLE
        } else {
            TILE_ROWS
        };
        let (mut to, mut bytes) = (from, 0usize);
        while let Some((start, stop)) = span(frames, to)
            && to - from < most_rows
            && bytes <= TILE_BYTES
        {
            let more = bytes + (stop - start);
            if !filling.has_room(self.most_bytes(more, to + 1 - from)) {
                break;
            }
            (to, bytes) = (to + 1, more);
        }
        (to, bytes)
    }

    /// Most bytes of one column that come of so many: columns may overlap, and each may be rescued under its name.
    fn most_bytes(&self, bytes: usize, rows: usize) -> usize {
        match &self.rescue {
            Some(rescue) if rescue.wanted => {
                let names: usize = self.names.iter().map(|name| name.len() + 8).sum();
                let once = bytes.saturating_mul(self.names.len().max(1));
                once.saturating_add(rows.saturating_mul(names + rescue.tail.len()))
            }
            _ => bytes,
        }
    }

    /// Add the records of a tile, which have so many bytes.
    fn push(
        &self,
        data: &[u8],
        bytes: usize,
        tile: &Tile,
        filling: &mut Filling<'_>,
        refused: &mut Vec<Refused>,
    ) {
        refused.clear();
        let column_of = |number: usize, extent: Extent| OneColumn {
            data,
            tile,
            extent,
            number,
            meaning: &self.meaning,
        };
        for (number, (column, &extent)) in filling.columns.iter_mut().zip(&self.extents).enumerate()
        {
            let cells = column_of(number, extent);
            column.push_texts(&cells, |row| refused.push((row, number)));
        }
        let replaced = if tile.is_text() { 1 } else { 3 };
        if refused.is_empty() && !tile.has_shorter(self.least) {
            filling.end_rows(tile.len(), bytes * replaced);
            return;
        }
        refused.sort_unstable();
        let mut left = refused.iter().peekable();
        for row in 0..tile.len() {
            let (length, _) = tile.size(row);
            let (mut fault, mut members) = (self.short(tile, row), Members::default());
            while let Some(&(_, number)) = left.next_if(|&&(at, _)| at == row) {
                let extent = self.extents.get(number).copied();
                let cells = extent.map(|extent| column_of(number, extent));
                let text = cells.as_ref().and_then(|cells| cells.text(row));
                if let Some(text) = text {
                    members.keep(number, &text);
                    fault = fault.or_else(|| Some(self.bad(number, &text)));
                }
            }
            let kept = filling
                .tail()
                .and_then(|tail| members.take(&self.names, tail));
            filling.end_row(length * replaced, Outcome::of(fault), kept.as_deref());
        }
    }

    fn bad(&self, number: usize, text: &str) -> Fault {
        let (column, kind) = self.said.get(number).cloned().unwrap_or_default();
        Fault {
            record: 0,
            code: Code::BadValue,
            column,
            seen: shown(text),
            kind,
        }
    }

    /// What is wrong with a record that has too few places.
    fn short(&self, tile: &Tile, row: usize) -> Option<Fault> {
        let (_, places) = tile.size(row);
        if places >= self.least {
            return None;
        }
        let (code, seen) = match &self.framing {
            Framing::Length(..) => (Code::ShortRecord, String::new()),
            Framing::Lines(_) => (Code::MissingPlaces, places.to_string()),
            Framing::Log(_) if tile.is_begun(row) => (Code::NoMatch, String::new()),
            Framing::Log(_) => (Code::NotBegun, String::new()),
        };
        Some(Fault {
            record: 0,
            code,
            column: Arc::default(),
            seen,
            kind: Arc::default(),
        })
    }
}

#[inline]
fn span(frames: &Frames, row: usize) -> Option<(usize, usize)> {
    let (&start, &stop) = (frames.starts.get(row)?, frames.stops.get(row)?);
    Some((start as usize, stop as usize))
}
