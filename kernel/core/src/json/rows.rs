//! Records to rows, one after the other.

use arrow_schema::SchemaRef;

use super::Shape;
use super::causes::{Reason, Wrong};
use super::dialect::Dialect;
use super::fill::{Members, Reading};
use super::path;
use super::rescue::unfit_members;
use super::scan::{Kind, Scanner, Span};
use crate::fault::Code;
use crate::filling::{Filling, Outcome, Rescue};
use crate::parsed::Parsed;
use crate::rules::{Rules, Variants};
use crate::variant::Builder;
use crate::windows::Sink;

/// A record that was checked: the object, or what else it is.
type Checked = (Span, bool);

/// Columns while they are filled, and what is wrong with their records.
pub(super) struct Rows<'p> {
    members: Members,
    filling: Filling<'p>,
    scanner: Scanner,
    scratch: String,
    builder: Builder,
    is_whole: bool, // a record is one variant
    epoch: u64,
    shape: Option<&'p Shape>, // of records that are values
}

impl<'p> Rows<'p> {
    pub(super) fn new(
        schema: &SchemaRef,
        rules: &[Rules],
        dialect: Dialect,
        variants: Variants,
        is_whole: bool,
        rescue: Option<&'p Rescue>,
        shape: Option<&'p Shape>,
    ) -> Result<Rows<'p>, String> {
        let fields = schema.fields().iter();
        let members = Members::new(fields.map(|field| (field.name().as_str(), field.data_type())));
        Ok(Rows {
            members,
            filling: Filling::new(schema, rules, rescue)?,
            scanner: Scanner::new(dialect),
            scratch: String::new(),
            builder: Builder::new(variants),
            is_whole,
            epoch: 1,
            shape,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.filling.len()
    }

    /// Whether a record of so many bytes fits into the columns for sure.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.filling.has_room(bytes)
    }

    /// Make room for more records like those that were read.
    pub(super) fn expect(&mut self, bytes: usize, most_rows: usize) {
        self.filling.expect(bytes, most_rows);
    }

    /// Read the record at `start` of `text`, wherever it ends, if it is one that framing finds too: answers its end.
    #[inline]
    pub(super) fn push_open(&mut self, text: &str, start: usize, most: usize) -> Option<usize> {
        let checked = self.check_open(text, start)?;
        let stop = checked.0.stop;
        self.take_open(text, start, stop, most, checked)
    }

    /// The same for a record that is a line; answers the end of its content, too.
    #[inline]
    pub(super) fn push_line(
        &mut self,
        text: &str,
        start: usize,
        most: usize,
    ) -> Option<(usize, usize)> {
        self.scanner.in_line = true;
        let checked = self.check_open(text, start);
        self.scanner.in_line = false;
        let checked = checked?;
        let rest = text.as_bytes().get(checked.0.stop..)?;
        let blanks = rest
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let terminator = match rest.get(blanks..)? {
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return None,
        };
        let stop = self.take_open(text, start, checked.0.stop + blanks, most, checked)?;
        Some((stop, stop + terminator))
    }

    #[inline]
    fn check_open(&mut self, text: &str, start: usize) -> Option<Checked> {
        if !matches!(text.as_bytes().get(start), Some(b'{' | b'[')) {
            return None;
        }
        self.scanner.as_framed = true;
        let checked = self.check(text, text.len(), start);
        self.scanner.as_framed = false;
        checked
    }

    #[inline]
    fn take_open(
        &mut self,
        text: &str,
        start: usize,
        stop: usize,
        most: usize,
        checked: Checked,
    ) -> Option<usize> {
        if stop - start > most || !self.has_room(stop - start) {
            return None;
        }
        self.take(text, start, stop, checked);
        Some(stop)
    }

    #[inline]
    fn check(&mut self, text: &str, limit: usize, at: usize) -> Option<Checked> {
        let bytes = text.as_bytes().get(..limit).unwrap_or_default();
        if bytes.get(at) != Some(&b'{') || self.is_whole {
            return self.scanner.value(bytes, at).map(|span| (span, false));
        }
        let Members { names, parts } = &mut self.members;
        let (stop, has_others) =
            names.read(parts, &mut self.scanner, text, limit, at, self.epoch)?;
        Some((Span::new(Kind::Object, at, stop), has_others))
    }

    /// Append the row of a record that is JSON.
    fn take(&mut self, text: &str, start: usize, stop: usize, (value, has_others): Checked) {
        if value.kind != Kind::Object && !self.is_whole {
            return self.fault(
                stop - start,
                Code::NotAnObject,
                what(value.kind).to_string(),
            );
        }
        let filling = &mut self.filling;
        let (scanner, scratch) = (&mut self.scanner, &mut self.scratch);
        let mut reading = Reading::new(text, self.epoch, scanner, scratch, &mut self.builder);
        match self.is_whole {
            true => reading.whole(&mut self.members, &mut filling.columns, value),
            false => reading.members(&mut self.members, &mut filling.columns),
        }
        let (problem, mut rescued) = (reading.problem.take(), None);
        if let Some(tail) = filling.tail().filter(|_| !self.is_whole)
            && (has_others || reading.has_unfit)
        {
            rescued = unfit_members(
                &mut reading,
                &mut self.members,
                &mut filling.columns,
                value,
                tail,
            );
        }
        let problem = if reading.is_undecided {
            Outcome::Undecided
        } else {
            Outcome::of(problem)
        };
        filling.end_row(stop - start, problem, rescued.as_deref());
    }

    /// Append nulls for a record that is no JSON.
    #[cold]
    fn refuse(&mut self, record: &str, start: usize) {
        if let Some((code, seen)) = self.shape.and_then(|shape| path::fault(record, shape)) {
            return self.fault(record.len(), code, seen.to_string());
        }
        let Wrong { reason, at } = self.scanner.wrong;
        let wrong = Wrong {
            reason,
            at: at.saturating_sub(start),
        };
        self.fault(
            record.len(),
            Code::BadJson,
            wrong.sentence(record, self.scanner.dialect),
        );
    }

    #[cold]
    fn fault(&mut self, bytes: usize, code: Code, seen: String) {
        self.filling.refuse(bytes, Outcome::of_record(code, seen));
    }

    /// The rows; frames are not in it.
    pub(super) fn finish(self) -> Parsed {
        self.filling.finish()
    }
}

impl Sink for Rows<'_> {
    fn enter(&mut self) {
        self.epoch += 1;
    }

    fn push(&mut self, text: &str, start: usize, stop: usize) {
        let bytes = text.as_bytes().get(..stop).unwrap_or_default();
        let at = self.scanner.skip_space(bytes, start);
        let is_record = self.shape != Some(&Shape::Nowhere);
        let checked = is_record.then(|| self.check(text, stop, at)).flatten();
        let checked = checked.and_then(|checked| {
            let after = self.scanner.skip_space(bytes, checked.0.stop);
            if after == stop {
                Some(checked)
            } else {
                self.scanner.fail(Reason::Follows, after)
            }
        });
        match checked {
            Some(checked) => self.take(text, start, stop, checked),
            None => self.refuse(text.get(start..stop).unwrap_or_default(), start),
        }
    }
}

/// What a value is, for people.
fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Absent | Kind::Null => "null",
        Kind::True | Kind::False => "a boolean",
        Kind::Number => "a number",
        Kind::Plain | Kind::Escaped => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}
