//! JSON for Python.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::filling::Rescue;
use splitscan_kernel_core::frames::{Counted, Frames};
use splitscan_kernel_core::json::{self, Dialect, Framing, Parser, Shape};
use splitscan_kernel_core::lines::Bounds;
use splitscan_kernel_core::lines::grammar::Grammar;

use crate::Unsupported;
use crate::charsets::Data;
use crate::export::{
    Framed, PyParsed, PyRules, PySchema, part, positions, read_positions, rules_of,
};
use crate::guard::detached;

/// State, first, last and marked record start, records.
type Summarised = (
    i64,
    Option<usize>,
    Option<usize>,
    Option<usize>,
    Option<usize>,
);

/// Where the records of JSON are: values, elements of an array, or lines.
#[pyclass(frozen)]
pub struct Json {
    framing: Framing,
}

#[pymethods]
impl Json {
    /// Records that are values one after the other ("values"), or the elements of one array ("array").
    #[new]
    fn new(shape: &str) -> PyResult<Json> {
        let shape = match shape {
            "values" => Shape::Values,
            "array" => Shape::Array,
            other => {
                return Err(PyValueError::new_err(format!(
                    "values or array, not {other:?}"
                )));
            }
        };
        Ok(Json {
            framing: Framing::Values(shape),
        })
    }

    /// Records that are lines which hold more than white space; `line_sep` is written in the encoding of the file.
    #[staticmethod]
    #[pyo3(signature = (line_sep=None, unit_bytes=1, big_endian=false))]
    fn lines(line_sep: Option<&[u8]>, unit_bytes: usize, big_endian: bool) -> PyResult<Json> {
        let grammar =
            Grammar::new(line_sep, None, unit_bytes, big_endian).map_err(Unsupported::new_err)?;
        Ok(Json {
            framing: Framing::Lines(grammar),
        })
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
        let frames: Frames = detached(py, start, || match &self.framing {
            Framing::Values(shape) => json::frame(data, at_end, *shape),
            Framing::Lines(lines) => json::frame_lines(data, lines, at_end),
        })?;
        Ok((
            positions(py, &frames.starts)?,
            positions(py, &frames.stops)?,
            frames.malformed,
            frames.next_start,
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
        let counted: Counted = detached(py, start, || match &self.framing {
            Framing::Values(shape) => json::count(data, at_end, *shape),
            Framing::Lines(lines) => json::count_lines(data, lines, at_end),
        })?;
        Ok((counted.records, counted.next_start))
    }

    /// Where values begin that do not end in `data[start:end]`, or are longer than `longest` bytes.
    fn open_starts<'py>(
        &self,
        py: Python<'py>,
        data: PyBackedBytes,
        start: usize,
        end: usize,
        longest: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let data = part(&data, start, end)?;
        let found = detached(py, start, || json::open_starts(data, longest))?;
        positions(py, &found)
    }

    /// What `data[start:end]` does to a reader of values that enters it in each state; `None` where only reading tells.
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
        let _ = after; // what a bracket means is told by what is before it
        let data = part(&data, start, end)?;
        let Framing::Values(shape) = self.framing else {
            return Err(PyValueError::new_err("lines need no summaries"));
        };
        let runs = detached(py, start, || json::summarise(data, &before, mark, shape))?;
        let summarised = |run: splitscan_kernel_core::frames::Run| {
            (run.state, run.first, run.last, run.marked, run.records)
        };
        Ok(runs.into_iter().map(|run| run.map(summarised)).collect())
    }
}

/// Reads JSON records to columns.
#[pyclass(frozen)]
pub struct JsonParser {
    parser: Parser,
    delivered: SchemaRef, // with the rescued data, if that is asked for
}

#[pymethods]
impl JsonParser {
    /// The columns of `schema`; `own_rules` are those of single columns, `rescue` what ends the text of data that does
    /// not fit, and whether it is asked for.
    #[new]
    #[pyo3(signature = (json, schema, *, allow_single_quotes, allow_unquoted_field_names, allow_numeric_leading_zeros, allow_non_numeric_numbers, allow_backslash_escaping_any_character, allow_unquoted_control_chars, rules=None, own_rules=HashMap::new(), rescue=None))]
    #[expect(clippy::too_many_arguments, reason = "named: the options of JSON")]
    fn new(
        json: &Json,
        schema: PySchema,
        allow_single_quotes: bool,
        allow_unquoted_field_names: bool,
        allow_numeric_leading_zeros: bool,
        allow_non_numeric_numbers: bool,
        allow_backslash_escaping_any_character: bool,
        allow_unquoted_control_chars: bool,
        rules: Option<PyRules>,
        own_rules: HashMap<String, PyRules>,
        rescue: Option<(String, bool)>,
    ) -> PyResult<JsonParser> {
        let dialect = Dialect {
            allow_single_quotes,
            allow_unquoted_field_names,
            allow_numeric_leading_zeros,
            allow_non_numeric_numbers,
            allow_backslash_escaping_any_character,
            allow_unquoted_control_chars,
        };
        let rules = rules_of(&schema.0, rules, own_rules)?;
        let mut fields = schema.0.fields().to_vec();
        let rescue = rescue.map(|(tail, wanted)| Rescue {
            tail,
            wanted,
            is_fault: false,
        });
        if rescue.as_ref().is_some_and(|rescue| rescue.wanted) {
            fields.push(Arc::new(Field::new("rescued", DataType::Utf8, true)));
        }
        let parser = Parser::new(json.framing.clone(), schema.0, dialect, rules, rescue);
        let parser = parser.map_err(Unsupported::new_err)?;
        Ok(JsonParser {
            parser,
            delivered: Arc::new(Schema::new(fields)),
        })
    }

    /// Read records of `data[start:end]`, which begins with one: those that start before `stop`.
    #[expect(clippy::too_many_arguments, reason = "the bytes, and where to stop")]
    fn parse(
        &self,
        py: Python<'_>,
        data: Data,
        start: usize,
        end: usize,
        stop: usize,
        at_end: bool,
        max_rows: usize,
        max_record_bytes: usize,
    ) -> PyResult<PyParsed> {
        let part = part(&data, start, end)?;
        let stop = stop.saturating_sub(start);
        let bounds = Bounds {
            stop,
            at_end,
            rows: max_rows,
            record_bytes: max_record_bytes,
        };
        let parse = || self.parser.parse(part, bounds);
        PyParsed::read(py, start, &self.delivered, parse)
    }

    /// Read records whose contents are known.
    fn parse_framed(
        &self,
        py: Python<'_>,
        data: PyBackedBytes,
        starts: PyBackedBytes,
        stops: PyBackedBytes,
    ) -> PyResult<PyParsed> {
        let (starts, stops) = (read_positions(&starts)?, read_positions(&stops)?);
        let parse = || self.parser.parse_framed(&data, &starts, &stops);
        PyParsed::read(py, 0, &self.delivered, parse)
    }
}
