//! Records by a copybook, for the loop.

use arrow_schema::SchemaRef;

use super::engine::{Engine, Skipping};
use super::error::BlockError;
use super::lines::Lines;
use crate::cobol::{CobolSpec, Finder, Parser, Way};
use crate::frames::{Counted, Frames};
use crate::lines::Bounds;
use crate::parsed::Parsed;
use crate::rules::Rules;

struct Cobol {
    file_start: u64,
    finder: Finder,
    lines: Option<Lines>,
    parser: Parser,
}

/// The engine of records by a copybook.
pub(super) fn engine(
    own: &CobolSpec,
    schema: SchemaRef,
    rules: Vec<Rules>,
    tail: &str,
) -> Result<Box<dyn Engine>, String> {
    let finder = Finder::new(&own.finding)?;
    let lines = match finder.way() {
        Way::Lines(mark) => Some(Lines::new(mark.clone(), None)?),
        _ => None,
    };
    Ok(Box::new(Cobol {
        file_start: own.file_start,
        parser: Parser::new(own, schema, rules, tail)?,
        finder,
        lines,
    }))
}

impl Engine for Cobol {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let (found, code) = self.finder.find(data, bounds);
        let parsed = self.parser.fill(data, found.frames, found.stopped, code);
        parsed.map_err(BlockError::invariant)
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        Ok(self.finder.find(data, bounds).0)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        self.finder.frame(data, at_end)
    }

    fn count(&self, data: &[u8]) -> Counted {
        self.finder.count(data)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.finder.gap_bytes(data, at_end)
    }

    fn lines(&self) -> Option<&Lines> {
        self.lines.as_ref()
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        match &self.lines {
            Some(lines) => lines.resume_after(data, at_end),
            None => self.finder.resume_after(data, at_end),
        }
    }

    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        let is_lost = false;
        let passing = || {
            Box::new(Passing {
                engine: self,
                is_lost,
            }) as _
        };
        matches!(self.finder.way(), Way::Headers { .. }).then(passing)
    }

    fn needs_context(&self) -> bool {
        matches!(self.finder.way(), Way::Headers { .. })
    }

    fn data_start(&self) -> Option<u64> {
        Some(self.file_start)
    }

    fn computed_start(&self, position: u64, data_start: u64) -> Option<u64> {
        let Way::Fixed(length) = self.finder.way() else {
            return None;
        };
        let length = length.get() as u64;
        let passed = position.saturating_sub(data_start);
        Some(data_start + passed.div_ceil(length) * length)
    }
}

/// Goes past a record; to the end of all, where nothing tells how long it is.
struct Passing<'e> {
    engine: &'e Cobol,
    is_lost: bool,
}

impl Skipping for Passing<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        match self.is_lost {
            true => at_end.then(|| self.engine.finder.content(data).len()),
            false => self.engine.resume_after(data, at_end),
        }
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        self.is_lost |= self.engine.finder.is_lost(data);
        match self.is_lost {
            true => self.engine.finder.content(data).len(),
            false => 0,
        }
    }
}
