//! Text for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::lines::grammar::Grammar;
use splitscan_kernel_core::lines::records;

use crate::Unsupported;
use crate::export::{Framed, framed, part};
use crate::guard::detached;

/// How the records of text are ended.
#[pyclass(frozen)]
pub struct Lines {
    grammar: Grammar,
}

#[pymethods]
impl Lines {
    #[new]
    #[pyo3(signature = (line_sep, escape, unit_bytes=1, big_endian=false))]
    fn new(
        line_sep: Option<&[u8]>,
        escape: Option<&[u8]>,
        unit_bytes: usize,
        big_endian: bool,
    ) -> PyResult<Lines> {
        let grammar = Grammar::new(line_sep, escape, unit_bytes, big_endian);
        Ok(Lines {
            grammar: grammar.map_err(Unsupported::new_err)?,
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
        let frames = detached(py, start, || records::frame(data, &self.grammar, at_end))?;
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
        let counted = detached(py, start, || records::count(data, &self.grammar, at_end))?;
        Ok((counted.records, counted.next_start))
    }
}
