//! Records that break a rule: which, where, and why.

use std::collections::HashMap;
use std::sync::Arc;

use super::spec::{Format, ScanSpec};
use crate::fault::{Code, Fault};

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

/// Whether the bytes are wrong, whatever columns are asked for.
pub(super) fn is_structural(fault: &Fault) -> bool {
    fault.code != Code::BadValue
}

/// The stable name of a reason.
pub(super) fn code_of(fault: &Fault) -> &'static str {
    match fault.code {
        Code::FieldCount => "field-count",
        Code::BadValue => "bad-value",
        Code::UnclosedQuote => "unclosed-quote",
        Code::FieldTooLong => "field-too-long",
        Code::BadJson => "bad-json",
        Code::NotAnObject => "not-an-object",
        Code::ShortRecord | Code::MissingPlaces => "short-record",
        Code::BadXml => "bad-xml",
    }
}

/// Says in one sentence what is wrong, as the Python package does.
#[derive(Debug)]
pub(super) struct Words {
    fields: usize,
    max_field_chars: Option<usize>,
    max_record_bytes: usize,
    last: (String, usize), // column, and its first place
    written: HashMap<String, String>,
}

impl Words {
    pub(super) fn of(spec: &ScanSpec) -> Words {
        let (fields, max_field_chars) = match &spec.format {
            Format::Csv(own) => (own.names.as_ref().map_or(0, Vec::len), own.max_field_chars),
            _ => (0, None),
        };
        let last = match &spec.format {
            Format::FixedWidth(own) => own.last.clone(),
            _ => (String::new(), 0),
        };
        let written = spec
            .fields
            .iter()
            .map(|field| (field.name.clone(), field.written.clone()));
        Words {
            fields,
            max_field_chars,
            max_record_bytes: spec.max_record_bytes,
            last,
            written: written.collect(),
        }
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
                let (column, place) = (quoted(&self.last.0), self.last.1);
                format!("the record ends at place {seen}, and column {column} begins at {place}")
            }
            ("short-record", _) => "the file ends inside the record".into(),
            ("bad-json", _) => format!("the record is no JSON value: {seen}"),
            ("not-an-object", _) => format!("the record is {seen}, not an object"),
            ("field-count", _) => format!(
                "the record has {seen} fields where {} are expected",
                self.fields
            ),
            ("field-too-long", _) => {
                format!(
                    "a field is longer than maxCharsPerColumn={}",
                    self.max_field_chars.unwrap_or_default()
                )
            }
            ("bad-value", _) => {
                let written = self
                    .written
                    .get(reject.column.as_ref())
                    .map_or("", String::as_str);
                format!(
                    "column {}: {} is no {}{written}",
                    quoted(&reject.column),
                    quoted(seen),
                    reject.kind
                )
            }
            (code, _) => code.into(),
        }
    }
}

/// A text in quotes, as people see it.
fn quoted(text: &str) -> String {
    let mark = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut shown = String::from(mark);
    for symbol in text.chars() {
        match symbol {
            '\'' if mark == '"' => shown.push(symbol),
            '"' => shown.push(symbol),
            _ => shown.extend(symbol.escape_debug()),
        }
    }
    shown.push(mark);
    shown
}
