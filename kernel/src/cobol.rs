//! Records by a copybook for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::cobol::{Finder, FindingSpec};

use crate::Unsupported;
use crate::export::{Framed, framed, part};
use crate::guard::detached;

/// How the records of a copybook are found.
#[pyclass(frozen)]
pub struct CobolRecords {
    finder: Finder,
}

#[pymethods]
impl CobolRecords {
    #[new]
    fn new(spec: &str) -> PyResult<CobolRecords> {
        let spec: Result<FindingSpec, _> = serde_json::from_str(spec);
        let spec = spec.map_err(|error| Unsupported::new_err(error.to_string()))?;
        Ok(CobolRecords {
            finder: Finder::new(&spec).map_err(Unsupported::new_err)?,
        })
    }

    /// Where the complete records of `data[start:end]` are.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<Framed<'py>> {
        let data = part(&data, start, end)?;
        let frames = detached(py, start, || self.finder.frame(data, at_end, 0))?;
        framed(py, frames)
    }

    /// How many records that finds, and where the next one starts.
    fn count(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<(usize, usize)> {
        let data = part(&data, start, end)?;
        let frames = || self.finder.frame(data, true, 0);
        if at_end {
            let frames = detached(py, start, frames)?;
            return Ok((frames.starts.len(), frames.next_start));
        }
        let counted = detached(py, start, || self.finder.count(data, 0))?;
        Ok((counted.records, counted.next_start))
    }
}
