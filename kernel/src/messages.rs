//! Values of messages for Python.

use std::sync::{Mutex, PoisonError};

use arrow_array::LargeBinaryArray;
use arrow_array::cast::AsArray;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use splitscan_kernel_core::block::MessageReader;

use crate::block::{as_batch, failed};
use crate::export::{Batch, batch, imported};
use crate::guard::detached;

/// An array of Python that holds the values of messages.
pub struct Values(LargeBinaryArray);

impl<'py> FromPyObject<'_, 'py> for Values {
    type Error = PyErr;

    fn extract(values: Borrowed<'_, 'py, PyAny>) -> PyResult<Values> {
        let values = imported(values)?;
        let values = values.as_binary_opt().cloned();
        values
            .map(Values)
            .ok_or_else(|| PyTypeError::new_err("values of messages are large binary"))
    }
}

/// Reads values of messages, each of which is one record.
#[pyclass(name = "MessageReader")]
pub struct PyMessageReader {
    reader: Mutex<MessageReader>,
}

#[pymethods]
impl PyMessageReader {
    /// Of the documents of a scan and of a block, which says where messages are from; `separator` ends records.
    #[new]
    fn new(scan: &str, block: &str, separator: &[u8]) -> PyResult<PyMessageReader> {
        let reader = MessageReader::open(scan, block, separator);
        Ok(PyMessageReader {
            reader: Mutex::new(reader.map_err(|error| failed(&error))?),
        })
    }

    /// The rows of some messages, and those of them that break a rule: `offset` is the number of the message.
    fn read(&mut self, py: Python<'_>, values: Values) -> PyResult<(Batch, Option<Batch>)> {
        let reader = self.reader.get_mut();
        let reader = reader.unwrap_or_else(PoisonError::into_inner);
        let values: Vec<Option<&[u8]>> = values.0.iter().collect();
        let read = detached(py, 0, || reader.read(&values))?;
        let read = read.map_err(|error| failed(&error))?;
        let rejects = (!read.rejects.is_empty())
            .then(|| as_batch(&read.rejects, |reject| reader.reason(reject)));
        let rows = batch(reader.schema().clone(), read.batch.columns, read.batch.rows)?;
        Ok((rows, rejects.transpose()?))
    }
}
