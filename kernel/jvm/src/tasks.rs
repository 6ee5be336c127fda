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
    counts: bool,
    open: Option<BlockReader>,
    path: String,
    lent: Vec<ArrayRef>,
    places: Vec<i64>,
    losses: Losses,
}

/// The broken records: those that are no rows, and those that have nulls where their values do not fit.
#[derive(Default)]
struct Losses {
    lost: Broken,
    delivered: Broken,
}

#[derive(Default)]
struct Broken {
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
            counts: !columns.is_empty(), // values that do not fit; none is read for a number of rows
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
                    "validate": self.counts, "with_digest": false, "limit": self.left,
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

    /// Which records are no rows, or have nulls where their values do not fit, as a warning; `None` if there is none.
    pub fn losses(&self) -> Option<String> {
        let Losses { lost, delivered } = &self.losses;
        let said = [
            lost.first.as_ref().map(|first| {
                let which = match lost.records {
                    1 => "1 record is no row".into(),
                    records => format!("{records} records are no rows"),
                };
                format!("{which}; the first {first}. mode=FAILFAST stops there, and an ingest keeps them as rejects")
            }),
            delivered.first.as_ref().map(|first| {
                let which = match delivered.records {
                    1 => "1 record breaks a rule".into(),
                    records => format!("each of {records} records breaks a rule"),
                };
                format!(
                    "{which}, and has nulls where its values do not fit; the first {first}. scan.rejects() lists them, \
                     rejectReasonColumn=_reject_reason says why in each row"
                )
            }),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("\n"))
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
        let broken = if reject.delivered {
            &mut self.delivered
        } else {
            &mut self.lost
        };
        broken.records += 1;
        broken.first.get_or_insert_with(|| {
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

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"{"nan_value": "NaN", "positive_inf": "Inf", "negative_inf": "-Inf", "date_format": null,
        "timestamp_format": null, "timestamp_ntz_format": null, "time_zone": "UTC"}"#;

    /// A scan of CSV with the columns `id int, v int`.
    fn scan() -> String {
        format!(
            r#"{{"version": 1, "format": {{"csv": {{"sep": ",", "quote": "\"", "escape": "\\", "doubled": false,
            "comment": null, "line_sep": null, "multi_line": false, "trim_leading": false, "trim_trailing": false,
            "header": false, "checks_header": false, "skip_lines": 0, "null_value": "", "empty_value": "",
            "max_field_chars": null, "names": ["id", "v"], "least": 2, "wanted": [0, 1], "unmatched": [],
            "blanks": [], "rescue": null}}}},
            "fields": [{{"name": "id", "type": "int", "rules": {RULES}, "written": ""}},
            {{"name": "v", "type": "int", "rules": {RULES}, "written": ""}}],
            "columns": [{{"name": "id", "type": "int", "nullable": true, "source": {{"field": 0}}}},
            {{"name": "v", "type": "int", "nullable": true, "source": {{"field": 1}}}}],
            "mode": "PERMISSIVE", "keeps_given_up": false, "max_record_bytes": 20, "read_bytes": 4096,
            "batch_rows": 65536, "batch_bytes": 16777216}}"#
        )
    }

    /// What is said at the end of a task that reads these columns of a file, and how many rows it has.
    fn read(name: &str, text: &str, columns: &[&str]) -> (usize, Option<String>) {
        let path = std::env::temp_dir().join(format!("{name}-{}.csv", std::process::id()));
        std::fs::write(&path, text).expect("a file");
        let planned = LocalFile::open(&path).and_then(|file| file.fingerprint());
        let file = json!([
            path.to_str(),
            text.len(),
            0,
            planned.expect("it is there"),
            name,
            null
        ]);
        let blocks =
            json!({"version": 1, "files": [file], "blocks": [[0, 0, text.len(), 0, null, null]]});
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        let mut task = TaskReader::open(&scan(), &blocks.to_string(), &columns, None)
            .unwrap_or_else(|fault| panic!("{}", fault.0));
        let mut rows = 0;
        while let Some(more) = task
            .next_batch()
            .unwrap_or_else(|fault| panic!("{}", fault.0))
        {
            rows += more;
        }
        std::fs::remove_file(&path).expect("it is there");
        (
            rows,
            task.losses()
                .map(|said| said.replace(path.to_str().unwrap_or("?"), "FILE")),
        )
    }

    #[test]
    fn records_that_break_a_rule_are_counted_with_the_first_place() {
        let (rows, said) = read("misfits", "1,2\nx,3\n4,y\n", &["id", "v"]);
        assert_eq!(rows, 3);
        assert_eq!(
            said.as_deref(),
            Some(
                "each of 2 records breaks a rule, and has nulls where its values do not fit; the first begins at byte \
                 4 of FILE: column 'id': 'x' is no int [bad-value]. scan.rejects() lists them, \
                 rejectReasonColumn=_reject_reason says why in each row"
            )
        );
        let long = format!("1,2\n{},3\n5,z\n", "9".repeat(40));
        let (rows, said) = read("long", &long, &["id", "v"]);
        let said = said.unwrap_or_default();
        assert_eq!((rows, said.lines().count()), (2, 2));
        assert!(said.starts_with("1 record is no row; the first begins at byte 4 of FILE"));
        assert!(said.contains("\n1 record breaks a rule"));
    }

    #[test]
    fn a_value_that_is_not_read_breaks_none() {
        assert_eq!(read("other", "1,2\n4,y\n", &["id"]), (2, None));
        assert_eq!(read("count", "1,2\nx,y\n", &[]), (2, None));
        assert_eq!(read("whole", "1,2\n", &["id", "v"]), (1, None));
    }
}
