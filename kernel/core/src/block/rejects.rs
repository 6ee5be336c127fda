//! Records that break a rule: which, where, and why.

use std::collections::HashMap;
use std::sync::Arc;

use super::layout::FileLayout;
use super::spec::{Format, ScanSpec};
use crate::fault::{Code, Fault, shown};
use crate::quoting::quoted;

/// A record that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Offset of its first byte.
    pub offset: u64,
    /// Bytes of its content; of a record that was given up, of all that was skipped.
    pub length: u64,
    /// Why: a heading of `docs/errors.md`.
    pub code: &'static str,
    /// Number of the reason, as [`Code`] has it; 0 for a record that was given up.
    pub number: u16,
    /// The column whose value it is; empty where it is the record.
    pub column: Arc<str>,
    /// What was seen of it.
    pub seen: String,
    /// Spark's name of the type that was expected; empty where there is none.
    pub kind: Arc<str>,
    /// Its first bytes.
    pub raw: Vec<u8>,
    /// Whether a row was delivered for it all the same.
    pub delivered: bool,
}

impl Reject {
    /// Of a fault; nothing is known of its record.
    pub(super) fn of(fault: &Fault) -> Reject {
        Reject {
            offset: 0,
            length: 0,
            code: code_of(fault),
            number: fault.code as u16,
            column: fault.column.clone(),
            seen: fault.seen.clone(),
            kind: fault.kind.clone(),
            raw: Vec::new(),
            delivered: true,
        }
    }
}

/// Whether the bytes are wrong, whatever columns are asked for.
pub(super) fn is_structural(fault: &Fault) -> bool {
    fault.code != Code::BadValue
}

/// The stable name of a reason.
fn code_of(fault: &Fault) -> &'static str {
    match fault.code {
        Code::FieldCount => "field-count",
        Code::BadValue => "bad-value",
        Code::UnclosedQuote => "unclosed-quote",
        Code::FieldTooLong => "field-too-long",
        Code::BadJson => "bad-json",
        Code::NotAnObject => "not-an-object",
        Code::ShortRecord | Code::MissingPlaces | Code::MissingBytes => "short-record",
        Code::BadXml => "bad-xml",
        Code::NullInNotNull => "null-in-not-null",
        Code::NoMatch => "no-match",
        Code::NotBegun => "before-first-record",
        Code::TooLong => "record-too-long",
        Code::NotOneRecord => "not-one-record",
        Code::BadRecordHeader => "bad-record-header",
        Code::MissingSegment => "missing-segment",
        Code::NotAnArray => "not-an-array",
        Code::PathNotFound => "record-path-not-found",
    }
}

/// Says in one sentence what is wrong, as the Python package does.
#[derive(Debug)]
pub(super) struct Words {
    fields: Fields,
    max_field_chars: Option<usize>,
    max_record_bytes: usize,
    may_have_lines: bool,
    last: (String, usize),            // column, and its first place
    written: HashMap<String, String>, // by the name of a column in lower case
}

/// How many fields records may have.
#[derive(Clone, Copy, Debug)]
enum Fields {
    Exactly(usize),
    AtMost(usize),
}

impl Words {
    /// Of a file with such fields.
    pub(super) fn of(spec: &ScanSpec, layout: Option<&FileLayout>) -> Words {
        let (fields, max_field_chars) = match &spec.format {
            Format::Csv(own) => {
                let named = layout.map(|layout| Fields::Exactly(layout.named.names.len()));
                let fields = named.unwrap_or(Fields::AtMost(own.max_columns));
                (fields, own.max_field_chars)
            }
            _ => (Fields::Exactly(0), None),
        };
        let last = match &spec.format {
            Format::FixedWidth(own) => own.last.clone(),
            _ => (String::new(), 0),
        };
        let may_have_lines = match &spec.format {
            Format::Csv(own) => own.multi_line,
            Format::Json(own) => own.multi_line,
            _ => true,
        };
        let written = spec
            .fields
            .iter()
            .map(|field| (field.name.to_lowercase(), field.written.clone()));
        Words {
            fields,
            max_field_chars,
            max_record_bytes: spec.max_record_bytes,
            may_have_lines,
            last,
            written: written.collect(),
        }
    }

    /// The text of the column of reasons.
    pub(super) fn text(&self, reject: &Reject) -> String {
        format!("[{}] {}", reject.code, self.reason(reject))
    }

    pub(super) fn reason(&self, reject: &Reject) -> String {
        let seen = &reject.seen;
        match (reject.code, reject.number) {
            ("record-too-long", _) => format!(
                "the record is longer than maxRecordBytes={}",
                self.max_record_bytes
            ),
            ("unclosed-quote", 0) => "a quote is opened and never closed".into(),
            ("unclosed-quote", _) => {
                "the line ends inside quotes; with multiLine=true a quoted field may span lines"
                    .into()
            }
            ("unfinished-record", _) => "a bracket is opened and never closed".into(),
            ("short-record", number) if number == Code::MissingPlaces as u16 => {
                let (column, place) = (quoted(&shown(&self.last.0)), self.last.1);
                format!("the record ends at place {seen}, and column {column} begins at {place}")
            }
            ("short-record", number) if number == Code::MissingBytes as u16 => {
                format!("the file ends inside a block: by its length {seen} more bytes follow")
            }
            ("short-record", _) => "the file ends inside the record".into(),
            ("not-one-record", _) => {
                let hint = match self.may_have_lines {
                    true => "",
                    false => "; with multiLine=true it may have lines",
                };
                format!("the value of a message is one record, and this one has {seen}{hint}")
            }
            ("bad-record-header", _) => "nothing tells how long a record is".into(),
            ("missing-segment", _) => {
                "a record has a first segment, those in the middle, and a last one".into()
            }
            ("no-match", _) => "the record does not match the pattern".into(),
            ("before-first-record", _) => "nothing before it begins a record".into(),
            ("bad-json", _) => format!("the record is no JSON value: {seen}"),
            ("bad-xml", _) => format!("the record is no XML element: {seen}"),
            ("not-an-object", _) => format!("the record is {seen}, not an object"),
            ("not-an-array", _) => format!("at recordPath is {seen}, not an array"),
            ("record-path-not-found", _) => {
                "no document of the file has an array at recordPath".into()
            }
            ("field-count", _) => match self.fields {
                Fields::Exactly(fields) => {
                    format!("the record has {seen} fields where {fields} are expected")
                }
                Fields::AtMost(most) => {
                    format!("the record has {seen} fields where maxColumns={most} are allowed")
                }
            },
            ("null-in-not-null", _) => {
                let column = quoted(&shown(&reject.column));
                format!("column {column} is NOT NULL and has no value")
            }
            ("field-too-long", _) => {
                format!(
                    "a field is longer than maxCharsPerColumn={}",
                    self.max_field_chars.unwrap_or_default()
                )
            }
            ("bad-value", _) => {
                let written = self
                    .written
                    .get(&reject.column.to_lowercase())
                    .map_or("", String::as_str);
                format!(
                    "column {}: {} is no {}{written}",
                    quoted(&shown(&reject.column)),
                    quoted(seen),
                    reject.kind
                )
            }
            (code, _) => code.into(),
        }
    }
}
