//! Text for Python.

use arrow_schema::Field;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::frames::Frames;
use splitscan_kernel_core::lines::grammar::Grammar;
use splitscan_kernel_core::lines::{Bounds, records, text};

use crate::Unsupported;
use crate::charsets::PyCharset;
use crate::export::{Framed, PyParsed, PySchema, part, positions, read_positions};
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
        Ok((
            positions(py, &frames.starts)?,
            positions(py, &frames.stops)?,
            frames.malformed,
            frames.next_start,
        ))
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

/// Reads records of text into one column, or into none.
#[pyclass(frozen)]
pub struct LinesParser {
    parser: text::Parser,
    schema: PySchema,
}

#[pymethods]
impl LinesParser {
    #[new]
    fn new(lines: &Lines, charset: &PyCharset, schema: PySchema) -> PyResult<LinesParser> {
        let field = only_field(&schema)?;
        let parser = text::Parser::new(lines.grammar.clone(), charset.charset.clone(), field);
        Ok(LinesParser {
            parser: parser.map_err(Unsupported::new_err)?,
            schema,
        })
    }

    /// The records of `data[start:end]` that start before `stop`.
    #[expect(clippy::too_many_arguments, reason = "the seam of all parsers")]
    fn parse(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        stop: usize,
        at_end: bool,
        max_rows: usize,
        max_record_bytes: usize,
    ) -> PyResult<PyParsed> {
        let data = part(&data, start, end)?;
        let bounds = bounds(start, stop, at_end, max_rows, max_record_bytes);
        let parse = || Ok(self.parser.parse(data, bounds));
        PyParsed::read(py, start, &self.schema.0, parse)
    }

    /// Records that were found before, in UTF-8.
    fn parse_framed(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        starts: PyBackedBytes,
        stops: PyBackedBytes,
    ) -> PyResult<PyParsed> {
        let frames = Frames {
            starts: read_positions(&starts)?,
            stops: read_positions(&stops)?,
            next_start: data.len(),
            ..Frames::default()
        };
        let parse = || Ok(self.parser.parse_framed(&data, frames));
        PyParsed::read(py, 0, &self.schema.0, parse)
    }
}

/// `stop` is a position in the data, as `start` is; bounds have it from `start` on.
pub fn bounds(start: usize, stop: usize, at_end: bool, rows: usize, record_bytes: usize) -> Bounds {
    Bounds {
        stop: stop.saturating_sub(start),
        at_end,
        rows,
        record_bytes,
    }
}

fn only_field(schema: &PySchema) -> PyResult<Option<&Field>> {
    match schema.0.fields().as_ref() {
        [] => Ok(None),
        [field] => Ok(Some(field.as_ref())),
        _ => Err(Unsupported::new_err(
            "records that are one value in several columns",
        )),
    }
}
