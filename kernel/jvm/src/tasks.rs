//! The blocks of one Spark task, read one after the other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::slice;
use std::sync::Arc;

use arrow_array::ArrayRef;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use splitscan_kernel_core::block::{
    BlockError, BlockReader, Content, LocalFile, Noticed, ReadAt, metadata_members, project,
};

use crate::Fault;
use crate::grown;
use crate::host::{Host, Remote, TaskFile};
use crate::lend::{lend, lend_struct, list};
use crate::memory::Bytes;

const SCAN: &str = "a scan";
const COLUMNS: &str = "the columns of a scan";
const BLOCKS: &str = "the blocks of a task";

/// Version of the documents; others are refused.
const VERSION: u64 = 1;

/// Name of the file among the parts of a record that no column takes.
const FILE_PATH: &str = "_file_path";

/// Names of warnings, beside the codes of oddities: of broken records that are no rows, of those that have nulls where
/// their values do not fit, and of some of those with parts that no column takes.
const LOST: &str = "lost";
const DELIVERED: &str = "delivered";
const OTHERS: &str = "new-columns";

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

/// What people read, by name: as `splitscan.reading.block_documents.words_of_tasks` writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    warnings: HashMap<String, [String; 2]>, // of one record, and of several
    remedies: HashMap<String, String>, // for records that end a scan; without a name for others
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
    max_ratio: u64,
    open: Option<BlockReader>,
    block: Value, // that is open
    rest: Option<Rest>,
    path: String,
    wanted: Value,
    metadata: Option<usize>, // which of the wanted columns has members that are columns of a batch
    lent: Vec<ArrayRef>,
    numbers: Vec<i64>,
    passed_bytes: u64,                    // of blocks that were read to their end
    columns: Vec<(String, bool)>,         // that there are: name; whether it has parts itself
    found: BTreeMap<&'static str, Tally>, // records to warn of, by the name of the warning
    words: Words,
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

    fn is_enough(&self) -> bool {
        self.records >= SOME_RECORDS
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
        let words = scan.as_object_mut().and_then(|scan| scan.remove("words"));
        let words = serde_json::from_value(words.unwrap_or_default())
            .map_err(|error| bad_document(SCAN, &error.to_string()))?;
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
            columns: columns.iter().map(name_of).collect(),
            found: BTreeMap::new(),
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
                let name = if reject.delivered { DELIVERED } else { LOST };
                self.found.entry(name).or_default().take(1, || {
                    let (offset, reason) = (reject.offset, reader.reason(&reject));
                    format!("byte {offset} of {}: {reason} [{}]", self.path, reject.code)
                });
            }
            for record in reader.take_noticed() {
                let others = self.found.entry(OTHERS).or_default();
                let column = other_column(&self.columns, &record);
                if let Some(column) = column.filter(|_| !others.is_enough()) {
                    let (offset, path) = (record.offset, &self.path);
                    others.take(1, || format!("{column}, is at byte {offset} of {path}"));
                }
            }
            if self.found.get(OTHERS).is_some_and(Tally::is_enough) {
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
        let source = match self.rest.take() {
            Some(rest) if (&rest.file, &rest.stop) == (&block["file"], &block["block"][0]) => {
                block["block"][3] = rest.next_start.into();
                rest.source
            }
            _ => {
                let file = self.open_file(&block["file"])?;
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
        let broken =
            [LOST, DELIVERED].map(|name| self.found.get(name).map_or(0, |each| each.records));
        self.numbers.resize(self.numbers.len().max(PROGRESS), 0);
        self.numbers[0] = (self.passed_bytes + open) as i64;
        self.numbers[1] = broken.iter().sum::<u64>() as i64;
        self.numbers[2] = self.memory.peak;
        &self.numbers
    }

    /// Which records are no rows, have nulls where their values do not fit, or are odd, as a warning; `None` for none.
    pub fn losses(&mut self) -> Option<String> {
        self.leave();
        let found = self.found.iter().filter(|(_, each)| each.records > 0);
        let said: Vec<String> = found
            .map(|(name, each)| self.words.warning(name, each))
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
            let found = self.found.entry(each.code).or_default();
            found.take(each.records, first);
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
    fn open_file(&self, file: &Value) -> Result<TaskFile, Fault> {
        let text = |index: usize| file[index].as_str().unwrap_or_default();
        let (path, fingerprint) = (text(0), text(3));
        let size = file[1].as_u64().unwrap_or_default();
        let local = if path.starts_with('/') {
            let path = Path::new(path);
            let file = if grown::is_of_a_part(fingerprint) {
                grown::open(path, fingerprint)
            } else {
                LocalFile::open_planned(path, fingerprint)
            };
            Some(file.map_err(|error| self.fault(error))?)
        } else {
            self.host.open(&Remote {
                path,
                shown: &self.path,
                size,
                modified: file[2].as_i64().unwrap_or_default(),
                fingerprint,
            })?;
            None
        };
        let host = self.host.clone();
        Ok(TaskFile { host, local, size })
    }

    /// What ended a block: what the host has raised, or the kernel says of its records and of its file, which messages
    /// call otherwise.
    fn fault(&self, mut error: BlockError) -> Fault {
        if let Some(fault) = error
            .raised
            .as_ref()
            .and_then(|each| each.downcast_ref::<Fault>())
        {
            return fault.clone();
        }
        if error.reject.is_some() {
            error.rule += " (mode=FAILFAST)";
            error.fix = self.words.remedy(error.code);
        }
        error.place.path.clone_from(&self.path);
        Fault::Said(error.to_string())
    }
}

impl Words {
    fn warning(&self, name: &str, found: &Tally) -> String {
        let records = match found.records {
            SOME_RECORDS if name == OTHERS => format!("{SOME_RECORDS} or more"),
            records => records.to_string(),
        };
        let words =
            self.warnings.get(name).map_or(
                name,
                |[one, several]| {
                    if found.records == 1 { one } else { several }
                },
            );
        let words = words.replace("{records}", &records);
        words.replace("{first}", &found.first)
    }

    fn remedy(&self, code: &str) -> String {
        let remedy = self.remedies.get(code).or_else(|| self.remedies.get(""));
        remedy.cloned().unwrap_or_default()
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

        fn open(&self, file: &Remote<'_>) -> Result<(), Fault> {
            Err(Fault::Said(file.shown.into()))
        }

        fn read(&self, offset: u64, _: &mut [u8]) -> Result<(), Fault> {
            Err(Fault::Said(offset.to_string()))
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
            "words": {{"remedies": {{}}, "warnings": {{
                "lost": ["one is lost: {{first}}", ""], "not-utf8": ["one is odd: {{first}}", "{{records}} are odd: {{first}}"],
                "delivered": ["one has nulls: {{first}}", "{{records}} have nulls: {{first}}"]}}}}}}"#
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
            Some("2 have nulls: byte 4 of FILE: column 'id': 'x' is no int [bad-value]")
        );
        let long = format!("1,2\n{},3\n5,z\n", "9".repeat(40));
        let (rows, said) = read("long", &long, &["id", "v"]);
        let said = said.unwrap_or_default();
        let said: Vec<&str> = said.lines().collect();
        assert_eq!((rows, said.len()), (2, 2));
        assert!(said[0].starts_with("one has nulls: byte 47 of FILE"));
        assert!(said[1].starts_with("one is lost: byte 4 of FILE"));
    }

    #[test]
    fn bytes_that_are_no_utf8_are_counted_with_the_first_place() {
        let (_, said) = read("one", b"1,2\n3,\xfc\n", &["id"]);
        assert_eq!(said.as_deref(), Some("one is odd: FILE, byte 6"));
        let (rows, said) = read("latin", b"1,2\n3,\xfc\n4,\xe9\n", &["id"]);
        assert_eq!(rows, 3);
        assert_eq!(said.as_deref(), Some("2 are odd: FILE, byte 6"));
    }

    #[test]
    fn a_value_that_is_not_read_breaks_none() {
        assert_eq!(read("other", "1,2\n4,y\n", &["id"]), (2, None));
        assert_eq!(read("count", "1,2\nx,y\n", &[]), (2, None));
        assert_eq!(read("whole", "1,2\n", &["id", "v"]), (1, None));
    }
}
