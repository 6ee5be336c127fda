//! The blocks of one Spark task, read one after the other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::slice;
use std::sync::{Arc, PoisonError};

use arrow_array::ArrayRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use splitscan_kernel_core::block::{
    BlockError, BlockReader, Content, LocalFile, Noticed, ReadAt, metadata_members, project,
};

use crate::Fault;
use crate::host::{Failed, Host, Remote, TaskFile};
use crate::lend::{lend, lend_struct, list};
use crate::memory::Bytes;

const SCAN: &str = "a scan";
const COLUMNS: &str = "the columns of a scan";
const BLOCKS: &str = "the blocks of a task";

/// Version of the documents; others are refused.
const VERSION: u64 = 1;

/// Name of the file among the parts of a record that no column takes.
const FILE_PATH: &str = "_file_path";

/// In how many records of a task columns are noticed that the scan does not have.
const SOME_RECORDS: u64 = 1000;

const PROGRESS: usize = 3; // numbers before those of the arrays

const MOST_ROWS: u64 = 1 << 24; // of a batch without a column: Spark asks between batches whether the task was killed

/// Blocks of a task, as `splitscan.reading.block_documents.TaskDocuments` writes them: of each what its file is called in
/// messages, and the document of the block. Rows that planning has counted come before those, and without a column.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Blocks {
    version: u64,
    blocks: VecDeque<(String, Value)>,
    #[serde(default)]
    rows: u64,
    #[serde(default)]
    max_ratio: u64, // of what compressed files hold
}

/// The file of a block that was read to its end: the block that begins there goes on with it.
struct Rest {
    file: Value,
    stop: Value,
    next_start: Option<u64>, // where it is known: the first record after that block
    source: Box<dyn ReadAt>,
}

/// Reads the blocks of a task; keeps the batch that it lends.
pub struct TaskReader {
    /// Native memory of its calls so far.
    pub memory: Bytes,
    scan: String,
    blocks: VecDeque<(String, Value)>,
    counted: u64,
    left: Option<u64>,
    validates: bool,
    host: Arc<dyn Host>,
    failed: Failed,
    max_ratio: u64,
    open: Option<BlockReader>,
    block: Value, // that is open
    rest: Option<Rest>,
    path: String,
    wanted: Value,
    metadata: Option<usize>, // which of the wanted columns has members that are columns of a batch
    lent: Vec<ArrayRef>,
    numbers: Vec<i64>,
    passed_bytes: u64,                   // of blocks that were read to their end
    lost: Tally,                         // broken records that are no rows
    delivered: Tally,                    // those that have nulls where their values do not fit
    others: Tally,                       // some of those with parts that no column takes
    columns: Vec<(String, bool)>,        // that there are: name; whether it has parts itself
    odd: BTreeMap<&'static str, Tally>,  // by the code of the oddity
    words: HashMap<String, [String; 4]>, // by that code: of one, of several, what is odd, what to do
}

/// Records of a task that have something in common.
#[derive(Default)]
struct Tally {
    records: u64,
    first: String,
}

impl Tally {
    fn take(&mut self, records: u64, first: impl FnOnce() -> String) {
        if self.records == 0 {
            self.first = first();
        }
        self.records += records;
    }

    /// How many they are, in the words of one and of several; `None` if there is none.
    fn which(&self, one: &str, several: &str) -> Option<String> {
        match self.records {
            0 => None,
            1 => Some(format!("1 {one}")),
            records => Some(format!("{records} {several}")),
        }
    }
}

impl TaskReader {
    /// Open nothing yet.
    ///
    /// # Errors
    /// If a document is none.
    pub fn open(
        scan: &str,
        blocks: &str,
        wanted: &str,
        limit: Option<u64>,
        host: Arc<dyn Host>,
    ) -> Result<TaskReader, Fault> {
        let mut scan: Value = parsed(SCAN, scan)?;
        let words = scan
            .as_object_mut()
            .and_then(|scan| scan.remove("oddities"));
        let words = words.map_or_else(
            || Ok(HashMap::new()),
            |words| parsed(SCAN, &words.to_string()),
        )?;
        let wanted: Value = parsed(COLUMNS, wanted)?;
        let blocks: Blocks = parsed(BLOCKS, blocks)?;
        let asked = list(&wanted["fields"]);
        if blocks.version != VERSION || (blocks.rows > 0 && !asked.is_empty()) {
            let (version, rows, columns) = (blocks.version, blocks.rows, asked.len());
            let seen =
                format!("version {version}, {rows} rows without a column, {columns} columns");
            return Err(bad_document(BLOCKS, &seen));
        }
        let known = list(&scan["columns"]);
        let is_metadata = |column: &Value| metadata_members(column, known).is_some();
        let metadata = asked.iter().position(is_metadata);
        let scan =
            project(scan, &wanted).ok_or_else(|| bad_document(COLUMNS, &wanted.to_string()))?;
        let columns = list(&scan["columns"]);
        let has = |what: &dyn Fn(&Value) -> bool| columns.iter().any(|each| what(&each["source"]));
        let name_of = |column: &Value| {
            let [name, kind] =
                ["name", "type"].map(|part| column[part].as_str().unwrap_or_default());
            (name.to_string(), kind.contains('<'))
        };
        let has_values = has(&|source| source["field"].is_u64() || *source == "rescued");
        let shows_faults = has(&|source| *source == "corrupt" || *source == "reason");
        Ok(TaskReader {
            memory: Bytes::default(),
            blocks: blocks.blocks,
            counted: blocks.rows,
            left: limit,
            validates: has_values && !shows_faults,
            host,
            failed: Failed::default(),
            max_ratio: blocks.max_ratio,
            open: None,
            block: Value::Null,
            rest: None,
            path: String::new(),
            wanted,
            metadata,
            lent: Vec::new(),
            numbers: Vec::new(),
            passed_bytes: 0,
            lost: Tally::default(),
            delivered: Tally::default(),
            others: Tally::default(),
            columns: columns.iter().map(name_of).collect(),
            odd: BTreeMap::new(),
            words,
            scan: scan.to_string(),
        })
    }

    /// Read the next batch, free the one before, and say how many rows it has.
    ///
    /// # Errors
    /// What the block reader says, a file that is not the one that was planned, and that the task was killed: that is
    /// asked before each read.
    pub fn next_batch(&mut self) -> Result<Option<usize>, Fault> {
        self.numbers.clear();
        self.lent.clear();
        if self.counted > 0 {
            let rows = self.counted.min(MOST_ROWS);
            self.counted -= rows;
            return Ok(Some(rows as usize));
        }
        while self.left != Some(0) {
            if self.open.is_none() {
                let Some((path, block)) = self.blocks.pop_front() else {
                    break;
                };
                self.path = path;
                self.open = Some(self.open_block(block)?);
            }
            let Some(reader) = self.open.as_mut() else {
                continue;
            };
            let batch = reader.next_batch();
            for reject in reader.take_rejects() {
                let kind = if reject.delivered {
                    &mut self.delivered
                } else {
                    &mut self.lost
                };
                let (offset, path) = (reject.offset, &self.path);
                kind.take(1, || {
                    let reason = reader.reason(&reject);
                    format!(
                        "begins at byte {offset} of {path}: {reason} [{}]",
                        reject.code
                    )
                });
            }
            for record in reader.take_noticed() {
                let name = other_column(&self.columns, &record);
                if let Some(name) = name.filter(|_| self.others.records < SOME_RECORDS) {
                    let (offset, path) = (record.offset, &self.path);
                    let first = || format!("{name}, is at byte {offset} of {path}");
                    self.others.take(1, first);
                }
            }
            if self.others.records >= SOME_RECORDS {
                reader.stop_noticing();
            }
            let batch = match batch {
                Ok(Some(batch)) if batch.rows == 0 => continue,
                Ok(Some(batch)) => batch,
                Ok(None) => {
                    self.passed_bytes += reader.passed_bytes();
                    self.leave();
                    continue;
                }
                Err(error) => return Err(self.fault(error)),
            };
            self.left = self.left.map(|left| left.saturating_sub(batch.rows as u64));
            self.lent = batch.columns;
            self.numbers.resize(PROGRESS, 0);
            self.lend().map_err(Fault::Said)?;
            return Ok(Some(batch.rows));
        }
        Ok(None)
    }

    /// Say where the arrays of the batch are, in the shape of the wanted columns.
    fn lend(&mut self) -> Result<(), String> {
        let mut columns = self.lent.iter();
        for (number, wanted) in list(&self.wanted["fields"]).iter().enumerate() {
            let mut parts = slice::from_ref(wanted);
            if self.metadata == Some(number) {
                lend_struct(&mut self.numbers);
                parts = list(&wanted["type"]["fields"]);
            }
            for part in parts {
                let column = columns.next();
                let column = column.ok_or("a batch has fewer columns than are wanted")?;
                lend(column, &part["type"], &mut self.numbers)?;
            }
        }
        Ok(())
    }

    fn open_block(&mut self, mut block: Value) -> Result<BlockReader, Fault> {
        let text = |index: usize| {
            block["file"][index]
                .as_str()
                .unwrap_or_default()
                .to_string()
        };
        let source = match self.rest.take() {
            Some(rest) if (&rest.file, &rest.stop) == (&block["file"], &block["block"][0]) => {
                block["block"][3] = rest.next_start.into();
                rest.source
            }
            _ => {
                let file = self.open_file(&text(0), &block["file"], &text(3))?;
                let content = Content::of_block(Box::new(file), &self.path, &block, self.max_ratio);
                content.map_err(|error| self.fault(error))?
            }
        };
        self.block = block.clone();
        block["validate"] = self.validates.into();
        block["with_digest"] = false.into();
        block["limit"] = self.left.into();
        BlockReader::open(&self.scan, &block.to_string(), source).map_err(|error| self.fault(error))
    }

    /// Bytes of files that were read so far, how many of their records break a rule, the most native bytes it held, and
    /// where the arrays of the batch are.
    pub fn numbers(&mut self) -> &[i64] {
        let open = self.open.as_ref().map_or(0, BlockReader::passed_bytes);
        let broken = self.lost.records + self.delivered.records;
        self.numbers.resize(self.numbers.len().max(PROGRESS), 0);
        self.numbers[0] = (self.passed_bytes + open) as i64;
        self.numbers[1] = broken as i64;
        self.numbers[2] = self.memory.peak;
        &self.numbers
    }

    /// Which records are no rows, or have nulls where their values do not fit, as a warning; `None` if there is none.
    pub fn losses(&mut self) -> Option<String> {
        self.leave();
        let lost = self.lost.which("record is no row", "records are no rows");
        let lost = lost.map(|which| {
            let first = &self.lost.first;
            format!("{which}; the first {first}. mode=FAILFAST stops there, and an ingest keeps them as rejects")
        });
        let delivered = &self.delivered;
        let several = format!("each of {} records breaks a rule", delivered.records);
        let delivered = (delivered.records > 0).then(|| {
            let which = if delivered.records == 1 { "1 record breaks a rule" } else { &several };
            format!(
                "{which}, and has nulls where its values do not fit; the first {}. scan.rejects() lists them, \
                 rejectReasonColumn=_reject_reason says why in each row",
                delivered.first
            )
        });
        let several = if self.others.records < SOME_RECORDS {
            "records have"
        } else {
            "records or more have"
        };
        let others = self.others.which("record has", several).map(|which| {
            format!(
                "{which} columns that no sample has shown, and they are not read; the first, {}. To read them, raise \
                 sampleBytes or sampleFiles, or give a schema that has them",
                self.others.first
            )
        });
        let odd = self.odd.iter().map(|(code, odd)| {
            let [one, several, what, then] = self.words.get(*code).cloned().unwrap_or_default();
            let (which, first) = (odd.which(&one, &several).unwrap_or_default(), &odd.first);
            format!("{which} {what}, the first at {first}; {then} [{code}]")
        });
        let said: Vec<String> = [lost, delivered, others]
            .into_iter()
            .flatten()
            .chain(odd)
            .collect();
        (!said.is_empty()).then(|| said.join("\n"))
    }

    /// End the block that is open, if one is, and take what is odd about its records.
    fn leave(&mut self) {
        let Some(reader) = self.open.take() else {
            return;
        };
        for each in reader.oddities() {
            let first = || format!("{}, byte {}", self.path, each.offset);
            self.odd
                .entry(each.code)
                .or_default()
                .take(each.records, first);
        }
        let mut block = self.block.take();
        let stop = block["block"][1].take();
        if let Some(report) = reader.report().filter(|_| !self.blocks.is_empty()) {
            let next_start = Some(report.span_stop);
            self.rest = Some(Rest {
                file: block["file"].take(),
                stop,
                next_start: next_start.filter(|&next| Some(next) > block["block"][0].as_u64()),
                source: reader.into_source(),
            });
        }
    }

    /// Open a file, and make sure that it is the one that was planned.
    fn open_file(&self, path: &str, file: &Value, planned: &str) -> Result<TaskFile, Fault> {
        let (shown, size) = (&self.path, file[1].as_u64().unwrap_or_default());
        let opened = |local| {
            let (host, failed) = (self.host.clone(), self.failed.clone());
            Ok(TaskFile {
                host,
                local,
                size,
                failed,
            })
        };
        if !path.starts_with('/') {
            let modified = file[2].as_i64().unwrap_or_default();
            let asked = Remote {
                path,
                shown,
                size,
                modified,
                fingerprint: planned,
            };
            return match self.host.open(&asked) {
                Ok(()) => opened(None),
                Err(_) if self.host.is_interrupted() => Err(Fault::Interrupted),
                Err(text) => Err(Fault::Said(text)),
            };
        }
        let failed = |error: io::Error| {
            let code = if error.kind() == io::ErrorKind::NotFound {
                "source-missing"
            } else {
                "source-error"
            };
            Fault::Said(format!(
                "a file that was planned cannot be read [{code}]\n  where: {shown}\n  seen:  {error}\n  fix:   see that \
                 it is there on every machine that runs tasks, and plan again"
            ))
        };
        let file = LocalFile::open(Path::new(path)).map_err(failed)?;
        let found = file.fingerprint().map_err(failed)?;
        if found != planned {
            return Err(Fault::Said(format!(
                "the file changed after it was planned (onFileChange=fail) [source-changed]\n  where: {shown}\n  seen:  \
                 fingerprint {found}; planned {planned}\n  fix:   plan again, or set option onFileChange=ignore to read \
                 whatever is there now"
            )));
        }
        opened(Some(file))
    }

    /// What ended a block: that the task was killed, what the host said of its file, or the kernel of its records.
    fn fault(&self, error: BlockError) -> Fault {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match failed.clone() {
            _ if self.host.is_interrupted() => Fault::Interrupted,
            Some(text) => Fault::Said(text),
            None => fault(error, &self.path),
        }
    }
}

/// The part of a record that no column takes; `None` where values alone do not fit.
fn other_column(columns: &[(String, bool)], record: &Noticed) -> Option<String> {
    let kept: Map<String, Value> = serde_json::from_str(&record.kept).unwrap_or_default();
    let is_new = |(name, value): &(String, Value)| {
        let known = columns.iter().find(|(column, _)| column == name);
        let has_parts = value.is_object() || value.is_array();
        known.map_or(name != FILE_PATH, |(_, nested)| *nested && has_parts)
    };
    kept.into_iter().find(is_new).map(|(name, _)| name)
}

fn parsed<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| bad_document(what, &error.to_string()))
}

fn bad_document(what: &str, seen: &str) -> Fault {
    Fault::Said(format!(
        "{what} is a document of version {VERSION} [bad-document]\n  seen:  {seen}\n  fix:   use the same version of \
         splitscan and its connector everywhere"
    ))
}

/// An error of the block reader in the layout that Python's errors have, with the file as messages call it.
fn fault(error: BlockError, path: &str) -> Fault {
    let mut text = format!("{} [{}]\n  where: {path}", error.rule, error.code);
    if let Some(offset) = error.place.offset {
        text += &format!(", byte {offset}");
    }
    if let Some(row) = error.place.row {
        text += &format!(", row {row}");
    }
    if let Some((start, stop)) = error.place.block {
        text += &format!(", in block [{start}, {stop})");
    }
    if let Some(column) = &error.place.column {
        text += &format!(", column {column}");
    }
    for (name, value) in &error.place.notes {
        text += &format!(", {name}={value}");
    }
    if !error.seen.is_empty() {
        text += &format!("\n  seen:  {}", error.seen);
    }
    if !error.fix.is_empty() {
        text += &format!("\n  fix:   {}", error.fix);
    }
    Fault::Said(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULES: &str = r#"{"nan_value": "NaN", "positive_inf": "Inf", "negative_inf": "-Inf", "date_format": null,
        "time_format": null, "timestamp_format": null, "timestamp_ntz_format": null, "time_zone": "UTC",
        "exact_numbers": false, "names": {}, "symbols": null}"#;

    /// Kills no task, and has no files.
    struct Nobody;

    impl Host for Nobody {
        fn is_interrupted(&self) -> bool {
            false
        }

        fn open(&self, file: &Remote<'_>) -> Result<(), String> {
            Err(file.shown.into())
        }

        fn read(&self, offset: u64, _: &mut [u8]) -> Result<(), String> {
            Err(offset.to_string())
        }
    }

    /// A scan of CSV with the columns `id int, v int`.
    fn scan() -> String {
        format!(
            r#"{{"version": 1, "format": {{"csv": {{"sep": ",", "quote": "\"", "escape": "\\", "escape_escape": "\\", "doubled": false,
            "comment": null, "line_sep": null, "multi_line": false, "trim_leading": false, "trim_trailing": false,
            "header": false, "checks_header": false, "skip_lines": 0, "null_value": "", "empty_value": "",
            "max_field_chars": null, "by_name": false, "max_columns": 20480, "items": null,
            "columns": [{{"name": "id"}}, {{"name": "v"}}], "rescue": null}}}},
            "fields": [{{"name": "id", "type": "int", "rules": {RULES}, "written": ""}},
            {{"name": "v", "type": "int", "rules": {RULES}, "written": ""}}],
            "columns": [{{"name": "id", "type": "int", "nullable": true, "source": {{"field": 0}}}},
            {{"name": "v", "type": "int", "nullable": true, "source": {{"field": 1}}}}],
            "are_texts": true, "mode": "PERMISSIVE", "keeps_given_up": false, "max_record_bytes": 20, "read_bytes": 4096,
            "batch_rows": 65536, "batch_bytes": 16777216,
            "oddities": {{"not-utf8": ["record has", "records have", "bytes that are no UTF-8", "do this"]}}}}"#
        )
    }

    #[test]
    fn rows_that_planning_has_counted_come_without_a_column() {
        let blocks = json!({"version": 1, "blocks": [], "rows": (1 << 24) + 1}).to_string();
        let open = |wanted: Value| {
            let wanted = json!({"type": "struct", "fields": wanted}).to_string();
            TaskReader::open(&scan(), &blocks, &wanted, None, Arc::new(Nobody))
        };
        let mut task = open(json!([])).unwrap_or_else(|fault| panic!("{fault}"));
        let mut next = || task.next_batch().unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!([next(), next(), next()], [Some(1 << 24), Some(1), None]);
        assert!(open(json!([{"name": "id", "type": "integer"}])).is_err());
    }

    /// What is said at the end of a task that reads these columns of a file, and how many rows it has.
    fn read(name: &str, text: impl AsRef<[u8]>, columns: &[&str]) -> (usize, Option<String>) {
        let path = std::env::temp_dir().join(format!("{name}-{}.csv", std::process::id()));
        let text = text.as_ref();
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
        let block = json!({"version": 1, "file": file, "block": [0, text.len(), 0, null, null],
            "validate": false, "with_digest": false});
        let blocks = json!({"version": 1, "blocks": [["FILE", block]]});
        let wanted = columns
            .iter()
            .map(|name| json!({"name": name, "type": "integer"}));
        let wanted = json!({"type": "struct", "fields": wanted.collect::<Vec<_>>()});
        let mut task = TaskReader::open(
            &scan(),
            &blocks.to_string(),
            &wanted.to_string(),
            None,
            Arc::new(Nobody),
        )
        .unwrap_or_else(|fault| panic!("{fault}"));
        let mut rows = 0;
        while let Some(more) = task.next_batch().unwrap_or_else(|fault| panic!("{fault}")) {
            rows += more;
        }
        std::fs::remove_file(&path).expect("it is there");
        (rows, task.losses())
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
    fn bytes_that_are_no_utf8_are_counted_with_the_first_place() {
        let (_, said) = read("one", b"1,2\n3,\xfc\n", &["id"]);
        assert!(said.is_some_and(|said| said.starts_with("1 record has bytes")));
        let (rows, said) = read("latin", b"1,2\n3,\xfc\n4,\xe9\n", &["id"]);
        assert_eq!(rows, 3);
        assert_eq!(
            said.as_deref(),
            Some(
                "2 records have bytes that are no UTF-8, the first at FILE, byte 6; do this [not-utf8]"
            )
        );
    }

    #[test]
    fn a_value_that_is_not_read_breaks_none() {
        assert_eq!(read("other", "1,2\n4,y\n", &["id"]), (2, None));
        assert_eq!(read("count", "1,2\nx,y\n", &[]), (2, None));
        assert_eq!(read("whole", "1,2\n", &["id", "v"]), (1, None));
    }
}
