//! JSON for Python.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::frames::{Counted, Frames};
use splitscan_kernel_core::json::{self, Framing, Shape};
use splitscan_kernel_core::lines::grammar::Grammar;

use crate::Unsupported;
use crate::export::{Framed, part, positions};
use crate::guard::detached;

/// State, first, last and marked record start, records.
type Summarised = (
    i64,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    Option<usize>,
);

/// Where the records of JSON are: values, elements of an array, or lines.
#[pyclass(frozen)]
pub struct Json {
    framing: Framing,
}

#[pymethods]
impl Json {
    /// Records that are values one after the other ("values"), or the elements of one array ("array").
    #[new]
    fn new(shape: &str) -> PyResult<Json> {
        let shape = match shape {
            "values" => Shape::Values,
            "array" => Shape::Array,
            other => {
                return Err(PyValueError::new_err(format!(
                    "values or array, not {other:?}"
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
            Framing::Values(shape) => json::frame(data, at_end, *shape),
            Framing::Lines(lines) => json::frame_lines(data, lines, at_end),
        })?;
        Ok((
            positions(py, &frames.starts)?,
            positions(py, &frames.stops)?,
            frames.malformed,
            frames.next_start,
        ))
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
            Framing::Values(shape) => json::count(data, at_end, *shape),
            Framing::Lines(lines) => json::count_lines(data, lines, at_end),
        })?;
        Ok((counted.records, counted.next_start))
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
        let Framing::Values(shape) = self.framing else {
            return Err(PyValueError::new_err("lines need no summaries"));
        };
        let runs = detached(py, start, || json::summarise(data, &before, mark, shape))?;
        let summarised = |run: splitscan_kernel_core::frames::Run| {
            (run.state, run.first, run.last, run.marked, run.records)
        };
        Ok(runs.into_iter().map(|run| run.map(summarised)).collect())
    }
}
