//! Records by a copybook, for the loop.

use arrow_schema::SchemaRef;

use std::cell::Cell;

use super::engine::{Engine, Skipping};
use super::error::BlockError;
use super::lines::Lines;
use crate::cobol::{CobolSpec, Ending, Finder, Header, Parser, Way};
use crate::fault::Code;
use crate::frames::{Counted, Frames};
use crate::lines::Bounds;
use crate::parsed::Parsed;
use crate::rules::Rules;

struct Cobol {
    file_start: u64,
    finder: Finder,
    left: Cell<usize>, // of the block of records at hand, in bytes
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
        left: Cell::new(0),
        lines,
    }))
}

impl Engine for Cobol {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        let (found, codes) = self.finder.find(data, bounds, self.left.get());
        let missing = match codes.last() {
            Some(Code::MissingBytes) => self
                .finder
                .left_after(self.finder.content(data), self.left.get()),
            _ => 0,
        };
        let broken = (codes.as_slice(), missing);
        let parsed = self.parser.fill(data, found.frames, found.stopped, broken);
        parsed.map_err(BlockError::invariant)
    }

    fn find(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        Ok(self.finder.find(data, bounds, self.left.get()).0)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        self.finder.frame(data, at_end, self.left.get())
    }

    fn count(&self, data: &[u8]) -> Counted {
        self.finder.count(data, self.left.get())
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
            None => self.finder.resume_after(data, at_end, self.left.get()),
        }
    }

    fn skipping(&self) -> Option<Box<dyn Skipping + '_>> {
        let passing = || match (self.finder.root_bytes(), self.finder.way()) {
            (Some(root_bytes), _) => Box::new(PassingChildren {
                finder: &self.finder,
                root_bytes,
                seeks_root: false,
                rest: Some(0),
            }) as Box<dyn Skipping>,
            (None, Way::Spanned(header)) => Box::new(PassingSegments {
                finder: &self.finder,
                header: *header,
                place: Place::Start,
            }),
            (None, _) => Box::new(Passing {
                engine: self,
                rest: None,
            }),
        };
        self.needs_context().then(passing)
    }

    fn needs_context(&self) -> bool {
        self.finder.is_walked()
    }

    fn has_groups(&self) -> bool {
        matches!(self.finder.way(), Way::Blocks(..))
    }

    fn is_in_group(&self) -> bool {
        self.left.get() > 0
    }

    fn note_passed(&self, passed: &[u8]) {
        self.left
            .set(self.finder.left_after(passed, self.left.get()));
    }

    fn data_start(&self) -> Option<u64> {
        Some(self.file_start)
    }

    fn computed_start(&self, position: u64, data_start: u64) -> Option<u64> {
        let Way::Fixed(length) = self.finder.way() else {
            return None;
        };
        if self.finder.is_walked() {
            return None;
        }
        let length = length.get() as u64;
        let passed = position.saturating_sub(data_start);
        Some(data_start + passed.div_ceil(length) * length)
    }
}

/// Goes past a record; to the end of all, where nothing tells how long it is.
struct Passing<'e> {
    engine: &'e Cobol,
    rest: Option<usize>, // bytes that are still to come once some were dropped; 0 where nothing tells how many
}

impl Skipping for Passing<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let size = self.engine.finder.content(data).len();
        match self.rest {
            Some(rest) if (1..=size).contains(&rest) => Some(rest),
            Some(_) => at_end.then_some(size),
            None => self.engine.resume_after(data, at_end),
        }
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        let finder = &self.engine.finder;
        let told = || finder.told_length(data, self.engine.left.get());
        let Some(rest) = self.rest.or_else(told) else {
            return 0;
        };
        let dropped = finder.content(data).len();
        self.rest = Some(rest.saturating_sub(dropped));
        dropped
    }
}

/// Goes past a record of some segments; to the end of all, where nothing tells how long one is.
struct PassingSegments<'e> {
    finder: &'e Finder,
    header: Header,
    place: Place,
}

/// Where the bytes are that are shown.
#[derive(Clone, Copy)]
enum Place {
    /// The record begins with them.
    Start,
    /// So many more are those of a segment, after which others may follow or not.
    Inside(usize, bool),
    /// Nothing tells where another record is.
    Lost,
}

impl PassingSegments<'_> {
    fn extent(&self, content: &[u8]) -> Option<(usize, Ending)> {
        match self.place {
            Place::Start => self.header.extent(content),
            Place::Inside(rest, true) => Some(self.header.follow(content, rest)),
            Place::Inside(rest, false) => Some((rest, Ending::Whole)),
            Place::Lost => None,
        }
    }
}

impl Skipping for PassingSegments<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let content = self.finder.content(data);
        match self.extent(content) {
            Some((stop, Ending::Whole | Ending::Broken)) if stop <= content.len() => Some(stop),
            _ => at_end.then_some(content.len()),
        }
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        let content = self.finder.content(data);
        if let Some((stop, ending)) = self.extent(content) {
            let dropped = stop.min(content.len());
            self.place = Place::Inside(stop - dropped, ending == Ending::Open);
            return dropped;
        }
        if self.finder.told_length(data, 0).is_none() && !matches!(self.place, Place::Lost) {
            return 0;
        }
        self.place = Place::Lost;
        content.len()
    }
}

/// Goes past a root with its children.
struct PassingChildren<'e> {
    finder: &'e Finder,
    root_bytes: usize,
    seeks_root: bool,    // bytes were dropped: the next root is the next record
    rest: Option<usize>, // bytes of a record of which some were dropped; `None` where nothing tells how many
}

impl Skipping for PassingChildren<'_> {
    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let content = self.finder.content(data);
        let root = self.rest.and_then(|rest| {
            let seeks_root = self.seeks_root || rest > 0;
            let (_, root) = self
                .finder
                .next_root(content.get(rest..)?, at_end, seeks_root);
            Some(rest + root?)
        });
        root.or(at_end.then_some(content.len()))
    }

    fn drop_bytes(&mut self, data: &[u8]) -> usize {
        let content = self.finder.content(data);
        let Some(rest) = self.rest else {
            return content.len();
        };
        if rest > 0 {
            let dropped = rest.min(content.len());
            (self.rest, self.seeks_root) = (Some(rest - dropped), true);
            return dropped;
        }
        let (end, root) = self.finder.next_root(content, false, self.seeks_root);
        let is_open = self.seeks_root && content.len() < self.root_bytes;
        if end == 0 && root.is_none() && !is_open {
            let Some(length) = self.finder.told_length(data, 0) else {
                return 0;
            };
            self.rest = (length > 0).then(|| length.saturating_sub(content.len()));
            self.seeks_root = true;
            return content.len();
        }
        self.seeks_root |= end > 0;
        end
    }
}
