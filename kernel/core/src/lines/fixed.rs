//! Records of a fixed number of bytes.

use std::num::NonZero;
use std::sync::Arc;

use arrow_schema::{DataType, Field};

use super::reading::{Bounds, Taking, add_bytes};
use crate::fault::{Code, Fault};
use crate::frames::Frames;
use crate::parsed::Parsed;

/// Reads records of a fixed length into one column of bytes, or into none.
#[derive(Clone, Debug)]
pub struct Parser {
    record_bytes: NonZero<usize>,
    is_short_a_fault: bool,
    is_wanted: bool,
}

impl Parser {
    /// A parser for records of `record_bytes` each; the last one of a file may be shorter, which is a fault or not.
    ///
    /// # Errors
    /// If the length is 0, or the column is not of bytes.
    pub fn new(
        record_bytes: usize,
        is_short_a_fault: bool,
        field: Option<&Field>,
    ) -> Result<Parser, String> {
        let record_bytes = NonZero::new(record_bytes).ok_or("a record has at least one byte")?;
        match field {
            Some(field) if *field.data_type() != DataType::Binary => {
                Err(format!("records of fixed length as {}", field.data_type()))
            }
            _ => Ok(Parser {
                record_bytes,
                is_short_a_fault,
                is_wanted: field.is_some(),
            }),
        }
    }

    /// The records at the front of `data`, which begins with one.
    pub fn parse(&self, data: &[u8], bounds: Bounds) -> Parsed {
        let mut taking = Taking::new(bounds);
        equal_pieces(data, self.record_bytes, bounds.at_end, &mut taking);
        let mut parsed = taking.finish(data.len());
        if self.is_wanted {
            add_bytes(data, &mut parsed);
        }
        if self.is_short_a_fault {
            let last = parsed.frames.starts.last().zip(parsed.frames.stops.last());
            let is_short = |(start, stop)| ((stop - start) as usize) < self.record_bytes.get();
            parsed.faults = last
                .is_some_and(is_short)
                .then(|| short(parsed.rows - 1))
                .into_iter()
                .collect();
        }
        parsed
    }
}

/// Take pieces of `length` bytes for as long as they are taken; the last one of a file may be shorter.
pub(crate) fn equal_pieces(data: &[u8], length: NonZero<usize>, at_end: bool, taking: &mut Taking) {
    let mut start = 0;
    while start < data.len() {
        let whole = start.saturating_add(length.get());
        let stop = whole.min(data.len());
        if (stop < whole && !at_end) || !taking.take(start, stop, stop) {
            break;
        }
        start = stop;
    }
}

/// Where all complete pieces of `data` are.
pub(crate) fn equal_frames(data: &[u8], length: NonZero<usize>, at_end: bool) -> Frames {
    let mut taking = Taking::new(Bounds {
        stop: usize::MAX,
        at_end,
        rows: usize::MAX,
        record_bytes: usize::MAX,
    });
    equal_pieces(data, length, at_end, &mut taking);
    taking.finish(data.len()).frames
}

fn short(record: usize) -> Fault {
    Fault {
        record,
        code: Code::ShortRecord,
        column: Arc::default(),
        seen: String::new(),
        kind: Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;
    use crate::parsed::Stopped;

    fn parser(is_short_a_fault: bool) -> Parser {
        let field = Field::new("value", DataType::Binary, false);
        Parser::new(4, is_short_a_fault, Some(&field)).expect("bytes")
    }

    fn bounds(at_end: bool) -> Bounds {
        Bounds {
            stop: 99,
            at_end,
            rows: 9,
            record_bytes: 9,
        }
    }

    #[test]
    fn a_short_rest_is_the_last_record() {
        for is_short_a_fault in [true, false] {
            let parsed = parser(is_short_a_fault).parse(b"aaaabbbbcc", bounds(true));
            let column = parsed.columns[0].as_binary::<i32>();
            let found: Vec<_> = column.iter().flatten().collect();
            assert_eq!(found, [b"aaaa".as_slice(), b"bbbb", b"cc"]);
            assert_eq!(parsed.stopped, Stopped::End);
            let expected: &[Fault] = if is_short_a_fault { &[short(2)] } else { &[] };
            assert_eq!(parsed.faults, expected);
        }
    }

    #[test]
    fn what_may_go_on_is_no_record_yet() {
        let parsed = parser(true).parse(b"aaaabbbbcc", bounds(false));
        assert_eq!((parsed.rows, parsed.frames.next_start), (2, 8));
        assert_eq!((parsed.stopped, parsed.faults), (Stopped::Input, vec![]));
    }

    #[test]
    fn columns_that_hold_no_records_are_refused() {
        assert!(Parser::new(0, true, None).is_err());
        let text = Field::new("value", DataType::Utf8, false);
        assert!(Parser::new(4, true, Some(&text)).is_err());
    }
}
