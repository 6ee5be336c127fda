//! JSON for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::frames::{Counted, Frames};
use splitscan_kernel_core::json::path::Past;
use splitscan_kernel_core::json::{self, Framing, Path, Shape};
use splitscan_kernel_core::lines::grammar::Grammar;

use crate::Unsupported;
use crate::export::{Framed, framed, part, positions};
use crate::guard::detached;

/// State, first, last and marked record start, records.
type Summarised = (
    i64,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    Option<usize>,
);

/// The state inside of what is passed over.
#[pyclass(frozen)]
pub struct JsonPast(Past);

impl Json {
    fn path(&self) -> PyResult<&Path> {
        match &self.framing {
            Framing::Values(Shape::Below(path)) => Ok(path),
            _ => Err(PyValueError::new_err("only what is below a path has one")),
        }
    }
}

/// Where the records of JSON are: values, elements of an array, or lines.
#[pyclass(frozen)]
pub struct Json {
    framing: Framing,
}

#[pymethods]
impl Json {
    /// Records that are values one after the other ("values"), the elements of one array ("array"), those of arrays
    /// below a path ("below"), or what is left of a file where nothing is there ("nowhere").
    #[new]
    #[pyo3(signature = (shape, path=None))]
    fn new(shape: &str, path: Option<Vec<Option<String>>>) -> PyResult<Json> {
        let shape = match (shape, path) {
            ("values", None) => Shape::Values,
            ("array", None) => Shape::Array,
            ("nowhere", None) => Shape::Nowhere,
            ("below", Some(steps)) => {
                Shape::Below(Path::new(steps).map_err(PyValueError::new_err)?)
            }
            (other, _) => {
                return Err(PyValueError::new_err(format!(
                    "values, array, nowhere, or below and a path, not {other:?}"
                )));
            }
        };
        Ok(Json {
            framing: Framing::Values(shape),
        })
    }

    /// Records that are lines which hold more than white space; `line_sep` is written in the encoding of the file.
    #[staticmethod]
    #[pyo3(signature = (line_sep=None, unit_bytes=1, big_endian=false))]
    fn lines(line_sep: Option<&[u8]>, unit_bytes: usize, big_endian: bool) -> PyResult<Json> {
        let grammar =
            Grammar::new(line_sep, None, unit_bytes, big_endian).map_err(Unsupported::new_err)?;
        Ok(Json {
            framing: Framing::Lines(grammar),
        })
    }

    /// Where the complete records of `data[start:end]` are, which begins outside of all records.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<Framed<'py>> {
        let data = part(&data, start, end)?;
        let frames: Frames = detached(py, start, || match &self.framing {
            Framing::Values(shape) => json::frame(data, at_end, shape),
            Framing::Lines(lines) => json::frame_lines(data, lines, at_end),
        })?;
        framed(py, frames)
    }

    /// How many those are, and where the next one starts.
    fn count(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<(usize, usize)> {
        let data = part(&data, start, end)?;
        let counted: Counted = detached(py, start, || match &self.framing {
            Framing::Values(shape) => json::count(data, at_end, shape),
            Framing::Lines(lines) => json::count_lines(data, lines, at_end),
        })?;
        Ok((counted.records, counted.next_start))
    }

    /// Length of what lies between records at the front of `data[start:end]`; `None` where later bytes tell.
    fn gap_bytes(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<Option<usize>> {
        let data = part(&data, start, end)?;
        let Framing::Values(shape) = &self.framing else {
            return Err(PyValueError::new_err("lines have no such gaps"));
        };
        detached(py, start, || json::gap_bytes(data, at_end, shape))
    }

    /// Where the first array below the path is in `data[start:end]`, which begins a file: where reading begins, if
    /// that is in it, and whether there is a null at the path.
    fn first_array(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
    ) -> PyResult<(Option<usize>, bool)> {
        let data = part(&data, start, end)?;
        let path = self.path()?;
        detached(py, start, || json::path::first_array(data, path))
    }

    /// Go past what `data[start:end]` begins with, or goes on with after bytes that were passed: where reading goes on,
    /// how many bytes are done with, what is passed after those, and whether that is still open.
    #[pyo3(signature = (data, start, end, past=None))]
    fn pass_over(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        past: Option<PyRef<'_, JsonPast>>,
    ) -> PyResult<(Option<usize>, usize, JsonPast, bool)> {
        let data = part(&data, start, end)?;
        let (path, past) = (self.path()?, past.map(|past| past.0).unwrap_or_default());
        let passed = detached(py, start, || past.pass(data, path))?;
        let is_open = passed.resume.is_none() && passed.past.is_open();
        Ok((
            passed.resume,
            passed.dropped,
            JsonPast(passed.past),
            is_open,
        ))
    }

    /// Where values begin that do not end in `data[start:end]`, or are longer than `longest` bytes.
    fn open_starts<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        longest: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = part(&data, start, end)?;
        let found = detached(py, start, || json::open_starts(data, longest))?;
        positions(py, &found)
    }

    /// What `data[start:end]` does to a reader of values that enters it in each state; `None` where only reading tells.
    #[expect(
        clippy::too_many_arguments,
        reason = "the piece, what surrounds it, and the mark"
    )]
    fn summarise(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        before: PyBackedBytes,
        after: PyBackedBytes,
        mark: i64,
    ) -> PyResult<Vec<Option<Summarised>>> {
        let _ = after; // what a bracket means is told by what is before it
        let data = part(&data, start, end)?;
        let Framing::Values(shape) = &self.framing else {
            return Err(PyValueError::new_err("lines need no summaries"));
        };
        let runs = detached(py, start, || json::summarise(data, &before, mark, shape))?;
        let summarised = |run: splitscan_kernel_core::frames::Run| {
            (run.state, run.first, run.last, run.marked, run.records)
        };
        Ok(runs.into_iter().map(|run| run.map(summarised)).collect())
    }
}
