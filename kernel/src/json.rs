//! JSON for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::json::{self, Shape};

/// A run as Python has it: state, first, last, marked, records.
type Run = (
    i64,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    Option<usize>,
);

/// Where values are: one after the other, or the elements of one array.
#[pyclass(frozen)]
pub struct Json {
    shape: Shape,
}

#[pymethods]
impl Json {
    /// Framing for a shape, "values" or "array".
    #[new]
    fn new(shape: &str) -> PyResult<Json> {
        let shape = match shape {
            "values" => Shape::Values,
            "array" => Shape::Array,
            other => {
                return Err(pyo3::exceptions::PyValueError::new_err(format!(
                    "no shape of JSON: {other:?}"
                )));
            }
        };
        Ok(Json { shape })
    }

    /// Complete records of `data[start:end]`: starts, stops, malformed ones, and where the next one starts.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<u32>, usize) {
        let found =
            py.detach(|| json::frame(data.get(start..end).unwrap_or_default(), at_end, self.shape));
        (
            positions(py, &found.starts),
            positions(py, &found.stops),
            found.malformed,
            found.next_start,
        )
    }

    /// How many records [`Json::frame`] finds, and where the next one starts.
    fn count(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> (usize, usize) {
        let found =
            py.detach(|| json::count(data.get(start..end).unwrap_or_default(), at_end, self.shape));
        (found.records, found.next_start)
    }

    /// What `data[start:end]` does to the framer in each state that it may be entered in.
    #[expect(clippy::too_many_arguments, reason = "the seam has them")]
    fn summarise(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        before: PyBackedBytes,
        after: PyBackedBytes,
        mark: i64,
    ) -> Vec<Option<Run>> {
        let _ = after; // brackets need no look ahead
        let piece = data.get(start..end).unwrap_or_default();
        let runs = py.detach(|| json::summarise(piece, &before, mark, self.shape));
        runs.into_iter()
            .map(|run| run.map(|run| (run.state, run.first, run.last, run.marked, run.records)))
            .collect()
    }
}

/// Positions as little-endian numbers of 64 bits.
fn positions<'py>(py: Python<'py>, positions: &[i64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = positions
        .iter()
        .flat_map(|position| position.to_le_bytes())
        .collect();
    PyBytes::new(py, &bytes)
}
