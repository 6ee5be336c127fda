//! Records to columns in one pass: find a record, check it, convert its values.
//!
//! A record that is an element ends where framing ends it, so it is read at once. Whatever else begins here is framed by
//! its marks, and then read within its bounds.

use arrow_schema::SchemaRef;

use super::grammar::RowTag;
use super::members::Naming;
use super::rows::Rows;
use super::scan::Scanner;
use crate::filling::Rescue;
use crate::frames::Frames;
use crate::lines::Bounds;
use crate::parsed::{Parse, Parsed, Stopped};
use crate::rules::{Rules, Variants};
use crate::windows::{Windows, push_framed};

/// Reads XML records to the columns of a schema.
#[derive(Clone, Debug)]
pub struct Parser {
    tag: RowTag,
    schema: SchemaRef,
    naming: Naming,
    rules: Vec<Rules>, // of each column
    variants: (Variants, bool),
    rescue: Option<Rescue>,
}

impl Parser {
    /// A parser for columns, each with its rules; the row tag is in UTF-8. `variants` say which values are some, and
    /// whether a record is one.
    ///
    /// # Errors
    /// If a type or a pattern is not supported, or records are not in UTF-8.
    pub fn new(
        tag: RowTag,
        schema: SchemaRef,
        naming: Naming,
        rules: Vec<Rules>,
        variants: (Variants, bool),
        rescue: Option<Rescue>,
    ) -> Result<Parser, String> {
        if rules.len() != schema.fields().len() {
            return Err("each column has rules".into());
        }
        if tag.width() > 1 {
            return Err("values are read from UTF-8: transcode the records first".into());
        }
        let parser = Parser {
            tag,
            schema,
            naming,
            rules,
            variants,
            rescue,
        };
        parser.rows()?;
        Ok(parser)
    }

    fn rows(&self) -> Result<Rows<'_>, String> {
        Rows::new(
            &self.schema,
            &self.rules,
            &self.naming,
            self.variants,
            self.rescue.as_ref(),
        )
    }
}

impl Parse for Parser {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, String> {
        let mut rows = self.rows()?;
        let mut windows = Windows::new(data);
        let mut scanner = Scanner::new(&self.tag, data, 0);
        let mut frames = Frames::default();
        let stopped = loop {
            let Some(start) = scanner.first(frames.next_start) else {
                frames.next_start = scanner.next_start;
                let is_whole = frames.next_start >= data.len() && bounds.at_end;
                break if is_whole {
                    Stopped::End
                } else {
                    Stopped::Input
                };
            };
            frames.next_start = start;
            if start >= bounds.stop {
                break Stopped::Owned;
            }
            if rows.filling.len() >= bounds.rows {
                break Stopped::Rows;
            }
            let (text, base) = windows.window(start, &mut rows);
            let read = rows.push_open(text, start - base, bounds.record_bytes);
            let stop = match read {
                Some(stop) => base + stop,
                None => match scanner.record(start) {
                    Some(stop) if stop - start > bounds.record_bytes => break Stopped::Long,
                    Some(stop) if !rows.has_room(stop - start) => break Stopped::Bytes,
                    Some(stop) => {
                        windows.push(&mut rows, start, stop);
                        stop
                    }
                    None if data.len() - start > bounds.record_bytes && !bounds.at_end => {
                        break Stopped::Long;
                    }
                    None => break Stopped::Input,
                },
            };
            frames.starts.push(start as i64);
            frames.stops.push(stop as i64);
            frames.next_start = stop;
            let rest = bounds.stop.min(data.len()).saturating_sub(stop);
            rows.filling.expect(rest, bounds.rows);
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
