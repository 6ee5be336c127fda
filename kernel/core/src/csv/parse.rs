//! Records to rows, in one pass: find a record, split it, convert its fields, append.

use arrow_schema::SchemaRef;

use super::grammar::Grammar;
use super::layout::{Layout, Shape};
use super::leap::Leaper;
use super::machine::{LINES, Machine, with_machine};
use super::reading::Reading;
use super::rows::Rows;
use super::steps::{Entry, Kind, Place, Step, Tail};
use super::tape::{FULL_BYTES, Tape};
use crate::frames::Frames;
use crate::limits::MAX_COLUMN_BYTES;
use crate::parsed::{Parsed, Stopped};
use crate::rules::Rules;

/// Reads the records of files that have one grammar and one layout.
#[derive(Clone, Debug)]
pub struct Parser {
    grammar: Grammar,
    schema: SchemaRef,
    layout: Layout,
    rules: Vec<Rules>, // of each column
    max_column_bytes: usize,
    leaper: Option<Leaper>,
    tape_bytes: usize,
}

/// Which records of some data to read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Records that start before this position are read, to their ends.
    pub stop: usize,
    /// Whether the file ends with the data.
    pub at_end: bool,
    /// Most records.
    pub max_rows: usize,
    /// Most bytes of the content of a record.
    pub max_record_bytes: usize,
}

impl Parser {
    /// A parser for the columns of `schema`, each with its rules. An error says what is not supported.
    pub fn new(
        grammar: Grammar,
        schema: SchemaRef,
        mut layout: Layout,
        rules: Vec<Rules>,
    ) -> Result<Parser, String> {
        let columns = schema.fields().len();
        let fits = match &mut layout.shape {
            Shape::Columns(named) => {
                named.wanted.len() == columns
                    && named.wanted.iter().all(|&index| index < named.names.len())
            }
            Shape::Items { elements, .. } => {
                elements
                    .iter_mut()
                    .for_each(|elements| elements.sort_unstable());
                columns <= 1
            }
            Shape::Object(_) => columns <= 1,
            Shape::Nothing => columns == 0,
        };
        if !fits || rules.len() != columns {
            return Err("each column has a field and rules".into());
        }
        let parser = Parser {
            leaper: Leaper::new(&grammar),
            tape_bytes: FULL_BYTES,
            grammar,
            schema,
            layout,
            rules,
            max_column_bytes: MAX_COLUMN_BYTES,
        };
        parser.rows()?;
        Ok(parser)
    }

    /// The types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rows(&self) -> Result<Rows<'_>, String> {
        Rows::new(
            &self.layout,
            &self.schema,
            &self.rules.iter().collect::<Vec<_>>(),
            self.max_column_bytes,
        )
    }

    /// Read records of `data`, which begins with one: those that no later byte can change.
    pub fn parse(&self, data: &[u8], limits: Limits) -> Result<Parsed, String> {
        with_machine!(
            self.grammar,
            OUTSIDE,
            INSIDE,
            self.parse_with::<OUTSIDE, INSIDE>(data, limits)
        )
    }

    fn parse_with<const OUTSIDE: usize, const INSIDE: usize>(
        &self,
        data: &[u8],
        limits: Limits,
    ) -> Result<Parsed, String> {
        let mut machine =
            Machine::<OUTSIDE, INSIDE>::new(data, &self.grammar, Tail::of(limits.at_end));
        let mut tape = Tape::new(self.tape_bytes);
        let mut reading = self.reading(data, limits)?;
        let mut start = 0;
        loop {
            reading.stopped = None;
            if let Some(leaper) = self.leaper {
                start = leaper.read(data, start, &mut tape, &mut reading);
            }
            if reading.stopped.is_none() && tape.reaches(start) {
                start = self.walk(&mut machine, start, &mut tape, &mut reading);
            }
            let is_out_of_room = reading.stopped == Some(Stopped::Bytes) && !tape.is_empty();
            if !tape.reaches(start) || is_out_of_room {
                reading.fill(&mut tape, start); // what was refused is looked at again
            } else if reading.stopped.is_some() {
                return Ok(reading.finish(&mut tape, start));
            }
        }
    }

    fn reading<'a>(&'a self, data: &'a [u8], limits: Limits) -> Result<Reading<'a>, String> {
        Ok(Reading {
            data,
            limits,
            dialect: self.grammar.dialect(),
            rows: self.rows()?,
            frames: Frames::default(),
            stopped: None,
        })
    }

    /// Have the machine read the line at `start`; returns where the next one starts.
    fn walk<const OUTSIDE: usize, const INSIDE: usize>(
        &self,
        machine: &mut Machine<'_, OUTSIDE, INSIDE>,
        start: usize,
        tape: &mut Tape,
        reading: &mut Reading<'_>,
    ) -> usize {
        if start >= reading.data.len() && reading.limits.at_end {
            reading.stopped = Some(Stopped::End);
        }
        if reading.stopped.is_some() || !reading.owns(start) {
            return start;
        }
        let (kind, stop, next) = match machine.line(start, Entry::Line, tape) {
            Step::Line { kind, stop, next } => (kind, stop, next),
            Step::Open(place) => {
                let left = reading.data.len() - start;
                reading.stopped = Some(self.unfinished(place, left, reading.limits));
                (Kind::Blank, start, start)
            }
        };
        let is_record = matches!(kind, Kind::Record | Kind::Malformed);
        if !is_record || !reading.admits(start, stop) {
            tape.rewind();
            return if is_record { start } else { next };
        }
        reading.walked(tape, start, stop, kind == Kind::Malformed);
        next
    }

    /// Why a record is not read that is not complete: it may be too long already.
    fn unfinished(&self, place: Place, bytes: usize, limits: Limits) -> Stopped {
        let terminator = self.grammar.dialect().line_sep.as_ref().map_or(1, Vec::len); // perhaps all but one are there
        let content = bytes.saturating_sub(terminator);
        let is_record = !matches!(place, Place::Comment | Place::Gap);
        let is_long = is_record && content > limits.max_record_bytes && !limits.at_end;
        if is_long {
            Stopped::Long
        } else {
            Stopped::Input
        }
    }

    /// Read records whose contents are known: `data[starts[i]..stops[i]]`.
    pub fn parse_framed(
        &self,
        data: &[u8],
        starts: &[i64],
        stops: &[i64],
    ) -> Result<Parsed, String> {
        with_machine!(
            self.grammar,
            OUTSIDE,
            INSIDE,
            self.parse_framed_with::<OUTSIDE, INSIDE>(data, starts, stops)
        )
    }

    fn parse_framed_with<const OUTSIDE: usize, const INSIDE: usize>(
        &self,
        data: &[u8],
        starts: &[i64],
        stops: &[i64],
    ) -> Result<Parsed, String> {
        let mut machine = Machine::<OUTSIDE, INSIDE>::new(data, &self.grammar, Tail::File);
        let mut tape = Tape::new(self.tape_bytes);
        let all = Limits {
            stop: usize::MAX,
            at_end: true,
            max_rows: usize::MAX,
            max_record_bytes: usize::MAX,
        };
        let mut reading = self.reading(data, all)?;
        let mut reads_on = true;
        for (&start, &stop) in starts.iter().zip(stops) {
            let range = usize::try_from(start).ok().zip(usize::try_from(stop).ok());
            let Some((from, to)) = range.filter(|&(from, to)| data.get(from..to).is_some()) else {
                return Err("a record is not in the data".into());
            };
            if !tape.reaches(from) {
                reading.fill(&mut tape, from);
            }
            if !reading.admits(from, to) && !reading.admits_after(&mut tape, from, to) {
                break;
            }
            let step = (reads_on && from < to).then(|| machine.line(from, Entry::Field, &mut tape));
            let kind = match step {
                Some(Step::Line { kind, stop, .. }) if stop == to => kind,
                _ => {
                    reads_on = from == to && reads_on; // or each record could be read to the end of the data
                    tape.rewind();
                    self.split::<OUTSIDE, INSIDE>(data, from, to, &mut tape)
                }
            };
            let is_malformed = INSIDE >= LINES && kind == Kind::Malformed;
            reading.walked(&mut tape, from, to, is_malformed);
        }
        let next = reading.frames.stops.last().map_or(0, |&stop| stop as usize);
        reading.stopped.get_or_insert(Stopped::End);
        Ok(reading.finish(&mut tape, next))
    }

    /// The fields of a record that ends where reading on would not end it; returns what it is.
    fn split<const OUTSIDE: usize, const INSIDE: usize>(
        &self,
        data: &[u8],
        from: usize,
        to: usize,
        tape: &mut Tape,
    ) -> Kind {
        let content = data.get(..to).unwrap_or_default();
        let mut machine = Machine::<OUTSIDE, INSIDE>::new(content, &self.grammar, Tail::Record);
        match machine.line(from, Entry::Field, tape) {
            Step::Line { kind, .. } => kind,
            Step::Open(_) => Kind::Record,
        }
    }
}

#[cfg(test)]
mod tests;
