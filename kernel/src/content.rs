//! The content of compressed files for Python, which compares it with its own.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use splitscan_kernel_core::block::{Content, ReadAt, SeekPoint};

use crate::BlockFailed;
use crate::block::{PySource, raised};
use crate::guard::detached;

/// A compressed file, read at offsets of what it holds.
#[pyclass(name = "Content")]
pub struct PyContent {
    content: Mutex<Content>,
}

#[pymethods]
impl PyContent {
    /// Of an open file, its codec, and places to begin at: bits, content, state.
    #[new]
    fn new(
        source: Py<PyAny>,
        codec: &str,
        points: Vec<(u64, u64, Option<String>)>,
        max_ratio: u64,
    ) -> PyResult<PyContent> {
        let file = Box::new(PySource::new(source, None));
        let points: Vec<_> = points
            .into_iter()
            .map(|(bits, content, state)| SeekPoint(bits, content, state))
            .collect();
        let content = Content::open(file, "", codec, &points, max_ratio);
        let content = content.ok_or_else(|| crate::Unsupported::new_err(codec.to_string()))?;
        Ok(PyContent {
            content: Mutex::new(content),
        })
    }

    /// Bytes from an offset on; fewer than asked for only at the end. `BlockFailed` has kind, rule, offset in the file,
    /// offset in the content, what was seen, and the code.
    fn read_at<'py>(
        &mut self,
        py: Python<'py>,
        offset: u64,
        length: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let content = self.content.get_mut();
        let content = content.unwrap_or_else(PoisonError::into_inner);
        let mut bytes = vec![0; length];
        let read = detached(py, 0, || content.read_at(offset, &mut bytes))?;
        let read = read.map_err(|error| {
            let error = error.at(offset);
            raised(&error).unwrap_or_else(|| {
                let notes: Vec<_> = error.place.notes.clone();
                let place = (error.place.offset, notes);
                BlockFailed::new_err((error.kind.name(), error.rule, place, error.seen, error.code))
            })
        })?;
        Ok(PyBytes::new(py, bytes.get(..read).unwrap_or_default()))
    }

    /// Length of the content, once its end was reached.
    #[getter]
    fn content_bytes(&mut self) -> Option<u64> {
        let content = self.content.get_mut();
        content
            .unwrap_or_else(PoisonError::into_inner)
            .content_end()
    }
}
