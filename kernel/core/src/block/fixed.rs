//! Records of a fixed length, and columns at fixed places, for the loop.

use std::num::NonZero;

use arrow_schema::SchemaRef;

use super::engine::Engine;
use super::error::BlockError;
use super::lines::Lines;
use super::spec::{FixedSpec, FixedWidthSpec};
use crate::charsets::Charset;
use crate::filling::Rescue;
use crate::fixed::{Framing, Layout, Parser};
use crate::frames::{Counted, Frames};
use crate::lines::grammar::Grammar;
use crate::lines::{Bounds, equal_frames, fixed, records};
use crate::parsed::{Parse, Parsed};
use crate::rules::Rules;

/// The engine of records that are one value each.
pub(super) fn pieces(own: &FixedSpec, schema: &SchemaRef) -> Result<Box<dyn Engine>, String> {
    let field = match schema.fields().as_ref() {
        [] => None,
        [field] => Some(field.as_ref()),
        _ => return Err("records that are one value in several columns".into()),
    };
    let parser = |field| fixed::Parser::new(own.record_length.get(), own.short_is_broken, field);
    let (whole, framing) = (parser(field)?, parser(None)?);
    Ok(Box::new(Pieces {
        length: own.record_length,
        parse: move |data: &[u8], bounds, decodes| {
            Ok(if decodes { &whole } else { &framing }.parse(data, bounds))
        },
    }))
}

/// The engine of columns at fixed places; records of a fixed length are texts of a charset, lines are found by the marks
/// of another.
pub(super) fn columns(
    own: &FixedWidthSpec,
    schema: SchemaRef,
    rules: Vec<Rules>,
    tail: &str,
    charset: Charset,
    marks: &Charset,
) -> Result<Box<dyn Engine>, String> {
    let layout = Layout {
        places: own.places.clone(),
        least: own.last.1,
        null_value: own.null_value.clone(),
        trim_leading: own.trim_leading,
        trim_trailing: own.trim_trailing,
    };
    let rescue = own.rescue.map(|wanted| Rescue {
        tail: tail.to_string(),
        wanted,
        is_fault: false,
    });
    if let Some(length) = own.record_length {
        let framing = Framing::Length(length, charset);
        let parser = Parser::new(framing, schema, layout, rules, rescue)?;
        let found = fixed::Parser::new(length.get(), false, None)?;
        return Ok(Box::new(Pieces {
            length,
            parse: move |data: &[u8], bounds, decodes| match decodes {
                true => parser.parse(data, bounds),
                false => Ok(found.parse(data, bounds)),
            },
        }));
    }
    let mark = own.line_sep.as_deref().map(|mark| marks.write(mark));
    let mark = mark.transpose()?;
    let grammar = Grammar::new(mark.as_deref(), None, 1, false)?;
    let framing = Framing::Lines(grammar.clone());
    Ok(Box::new(FixedLines {
        lines: Lines::new(mark, None)?,
        parser: Parser::new(framing, schema, layout, rules, rescue)?,
        grammar,
    }))
}

struct Pieces<P> {
    length: NonZero<usize>,
    parse: P,
}

impl<P> Engine for Pieces<P>
where
    P: Fn(&[u8], Bounds, bool) -> Result<Parsed, String> + Send,
{
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        (self.parse)(data, bounds, true).map_err(BlockError::invariant)
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        (self.parse)(data, bounds, false).map_err(BlockError::invariant)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        equal_frames(data, self.length, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        let records = data.len() / self.length;
        Counted {
            records,
            next_start: records * self.length.get(),
        }
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let length = self.length.get();
        (at_end || data.len() >= length).then_some(length.min(data.len()))
    }

    /// None: what remains of a record is known only by what was seen of it.
    fn droppable(&self, _: &[u8]) -> usize {
        0
    }

    fn computed_start(&self, position: u64, data_start: u64) -> Option<u64> {
        let length = self.length.get() as u64;
        let passed = position.saturating_sub(data_start);
        Some(data_start + passed.div_ceil(length) * length)
    }
}

struct FixedLines {
    lines: Lines,
    grammar: Grammar,
    parser: Parser,
}

impl Engine for FixedLines {
    fn parser(&self, _: bool) -> Option<&dyn Parse> {
        Some(&self.parser)
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
