//! Records to rows, in one pass: find a record, split it, convert its fields, append.

use arrow_schema::SchemaRef;

use super::grammar::Grammar;
use super::layout::{Layout, Shape};
use super::machine::{LINES, Machine, SPANNING};
use super::rows::Rows;
use super::steps::{Entry, Kind, Place, Step, Tail};
use super::texts::{Reader, Span, Texts};
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

    fn reader<'a>(&'a self, data: &'a [u8]) -> Reader<'a> {
        Reader {
            texts: Texts::new(data),
            dialect: self.grammar.dialect(),
            meaning: &self.layout.meaning,
        }
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
        let mut rows = self.rows()?;
        let mut reader = self.reader(data);
        let mut frames = Frames::default();
        let mut spans = Vec::new();
        let mut start = 0;
        let stopped = loop {
            if start >= data.len() && limits.at_end {
                break Stopped::End;
            }
            if start >= limits.stop {
                break Stopped::Owned;
            }
            if rows.len() >= limits.max_rows {
                break Stopped::Rows;
            }
            spans.clear();
            let (kind, stop, next) = match machine.line(start, Entry::Line, &mut spans) {
                Step::Line { kind, stop, next } => (kind, stop, next),
                Step::Open(place) => break self.unfinished(place, data.len() - start, limits),
            };
            if matches!(kind, Kind::Record | Kind::Malformed) {
                if stop - start > limits.max_record_bytes {
                    break Stopped::Long;
                }
                if !rows.has_room(stop - start) {
                    break Stopped::Bytes;
                }
                if kind == Kind::Malformed {
                    frames.malformed.push(rows.len() as u32);
                }
                reader.texts.enter(start, stop);
                rows.push(&spans, &reader, kind == Kind::Malformed);
                frames.starts.push(start as i64);
                frames.stops.push(stop as i64);
            }
            start = next;
        };
        frames.next_start = start;
        Ok(Parsed {
            frames,
            stopped,
            ..rows.finish()
        })
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
        let mut rows = self.rows()?;
        let mut reader = self.reader(data);
        let mut frames = Frames::default();
        let mut spans: Vec<Span> = Vec::new();
        let (mut stopped, mut reads_on) = (Stopped::End, true);
        for (&start, &stop) in starts.iter().zip(stops) {
            let range = usize::try_from(start).ok().zip(usize::try_from(stop).ok());
            let Some((from, to)) = range.filter(|&(from, to)| data.get(from..to).is_some()) else {
                return Err("a record is not in the data".into());
            };
            if !rows.has_room(to - from) {
                stopped = Stopped::Bytes;
                break;
            }
            spans.clear();
            let step =
                (reads_on && from < to).then(|| machine.line(from, Entry::Field, &mut spans));
            let is_malformed = match step {
                Some(Step::Line { kind, stop, .. }) if stop == to => kind == Kind::Malformed,
                _ => {
                    reads_on = from == to && reads_on; // or each record could be read to the end of the data
                    self.split::<INSIDE>(data, from, to, &mut spans)
                }
            };
            let is_malformed = is_malformed && INSIDE == LINES;
            if is_malformed {
                frames.malformed.push(rows.len() as u32);
            }
            reader.texts.enter(from, to);
            rows.push(&spans, &reader, is_malformed);
            frames.starts.push(start);
            frames.stops.push(stop);
            frames.next_start = to;
        }
        Ok(Parsed {
            frames,
            stopped,
            ..rows.finish()
        })
    }

    /// The fields of a record that ends where reading on would not end it; returns whether it ends inside quotes.
    fn split<const INSIDE: usize>(
        &self,
        data: &[u8],
        from: usize,
        to: usize,
        spans: &mut Vec<Span>,
    ) -> bool {
        spans.clear();
        let content = data.get(..to).unwrap_or_default();
        let step = Machine::<INSIDE>::new(content, &self.grammar, Tail::Record).line(
            from,
            Entry::Field,
            spans,
        );
        matches!(
            step,
            Step::Line {
                kind: Kind::Malformed,
                ..
            }
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::super::grammar::Dialect;
    use super::super::layout::{Meaning, Named, Rescue};
    use super::*;

    fn parser(rescue: Option<Rescue>, max_column_bytes: usize) -> Parser {
        let dialect = Dialect {
            sep: b",".to_vec(),
            quote: Some(b'"'),
            escape: None,
            doubled: true,
            comment: None,
            line_sep: None,
            multi_line: true,
            trim_leading: false,
        };
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
