//! A format as the loop sees it: what finds records in bytes, and what makes columns of them.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};

use super::error::{BlockError, Kind};
use super::lines::{Lines, Look};
use super::spec::{CsvSpec, Format, ScanSpec, TextSpec};
use crate::charsets::Charset;
use crate::csv::{self, Dialect, Grammar, Layout, Limits, Meaning, Named, Rescue, Shape};
use crate::frames::{Counted, Frames};
use crate::lines::grammar::Grammar as LineGrammar;
use crate::lines::{Bounds, records, text};
use crate::parsed::Parsed;

/// What finds and decodes the records of one file.
#[derive(Debug)]
pub(super) struct Engine {
    lines: Lines,
    parser: Parser,
}

#[derive(Debug)]
enum Parser {
    Csv(Box<Csv>),
    Text(Box<Text>),
}

#[derive(Debug)]
struct Csv {
    grammar: Grammar,
    parser: csv::Parser,
    framing: csv::Parser, // decodes nothing
}

#[derive(Debug)]
struct Text {
    grammar: LineGrammar,
    parser: text::Parser,
    framing: text::Parser,
}

impl Engine {
    /// Of a scan. `tail` ends the texts of what does not fit: it names the file.
    pub(super) fn new(spec: &ScanSpec, path_tail: &str) -> Result<Engine, BlockError> {
        let fields = spec
            .fields
            .iter()
            .map(|each| super::spec::field(&each.name, &each.kind, true));
        let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>, _>>()?));
        let made = match &spec.format {
            Format::Csv(own) => csv_engine(spec, own, schema, path_tail),
            Format::Text(own) => text_engine(own, &schema),
        };
        made.map_err(unsupported)
    }

    /// Read records of `data`, which begins with one; see [`Bounds`].
    pub(super) fn parse(
        &self,
        data: &[u8],
        bounds: Bounds,
        decodes: bool,
    ) -> Result<Parsed, BlockError> {
        match &self.parser {
            Parser::Csv(own) => {
                let limits = Limits {
                    stop: bounds.stop,
                    at_end: bounds.at_end,
                    max_rows: bounds.rows,
                    max_record_bytes: bounds.record_bytes,
                };
                let parser = if decodes { &own.parser } else { &own.framing };
                parser.parse(data, limits).map_err(BlockError::invariant)
            }
            Parser::Text(own) => {
                let parser = if decodes { &own.parser } else { &own.framing };
                Ok(parser.parse(data, bounds))
            }
        }
    }

    /// The records at the front of `data`.
    pub(super) fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        match &self.parser {
            Parser::Csv(own) => csv::frame(data, &own.grammar, at_end),
            Parser::Text(own) => records::frame(data, &own.grammar, at_end),
        }
    }

    /// How many those are.
    pub(super) fn count(&self, data: &[u8]) -> Counted {
        match &self.parser {
            Parser::Csv(own) => csv::count(data, &own.grammar, false),
            Parser::Text(own) => records::count(data, &own.grammar, false),
        }
    }

    /// Length of what lies between records at the front of `data`; `None` where more of it may follow.
    pub(super) fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let Parser::Csv(own) = &self.parser else {
            return Some(0);
        };
        let mut position = 0;
        loop {
            let from = position;
            let rest = data.get(from..).unwrap_or_default();
            position += self.lines.blank(rest);
            let rest = data.get(position..).unwrap_or_default();
            if rest.is_empty() {
                return at_end.then_some(data.len());
            }
            if rest.first().copied() != own.grammar.dialect().comment {
                return (at_end || !self.lines.may_begin(rest)).then_some(position);
            }
            position += self.lines.resume_after(rest, at_end)?;
        }
    }

    /// Where reading goes on after a record that is given up.
    pub(super) fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.lines.resume_after(data, at_end)
    }

    /// Where records would begin that do not end in `data`, or are longer than `longest`.
    pub(super) fn open_starts(&self, data: &[u8], longest: usize) -> Vec<i64> {
        match &self.parser {
            Parser::Csv(own) => csv::open_starts(data, &own.grammar, longest),
            Parser::Text(_) => Vec::new(), // no record begins in another
        }
    }

    /// How many bytes of such a record say nothing of its end.
    pub(super) fn droppable(&self, data: &[u8]) -> usize {
        self.lines.droppable(data)
    }

    /// Whether only the start of the file, or an index, tells where records are.
    pub(super) fn needs_context(&self) -> bool {
        match &self.parser {
            Parser::Csv(own) => {
                own.grammar.dialect().multi_line && own.grammar.dialect().quote.is_some()
            }
            Parser::Text(_) => false,
        }
    }

    /// The first record start around a position.
    pub(super) fn first_start(
        &self,
        before: &[u8],
        after: &[u8],
        at_start: bool,
        at_end: bool,
    ) -> Look {
        self.lines.first_start(before, after, at_start, at_end)
    }

    /// The fields of a header: texts, without white space where that is dropped.
    pub(super) fn names(&self, record: &[u8]) -> Result<Vec<String>, BlockError> {
        match &self.parser {
            Parser::Csv(own) => {
                super::head::split(record, &own.grammar).map_err(BlockError::invariant)
            }
            Parser::Text(_) => Ok(Vec::new()),
        }
    }
}

fn csv_engine(
    spec: &ScanSpec,
    own: &CsvSpec,
    schema: SchemaRef,
    tail: &str,
) -> Result<Engine, String> {
    let grammar = Grammar::new(Dialect {
        sep: own.sep.clone().into_bytes(),
        quote: own.quote.map(byte).transpose()?,
        escape: own.escape.map(byte).transpose()?,
        doubled: own.doubled,
        comment: own.comment.map(byte).transpose()?,
        line_sep: own.line_sep.clone().map(String::into_bytes),
        multi_line: own.multi_line,
        trim_leading: own.trim_leading,
    })?;
    let meaning = Meaning {
        null_value: own.null_value.clone(),
        empty_value: own.empty_value.clone(),
        trim_leading: own.trim_leading,
        trim_trailing: own.trim_trailing,
    };
    let shape = own.names.as_ref().map_or(Shape::Nothing, |names| {
        Shape::Columns(Named {
            names: names.clone(),
            wanted: own.wanted.clone(),
            least: own.least,
            blanks: own.blanks.clone(),
            rescue: own.rescue.as_ref().map(|rescue| Rescue {
                unmatched: own.unmatched.clone(),
                max_fields: rescue.max_fields,
                tail: tail.to_string(),
                wanted: rescue.wanted,
            }),
        })
    });
    let layout = Layout {
        shape,
        meaning,
        max_field_chars: own.max_field_chars,
    };
    let rules = spec.fields.iter().map(|field| field.rules.rules());
    let rules = rules
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| error.to_string())?;
    let nothing = Layout {
        shape: Shape::Nothing,
        meaning: Meaning::default(),
        max_field_chars: None,
    };
    Ok(Engine {
        lines: Lines::new(own.line_sep.clone().map(String::into_bytes))?,
        parser: Parser::Csv(Box::new(Csv {
            parser: csv::Parser::new(grammar.clone(), schema, layout, rules)?,
            framing: csv::Parser::new(
                grammar.clone(),
                Arc::new(Schema::empty()),
                nothing,
                Vec::new(),
            )?,
            grammar,
        })),
    })
}

fn text_engine(own: &TextSpec, schema: &SchemaRef) -> Result<Engine, String> {
    let delimiter = own.line_sep.as_ref().map(String::as_bytes);
    let grammar = LineGrammar::new(delimiter, None, 1, false)?;
    let field = match schema.fields().as_ref() {
        [] => None,
        [field] => Some(field.as_ref()),
        _ => return Err("records that are one value in several columns".into()),
    };
    Ok(Engine {
        lines: Lines::new(delimiter.map(<[u8]>::to_vec))?,
        parser: Parser::Text(Box::new(Text {
            parser: text::Parser::new(grammar.clone(), Charset::Utf8, field)?,
            framing: text::Parser::new(grammar.clone(), Charset::Utf8, None)?,
            grammar,
        })),
    })
}

fn byte(character: char) -> Result<u8, String> {
    let ascii = u8::try_from(character).ok().filter(u8::is_ascii);
    ascii.ok_or_else(|| "quote, escape and comment are ASCII".into())
}

fn unsupported(reason: String) -> BlockError {
    BlockError::new(
        Kind::Usage,
        "unsupported-scan",
        "the kernel reads this kind of scan",
    )
    .seen(reason)
    .fix("read it by the Python engine, which planning chooses for it")
}
