//! The members of records, and their types, for Python. Names may hold any character, so they do not cross as Arrow's C
//! strings.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::block::MemberSummary;

use crate::Unsupported;
use crate::export::read_positions;
use crate::guard::detached;

/// The members of records and the types of their values.
#[pyclass(name = "MemberSummary")]
pub struct PyMemberSummary {
    summary: MemberSummary,
}

#[pymethods]
impl PyMemberSummary {
    /// Of no records, as a document of inference says.
    #[new]
    fn new(document: &str) -> PyResult<PyMemberSummary> {
        let summary = MemberSummary::open(document);
        Ok(PyMemberSummary {
            summary: summary.map_err(|error| Unsupported::new_err(error.to_string()))?,
        })
    }

    /// Take records whose contents are known; answers which of them only the reference engine can read.
    fn take(
        &mut self,
        py: Python<'_>,
        data: PyBackedBytes,
        starts: PyBackedBytes,
        stops: PyBackedBytes,
    ) -> PyResult<Vec<usize>> {
        let (starts, stops) = (read_positions(&starts)?, read_positions(&stops)?);
        let summary = &mut self.summary;
        detached(py, 0, || summary.take(&data, &starts, &stops))?.map_err(PyValueError::new_err)
    }

    /// Whether some record has no members.
    #[getter]
    fn has_others(&self) -> bool {
        self.summary.has_others()
    }

    /// Whether there are more members than are kept.
    #[getter]
    fn is_full(&self) -> bool {
        self.summary.places().is_full()
    }

    /// A name that an object has twice.
    #[getter]
    fn repeated(&self) -> Option<String> {
        self.summary.places().repeated().map(String::from)
    }

    /// The members, in order, as JSON: the name of each and its type.
    fn members(&self) -> String {
        self.summary.places().members().to_string()
    }
}
