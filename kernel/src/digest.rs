//! Digests for Python.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::export::part;
use crate::guard::detached;

/// BLAKE3 of bytes that come piece by piece. Threads may share it; their pieces then come in any order.
#[pyclass(frozen)]
pub struct Blake3 {
    hasher: Mutex<blake3::Hasher>,
}

#[pymethods]
impl Blake3 {
    #[new]
    fn new() -> Blake3 {
        Blake3 {
            hasher: Mutex::new(blake3::Hasher::new()),
        }
    }

    /// Take `data[start:stop]` as the next bytes.
    fn update(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        stop: usize,
    ) -> PyResult<()> {
        let data = part(&data, start, stop)?;
        detached(py, start, || {
            self.with(|hasher| {
                hasher.update(data);
            });
        })
    }

    /// The digest of all bytes so far, in 64 hexadecimal digits.
    fn hexdigest(&self) -> String {
        self.with(|hasher| hasher.finalize()).to_hex().to_string()
    }
}

impl Blake3 {
    /// A hasher takes any bytes in any state, so a panic elsewhere leaves it whole.
    fn with<T>(&self, work: impl FnOnce(&mut blake3::Hasher) -> T) -> T {
        work(&mut self.hasher.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
