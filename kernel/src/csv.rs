//! CSV for Python.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::csv::{self, Dialect, Grammar};
use splitscan_kernel_core::frames::Run;
use splitscan_kernel_core::units;

/// Starts and stops as little-endian integers of 64 bits, records that end inside quotes, where the next one starts.
type Framed<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<u32>, usize);

/// State, first, last and marked record start, records.
type Summarised = (
    i64,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    Option<usize>,
);

/// The grammar of CSV files.
#[pyclass(frozen)]
pub struct Csv {
    grammar: Grammar,
    unit_bytes: usize,
    big_endian: bool,
    #[expect(dead_code, reason = "values are not read yet")]
    trim_trailing: bool,
}

#[pymethods]
impl Csv {
    #[new]
    #[pyo3(signature = (*, sep, quote, escape, doubled, comment, line_sep, multi_line, trim_leading, trim_trailing, unit_bytes, big_endian))]
    #[expect(
        clippy::too_many_arguments,
        reason = "named, and all of them decide where records are"
    )]
    fn new(
        sep: &[u8],
        quote: Option<u8>,
        escape: Option<u8>,
        doubled: bool,
        comment: Option<u8>,
        line_sep: Option<&[u8]>,
        multi_line: bool,
        trim_leading: bool,
        trim_trailing: bool,
        unit_bytes: usize,
        big_endian: bool,
    ) -> PyResult<Csv> {
        let delimiter = |written: &[u8]| match unit_bytes {
            1 => Ok(written.to_vec()),
            _ => narrow_delimiter(written, unit_bytes, big_endian),
        };
        let dialect = Dialect {
            sep: delimiter(sep)?,
            quote,
            escape,
            doubled,
            comment,
            line_sep: line_sep.map(delimiter).transpose()?,
            multi_line,
            trim_leading,
        };
        if ![1, 2, 4].contains(&unit_bytes)
            || [quote, escape, comment]
                .iter()
                .flatten()
                .any(|&byte| byte >= units::OTHER)
        {
            return Err(unsupported(
                "code units have 1, 2 or 4 bytes, and quote, escape and comment are ASCII",
            ));
        }
        let grammar = Grammar::new(dialect).map_err(|reason| unsupported(&reason))?;
        Ok(Csv {
            grammar,
            unit_bytes,
            big_endian,
            trim_trailing,
        })
    }

    /// Where the complete records of `data[start:end]` are, which begins with one.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        at_end: bool,
    ) -> PyResult<Framed<'py>> {
        let data = part(&data, start, end)?;
        let width = self.unit_bytes;
        let frames = py.detach(|| csv::frame(&self.units(data), &self.grammar, at_end));
        let next_start = self.after(frames.next_start, data, at_end);
        let positions = |each: &[i64]| positions(py, each, width);
        Ok((
            positions(&frames.starts)?,
            positions(&frames.stops)?,
            frames.malformed,
            next_start,
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
        let counted = py.detach(|| csv::count(&self.units(data), &self.grammar, at_end));
        Ok((
            counted.records,
            self.after(counted.next_start, data, at_end),
        ))
    }

    /// What `data[start:end]` does to a reader that enters it in each state; `None` where `before` does not tell.
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
        mark: usize,
    ) -> PyResult<Vec<Option<Summarised>>> {
        let _ = after; // what a field's first byte means is told by what is before it
        let data = part(&data, start, end)?;
        let before = before
            .get(before.len() % self.unit_bytes..)
            .unwrap_or_default();
        let mark = mark.div_ceil(self.unit_bytes);
        let runs = py
            .detach(|| csv::summarise(&self.units(data), &self.grammar, &self.units(before), mark));
        Ok(runs
            .into_iter()
            .map(|run| run.map(|run| self.summarised(run)))
            .collect())
    }

    /// The last position that is a record boundary whatever is around the data; `None` if none is certain.
    fn last_split_point(&self, py: Python<'_>, data: PyBackedBytes) -> Option<usize> {
        if self.unit_bytes > 1 {
            return None;
        }
        py.detach(|| csv::last_split_point(&data, &self.grammar))
    }
}

impl Csv {
    /// One byte for each code unit.
    fn units<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        match self.unit_bytes {
            1 => Cow::Borrowed(data),
            width => Cow::Owned(units::narrow(data, width, self.big_endian)),
        }
    }

    /// The position in bytes of one in units; at the end of a file, a unit that is cut off is dealt with too.
    fn after(&self, position: usize, data: &[u8], at_end: bool) -> usize {
        if at_end && position == data.len() / self.unit_bytes {
            data.len()
        } else {
            position * self.unit_bytes
        }
    }

    fn summarised(&self, run: Run) -> Summarised {
        let bytes = |position: Option<usize>| position.map(|position| position * self.unit_bytes);
        (
            run.state,
            bytes(run.first),
            bytes(run.last),
            bytes(run.marked),
            run.records,
        )
    }
}

/// A separator as units; other units than ASCII cannot be told apart.
fn narrow_delimiter(written: &[u8], width: usize, big_endian: bool) -> PyResult<Vec<u8>> {
    let narrowed = units::narrow(written, width.max(1), big_endian);
    match narrowed.contains(&units::OTHER) {
        true => Err(unsupported(
            "a separator outside of ASCII, in code units of several bytes",
        )),
        false => Ok(narrowed),
    }
}

fn part(data: &[u8], start: usize, end: usize) -> PyResult<&[u8]> {
    data.get(start..end)
        .ok_or_else(|| PyValueError::new_err("start and end are positions in data"))
}

fn unsupported(reason: &str) -> PyErr {
    PyValueError::new_err(reason.to_string())
}

/// Positions of code units as those of bytes, little-endian.
fn positions<'py>(py: Python<'py>, units: &[i64], width: usize) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(units), |bytes| {
        for (place, unit) in bytes.chunks_exact_mut(size_of::<i64>()).zip(units) {
            place.copy_from_slice(&(unit * width as i64).to_le_bytes());
        }
        Ok(())
    })
}
