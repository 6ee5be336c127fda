use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::cursor::{Cursor, Sizes, Source, Step, Work};
use super::engine::{Engine, engine_of};
use super::lines::Lines;
use super::spec::ScanSpec;
use super::*;
use crate::charsets::Charset;
use crate::frames::{Counted as CountedFrames, Frames};
use crate::lines::Bounds;
use crate::parsed::Parsed;

fn scan(mode: &str, max_record_bytes: usize) -> Value {
    let rules = json!({"nan_value": "NaN", "positive_inf": "Inf", "negative_inf": "-Inf", "date_format": null,
        "time_format": null, "timestamp_format": null, "timestamp_ntz_format": null, "time_zone": "UTC", "exact_numbers": false,
        "names": {}, "symbols": null});
    json!({
        "version": 1, "mode": mode, "keeps_given_up": false, "max_record_bytes": max_record_bytes, "read_bytes": 7,
        "batch_rows": 3, "batch_bytes": 1 << 20,
        "format": {"csv": {"sep": ",", "quote": "\"", "escape": null, "escape_escape": null, "doubled": true, "comment": "#", "line_sep": null,
            "multi_line": false, "trim_leading": false, "trim_trailing": false, "header": false, "checks_header": false,
            "skip_lines": 0, "null_value": "", "empty_value": "", "max_field_chars": null, "by_name": false,
            "max_columns": 20480, "columns": [{"name": "a"}, {"name": "b"}], "items": null, "rescue": null}},
        "fields": [{"name": "b", "type": "int", "rules": rules, "written": ""},
            {"name": "a", "type": "string", "rules": rules, "written": ""}],
        "columns": [
            {"name": "a", "type": "string", "nullable": true, "source": {"field": 1}},
            {"name": "b", "type": "int", "nullable": true, "source": {"field": 0}},
            {"name": "f", "type": "string", "nullable": true, "source": "constant"},
            {"name": "o", "type": "bigint", "nullable": true, "source": "record_offset"},
            {"name": "c", "type": "string", "nullable": true, "source": "corrupt"}],
    })
}

fn block(size: usize, start: usize, stop: usize) -> Value {
    json!({"version": 1, "file": ["/f.csv", size, 0, "x", "f.csv", null], "block": [start, stop, 0, null, null],
        "constants": {"f": "one"}, "validate": true, "with_digest": true})
}

/// Rows as texts with their offsets, rejects by offset, the report.
type Found = (Vec<String>, Vec<(u64, &'static str)>, Report);

fn read(scan: &Value, block: &Value, source: Box<dyn ReadAt>) -> Result<Found, BlockError> {
    let mut reader = BlockReader::open(&scan.to_string(), &block.to_string(), source)?;
    let (mut rows, mut rejects) = (Vec::new(), Vec::new());
    while let Some(batch) = reader.next_batch()? {
        assert!(batch.rows <= 3 && batch.columns.len() == reader.schema().fields().len());
        for row in 0..batch.rows {
            let show = |column: &arrow_array::ArrayRef| match column.data_type() {
                _ if column.is_null(row) => "null".to_string(),
                arrow_schema::DataType::Utf8 => column.as_string::<i32>().value(row).to_string(),
                arrow_schema::DataType::Int32 => column
                    .as_primitive::<arrow_array::types::Int32Type>()
                    .value(row)
                    .to_string(),
                _ => column
                    .as_primitive::<arrow_array::types::Int64Type>()
                    .value(row)
                    .to_string(),
            };
            rows.push(batch.columns.iter().map(show).collect::<Vec<_>>().join("|"));
        }
    }
    rejects.extend(
        reader
            .take_rejects()
            .iter()
            .map(|reject| (reject.offset, reject.code)),
    );
    let report = reader.report().cloned().expect("it was read to its end");
    Ok((rows, rejects, report))
}

#[test]
fn a_local_file_gives_rows_rejects_and_a_report() {
    let data = b"x,1\n\"y\nz,w\n#c\nlast,2,3";
    let path = std::env::temp_dir().join(format!("splitscan-block-{}.csv", std::process::id()));
    std::fs::File::create(&path)
        .and_then(|mut file| file.write_all(data))
        .expect("a temporary file");
    let source = LocalFile::open(&path).expect("it is there");
    let (rows, rejects, report) = read(
        &scan("PERMISSIVE", 100),
        &block(data.len(), 0, data.len()),
        Box::new(source),
    )
    .expect("it can be read");
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(rows[0], "x|1|one|0|null");
    assert_eq!(rows.len(), 4);
    assert_eq!(
        rejects,
        [(4, "unclosed-quote"), (7, "bad-value"), (14, "field-count")]
    );
    assert_eq!(
        (report.span_start, report.span_stop, report.rows),
        (0, data.len() as u64, 4)
    );
    assert_eq!(
        report.digest,
        format!("blake3:{}", blake3::hash(data).to_hex())
    );
}

#[test]
fn one_broken_record_ends_a_strict_scan_and_is_no_row_of_a_tolerant_one() {
    let data = b"x,1\nx,y,z\n,2\n".to_vec();
    let whole = block(data.len(), 0, data.len());
    let error = read(&scan("FAILFAST", 100), &whole, Box::new(data.clone()))
        .expect_err("a record is broken");
    assert_eq!((error.code, error.place.offset), ("field-count", Some(4)));
    assert_eq!(error.rule, "the record has 3 fields where 2 are expected");
    let (rows, rejects, report) =
        read(&scan("DROPMALFORMED", 100), &whole, Box::new(data)).expect("it goes on");
    assert_eq!((rows.len(), rejects.len(), report.rows), (2, 1, 2));
}

#[test]
fn a_file_that_became_shorter_is_not_read_as_if_it_had_not() {
    let error = read(
        &scan("PERMISSIVE", 100),
        &block(20, 0, 20),
        Box::new(b"x,1\n".to_vec()),
    )
    .expect_err("it is short");
    assert_eq!(
        (error.code, error.kind, error.place.offset),
        ("source-truncated", Kind::SourceChanged, Some(4))
    );
}

#[test]
fn what_a_limit_leaves_was_not_read() {
    let data = b"x,1\ny,2\nz,3\nv,4\nw,5\n".to_vec();
    let passed = |limit: Option<u64>| {
        let mut whole = block(data.len(), 4, data.len());
        whole["limit"] = json!(limit);
        let scan = scan("PERMISSIVE", 100).to_string(); // which reads 7 bytes at a time: of two records, or of one
        let mut reader = BlockReader::open(&scan, &whole.to_string(), Box::new(data.clone()))
            .expect("it is a block");
        assert_eq!(reader.passed_bytes(), 0);
        while reader.next_batch().expect("it can be read").is_some() {}
        reader.passed_bytes()
    };
    assert_eq!(
        [Some(0), Some(1), Some(2), Some(4), None].map(passed),
        [0, 4, 12, 16, 16]
    );
}

/// Counts how many bytes are asked for.
struct Counting(Vec<u8>, Arc<AtomicUsize>);

impl ReadAt for Counting {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError> {
        self.1.fetch_add(into.len(), Ordering::Relaxed);
        self.0.read_at(offset, into)
    }
}

#[test]
fn few_bytes_are_read_where_few_rows_are_wanted() {
    let data = b"x,1\n".repeat(1 << 18);
    let mut scan = scan("PERMISSIVE", 100);
    scan["read_bytes"] = data.len().into();
    let read = |limit: Option<usize>| {
        let (mut whole, asked) = (block(data.len(), 0, data.len()), Arc::default());
        whole["limit"] = json!(limit);
        let source = Box::new(Counting(data.clone(), Arc::clone(&asked)));
        let mut reader = BlockReader::open(&scan.to_string(), &whole.to_string(), source)
            .expect("it is a block");
        let mut rows = 0;
        while let Some(batch) = reader.next_batch().expect("it can be read") {
            rows += batch.rows;
        }
        (rows, asked.load(Ordering::Relaxed) >> 10)
    };
    let head = 16; // KiB
    assert_eq!(read(Some(10)), (10, head + 64));
    assert_eq!(read(Some(50_000)), (50_000, head + 64 + 128 + 256)); // each read is twice as long
    assert_eq!(read(None), (1 << 18, head + 1024));
}

#[test]
fn documents_of_another_version_are_refused() {
    let mut other = scan("PERMISSIVE", 100);
    other["version"] = json!(2);
    let error =
        read(&other, &block(0, 0, 0), Box::new(Vec::new())).expect_err("it is of another version");
    assert_eq!(error.code, "bad-document");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn blocks_of_any_cut_give_the_records_of_the_whole(
        data in proptest::collection::vec(proptest::sample::select(b"ab1,\"#\r\n\n".as_slice()), 2..40),
        place in 0usize..1000, longest in 2usize..12, drops in any::<bool>(),
    ) {
        let scan = scan(if drops { "DROPMALFORMED" } else { "PERMISSIVE" }, longest);
        let cut = 1 + place % (data.len() - 1); // no block is empty
        let part = |start, stop| read(&scan, &block(data.len(), start, stop), Box::new(data.clone())).expect("it can be read");
        let (rows, rejects, report) = part(0, data.len());
        let (first, second) = (part(0, cut), part(cut, data.len()));
        prop_assert_eq!([first.0, second.0].concat(), rows);
        prop_assert_eq!([first.1, second.1].concat(), rejects);
        prop_assert_eq!((first.2.span_start, first.2.span_stop), (0, second.2.span_start));
        prop_assert_eq!((second.2.span_stop, report.span_stop), (data.len() as u64, data.len() as u64));
        let span = data.get(second.2.span_start as usize..).unwrap_or_default();
        prop_assert_eq!(second.2.digest, format!("blake3:{}", blake3::hash(span).to_hex()));

        let mut reader = BlockReader::open(&scan.to_string(), &block(data.len(), cut, data.len()).to_string(), Box::new(data.clone()))
            .expect("the documents are good");
        if !drops {
            prop_assert_eq!(reader.count().expect("it can be counted").rows, second.2.rows);
        }
    }
}

/// Counts how many bytes the answers of an engine are about.
struct Looking(Box<dyn Engine>, AtomicUsize);

impl Looking {
    fn note(&self, bytes: usize) {
        self.1.fetch_add(bytes, Ordering::Relaxed);
    }

    fn near(&self, data: &[u8], answer: Option<usize>) -> Option<usize> {
        self.note(answer.unwrap_or(data.len()));
        answer
    }
}

impl Engine for Looking {
    fn parse(&self, data: &[u8], bounds: Bounds) -> Result<Parsed, BlockError> {
        self.note(data.len());
        self.0.parse(data, bounds)
    }

    fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        self.note(data.len());
        self.0.frame(data, at_end)
    }

    fn count(&self, data: &[u8]) -> CountedFrames {
        self.note(data.len());
        self.0.count(data)
    }

    fn gap_bytes(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.near(data, self.0.gap_bytes(data, at_end))
    }

    fn lines(&self) -> Option<&Lines> {
        self.0.lines()
    }

    fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        self.near(data, self.0.resume_after(data, at_end))
    }

    fn open_starts(&self, data: &[u8], longest: usize) -> Option<Vec<i64>> {
        self.note(data.len());
        self.0.open_starts(data, longest)
    }
}

#[test]
fn lines_that_each_open_a_quote_are_given_up_in_linear_work() {
    let data = b"\"\",\"a\n".repeat(10_000);
    let mut scan = scan("PERMISSIVE", 60);
    scan["format"]["csv"]["multi_line"] = true.into();
    scan["format"]["csv"]["doubled"] = false.into();
    scan["format"]["csv"]["escape"] = "\\".into();
    scan["format"]["csv"]["escape_escape"] = "\\".into();
    let spec = ScanSpec::read(&scan.to_string()).expect("a document");
    let inner = engine_of(&spec, "}", None, &Charset::Utf8).expect("a grammar");
    let (engine, size) = (Looking(inner, AtomicUsize::new(0)), data.len());
    let sizes = Sizes {
        max_record_bytes: 60,
        read_bytes: 1 << 20,
        first_read_bytes: 1 << 20,
    };
    let mut source = Source(Box::new(data));
    let mut cursor = Cursor::new(0, size as u64, sizes, Work::Read);
    let mut given_up = 0;
    loop {
        match cursor
            .step(&mut source, &engine, size as u64)
            .expect("bytes in memory")
        {
            Step::End => break,
            Step::Skipped(_) => given_up += 1,
            Step::Records(parsed) => cursor.pass(&engine, parsed.frames.next_start),
        }
    }
    let looked = engine.1.load(Ordering::Relaxed);
    assert!(given_up > 9_000, "{given_up}");
    assert!(looked < 24 * size, "{looked} of {size}");
}
