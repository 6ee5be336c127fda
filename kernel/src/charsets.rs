//! Texts in other encodings than UTF-8 for Python.

use std::ops::Deref;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::charsets::{self, Charset};

use crate::Unsupported;
use crate::export::{part, positions, read_positions};
use crate::guard::detached;

/// Bytes, and where records in them start and stop.
type Texts<'py> = (
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
    Bound<'py, PyBytes>,
);

/// How the texts of a file are encoded.
#[pyclass(frozen, name = "Charset")]
pub struct PyCharset {
    pub charset: Charset,
}

#[pymethods]
impl PyCharset {
    /// UTF-8, UTF-16 or UTF-32 by the bytes of a code unit; or one byte for each of 256 characters.
    #[new]
    #[pyo3(signature = (unit_bytes=1, big_endian=false, table=None))]
    fn new(unit_bytes: usize, big_endian: bool, table: Option<&str>) -> PyResult<PyCharset> {
        let charset = match (unit_bytes, table) {
            (1, None) => Ok(Charset::Utf8),
            (1, Some(table)) => Charset::table(table),
            (2, None) => Ok(Charset::Utf16(big_endian)),
            (4, None) => Ok(Charset::Utf32(big_endian)),
            _ => {
                Err("code units of 1, 2 or 4 bytes, of which single bytes may have a table".into())
            }
        };
        Ok(PyCharset {
            charset: charset.map_err(Unsupported::new_err)?,
        })
    }

    /// `data[start:end]` in UTF-8. Half a character at the end is left out where more may follow. `None` if anything
    /// else is no text.
    fn whole(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        stop: usize,
        at_end: bool,
    ) -> PyResult<Option<Text>> {
        let data = part(&data, start, end)?;
        let stop = stop.saturating_sub(start);
        let whole = detached(py, start, || self.charset.whole(data, stop, at_end))?;
        Ok(whole.map(|(bytes, stop)| Text {
            bytes,
            stop,
            charset: self.charset.clone(),
        }))
    }

    /// Records in UTF-8, each with a line feed after it: the bytes, where each starts, and where each stops.
    fn transcode<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        starts: PyBackedBytes,
        stops: PyBackedBytes,
    ) -> PyResult<Texts<'py>> {
        let (starts, stops) = (read_positions(&starts)?, read_positions(&stops)?);
        let spans = starts.iter().zip(&stops);
        let spans = spans.map(|(&start, &stop)| (start as usize, stop as usize));
        let (texts, starts, stops) =
            detached(py, 0, || charsets::transcode(&data, spans, &self.charset))?;
        Ok((
            PyBytes::new(py, &texts),
            positions(py, &starts)?,
            positions(py, &stops)?,
        ))
    }
}

/// A part of a file in UTF-8, which parsers take in place of bytes.
#[pyclass(frozen)]
pub struct Text {
    bytes: Vec<u8>,
    stop: usize,
    charset: Charset,
}

#[pymethods]
impl Text {
    fn __len__(&self) -> usize {
        self.bytes.len()
    }

    /// Where the characters end that start before the stop that was given.
    #[getter]
    fn stop(&self) -> usize {
        self.stop
    }

    /// Where records of the text are in the file's own bytes: where each starts, where each stops, and where the next
    /// one starts.
    fn locate<'py>(
        &self,
        py: Python<'py>,
        starts: PyBackedBytes,
        stops: PyBackedBytes,
        next_start: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, usize)> {
        let (mut starts, mut stops) = (read_positions(&starts)?, read_positions(&stops)?);
        let next_start = detached(py, 0, || {
            self.charset
                .locate(&self.bytes, &mut starts, &mut stops, next_start)
        })?;
        Ok((positions(py, &starts)?, positions(py, &stops)?, next_start))
    }
}

/// What parsers read.
#[derive(FromPyObject)]
pub enum Data {
    /// A file's own bytes.
    Bytes(PyBackedBytes),
    /// What they are in UTF-8.
    Text(Py<Text>),
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Data::Bytes(bytes) => bytes,
            Data::Text(text) => &text.get().bytes,
        }
    }
}
