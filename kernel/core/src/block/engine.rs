//! A format as the loop sees it: what finds records in bytes, and what makes columns of them.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use super::cursor::UNCLOSED;
use super::error::{BlockError, Kind};
use super::framed::Framed;
use super::layout::FileLayout;
use super::lines::{Lines, Look};
use super::spec::{CsvSpec, Format, Head, ScanSpec, TextSpec};
use super::transcoded::Transcoded;
use super::{cobol, fixed, json, log, xml};
use crate::charsets::Charset;
use crate::csv::{self, Dialect, Grammar, Layout, Limits, Mark, Meaning, Object, Shape};
use crate::frames::{Counted, Frames};
use crate::lines::grammar::Grammar as LineGrammar;
use crate::lines::{Bounds, records, text};
use crate::parsed::{Parse, Parsed, Stopped};
use crate::rules::Rules;

const LOOK_BYTES: usize = 64 * 1024; // in which some records are looked for

/// What finds and decodes the records of one file.
pub(super) trait Engine: Send {
    /// What reads records in one pass, and notices what each has besides if that is wanted and the format shows it.
    fn parser(&self, _notices: bool) -> Option<&dyn Parse> {
        None
    }

    /// Read records of `data`, which begins with one; see [`Bounds`].
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let parser = self.parser(false).ok_or_else(no_parser)?;
        parser.parse(data, bounds).map_err(BlockError::invariant)
    }

    /// Read them, and add a column with what in each has no column, or does not fit it; `None` where nothing has.
    fn notice(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        match self.parser(true) {
            Some(parser) => parser.parse(data, bounds).map_err(BlockError::invariant),
            None => self.parse(data, bounds),
        }
    }

    /// Find those records, and decode nothing.
    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        Ok(found(|data, at_end| self.frame(data, at_end), data, bounds))
    }

    /// Read records of UTF-8 that were found before, and notice what each has besides if that is wanted; those without
    /// room in a column are left out.
    fn parse_framed(
        &self,
        data: &[u8],
        frames: Frames,
        notices: bool,
    ) -> Result<Parsed, BlockError> {
        let parser = self.parser(notices).ok_or_else(no_parser)?;
        let parsed = parser.parse_framed(data, frames);
        parsed.map_err(BlockError::invariant)
    }

    /// The records at the front of `data`.
    fn frame(&self, data: &[u8], at_end: bool) -> Frames;

    /// How many those are that no later byte can change.
    fn count(&self, data: &[u8]) -> Counted;

    /// Length of what lies between records at the front of `data`; `None` where more of it may follow.
    fn gap_bytes(&self, _data: &[u8], _at_end: bool) -> Option<usize> {
        Some(0)
    }

    /// What ends lines, where records begin with them.
    fn lines(&self) -> Option<&Lines> {
        None
    }

    /// Where reading goes on after a record that is given up.
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.lines()?.resume_after(data, at_end)
    }

    /// How many bytes of such a record say nothing of its end.
    fn droppable(&self, data: &[u8]) -> usize {
        self.lines().map_or(0, |lines| lines.droppable(data))
    }

    /// Goes past a record that is given up in a state, where later bytes of it depend on earlier ones.
    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        None
    }

    /// Why a record is given up that never ends.
    fn unfinished(&self) -> &'static str {
        UNCLOSED
    }

    /// Where records begin in `data` that do not end in it, or are longer than `longest` bytes: each is one once those
    /// before it are given up. `None` where records hold no others, and where that is not known.
    fn open_starts(&self, _data: &[u8], _longest: usize) -> Option<Vec<i64>> {
        None
    }

    /// Bytes of a code unit: no record starts inside of one.
    fn unit_bytes(&self) -> u64 {
        1
    }

    /// Whether only the start of the file, or an index, tells where records are.
    fn needs_context(&self) -> bool {
        false
    }

    /// Whether records lie in groups, each with its length in front. A range owns those that begin in it, with all
    /// of their records: [`Engine::find`] goes on to the end of one, and no further than the stop.
    fn has_groups(&self) -> bool {
        false
    }

    /// Whether records of the same group follow.
    fn is_in_group(&self) -> bool {
        false
    }

    /// Take notice of bytes that were passed.
    fn note_passed(&self, _passed: &[u8]) {}

    /// The last position in `data` that is a record boundary whatever comes before and after, if one shows.
    fn last_split_point(&self, _data: &[u8]) -> Option<usize> {
        None
    }

    /// Where the first record of a file starts, where no look at the file is needed for that.
    fn data_start(&self) -> Option<u64> {
        None
    }

    /// The first record start at or after a position, where the length of records tells it.
    fn computed_start(&self, _position: u64, _data_start: u64) -> Option<u64> {
        None
    }

    /// The first record start around a position; nothing near tells one where records do not begin with lines.
    fn first_start(&self, before: &[u8], after: &[u8], at_start: bool, at_end: bool) -> Look {
        let lines = self.lines();
        lines.map_or(Look::Before, |lines| {
            lines.first_start(before, after, at_start, at_end)
        })
    }

    /// Which field is which column, where the fields of a file have names.
    fn layout(&self) -> Option<&FileLayout> {
        None
    }

    /// The fields of a header: texts, without white space where that is dropped.
    fn names(&self, _record: &[u8]) -> Result<Vec<String>, BlockError> {
        Ok(Vec::new())
    }
}

/// Goes past what is given up, of any length.
pub(super) trait Skipping {
    /// Where reading goes on, in the bytes after those that were dropped.
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize>;

    /// How many bytes are dropped: what they say of its end is remembered.
    fn drop_bytes(&mut self, data: &[u8]) -> usize;

    /// Whether it is still open after `data`, where the file ends.
    fn never_ends(&self, _data: &[u8]) -> bool {
        false
    }
}

/// Of formats whose later bytes do not depend on earlier ones.
pub(super) struct Stateless<'e>(pub &'e dyn Engine);

impl Skipping for Stateless<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.0.resume_after(data, at_end)
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        self.0.droppable(data)
    }
}

struct Csv {
    lines: Lines,
    grammar: Grammar,
    trim_trailing: bool,
    layout: Option<FileLayout>,
    parser: csv::Parser,
    framing: csv::Parser, // decodes nothing
}

struct Text {
    lines: Lines,
    grammar: LineGrammar,
    parser: text::Parser,
    framing: text::Parser,
}

/// The engine of a scan. `tail` ends the texts of what does not fit: it names the file, whose head says `head`, and whose
/// encoding is `charset`.
pub(super) fn engine_of(
    spec: &ScanSpec,
    tail: &str,
    head: Option<&Head>,
    charset: &Charset,
) -> Result<Box<dyn Engine>, BlockError> {
    let fields = spec
        .fields
        .iter()
        .map(|each| super::kinds::field(&each.name, &each.kind, true));
    let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>, _>>()?));
    let rules = spec.fields.iter().map(|field| field.rules.rules());
    let rules = rules.collect::<Result<Vec<_>, _>>()?;
    let header = head.and_then(|head| head.header.as_deref());
    let layout = match &spec.format {
        Format::Csv(own) if own.variant.is_some() && own.columns.is_none() => header
            .filter(|_| own.header)
            .map(|header| FileLayout::of_members(own, header, spec.fields.len()))
            .transpose()?,
        Format::Csv(own) => {
            let columns = own.columns.as_ref();
            columns
                .map(|columns| FileLayout::new(own, columns, &spec.fields, header, tail))
                .transpose()?
        }
        _ => None,
    };
    let has_own_codes = matches!(charset, Charset::Codes(_));
    let is_raw = has_own_codes || (charset.unit().0 == 1 && has_ascii_marks(&spec.format));
    let with_marks = |marks: &Charset| -> Result<Box<dyn Engine>, String> {
        let (schema, rules) = (schema.clone(), rules.clone());
        match &spec.format {
            Format::Csv(own) => csv_engine(own, layout.clone(), &schema, &rules, marks)
                .map(|made| Box::new(made) as _),
            Format::Text(own) => {
                let charset = if is_raw { charset } else { &Charset::Utf8 };
                text_engine(own, &schema, charset).map(|made| Box::new(made) as _)
            }
            Format::Fixed(own) => fixed::pieces(own, &schema),
            Format::FixedWidth(own) => {
                fixed::columns(own, schema, rules, tail, charset.clone(), marks)
            }
            Format::Log(own) => log::engine(own, schema, rules, tail, marks),
            Format::Cobol(own) => cobol::engine(own, schema, rules, tail),
            Format::Json(own) => {
                let values = head.and_then(|head| head.values.as_ref());
                json::engine(own, schema, rules, tail, values, marks)
            }
            Format::Xml(own) => xml::engine(own, &schema, &rules, tail, marks),
        }
    };
    let made = |marks| with_marks(marks).map_err(unsupported);
    let inner = made(&Charset::Utf8)?;
    let has_charset = match &spec.format {
        _ if *charset == Charset::Utf8 => true,
        Format::Fixed(_) | Format::Cobol(_) => true,
        Format::Text(_) => is_raw,
        Format::FixedWidth(own) => own.record_length.is_some(),
        _ => false,
    };
    if has_charset {
        return Ok(inner);
    }
    if has_own_codes || matches!(spec.format, Format::Log(_)) {
        return Ok(Box::new(Framed {
            charset: charset.clone(),
            raw: made(charset)?,
            inner,
        }));
    }
    Ok(Box::new(Transcoded {
        is_raw,
        keeps_part: !matches!(spec.format, Format::Csv(_) | Format::Xml(_)),
        charset: charset.clone(),
        inner,
    }))
}

/// Whether all that tells where records are is ASCII.
fn has_ascii_marks(format: &Format) -> bool {
    match format {
        Format::Csv(own) => {
            let marks = [own.quote, own.escape, own.escape_escape, own.comment];
            marks.iter().flatten().all(char::is_ascii)
                && own.sep.is_ascii()
                && own.line_sep.as_ref().is_none_or(|mark| mark.is_ascii())
        }
        Format::Text(own) => {
            let marks = [own.line_sep.as_ref(), own.escape.as_ref()];
            marks.into_iter().flatten().all(|mark| mark.is_ascii())
        }
        Format::FixedWidth(own) => own.line_sep.as_ref().is_none_or(|mark| mark.is_ascii()),
        Format::Json(own) => own.line_sep.as_ref().is_none_or(|mark| mark.is_ascii()),
        Format::Xml(own) => own.row_tag.is_ascii(),
        Format::Log(_) => false, // patterns tell characters apart
        Format::Fixed(_) | Format::Cobol(_) => true,
    }
}

/// Records without columns, by what finds complete ones: a part of `data` that has some, cut to `bounds`.
pub(super) fn found(frame: impl Fn(&[u8], bool) -> Frames, data: &[u8], bounds: Bounds) -> Parsed {
    let mut shown = LOOK_BYTES.min(data.len());
    let mut frames = loop {
        let is_all = shown == data.len();
        let part = data.get(..shown).unwrap_or_default();
        let frames = frame(part, bounds.at_end && is_all);
        if is_all || !frames.starts.is_empty() {
            break frames;
        }
        shown = shown.saturating_mul(4).min(data.len()); // so that no byte is looked at often
    };
    let is_long = |(start, stop): (&i64, &i64)| (stop - start) as usize > bounds.record_bytes;
    let long = frames.starts.iter().zip(&frames.stops).position(is_long);
    let owned = frames
        .starts
        .partition_point(|&start| (start as usize) < bounds.stop);
    let count = owned.min(long.unwrap_or(owned));
    let stopped = match long {
        Some(long) if long == count => Stopped::Long,
        _ => Stopped::Owned,
    };
    if let Some(&next) = frames.starts.get(count) {
        frames.next_start = next as usize;
    }
    frames.starts.truncate(count);
    frames.stops.truncate(count);
    frames.malformed.retain(|&record| (record as usize) < count);
    Parsed {
        rows: count,
        frames,
        stopped,
        ..Parsed::default()
    }
}

impl Engine for Csv {
    fn parse_framed(&self, data: &[u8], frames: Frames, _: bool) -> Result<Parsed, BlockError> {
        let parsed = self
            .parser
            .parse_framed(data, &frames.starts, &frames.stops);
        parsed.map_err(BlockError::invariant)
    }

    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let parsed = self.parser.parse(data, limits(bounds));
        parsed.map_err(BlockError::invariant)
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let parsed = self.framing.parse(data, limits(bounds));
        parsed.map_err(BlockError::invariant)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        csv::frame(data, &self.grammar, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        csv::count(data, &self.grammar, false)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let mut position = 0;
        loop {
            let from = position;
            let rest = data.get(from..).unwrap_or_default();
            position += self.lines.blank(rest);
            let line = data.get(position..).unwrap_or_default();
            let indent = self.grammar.indent(line);
            let rest = line.get(indent..).unwrap_or_default();
            if rest.is_empty() {
                return at_end.then_some(data.len());
            }
            if indent > 0 && self.lines.blank(rest) > 0 {
                position += indent;
                continue;
            }
            if !self.grammar.is_comment(rest, 0) {
                let is_cut = self.lines.may_begin(rest) || self.grammar.may_begin_comment(rest);
                return (at_end || !is_cut).then_some(position);
            }
            position += indent + self.lines.resume_after(rest, at_end)?;
        }
    }

    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        Some(csv::open_starts(data, &self.grammar, longest))
    }

    fn needs_context(&self) -> bool {
        self.grammar.dialect().multi_line && self.grammar.dialect().quote.is_some()
    }

    fn last_split_point(&self, data: &[u8]) -> Option<usize> {
        csv::last_split_point(data, &self.grammar)
    }

    fn lines(&self) -> Option<&Lines> {
        Some(&self.lines)
    }

    fn layout(&self) -> Option<&FileLayout> {
        self.layout.as_ref()
    }

    fn names(&self, record: &[u8]) -> Result<Vec<String>, BlockError> {
        let names = super::head::split(record, &self.grammar, self.trim_trailing);
        names.map_err(BlockError::invariant)
    }
}

impl Engine for Text {
    fn parse_framed(&self, data: &[u8], frames: Frames, _: bool) -> Result<Parsed, BlockError> {
        Ok(self.parser.parse_framed(data, frames))
    }

    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        Ok(self.parser.parse(data, bounds))
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        Ok(self.framing.parse(data, bounds))
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        records::frame(data, &self.grammar, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        records::count(data, &self.grammar, false)
    }

    fn lines(&self) -> Option<&Lines> {
        Some(&self.lines)
    }
}

fn no_parser() -> BlockError {
    BlockError::invariant("records of this format are found and read at once")
}

fn limits(bounds: Bounds) -> Limits {
    Limits {
        stop: bounds.stop,
        at_end: bounds.at_end,
        max_rows: bounds.rows,
        max_record_bytes: bounds.record_bytes,
    }
}

fn csv_engine(
    own: &CsvSpec,
    layout: Option<FileLayout>,
    schema: &SchemaRef,
    rules: &[Rules],
    marks: &Charset,
) -> Result<Csv, String> {
    let line_sep = own.line_sep.as_deref().map(|mark| marks.write(mark));
    let line_sep = line_sep.transpose()?;
    let mark = |character: Option<char>| -> Result<Option<Mark>, String> {
        let written = character.map(|character| marks.write(character.encode_utf8(&mut [0; 4])));
        written.map(|written| Mark::new(&written?)).transpose()
    };
    let grammar = Grammar::new(Dialect {
        sep: marks.write(&own.sep)?,
        quote: mark(own.quote)?,
        escape: mark(own.escape)?,
        escape_escape: mark(own.escape_escape)?,
        doubled: own.doubled,
        skips_values: own.skips_values,
        comment: mark(own.comment)?,
        line_sep: line_sep.clone(),
        multi_line: own.multi_line,
        trim_leading: own.trim_leading,
    })?;
    let meaning = Meaning {
        null_value: own.null_value.clone(),
        empty_value: own.empty_value.clone(),
        trim_leading: own.trim_leading,
        trim_trailing: own.trim_trailing,
    };
    let (mut schema, mut rules) = (schema.clone(), rules.to_vec());
    let shape = match (&layout, &own.items, own.variant) {
        (layout, _, Some(typing)) if own.columns.is_none() => Shape::Object(Object {
            names: layout.as_ref().map(|layout| layout.named.names.clone()),
            most: own.max_columns,
            typing,
        }),
        (Some(layout), _, _) => {
            (schema, rules) = decoded(layout, &schema, &rules)?;
            Shape::Columns(layout.named.clone())
        }
        (None, Some(items), _) => Shape::Items {
            most: own.max_columns,
            elements: items.elements.clone(),
        },
        (None, None, _) => Shape::Nothing,
    };
    let parser = |shape, meaning, max_field_chars, schema, rules| {
        let layout = Layout {
            shape,
            meaning,
            max_field_chars,
        };
        csv::Parser::new(grammar.clone(), schema, layout, rules)
    };
    let nothing = Arc::new(Schema::empty());
    Ok(Csv {
        lines: Lines::new(line_sep, None)?,
        trim_trailing: own.trim_trailing,
        parser: parser(shape, meaning, own.max_field_chars, schema, rules)?,
        framing: parser(Shape::Nothing, Meaning::default(), None, nothing, vec![])?,
        grammar,
        layout,
    })
}

/// The columns that a file has, by its own names for them.
fn decoded(
    layout: &FileLayout,
    schema: &SchemaRef,
    rules: &[Rules],
) -> Result<(SchemaRef, Vec<Rules>), String> {
    let column = |(number, &place): (usize, &usize)| {
        let field = layout
            .sources
            .iter()
            .position(|&source| source == Some(number))?;
        let name = layout.named.names.get(place)?;
        let kind = schema.fields().get(field)?.data_type().clone();
        Some((Field::new(name, kind, true), rules.get(field)?.clone()))
    };
    let columns = layout.named.wanted.iter().enumerate().map(column);
    let columns: Option<(Vec<Field>, Vec<Rules>)> = columns.collect();
    let (fields, rules) = columns.ok_or("every column that is decoded is one of the scan")?;
    Ok((Arc::new(Schema::new(fields)), rules))
}

fn text_engine(own: &TextSpec, schema: &SchemaRef, charset: &Charset) -> Result<Text, String> {
    let delimiter = own.line_sep.as_deref().map(|mark| charset.write(mark));
    let (delimiter, escape) = (delimiter.transpose()?, own.escape.as_ref());
    let escape = escape.map(String::as_bytes);
    let grammar = LineGrammar::new(delimiter.as_deref(), escape, 1, false)?;
    let field = match schema.fields().as_ref() {
        [] => None,
        [field] => Some(field.as_ref()),
        _ => return Err("records that are one value in several columns".into()),
    };
    let parser = |field| text::Parser::new(grammar.clone(), charset.clone(), field);
    Ok(Text {
        lines: Lines::new(delimiter, escape.and_then(<[u8]>::first).copied())?,
        parser: parser(field)?,
        framing: parser(None)?,
        grammar,
    })
}

pub(super) fn unsupported(reason: String) -> BlockError {
    BlockError::new(
        Kind::Usage,
        "unsupported-scan",
        "the kernel reads this kind of scan",
    )
    .seen(reason)
    .fix("read it by the Python engine, which planning chooses for it")
}
