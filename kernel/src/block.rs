//! The block reader for Python.

use std::borrow::Cow;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, BooleanArray, Int64Array, LargeBinaryArray, LargeStringArray};
use arrow_schema::{Field, Schema};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::block::{
    BlockError, BlockReader, HostError, LocalFile, Noticed, ReadAt, Reject, check,
};

use crate::export::{Batch, batch};
use crate::guard::detached;
use crate::{BlockFailed, Unsupported};

/// Rows, records that were given up, and the offset and code of the first of those.
type Counted = (u64, u64, Option<(u64, &'static str)>);

/// An open file of Python: local ones are read here; what fails, and all others, by Python.
pub struct PySource {
    file: Option<LocalFile>,
    source: Py<PyAny>,
}

impl PySource {
    /// Of an open file of Python, and what is read of it without Python.
    pub fn new(source: Py<PyAny>, file: Option<LocalFile>) -> PySource {
        PySource { file, source }
    }

    fn of_content<T>(&self, name: &str) -> Option<T>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py>,
    {
        Python::attach(|py| self.source.bind(py).getattr(name).ok()?.extract().ok())
    }
}

impl ReadAt for PySource {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError> {
        if let Some(file) = &mut self.file
            && file
                .read_at(offset, into)
                .is_ok_and(|read| read == into.len())
        {
            return Ok(into.len());
        }
        let wanted = into.len();
        let bytes: PyResult<PyBackedBytes> = Python::attach(|py| {
            let source = self.source.bind(py);
            Ok(source
                .call_method1("read_at", (offset, wanted))?
                .extract()?)
        });
        let bytes = bytes.map_err(|error| HostError::Raised(Arc::new(error)))?;
        let read = bytes.len().min(wanted);
        into.iter_mut()
            .zip(bytes.iter())
            .for_each(|(to, byte)| *to = *byte);
        Ok(read)
    }

    fn content_end(&mut self) -> Option<u64> {
        self.of_content("content_bytes")
    }

    fn is_damaged(&mut self) -> bool {
        self.file.is_none()
            && Python::attach(|py| {
                let damage = self.source.bind(py).getattr("damage");
                damage.is_ok_and(|damage| !damage.is_none())
            })
    }
}

/// Reads one block; iterate over it, or call `count`.
#[pyclass(name = "BlockReader")]
pub struct PyBlockReader {
    reader: Mutex<BlockReader>,
}

#[pymethods]
impl PyBlockReader {
    /// Of the documents of a scan and of a block, and an open file: one with `read_at`, and where it is a local one
    /// its descriptor, which is not closed here.
    #[new]
    #[pyo3(signature = (scan, block, source, descriptor=None))]
    fn new(
        scan: &str,
        block: &str,
        source: Py<PyAny>,
        descriptor: Option<RawFd>,
    ) -> PyResult<PyBlockReader> {
        let file = descriptor.map(duplicate).transpose()?;
        let source = PySource::new(source, file);
        let reader = BlockReader::open(scan, block, Box::new(source));
        Ok(PyBlockReader {
            reader: Mutex::new(reader.map_err(|error| failed(&error))?),
        })
    }

    /// Whether the kernel reads such scans; `Unsupported` says why not.
    #[staticmethod]
    fn check(scan: &str) -> PyResult<()> {
        check(scan).map_err(|error| Unsupported::new_err(error.to_string()))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let reader = self.reader();
        let found = detached(py, 0, || reader.next_batch())?;
        let Some(found) = found.map_err(|error| failed(&error))? else {
            return Ok(None);
        };
        let schema = self.reader().schema().clone();
        batch(schema, found.columns, found.rows).map(Some)
    }

    /// Rows, records that were given up, and the offset and code of the first of those.
    fn count(&mut self, py: Python<'_>) -> PyResult<Counted> {
        let reader = self.reader();
        let counted = detached(py, 0, || reader.count())?;
        let counted = counted.map_err(|error| failed(&error))?;
        Ok((counted.rows, counted.given_up, counted.first))
    }

    /// The records that broke a rule since the last call, a row for each; `None` without any.
    fn take_rejects(&mut self) -> PyResult<Option<Batch>> {
        let reader = self.reader();
        let rejects = reader.take_rejects();
        (!rejects.is_empty())
            .then(|| as_batch(&rejects, |reject| reader.reason(reject)))
            .transpose()
    }

    /// First byte and first byte after the span, rows, digest, length of the content; `None` before the end.
    #[getter]
    fn report(&mut self) -> Option<(u64, u64, u64, String, Option<u64>)> {
        let report = self.reader().report()?;
        let digest = report.digest.clone();
        Some((
            report.span_start,
            report.span_stop,
            report.rows,
            digest,
            report.content_bytes,
        ))
    }

    /// What is odd about the records that were read so far: code, how many records, place of the first.
    #[getter]
    fn oddities(&mut self) -> Vec<(&'static str, u64, u64)> {
        let found = self.reader().oddities().iter();
        found
            .map(|each| (each.code, each.records, each.offset))
            .collect()
    }

    /// Offset, parts that no column takes as JSON, and text of records that have some, and were not taken yet.
    fn take_noticed(&mut self) -> Vec<(u64, String, Vec<u8>)> {
        let noticed = self.reader().take_noticed();
        let taken = |each: Noticed| (each.offset, each.kept, each.record.into_bytes());
        noticed.into_iter().map(taken).collect()
    }

    /// Notice no more of them.
    fn stop_noticing(&mut self) {
        self.reader().stop_noticing();
    }

    /// Offset of the last row that was found.
    #[getter]
    fn last_row(&mut self) -> Option<u64> {
        self.reader().last_row()
    }

    /// Number of records that were found.
    #[getter]
    fn records(&mut self) -> u64 {
        self.reader().records()
    }

    /// Bytes of the block that were read.
    #[getter]
    fn passed_bytes(&mut self) -> u64 {
        self.reader().passed_bytes()
    }
}

impl PyBlockReader {
    /// Nobody else has it: a panic ends all reading.
    fn reader(&mut self) -> &mut BlockReader {
        self.reader
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn duplicate(descriptor: RawFd) -> PyResult<LocalFile> {
    // SAFETY: the caller's file is open for as long as this call: Python holds it.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let file = File::from(borrowed.try_clone_to_owned()?);
    debug_assert!(file.as_raw_fd() >= 0);
    Ok(LocalFile::from(file))
}

/// What a call of Python has raised, if that ended the reading.
pub fn raised(error: &BlockError) -> Option<PyErr> {
    let raised = error.raised.as_ref()?.downcast_ref::<PyErr>()?;
    Some(Python::attach(|py| raised.clone_ref(py)))
}

/// What Python has raised; or kind, rule, place, what was seen, how to mend it, code, and the raw bytes of the record
/// that ends a scan in mode FAILFAST, of which the rule is the reason.
pub fn failed(error: &BlockError) -> PyErr {
    if let Some(raised) = raised(error) {
        return raised;
    }
    let reject = error.reject.as_deref();
    BlockFailed::new_err((
        error.kind.name(),
        error.rule.clone(),
        (
            error.place.offset,
            error.place.column.clone(),
            error.place.row,
        ),
        error.seen.clone(),
        error.fix.clone(),
        error.code,
        reject.map(|reject| Cow::<[u8]>::Owned(reject.raw.clone())),
    ))
}

/// Rejects as columns.
pub fn as_batch(rejects: &[Reject], reason: impl Fn(&Reject) -> String) -> PyResult<Batch> {
    let numbers = |number: fn(&Reject) -> u64| -> Int64Array {
        rejects.iter().map(|reject| number(reject) as i64).collect()
    };
    let flags = |flag: fn(&Reject) -> bool| -> BooleanArray {
        rejects.iter().map(|reject| Some(flag(reject))).collect()
    };
    let codes = rejects.iter().map(|reject| reject.code);
    let raw = rejects.iter().map(|reject| &reject.raw);
    let columns: [(&str, ArrayRef); 7] = [
        ("offset", Arc::new(numbers(|reject| reject.offset))),
        ("length", Arc::new(numbers(|reject| reject.length))),
        ("code", Arc::new(LargeStringArray::from_iter_values(codes))),
        (
            "reason",
            Arc::new(LargeStringArray::from_iter_values(
                rejects.iter().map(reason),
            )),
        ),
        ("raw", Arc::new(LargeBinaryArray::from_iter_values(raw))),
        ("delivered", Arc::new(flags(|reject| reject.delivered))),
        ("given_up", Arc::new(flags(|reject| reject.number == 0))),
    ];
    let fields = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    batch(
        schema,
        columns.into_iter().map(|(_, array)| array).collect(),
        rejects.len(),
    )
}
