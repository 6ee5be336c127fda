//! XML for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::frames::{Counted, Frames, Run};
use splitscan_kernel_core::xml::{self, PLACES, RowTag, Skipping};

use crate::Unsupported;
use crate::export::{Framed, framed, part, positions};
use crate::guard::detached;

/// State, first, last and marked record start, records, and whether nothing in the piece is of any record.
type Summarised = (
    i64,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    bool,
);

/// The state inside of what is passed over.
#[pyclass(frozen)]
pub struct XmlPast(Skipping);

/// Where the records of XML are: elements of one name.
#[pyclass(frozen)]
pub struct Xml {
    tag: RowTag,
}

#[pymethods]
impl Xml {
    /// Records that have this name, which is written in the encoding of the file.
    #[new]
    #[pyo3(signature = (row_tag, unit_bytes=1, big_endian=false))]
    fn new(row_tag: &[u8], unit_bytes: usize, big_endian: bool) -> PyResult<Xml> {
        let tag = RowTag::new(row_tag, unit_bytes, big_endian).map_err(Unsupported::new_err)?;
        Ok(Xml { tag })
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
        let frames: Frames = detached(py, start, || xml::frame(data, at_end, &self.tag))?;
        framed(py, frames)
    }

    /// How many those are before the end of a file, and where the next one starts.
    fn count(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<(usize, usize)> {
        let _ = at_end; // what ends a record is in it
        let data = part(&data, start, end)?;
        let counted: Counted = detached(py, start, || xml::count(data, &self.tag))?;
        Ok((counted.records, counted.next_start))
    }

    /// Length of what is before the first record in `data[start:end]`; `None` where later bytes tell.
    fn gap_bytes(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<Option<usize>> {
        let data = part(&data, start, end)?;
        detached(py, start, || xml::gap_bytes(data, at_end, &self.tag))
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
        past: Option<PyRef<'_, XmlPast>>,
    ) -> PyResult<(Option<usize>, usize, XmlPast, bool)> {
        let data = part(&data, start, end)?;
        let mut past = past.map(|past| past.0).unwrap_or_default();
        let (resume, dropped) = detached(py, start, || match past.end(data, &self.tag) {
            Some(end) => (Some(end), end),
            None => (None, past.drop_bytes(data, &self.tag)),
        })?;
        Ok((resume, dropped, XmlPast(past), resume.is_none()))
    }

    /// Row tags whose elements do not end in `data[start:end]`, or are longer than `longest` bytes; `None` if it does
    /// not begin with one.
    fn open_starts<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        longest: usize,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let data = part(&data, start, end)?;
        let found = detached(py, start, || xml::open_starts(data, longest, &self.tag))?;
        found.map(|starts| positions(py, &starts)).transpose()
    }

    /// What `data[start:end]` does to a reader that enters it in each place and depth; `None` where only reading tells.
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
        let _ = after; // what a mark is is told by its beginning
        let data = part(&data, start, end)?;
        let runs = detached(py, start, || xml::summarise(data, &before, mark, &self.tag))?;
        let outside = 0..PLACES.len() as i64; // states without an open row tag
        let summarised = |(state, run): (usize, Option<Run>)| {
            run.map(|run| {
                let is_gap =
                    state < PLACES.len() && run.records == Some(0) && outside.contains(&run.state);
                (
                    run.state,
                    run.first,
                    run.last,
                    run.marked,
                    run.records,
                    is_gap,
                )
            })
        };
        Ok(runs.into_iter().enumerate().map(summarised).collect())
    }
}
