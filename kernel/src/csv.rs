//! CSV for Python.

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::block::Suspects;
use splitscan_kernel_core::csv::{self, Dialect, Grammar, Mark};
use splitscan_kernel_core::frames::Run;
use splitscan_kernel_core::units::Symbols;

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
    symbols: Symbols,
    around: Vec<u8>, // bytes of marks that stand around fields
    comment: Option<Vec<u8>>,
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
        quote: Option<&[u8]>,
        escape: Option<&[u8]>,
        escape_escape: Option<&[u8]>,
        doubled: bool,
        comment: Option<&[u8]>,
        line_sep: Option<&[u8]>,
        multi_line: bool,
        trim_leading: bool,
        unit_bytes: usize,
        big_endian: bool,
    ) -> PyResult<Csv> {
        let around = [quote, escape, escape_escape];
        let around: Vec<&[u8]> = around.into_iter().flatten().collect();
        let delimiters = [Some(sep), line_sep, comment].into_iter().flatten();
        let written: Vec<&[u8]> = around.iter().copied().chain(delimiters).collect();
        let symbols = Symbols::of(&written, unit_bytes, big_endian);
        let symbols = symbols.map_err(|reason| unsupported(&reason))?;
        let delimiter = |written: &[u8]| symbols.read(written).into_owned();
        let mark = |written: Option<&[u8]>| {
            let mark = written.map(|written| Mark::new(&symbols.read(written)));
            mark.transpose().map_err(|reason| unsupported(&reason))
        };
        let dialect = Dialect {
            sep: delimiter(sep),
            quote: mark(quote)?,
            escape: mark(escape)?,
            escape_escape: mark(escape_escape)?,
            doubled,
            skips_values: false, // it changes no record
            comment: mark(comment)?,
            line_sep: line_sep.map(delimiter),
            multi_line,
            trim_leading,
        };
        let grammar = Grammar::new(dialect).map_err(|reason| unsupported(&reason))?;
        Ok(Csv {
            grammar,
            symbols,
            around: around.concat(),
            comment: comment.map(<[u8]>::to_vec),
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
            csv::frame(&self.symbols.read(data), &self.grammar, at_end)
        })?;
        if self.unit_bytes() > 1 {
            let positions = frames.starts.iter_mut().chain(&mut frames.stops);
            positions.for_each(|position| *position *= self.unit_bytes() as i64); // 1, 2 or 4
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
            csv::count(&self.symbols.read(data), &self.grammar, at_end)
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
            let units = self.symbols.read(data);
            csv::open_starts(&units, &self.grammar, longest / self.unit_bytes())
        })?;
        let in_bytes = |unit: i64| unit * self.unit_bytes() as i64; // 1, 2 or 4
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
            .get(before.len() % self.unit_bytes()..)
            .unwrap_or_default();
        let mark = mark.div_ceil(self.unit_bytes());
        let runs = detached(py, start, || {
            csv::summarise(
                &self.symbols.read(data),
                &self.grammar,
                &self.symbols.read(before),
                mark,
            )
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
        let marks = self.around.iter().copied();
        let comment = self.comment.as_deref().filter(|_| comments);
        let begins_anywhere = self.grammar.dialect().line_sep.is_some();
        let suspects = Suspects::new(header.as_deref(), marks, comment, begins_anywhere);
        detached(py, start, || suspects.may_be_in(data))
    }

    /// The last position that is a record boundary whatever is around the data; `None` if none is certain.
    fn last_split_point(&self, py: Python<'_>, data: PyBackedBytes) -> PyResult<Option<usize>> {
        if self.unit_bytes() > 1 {
            return Ok(None);
        }
        detached(py, 0, || csv::last_split_point(&data, &self.grammar))
    }
}

impl Csv {
    fn unit_bytes(&self) -> usize {
        self.symbols.width()
    }

    /// The position in bytes of one in units; at the end of a file, a unit that is cut off is dealt with too.
    fn after(&self, position: usize, data: &[u8], at_end: bool) -> usize {
        if at_end && position == data.len() / self.unit_bytes() {
            data.len()
        } else {
            position * self.unit_bytes()
        }
    }

    fn summarised(&self, run: Run) -> Summarised {
        let bytes = |position: Option<usize>| position.map(|position| position * self.unit_bytes());
        (
            run.state,
            bytes(run.first),
            bytes(run.last),
            bytes(run.marked),
            run.records,
        )
    }
}

fn unsupported(reason: &str) -> PyErr {
    Unsupported::new_err(reason.to_string())
}
