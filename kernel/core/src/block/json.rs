//! JSON for the loop: lines, or values wherever they end.

use arrow_schema::SchemaRef;
use memchr::{memchr_iter, memmem};

use super::engine::{Engine, Skipping};
use super::lines::Lines;
use super::spec::{self, JsonSpec, ValuesShape};
use crate::charsets::Charset;
use crate::filling::Rescue;
use crate::frames::{Counted, Frames};
use crate::json::lines::{blank_bytes, count_lines, frame_lines};
use crate::json::path::Past;
use crate::json::{self, Framing, Parser, Path, Shape};
use crate::lines::grammar::Grammar;
use crate::parsed::Parse;
use crate::rules::Rules;

/// A record, or what is between brackets, never ends.
pub(super) const UNFINISHED: &str = "unfinished-record";

/// The engine of a scan.
pub(super) fn engine(
    own: &JsonSpec,
    schema: SchemaRef,
    rules: Vec<Rules>,
    tail: &str,
    values: Option<&spec::Values>,
    marks: &Charset,
) -> Result<Box<dyn Engine>, String> {
    let rescue = |wanted, is_fault| Rescue {
        tail: tail.to_string(),
        wanted,
        is_fault,
    };
    let parsers = |framing: Framing| {
        let parser = |rescue| {
            let (framing, schema, rules) = (framing.clone(), schema.clone(), rules.clone());
            let (dialect, variants) = (own.dialect, own.variants);
            Parser::new(
                framing,
                schema,
                dialect,
                variants,
                own.is_whole,
                rules,
                rescue,
            )
        };
        Ok::<_, String>(Parsers {
            plain: parser(own.rescue.map(|wanted| rescue(wanted, false)))?,
            noticing: parser(Some(rescue(true, true)))?,
        })
    };
    if own.multi_line {
        let said = values.cloned().unwrap_or_default();
        let shape = match (said.shape, &own.record_path) {
            (ValuesShape::Values, _) => Shape::Values,
            (ValuesShape::Array, _) => Shape::Array,
            (ValuesShape::Nowhere, _) => Shape::Nowhere,
            (ValuesShape::Below, steps) => {
                Shape::Below(Path::new(steps.clone().unwrap_or_default())?)
            }
        };
        return Ok(Box::new(Values {
            parsers: parsers(Framing::Values(shape.clone()))?,
            shape,
            indent: said.indent,
        }));
    }
    let mark = own.line_sep.as_deref().map(|mark| marks.write(mark));
    let mark = mark.transpose()?;
    let grammar = Grammar::new(mark.as_deref(), None, 1, false)?;
    Ok(Box::new(JsonLines {
        lines: Lines::new(mark, None)?,
        parsers: parsers(Framing::Lines(grammar.clone()))?,
        grammar,
    }))
}

struct Parsers {
    plain: Parser,
    noticing: Parser,
}

impl Parsers {
    fn of(&self, notices: bool) -> &dyn Parse {
        if notices { &self.noticing } else { &self.plain }
    }
}

struct JsonLines {
    lines: Lines,
    grammar: Grammar,
    parsers: Parsers,
}

impl Engine for JsonLines {
    fn parser(&self, notices: bool) -> Option<&dyn Parse> {
        Some(self.parsers.of(notices))
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        frame_lines(data, &self.grammar, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        count_lines(data, &self.grammar, false)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let (blank, is_record) = blank_bytes(data, &self.grammar, at_end);
        let rest = data.get(blank..).unwrap_or_default();
        let text = rest.iter().position(|&byte| byte > b' ');
        let may_be_blank = text.is_none_or(|at| {
            let rest = rest.get(at..).unwrap_or_default();
            self.lines.may_begin(rest)
        });
        if is_record || !may_be_blank {
            return Some(blank);
        }
        at_end.then_some(data.len())
    }

    fn lines(&self) -> Option<&Lines> {
        Some(&self.lines)
    }
}

struct Values {
    shape: Shape,
    indent: Option<String>,
    parsers: Parsers,
}

impl Engine for Values {
    fn parser(&self, notices: bool) -> Option<&dyn Parse> {
        Some(self.parsers.of(notices))
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        json::frame(data, at_end, &self.shape)
    }

    fn count(&self, data: &[u8]) -> Counted {
        json::count(data, false, &self.shape)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        json::gap_bytes(data, at_end, &self.shape)
    }

    /// The next line that begins as the line of the first record did: with the same white space, and `{`. Where no
    /// record shows how much that is, with a space at most.
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let begins = |indent: &str| {
            let line = format!("\n{indent}{{");
            memmem::find(data, line.as_bytes()).map(|at| at + line.len() - 1)
        };
        let found = match &self.indent {
            Some(indent) => begins(indent),
            None => memchr_iter(b'\n', data).find_map(|at| {
                let rest = data.get(at + 1..)?;
                let indent = usize::from(rest.first() == Some(&b' '));
                (rest.get(indent) == Some(&b'{')).then_some(at + 1 + indent)
            }),
        };
        found.or(at_end.then_some(data.len()))
    }

    fn droppable(&self, data: &[u8]) -> usize {
        let indent = self.indent.as_ref().map_or(1, String::len);
        data.len().saturating_sub(indent + 2)
    }

    fn unfinished(&self) -> &'static str {
        UNFINISHED
    }

    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        let hold_others = !matches!(self.shape, Shape::Below(_)); // of these the brackets tell where one that is given up ends
        hold_others.then(|| json::open_starts(data, longest))
    }

    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        match &self.shape {
            Shape::Below(path) => Some(Box::new(PastBelow {
                path,
                past: Past::default(),
            })),
            _ => None,
        }
    }

    fn needs_context(&self) -> bool {
        true
    }
}

/// A record below a path that is given up, or what lies between the arrays there.
struct PastBelow<'e> {
    path: &'e Path,
    past: Past,
}

impl Skipping for PastBelow<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let resume = self.past.pass(data, self.path).resume;
        resume.or(at_end.then_some(data.len()))
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        let passed = self.past.pass(data, self.path);
        self.past = passed.past;
        passed.dropped
    }

    fn never_ends(&self, data: &[u8]) -> bool {
        let passed = self.past.pass(data, self.path);
        passed.resume.is_none() && passed.past.is_open()
    }
}
