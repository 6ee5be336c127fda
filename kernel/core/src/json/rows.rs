//! Records to rows, one after the other.

use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef};

use super::dialect::{Dialect, Reason, Wrong};
use super::fill::{Members, Reading};
use super::rescue::unfit_members;
use super::scan::{Kind, Scanner, Span};
use crate::columns::Column;
use crate::fault::{Code, Fault};
use crate::limits::MAX_COLUMN_BYTES;
use crate::parsed::Parsed;
use crate::rules::Rules;

/// How data that does not fit is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescue {
    /// What ends the kept text of a record: `,"_file_path":"..."}`.
    pub tail: String,
    /// Whether the text is asked for; if not, what does not fit is no fault either.
    pub wanted: bool,
}

/// Records that tell how much room others need.
const SAMPLE: usize = 64;

/// A record that was checked: the object, or what else it is.
type Checked = (Span, bool);

/// Columns while they are filled, and what is wrong with their records.
pub(super) struct Rows<'p> {
    rescue: Option<&'p Rescue>,
    members: Members,
    columns: Vec<Column>,
    rescued: Option<Column>,
    scanner: Scanner,
    scratch: String,
    epoch: u64,
    text_bytes: usize, // of the records: no column has more
    parsed: Parsed,
}

impl<'p> Rows<'p> {
    pub(super) fn new(
        schema: &SchemaRef,
        rules: &[Rules],
        dialect: Dialect,
        rescue: Option<&'p Rescue>,
    ) -> Result<Rows<'p>, String> {
        let fields = schema.fields().iter();
        let members = Members::new(
            fields
                .clone()
                .map(|field| (field.name().as_str(), field.data_type())),
        );
        let columns = fields
            .zip(rules)
            .map(|(field, rules)| Column::new(field, rules))
            .collect::<Result<_, _>>()?;
        let text = Field::new("rescued", DataType::Utf8, true);
        let wants = rescue.is_some_and(|rescue| rescue.wanted);
        Ok(Rows {
            rescue,
            members,
            columns,
            rescued: wants
                .then(|| Column::new(&text, &Rules::default()))
                .transpose()?,
            scanner: Scanner::new(dialect),
            scratch: String::new(),
            epoch: 1,
            text_bytes: 0,
            parsed: Parsed::default(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.parsed.rows
    }

    /// Whether a record of so many bytes fits into the columns for sure.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        let replaced = if self.len() == 0 {
            bytes
        } else {
            bytes.saturating_mul(3)
        }; // by characters of 3 bytes
        let rescued = self
            .rescued
            .as_ref()
            .zip(self.rescue)
            .map_or(0, |(column, rescue)| {
                let escaped = bytes.saturating_mul(6);
                escaped
                    .saturating_add(rescue.tail.len())
                    .saturating_add(column.text_bytes())
            });
        self.text_bytes.saturating_add(replaced).max(rescued) <= MAX_COLUMN_BYTES
    }

    /// Make room for more records like those that were read, in so many more bytes; once, as soon as some were read.
    pub(super) fn expect(&mut self, bytes: usize, most_rows: usize) {
        if self.parsed.rows != SAMPLE || self.text_bytes == 0 {
            return;
        }
        let more = |seen: usize| seen.saturating_mul(bytes / self.text_bytes.max(1)); // a whole number of samples
        let rows = more(SAMPLE).min(most_rows);
        for column in self.columns.iter_mut().chain(&mut self.rescued) {
            let texts = column.text_bytes();
            column.reserve(rows, more(texts + texts / 8).min(bytes));
        }
    }

    /// From now on records are of another text.
    pub(super) fn enter(&mut self) {
        self.epoch += 1;
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

    /// Read a record whose bounds are known.
    pub(super) fn push(&mut self, text: &str, start: usize, stop: usize) {
        let bytes = text.as_bytes().get(..stop).unwrap_or_default();
        let at = self.scanner.skip_space(bytes, start);
        let checked = self.check(text, stop, at).and_then(|checked| {
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

    #[inline]
    fn check(&mut self, text: &str, limit: usize, at: usize) -> Option<Checked> {
        let bytes = text.as_bytes().get(..limit).unwrap_or_default();
        if bytes.get(at) != Some(&b'{') {
            return self.scanner.value(bytes, at).map(|span| (span, false));
        }
        let Members { names, parts } = &mut self.members;
        let (stop, has_others) =
            names.read(parts, &mut self.scanner, text, limit, at, self.epoch)?;
        Some((Span::new(Kind::Object, at, stop), has_others))
    }

    /// Append the row of a record that is JSON.
    fn take(&mut self, text: &str, start: usize, stop: usize, (value, has_others): Checked) {
        let record = self.parsed.rows;
        self.text_bytes += stop - start;
        if value.kind != Kind::Object {
            return self.fault(Code::NotAnObject, what(value.kind).to_string());
        }
        let mut reading = Reading::new(text, self.epoch, &mut self.scanner, &mut self.scratch);
        reading.members(&mut self.members, &mut self.columns);
        let (problem, rescued) = (reading.problem.take(), &mut self.rescued);
        if let (Some(column), Some(rescue)) = (rescued, self.rescue) {
            let may_have = has_others || reading.has_unfit;
            let unfit = || {
                unfit_members(
                    &mut reading,
                    &mut self.members,
                    &mut self.columns,
                    value,
                    &rescue.tail,
                )
            };
            match may_have.then(unfit).flatten() {
                Some(text) => column.push_utf8(&text),
                None => column.push_null(),
            }
        }
        if reading.is_undecided {
            self.parsed.undecided.push(record as u32);
        } else if let (Some(problem), None) = (problem, self.rescue) {
            self.parsed.faults.push(Fault { record, ..problem });
        }
        self.parsed.rows += 1;
    }

    /// Append nulls for a record that is no JSON.
    #[cold]
    fn refuse(&mut self, record: &str, start: usize) {
        self.text_bytes += record.len();
        let Wrong { reason, at } = self.scanner.wrong;
        if reason == Reason::Letters {
            self.parsed.undecided.push(self.parsed.rows as u32);
            return self.push_nulls();
        }
        let wrong = Wrong {
            reason,
            at: at.saturating_sub(start),
        };
        self.fault(Code::BadJson, wrong.sentence(record));
    }

    #[cold]
    fn fault(&mut self, code: Code, seen: String) {
        self.parsed.faults.push(Fault {
            record: self.parsed.rows,
            code,
            column: Arc::default(),
            seen,
            kind: Arc::default(),
        });
        self.push_nulls();
    }

    fn push_nulls(&mut self) {
        self.columns
            .iter_mut()
            .chain(&mut self.rescued)
            .for_each(Column::push_null);
        self.parsed.rows += 1;
    }

    /// The rows; frames are not in it.
    pub(super) fn finish(mut self) -> Parsed {
        self.parsed.columns = self
            .columns
            .iter_mut()
            .chain(&mut self.rescued)
            .map(Column::finish)
            .collect();
        self.parsed
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
