//! Values of messages as rows: each holds one record, and perhaps blank lines around it.
//!
//! Put side by side they are read at once, as the lines of a file are. Where the records do not agree with the
//! messages, each is looked at alone: one with no record, or several, is broken, and costs no other one.

use arrow_array::UInt32Array;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::concat::concat;
use arrow_select::take::take;

use super::engine::{Engine, engine_of};
use super::error::BlockError;
use super::reader::{Batch, tail_of, undecided};
use super::rejects::Reject;
use super::rows::Rows;
use super::spec::{BlockSpec, Head, ScanSpec};
use crate::fault::{Code, Fault};
use crate::frames::Frames;
use crate::lines::Bounds;
use crate::parsed::Parsed;

/// Reads values of messages.
pub struct MessageReader {
    engine: Box<dyn Engine>,
    rows: Rows,
    schema: SchemaRef,
    separator: Vec<u8>,
    most_bytes: usize,
}

/// Rows of some messages.
#[derive(Debug)]
pub struct Messages {
    /// A row for each message, but for those that mode DROPMALFORMED drops; nulls for a value that is null or broken.
    pub batch: Batch,
    /// The broken ones, in order; `offset` is the number of the message.
    pub rejects: Vec<Reject>,
}

/// Values one after the other, and where each is.
struct Joined {
    data: Vec<u8>,
    starts: Vec<i64>,
    stops: Vec<i64>,
}

impl MessageReader {
    /// A reader of messages. The block names where they are from; `separator` ends records, if they have an end.
    ///
    /// # Errors
    /// If a document says what has no meaning here, or asks for what the kernel does not do.
    pub fn open(
        spec_json: &str,
        block_json: &str,
        separator: &[u8],
    ) -> Result<MessageReader, BlockError> {
        let block = BlockSpec {
            validate: true,
            ..BlockSpec::read(block_json)?
        };
        let spec = ScanSpec::read(spec_json)?;
        let head = block.head.as_ref();
        let charset = Head::charset(head, spec.codes.as_ref())?;
        let engine = engine_of(&spec, &tail_of(&block), head, &charset)?;
        let mut rows = Rows::new(&spec, &block, charset)?;
        rows.set_layout(&spec, engine.layout().cloned());
        Ok(MessageReader {
            schema: Schema::new(rows.fields().cloned().collect::<Vec<_>>()).into(),
            engine,
            rows,
            separator: separator.to_vec(),
            most_bytes: spec.max_record_bytes,
        })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Why a message broke a rule, in one sentence.
    pub fn reason(&self, reject: &Reject) -> String {
        self.rows.words().reason(reject)
    }

    /// The rows of messages; a value may be null.
    ///
    /// # Errors
    /// If a column would be too large.
    pub fn read(&mut self, values: &[Option<&[u8]>]) -> Result<Messages, BlockError> {
        let mut faults = Vec::new();
        let mut present = Vec::with_capacity(values.len());
        for (message, value) in values.iter().enumerate() {
            match value {
                Some(value) if value.len() > self.most_bytes => {
                    faults.push(broken(message, Code::TooLong, String::new()));
                }
                Some(value) => present.push((message, *value)),
                None => {}
            }
        }
        let all = self.join(values.iter().map(|value| value.unwrap_or_default()));
        let parsed = match present.len() == values.len() {
            true => self.parse(&all)?,
            false => self.parse(&self.join(present.iter().map(|&(_, value)| value)))?,
        };
        let parsed = match parsed {
            Some(parsed) => parsed,
            None => {
                present = self.one_record_each(&present, &mut faults);
                self.parse_records(&present)?
            }
        };
        let messages: Vec<usize> = present.iter().map(|&(message, _)| message).collect();
        let mut parsed = spread(self.rows.fill(parsed)?, &messages, values.len(), faults)?;
        parsed.frames = Frames {
            starts: all.starts,
            stops: all.stops,
            ..Frames::default()
        };
        let starts = parsed.frames.starts.clone();
        let delivered = self.rows.deliver_filled(&all.data, 0, parsed, None)?;
        let number = |reject: Reject| Reject {
            offset: starts.partition_point(|&start| (start as u64) < reject.offset) as u64,
            ..reject
        };
        Ok(Messages {
            batch: delivered.batch,
            rejects: delivered.rejects.into_iter().map(number).collect(),
        })
    }

    fn join<'v>(&self, values: impl Iterator<Item = &'v [u8]>) -> Joined {
        let mut joined = Joined {
            data: Vec::new(),
            starts: Vec::new(),
            stops: Vec::new(),
        };
        for value in values {
            joined.starts.push(joined.data.len() as i64);
            joined.data.extend_from_slice(value);
            joined.stops.push(joined.data.len() as i64);
            joined.data.extend_from_slice(&self.separator);
        }
        joined
    }

    /// The records of values side by side; `None` if those are not one for each.
    fn parse(&self, joined: &Joined) -> Result<Option<Parsed>, BlockError> {
        let parsed = self.parse_all(&joined.data)?;
        let frames = &parsed.frames;
        let agrees = frames.starts == joined.starts
            && frames.malformed.is_empty()
            && frames.next_start == joined.data.len();
        Ok(agrees.then_some(parsed))
    }

    fn parse_all(&self, data: &[u8]) -> Result<Parsed, BlockError> {
        let all = Bounds {
            stop: data.len().max(1),
            at_end: true,
            rows: usize::MAX,
            record_bytes: usize::MAX,
        };
        let parsed = self.engine.parse(data, all)?;
        match parsed.undecided.is_empty() {
            true => Ok(parsed),
            false => Err(undecided(0)),
        }
    }

    /// The one record of each value; a fault for a value that has none, several, or one that never ends.
    fn one_record_each<'v>(
        &self,
        values: &[(usize, &'v [u8])],
        faults: &mut Vec<Fault>,
    ) -> Vec<(usize, &'v [u8])> {
        let mut records = Vec::with_capacity(values.len());
        for &(message, value) in values {
            let frames = self.engine.frame(value, true);
            let ends = frames.next_start == value.len();
            match (frames.starts.as_slice(), frames.stops.as_slice()) {
                (&[start], &[stop]) if ends && frames.malformed.is_empty() => {
                    let record = value.get(start as usize..stop as usize);
                    records.push((message, record.unwrap_or_default()));
                }
                (starts, _) => {
                    let seen = match starts.len() {
                        _ if !ends => "a record that never ends".into(),
                        1 => "1 record".into(),
                        count => format!("{count} records"),
                    };
                    faults.push(broken(message, Code::NotOneRecord, seen));
                }
            }
        }
        records
    }

    /// Records that are known to be whole: together if they are found like that, else one by one.
    fn parse_records(&self, records: &[(usize, &[u8])]) -> Result<Parsed, BlockError> {
        let joined = self.join(records.iter().map(|&(_, record)| record));
        if let Some(parsed) = self.parse(&joined)? {
            return Ok(parsed);
        }
        let mut all = Parsed::default();
        let mut parts = Vec::with_capacity(records.len());
        for &(_, record) in records {
            let parsed = self.parse_all(record)?;
            if parsed.rows != 1 {
                return Err(BlockError::invariant("a record stays one when it is alone"));
            }
            let before = all.rows;
            all.rows += 1;
            let faults = parsed.faults.into_iter();
            all.faults.extend(faults.map(|fault| Fault {
                record: before,
                ..fault
            }));
            let counts = parsed.counts.iter();
            all.counts
                .extend(counts.map(|&(_, fields)| (before as u32, fields)));
            parts.push(parsed.columns);
        }
        let columns = parts.first().map_or(0, Vec::len);
        for column in 0..columns {
            let parts = parts.iter().filter_map(|columns| columns.get(column));
            let parts: Vec<_> = parts.map(AsRef::as_ref).collect();
            all.columns.push(concat(&parts).map_err(too_large)?);
        }
        Ok(all)
    }
}

fn broken(record: usize, code: Code, seen: String) -> Fault {
    Fault {
        record,
        code,
        column: "".into(),
        seen,
        kind: "".into(),
    }
}

/// Records at the places of their messages; nulls at all others.
fn spread(
    parsed: Parsed,
    messages: &[usize],
    rows: usize,
    mut faults: Vec<Fault>,
) -> Result<Parsed, BlockError> {
    if messages.len() == rows {
        return Ok(parsed);
    }
    let mut places = vec![None; rows];
    for (record, &message) in messages.iter().enumerate() {
        if let Some(place) = places.get_mut(message) {
            *place = Some(record as u32);
        }
    }
    let places = UInt32Array::from(places);
    let columns = parsed.columns.iter();
    let columns = columns.map(|column| take(column, &places, None).map_err(too_large));
    let at = |record: usize| messages.get(record).copied().unwrap_or_default();
    let found = parsed.faults.into_iter();
    faults.extend(found.map(|fault| Fault {
        record: at(fault.record),
        ..fault
    }));
    faults.sort_by_key(|fault| fault.record);
    Ok(Parsed {
        rows,
        columns: columns.collect::<Result<_, _>>()?,
        faults,
        ..Parsed::default()
    })
}

fn too_large(error: arrow_schema::ArrowError) -> BlockError {
    BlockError::invariant(error.to_string())
}
