//! Records to rows, in one pass: find a record, split it, convert its fields, append.

use arrow_schema::SchemaRef;

use super::grammar::{Dialect, Grammar};
use super::layout::{Layout, Shape};
use super::leap::Leaper;
use super::machine::{LINES, Machine, SPANNING};
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
        match self.grammar.spans_lines() {
            true => self.parse_with::<SPANNING>(data, limits),
            false => self.parse_with::<LINES>(data, limits),
        }
    }

    fn parse_with<const INSIDE: usize>(
        &self,
        data: &[u8],
        limits: Limits,
    ) -> Result<Parsed, String> {
        let mut machine = Machine::<INSIDE>::new(data, &self.grammar, Tail::of(limits.at_end));
        let mut tape = Tape::new(self.tape_bytes);
        let mut reading = self.reading(data, limits)?;
        let mut start = 0;
        loop {
            reading.stopped = None;
            if let Some(leaper) = self.leaper {
                start = leaper.read(data, start, &mut tape, |from, to| {
                    reading.owns(from) && (from == to || reading.admits(from, to))
                });
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
    fn walk<const INSIDE: usize>(
        &self,
        machine: &mut Machine<'_, INSIDE>,
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
        let is_long =
            place != Place::Comment && content > limits.max_record_bytes && !limits.at_end;
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
        match self.grammar.spans_lines() {
            true => self.parse_framed_with::<SPANNING>(data, starts, stops),
            false => self.parse_framed_with::<LINES>(data, starts, stops),
        }
    }

    fn parse_framed_with<const INSIDE: usize>(
        &self,
        data: &[u8],
        starts: &[i64],
        stops: &[i64],
    ) -> Result<Parsed, String> {
        let mut machine = Machine::<INSIDE>::new(data, &self.grammar, Tail::File);
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
                    self.split::<INSIDE>(data, from, to, &mut tape)
                }
            };
            let is_malformed = INSIDE == LINES && kind == Kind::Malformed;
            reading.walked(&mut tape, from, to, is_malformed);
        }
        let next = reading.frames.stops.last().map_or(0, |&stop| stop as usize);
        reading.stopped.get_or_insert(Stopped::End);
        Ok(reading.finish(&mut tape, next))
    }

    /// The fields of a record that ends where reading on would not end it; returns what it is.
    fn split<const INSIDE: usize>(
        &self,
        data: &[u8],
        from: usize,
        to: usize,
        tape: &mut Tape,
    ) -> Kind {
        let content = data.get(..to).unwrap_or_default();
        let mut machine = Machine::<INSIDE>::new(content, &self.grammar, Tail::Record);
        match machine.line(from, Entry::Field, tape) {
            Step::Line { kind, .. } => kind,
            Step::Open(_) => Kind::Record,
        }
    }
}

/// Records while they are read: which ones are, and what became of them.
struct Reading<'a> {
    data: &'a [u8],
    limits: Limits,
    dialect: &'a Dialect,
    rows: Rows<'a>,
    frames: Frames,
    stopped: Option<Stopped>,
}

impl Reading<'_> {
    /// Whether what begins at a line start may be read; if not, `stopped` says why.
    #[inline(always)] // once a line
    fn owns(&mut self, start: usize) -> bool {
        if start >= self.limits.stop {
            self.stopped = Some(Stopped::Owned);
        } else if self.frames.starts.len() >= self.limits.max_rows {
            self.stopped = Some(Stopped::Rows);
        }
        self.stopped.is_none()
    }

    /// Whether a record is read, which is one of the frames then; if not, `stopped` says why.
    #[inline(always)] // once a record
    fn admits(&mut self, start: usize, stop: usize) -> bool {
        let bytes = stop.wrapping_sub(start); // not before it
        if bytes > self.limits.max_record_bytes {
            self.stopped = Some(Stopped::Long);
        } else if !self.rows.has_room(bytes) {
            self.stopped = Some(Stopped::Bytes);
        } else {
            self.frames.starts.push(start as i64);
            self.frames.stops.push(stop as i64);
        }
        self.stopped.is_none()
    }

    /// The same after the columns are filled, which may show that there is room.
    #[cold]
    fn admits_after(&mut self, tape: &mut Tape, start: usize, stop: usize) -> bool {
        self.fill(tape, start);
        self.stopped = None;
        self.admits(start, stop)
    }

    /// End a record whose fields the machine has told of.
    fn walked(&mut self, tape: &mut Tape, start: usize, stop: usize, is_malformed: bool) {
        if is_malformed {
            let number = self.frames.starts.len() - 1; // it is the last one
            self.frames.malformed.push(number as u32); // a record has a byte: fewer than 2^32 of them
        }
        tape.push_walked(start, stop, is_malformed);
    }

    /// Add the records of the tape to the columns; the next one starts at `next`.
    fn fill(&mut self, tape: &mut Tape, next: usize) {
        let is_first = self.rows.is_empty();
        self.rows
            .push(tape.fields(self.data, self.dialect.quote), self.dialect);
        if is_first {
            self.reserve(next);
        }
        tape.restart(next);
    }

    /// Make room for all records, which may be like those before `next`.
    #[cold]
    fn reserve(&mut self, next: usize) {
        let left = self.limits.stop.min(self.data.len()).saturating_sub(next);
        let rows = self.frames.starts.len().saturating_mul(left) / next.max(1);
        self.rows.reserve(left, next);
        let rows = rows.saturating_add(rows / 16).min(left);
        self.frames.starts.reserve(rows);
        self.frames.stops.reserve(rows);
    }

    fn finish(mut self, tape: &mut Tape, next: usize) -> Parsed {
        self.fill(tape, next);
        self.frames.next_start = next;
        Parsed {
            frames: self.frames,
            stopped: self.stopped.unwrap_or_default(),
            ..self.rows.finish()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, StringArray};
    use arrow_schema::{DataType, Field, Schema};
    use proptest::prelude::*;

    use super::super::grammar::Dialect;
    use super::super::layout::{Meaning, Named, Rescue};
    use super::*;

    fn rfc() -> Dialect {
        Dialect {
            sep: b",".to_vec(),
            quote: Some(b'"'),
            escape: None,
            doubled: true,
            comment: None,
            line_sep: None,
            multi_line: true,
            trim_leading: false,
        }
    }

    fn parser(rescue: Option<Rescue>, max_column_bytes: usize) -> Parser {
        parser_of(rfc(), rescue, max_column_bytes)
    }

    fn parser_of(dialect: Dialect, rescue: Option<Rescue>, max_column_bytes: usize) -> Parser {
        let named = Named {
            names: vec!["a".into(), "b".into()],
            wanted: vec![0, 1],
            least: 1,
            blanks: Vec::new(),
            rescue,
        };
        let layout = Layout {
            shape: Shape::Columns(named),
            meaning: Meaning::default(),
            max_field_chars: None,
        };
        let fields = [("a", DataType::Utf8), ("b", DataType::Int32)];
        let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let grammar = Grammar::new(dialect).expect("a dialect");
        let mut parser = Parser::new(grammar, schema, layout, vec![Rules::default(); 2])
            .expect("supported types");
        parser.max_column_bytes = max_column_bytes;
        parser
    }

    fn all(data: &[u8]) -> Limits {
        Limits {
            stop: data.len(),
            at_end: true,
            max_rows: usize::MAX,
            max_record_bytes: usize::MAX,
        }
    }

    fn text_bytes(column: &ArrayRef) -> usize {
        column
            .as_any()
            .downcast_ref::<StringArray>()
            .map_or(0, |texts| texts.value_data().len())
    }

    /// Lines as a careful writer writes them, and others, with values that are no numbers, and ragged ones.
    fn lines() -> impl Strategy<Value = Vec<u8>> {
        let orderly = prop::sample::select(vec![
            "ab,1",
            "\"a,b\",-22",
            "\"a\nb\",333333333",
            "\"\",\"4444\"",
            "\"a\"\"b\",",
            "\"\"\"\",7",
            ",",
            "é,1",
            "\"x\r\ny\",\"12345\"",
            "1234567890123456789012345678901234567890,0",
            "a,b,c",
            "a",
            "",
            "x,1.5",
        ]);
        let odd = prop::sample::select(vec![
            "a\"b,1",
            "\"a\"b,1",
            "\"a\" ,1",
            " \"a\",1",
            "\"a\\\"b\",1",
            "a,\"1",
            "#\"",
            "\"a\\,1",
            "~,1",
            "a\rb,1",
        ]);
        let line = prop_oneof![9 => orderly, 1 => odd];
        let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
        prop::collection::vec((line, end), 0..40).prop_map(|lines| {
            let text: String = lines
                .iter()
                .map(|(line, end)| format!("{line}{end}"))
                .collect();
            text.bytes()
                .map(|byte| if byte == b'~' { 0xff } else { byte })
                .collect()
        })
    }

    /// All that is said of the records: as many calls as it takes.
    fn said(parser: &Parser, data: &[u8], limits: Limits) -> Vec<String> {
        let mut at = 0;
        let mut said = Vec::new();
        loop {
            let rest = &data[at..];
            let stop = limits.stop.saturating_sub(at);
            let parsed = parser.parse(rest, Limits { stop, ..limits }).expect("rows");
            let frames = &parsed.frames;
            said.push(format!(
                "{:?} {:?} {:?} {at}",
                parsed.columns, parsed.faults, parsed.counts
            ));
            said.push(format!(
                "{:?} {:?} {:?}",
                frames, parsed.stopped, parsed.undecided
            ));
            at += frames.next_start;
            if parsed.stopped != Stopped::Rows || parsed.rows == 0 {
                return said;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn what_the_masks_prove_is_what_the_machine_finds(
            data in lines(),
            escape in prop::sample::select(vec![None, Some(b'\\')]),
            comment in prop::sample::select(vec![None, Some(b'#')]),
            line_sep in prop::sample::select(vec![None, Some(b"\n".to_vec())]),
            flags: (bool, bool, bool),
            stop in 0usize..2000,
            max_rows in prop::sample::select(vec![1, 3, usize::MAX]),
            max_record_bytes in prop::sample::select(vec![3, 12, usize::MAX]),
            tape_bytes in prop::sample::select(vec![1, 40, 300, FULL_BYTES]),
        ) {
            let (multi_line, trim_leading, at_end) = flags;
            let dialect = Dialect { escape, comment, line_sep, multi_line, trim_leading, doubled: escape.is_none(), ..rfc() };
            let limits = Limits { stop, at_end, max_rows, max_record_bytes };
            let mut parser = parser_of(dialect, None, MAX_COLUMN_BYTES);
            parser.tape_bytes = tape_bytes;
            let proven = said(&parser, &data, limits);
            parser.leaper = None;
            parser.tape_bytes = FULL_BYTES;
            prop_assert_eq!(proven, said(&parser, &data, limits));
        }
    }

    /// The same with what is odd at every place of a block, and at every edge between two.
    #[test]
    fn masks_prove_no_more_wherever_a_block_ends() {
        let odd = [
            "\"b\"c,1\nd,2\n",
            "\"b\"\"c\",1\nd,2\n",
            "\"\"\"b\nc\",1\nd,2\n",
            "\rb,1\n",
            "\"b\"\r\n\r\nc,1\r\n",
            "\n\n,\"\"\n",
            "\"\",\"\"\"\"\n,\n",
            "\"b\" ,1\n",
            "b\"\",\"1\"\n",
            "\"b\\\"c\",1\n",
            ",\"1\nd,2\n\"\n",
            "#\"\nb,1\n",
            "\"b\"\"\n",
        ];
        let shifted = (0..130).flat_map(|length| {
            let before = ["", ",", ",1\n"].map(|end| "a".repeat(length) + end);
            odd.iter()
                .flat_map(move |odd| before.clone().map(|before| before + odd))
        });
        for odd in shifted {
            let data = format!("x,1\n{odd}{}", "\"b\",22\n".repeat(30)).into_bytes();
            for (escape, comment, multi_line) in [
                (None, None, true),
                (Some(b'\\'), Some(b'#'), true),
                (None, None, false),
            ] {
                let dialect = Dialect {
                    escape,
                    comment,
                    multi_line,
                    doubled: escape.is_none(),
                    ..rfc()
                };
                let mut parser = parser_of(dialect, None, MAX_COLUMN_BYTES);
                let proven = said(&parser, &data, all(&data));
                parser.leaper = None;
                assert_eq!(proven, said(&parser, &data, all(&data)), "{odd:?}");
            }
        }
    }

    #[test]
    fn no_column_gets_more_bytes_than_it_may_have() {
        let rescue = Rescue {
            unmatched: Vec::new(),
            max_fields: 3,
            tail: ",\"f\":1}".into(),
            wanted: true,
        };
        let data = b"some text,1\n\"\x01\x02\x03\",\x01\x01\x01\n\n,x,\xff\xff\n".repeat(60);
        for (rescue, most) in [(None, 700), (Some(rescue), 2000)] {
            let (mut at, mut rows, mut calls) = (0, 0, 0);
            let parser = parser(rescue, most);
            while at < data.len() {
                let rest = &data[at..];
                let parsed = parser.parse(rest, all(rest)).expect("rows");
                assert!(
                    parsed.rows > 0
                        && parsed
                            .columns
                            .iter()
                            .all(|column| text_bytes(column) <= most)
                );
                at += parsed.frames.next_start;
                (rows, calls) = (rows + parsed.rows, calls + 1);
                assert_eq!(parsed.stopped == Stopped::End, at == data.len());
            }
            assert!(rows == 180 && calls > 1, "{rows} rows in {calls} calls");
        }
    }

    #[test]
    fn a_record_that_fits_into_no_column_is_left() {
        let data = [b"a,1\n".to_vec(), vec![b'x'; 3000], b",2\n".to_vec()].concat();
        let parser = parser(None, 1000);
        let parsed = parser.parse(&data, all(&data)).expect("rows");
        assert_eq!(
            (parsed.rows, parsed.stopped, parsed.frames.next_start),
            (1, Stopped::Bytes, 4)
        );
        let framed = parser
            .parse_framed(&data, &[0, 4], &[3, data.len() as i64 - 1])
            .expect("rows");
        assert_eq!((framed.rows, framed.stopped), (1, Stopped::Bytes));
    }

    #[test]
    fn records_that_are_read_on_their_own_end_where_they_are_said_to() {
        let data = b"a,1\nb\n\"x,y";
        let parsed = parser(None, 1000)
            .parse_framed(data, &[0, 6], &[6, 10])
            .expect("rows");
        assert_eq!(parsed.counts, [(1, 1)]); // up to the line feed; and a quote that never closes
        assert!(parser(None, 1000).parse_framed(data, &[9], &[99]).is_err());
    }
}
