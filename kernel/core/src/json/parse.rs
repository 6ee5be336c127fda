//! Records to columns in one pass: find a record, check it, convert its values.
//!
//! A value that is strict JSON ends where framing ends it, so it is read at once. Whatever else begins here is framed
//! exactly, and then read within its bounds.

use arrow_schema::SchemaRef;

use super::Shape;
use super::dialect::Dialect;
use super::exact::{Walk, walk};
use super::frame::skip_gap;
use super::rows::Rows;
use crate::filling::Rescue;
use crate::frames::Frames;
use crate::lines::grammar::Grammar;
use crate::lines::{Bounds, Records};
use crate::parsed::{Parse, Parsed, Stopped};
use crate::rules::{Rules, Variants};
use crate::windows::{Windows, push_framed};

/// What a record is.
#[derive(Clone, Debug)]
pub enum Framing {
    /// A JSON value, or an element of an array.
    Values(Shape),
    /// A line that holds more than white space.
    Lines(Grammar),
}

/// Reads JSON records to the columns of a schema.
#[derive(Clone, Debug)]
pub struct Parser {
    framing: Framing,
    schema: SchemaRef,
    dialect: Dialect,
    variants: Variants,
    is_whole: bool,    // a record is one variant
    rules: Vec<Rules>, // of each column
    rescue: Option<Rescue>,
}

impl Parser {
    /// A parser for columns, each with its rules; if `is_whole`, of records that are one variant.
    ///
    /// # Errors
    /// If a type or a pattern is not supported, or records are not in UTF-8.
    pub fn new(
        framing: Framing,
        schema: SchemaRef,
        dialect: Dialect,
        variants: Variants,
        is_whole: bool,
        rules: Vec<Rules>,
        rescue: Option<Rescue>,
    ) -> Result<Parser, String> {
        if rules.len() != schema.fields().len() {
            return Err("each column has rules".into());
        }
        if matches!(&framing, Framing::Lines(lines) if lines.width() > 1) {
            return Err("values are read from UTF-8: transcode the records first".into());
        }
        let parser = Parser {
            framing,
            schema,
            dialect,
            variants,
            is_whole,
            rules,
            rescue,
        };
        parser.rows()?;
        Ok(parser)
    }

    fn rows(&self) -> Result<Rows<'_>, String> {
        Rows::new(
            &self.schema,
            &self.rules,
            self.dialect,
            self.variants,
            self.is_whole,
            self.rescue.as_ref(),
            match &self.framing {
                Framing::Values(shape) => Some(shape),
                Framing::Lines(_) => None,
            },
        )
    }
}

impl Parse for Parser {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, String> {
        let mut rows = self.rows()?;
        let mut windows = Windows::new(data);
        let mut frames = Frames::default();
        let mut source = Source::new(&self.framing, data, bounds.at_end);
        let stopped = loop {
            frames.next_start = source.skip_gap(frames.next_start);
            let start = frames.next_start;
            if start >= data.len() && bounds.at_end {
                break Stopped::End;
            }
            if start >= bounds.stop {
                break Stopped::Owned;
            }
            if rows.len() >= bounds.rows {
                break Stopped::Rows;
            }
            if let Some((stop, next)) =
                source.read_on(&mut rows, &mut windows, start, bounds.record_bytes)
            {
                frames.starts.push(start as i64);
                frames.stops.push(stop as i64);
                frames.next_start = next;
                rows.expect(
                    bounds.stop.min(data.len()).saturating_sub(next),
                    bounds.rows,
                );
                continue;
            }
            let Some((stop, next)) = (match source.record(start) {
                Ok(found) => Some(found),
                Err(content) if source.is_too_long(start, content, bounds) => {
                    break Stopped::Long;
                }
                Err(_) => None,
            }) else {
                break Stopped::Input;
            };
            if source.is_blank(start, stop) {
                frames.next_start = next;
                continue;
            }
            if stop - start > bounds.record_bytes {
                break Stopped::Long;
            }
            if !rows.has_room(stop - start) {
                break Stopped::Bytes;
            }
            windows.push(&mut rows, start, stop);
            frames.starts.push(start as i64);
            frames.stops.push(stop as i64);
            frames.next_start = next;
        };
        Ok(Parsed {
            frames,
            stopped,
            ..rows.finish()
        })
    }

    fn parse_framed(&self, data: &[u8], frames: Frames) -> Result<Parsed, String> {
        let mut rows = self.rows()?;
        let has_room = |rows: &Rows<'_>, bytes| rows.has_room(bytes);
        let (frames, stopped) =
            push_framed(&mut rows, data, &frames.starts, &frames.stops, has_room)?;
        Ok(Parsed {
            frames,
            stopped,
            ..rows.finish()
        })
    }
}

/// Where records are.
enum Source<'a> {
    Values {
        data: &'a [u8],
        shape: &'a Shape,
        at_end: bool,
    },
    Lines {
        data: &'a [u8],
        lines: Records<'a>,
        are_plain: bool,
    },
}

impl<'a> Source<'a> {
    fn new(framing: &'a Framing, data: &'a [u8], at_end: bool) -> Source<'a> {
        match framing {
            Framing::Values(shape) => Source::Values {
                data,
                shape,
                at_end,
            },
            Framing::Lines(grammar) => Source::Lines {
                data,
                lines: Records::new(grammar, data, data.len(), at_end),
                are_plain: grammar.is_plain(),
            },
        }
    }

    /// Read the record at `start` if it is strict JSON, which ends where it is framed: where it stops, and where the next
    /// one starts.
    #[inline]
    fn read_on(
        &self,
        rows: &mut Rows<'_>,
        windows: &mut Windows<'_>,
        start: usize,
        most: usize,
    ) -> Option<(usize, usize)> {
        let is_line = match self {
            Source::Values { .. } => false,
            Source::Lines { are_plain, .. } if *are_plain => true,
            Source::Lines { .. } => return None,
        };
        let (text, base) = windows.window(start, rows);
        if is_line {
            let (stop, next) = rows.push_line(text, start - base, most)?;
            return Some((base + stop, base + next));
        }
        let stop = rows.push_open(text, start - base, most)?;
        Some((base + stop, base + stop))
    }

    #[inline]
    fn skip_gap(&self, at: usize) -> usize {
        match self {
            Source::Values {
                data,
                shape,
                at_end,
            } => skip_gap(data, at, *at_end, shape),
            Source::Lines { .. } => at,
        }
    }

    /// Where the record that starts at `start` stops, and where to go on; if that is not known, the end of its content
    /// so far.
    #[inline]
    fn record(&mut self, start: usize) -> Result<(usize, usize), usize> {
        match self {
            Source::Lines { data, lines, .. } => lines
                .after(start)
                .ok_or(data.len().saturating_sub(1).max(start)),
            Source::Values {
                data,
                shape,
                at_end,
            } => match walk(data, start, shape) {
                _ if start >= data.len() => Err(start),
                Walk::Gap { .. } | Walk::Blank => Err(start),
                Walk::Ends { stop, next } => Ok((stop, next)),
                Walk::Loose { stop } if *at_end => Ok((stop, data.len())),
                // what is around arrays is of any length; damage in it is a record where no array follows
                _ if matches!(shape, Shape::Below(_)) && data.get(start) == Some(&b']') => {
                    Err(start)
                }
                Walk::Loose { stop } | Walk::Open { stop } => Err(stop),
            },
        }
    }

    /// Whether a record that is not complete is longer than a record may be, whatever follows.
    fn is_too_long(&self, start: usize, content: usize, bounds: Bounds) -> bool {
        content - start > bounds.record_bytes && !bounds.at_end && !self.is_blank(start, content)
    }

    /// Whether a line holds only white space, and so is no record.
    #[inline]
    fn is_blank(&self, start: usize, stop: usize) -> bool {
        match self {
            Source::Values { .. } => false,
            Source::Lines { data, .. } => {
                super::lines::is_blank(data.get(start..stop).unwrap_or_default())
            }
        }
    }
}
