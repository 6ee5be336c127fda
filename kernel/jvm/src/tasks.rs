//! The blocks of one Spark task, read one after the other.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use arrow_array::ArrayRef;
use serde::Deserialize;
use serde_json::{Value, json};
use splitscan_kernel_core::block::{BlockError, BlockReader, LocalFile, Reject};

use crate::Fault;
use crate::lend::lend;

/// Version of the documents; others are refused.
const VERSION: u64 = 1;

/// Blocks of a task, as `splitscan.block_json.write_blocks` spells them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    version: u64,
    files: Vec<Value>,
    blocks: VecDeque<(usize, u64, u64, u64, Option<u64>, Value)>,
}

/// Reads the blocks of a task; keeps the batch that it lends.
pub struct TaskReader {
    scan: String,
    files: Vec<Value>,
    blocks: VecDeque<(usize, u64, u64, u64, Option<u64>, Value)>,
    left: Option<u64>,
    open: Option<BlockReader>,
    path: String,
    lent: Vec<ArrayRef>,
    places: Vec<i64>,
    losses: Losses,
}

/// The records that are no rows.
#[derive(Default)]
struct Losses {
    records: u64,
    first: Option<String>,
}

impl TaskReader {
    /// Open nothing yet.
    ///
    /// # Errors
    /// If a document is none.
    pub fn open(
        scan: &str,
        blocks: &str,
        columns: &[String],
        limit: Option<u64>,
    ) -> Result<TaskReader, Fault> {
        let scan = serde_json::from_str(scan)
            .map_err(|error| bad_document("a scan", &error.to_string()))?;
        let blocks: Blocks = serde_json::from_str(blocks)
            .map_err(|error| bad_document("the blocks of a task", &error.to_string()))?;
        if blocks.version != VERSION {
            return Err(bad_document(
                "the blocks of a task",
                &format!("version {}", blocks.version),
            ));
        }
        Ok(TaskReader {
            scan: project(scan, columns)
                .ok_or_else(|| bad_document("the columns of a scan", &columns.join(", ")))?,
            files: blocks.files,
            blocks: blocks.blocks,
            left: limit,
            open: None,
            path: String::new(),
            lent: Vec::new(),
            places: Vec::new(),
            losses: Losses::default(),
        })
    }

    /// Read the next batch, free the one before, and say how many rows it has.
    ///
    /// # Errors
    /// What the block reader says, and a file that is not the one that was planned.
    pub fn next_batch(&mut self) -> Result<Option<usize>, Fault> {
        self.places.clear();
        self.lent.clear();
        while self.left != Some(0) {
            if self.open.is_none() {
                let Some((file, start, stop, index, first, seek)) = self.blocks.pop_front() else {
                    break;
                };
                let Some(file) = self.files.get(file) else {
                    return Err(bad_document(
                        "the blocks of a task",
                        "a file that is not there",
                    ));
                };
                let path = file.get(0).and_then(Value::as_str).unwrap_or_default();
                let planned = file.get(3).and_then(Value::as_str).unwrap_or_default();
                let source = Self::open_file(path, planned)?;
                let document = json!({
                    "version": VERSION, "file": file, "block": (start, stop, index, first, seek),
                    "validate": false, "with_digest": false, "limit": self.left,
                });
                self.path = path.to_string();
                self.open = Some(
                    BlockReader::open(&self.scan, &document.to_string(), Box::new(source))
                        .map_err(fault)?,
                );
            }
            let Some(reader) = self.open.as_mut() else {
                continue;
            };
            let batch = reader.next_batch().map_err(fault)?;
            for reject in reader.take_rejects() {
                self.losses.take(&reject, reader, &self.path);
            }
            let Some(batch) = batch else {
                self.open = None;
                continue;
            };
            if batch.rows == 0 {
                continue;
            }
            if let Some(left) = self.left.as_mut() {
                *left = left.saturating_sub(batch.rows as u64);
            }
            self.lent = batch.columns;
            for column in &self.lent {
                lend(column, &mut self.places).map_err(Fault)?;
            }
            return Ok(Some(batch.rows));
        }
        Ok(None)
    }

    /// Where the arrays of the batch are.
    pub fn places(&self) -> &[i64] {
        &self.places
    }

    /// Which records are no rows, as a warning; `None` if all are.
    pub fn losses(&self) -> Option<String> {
        let first = self.losses.first.as_ref()?;
        let records = self.losses.records;
        let which = if records == 1 {
            "1 record is no row".into()
        } else {
            format!("{records} records are no rows")
        };
        Some(format!(
            "{which}; the first {first}. mode=FAILFAST stops there, and an ingest keeps them as rejects"
        ))
    }

    /// Open a file, and make sure that it is the one that was planned.
    fn open_file(path: &str, planned: &str) -> Result<LocalFile, Fault> {
        let failed = |error: io::Error| {
            let code = if error.kind() == io::ErrorKind::NotFound {
                "source-missing"
            } else {
                "source-error"
            };
            Fault(format!(
                "a file that was planned cannot be read [{code}]\n  where: {path}\n  seen:  {error}\n  fix:   see that \
                 it is there on every machine that runs tasks, and plan again"
            ))
        };
        let file = LocalFile::open(Path::new(path)).map_err(failed)?;
        let found = file.fingerprint().map_err(failed)?;
        if found != planned {
            return Err(Fault(format!(
                "the file changed after it was planned (onFileChange=fail) [source-changed]\n  where: {path}\n  seen:  \
                 fingerprint {found}; planned {planned}\n  fix:   plan again, or set option onFileChange=ignore to read \
                 whatever is there now"
            )));
        }
        Ok(file)
    }
}

impl Losses {
    fn take(&mut self, reject: &Reject, reader: &BlockReader, path: &str) {
        if reject.delivered {
            return;
        }
        self.records += 1;
        self.first.get_or_insert_with(|| {
            format!(
                "begins at byte {} of {path}: {} [{}]",
                reject.offset,
                reader.reason(reject),
                reject.code
            )
        });
    }
}

/// The document of a scan that delivers some of its columns, and decodes no others; `None` if it has not all of them.
fn project(mut scan: Value, columns: &[String]) -> Option<String> {
    let known = scan["columns"].as_array()?;
    let mut wanted: Vec<Value> = columns
        .iter()
        .map(|name| {
            known
                .iter()
                .find(|column| column["name"] == name.as_str())
                .cloned()
        })
        .collect::<Option<_>>()?;
    let mut decoded: Vec<usize> = Vec::new();
    for column in &mut wanted {
        if let Some(number) = column["source"]["field"].as_u64() {
            let number = usize::try_from(number).ok()?;
            let place = decoded
                .iter()
                .position(|&each| each == number)
                .unwrap_or_else(|| {
                    decoded.push(number);
                    decoded.len() - 1
                });
            column["source"]["field"] = place.into();
        }
    }
    scan["columns"] = wanted.into();
    scan["fields"] = pick(&scan["fields"], &decoded)?;
    if let Some(csv) = scan["format"].get_mut("csv") {
        csv["wanted"] = pick(&csv["wanted"], &decoded)?;
    }
    Some(scan.to_string())
}

fn pick(list: &Value, numbers: &[usize]) -> Option<Value> {
    numbers
        .iter()
        .map(|&number| list.get(number).cloned())
        .collect::<Option<Vec<_>>>()
        .map(Value::from)
}

fn bad_document(what: &str, seen: &str) -> Fault {
    Fault(format!(
        "{what} is a document of version {VERSION} [bad-document]\n  seen:  {seen}\n  fix:   use the same version of \
         splitscan and its connector everywhere"
    ))
}

/// An error of the block reader in the layout that Python's errors have.
fn fault(error: BlockError) -> Fault {
    let mut text = format!(
        "{} [{}]\n  where: {}",
        error.rule, error.code, error.place.path
    );
    if let Some(offset) = error.place.offset {
        text += &format!(", byte {offset}");
    }
    if let Some((start, stop)) = error.place.block {
        text += &format!(", in block [{start}, {stop})");
    }
    if !error.seen.is_empty() {
        text += &format!("\n  seen:  {}", error.seen);
    }
    if !error.fix.is_empty() {
        text += &format!("\n  fix:   {}", error.fix);
    }
    Fault(text)
}
