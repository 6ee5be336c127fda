//! CSV for Python.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::block::Suspects;
use splitscan_kernel_core::csv::{self, Dialect, Grammar};
use splitscan_kernel_core::frames::Run;
use splitscan_kernel_core::units;

use crate::Unsupported;
use crate::export::{part, positions};
use crate::guard::detached;

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
}

#[pymethods]
impl Csv {
    #[new]
    #[pyo3(signature = (*, sep, quote, escape, escape_escape, doubled, comment, line_sep, multi_line, trim_leading, unit_bytes, big_endian))]
    #[expect(
        clippy::too_many_arguments,
        reason = "named, and all of them decide where records are"
    )]
    fn new(
        sep: &[u8],
        quote: Option<u8>,
        escape: Option<u8>,
        escape_escape: Option<u8>,
        doubled: bool,
        comment: Option<u8>,
        line_sep: Option<&[u8]>,
        multi_line: bool,
        trim_leading: bool,
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
            escape_escape,
            doubled,
            skips_values: false, // it changes no record
            comment,
            line_sep: line_sep.map(delimiter).transpose()?,
            multi_line,
            trim_leading,
        };
        if ![1, 2, 4].contains(&unit_bytes)
            || [quote, escape, escape_escape, comment]
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
        let mut frames = detached(py, start, || {
            csv::frame(&self.units(data), &self.grammar, at_end)
        })?;
        if self.unit_bytes > 1 {
            let positions = frames.starts.iter_mut().chain(&mut frames.stops);
            positions.for_each(|position| *position *= self.unit_bytes as i64); // 1, 2 or 4
        }
        let next_start = self.after(frames.next_start, data, at_end);
        Ok((
            positions(py, &frames.starts)?,
            positions(py, &frames.stops)?,
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
        let counted = detached(py, start, || {
            csv::count(&self.units(data), &self.grammar, at_end)
        })?;
        Ok((
            counted.records,
            self.after(counted.next_start, data, at_end),
        ))
    }

    /// Where records would begin that do not end in `data[start:end]`, or are longer than `longest` bytes; none where
    /// no record begins in another.
    fn open_starts<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        longest: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = part(&data, start, end)?;
        let found = detached(py, start, || {
            let units = self.units(data);
            csv::open_starts(&units, &self.grammar, longest / self.unit_bytes)
        })?;
        let in_bytes = |unit: i64| unit * self.unit_bytes as i64; // 1, 2 or 4
        positions(py, &found.into_iter().map(in_bytes).collect::<Vec<_>>())
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
        let runs = detached(py, start, || {
            csv::summarise(&self.units(data), &self.grammar, &self.units(before), mark)
        })?;
        Ok(runs
            .into_iter()
            .map(|run| run.map(|run| self.summarised(run)))
            .collect())
    }

    /// Whether `data[start:end]` may hold the header of its file again, or, with `comments`, lines that are skipped as such.
    fn may_be_odd(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        header: Option<PyBackedBytes>,
        comments: bool,
    ) -> PyResult<bool> {
        let data = part(&data, start, end)?;
        let dialect = self.grammar.dialect();
        let marks = [dialect.quote, dialect.escape, dialect.escape_escape]
            .into_iter()
            .flatten();
        let comment = dialect.comment.filter(|_| comments);
        let header = header.as_deref();
        let suspects = Suspects::new(header, marks, comment, dialect.line_sep.is_some());
        detached(py, start, || suspects.may_be_in(data))
    }

    /// The last position that is a record boundary whatever is around the data; `None` if none is certain.
    fn last_split_point(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<Option<usize>> {
        if self.unit_bytes > 1 {
            return Ok(None);
        }
        detached(py, 0, || csv::last_split_point(&data, &self.grammar))
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

fn unsupported(reason: &str) -> PyErr {
    Unsupported::new_err(reason.to_string())
}
