//! Columns of fixed width for Python.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::filling::Rescue;
use splitscan_kernel_core::fixed::{Framing, Layout, Parser};
use splitscan_kernel_core::frames::Frames;
use splitscan_kernel_core::lines::grammar::Grammar;

use crate::Unsupported;
use crate::charsets::{Data, PyCharset};
use crate::export::{PyParsed, PyRules, PySchema, part, read_positions, rules_of};
use crate::lines::bounds;

/// Reads records whose columns have fixed places.
#[pyclass(frozen)]
pub struct FixedWidthParser {
    parser: Parser,
    delivered: SchemaRef, // with the rescued data, if that is asked for
}

#[pymethods]
impl FixedWidthParser {
    /// The columns of `schema`, each at its `places`: the first one from 0 on, and the one after its last. Records are
    /// lines in UTF-8 that `line_sep` ends, or have `record_length` bytes of `charset`.
    #[new]
    #[pyo3(signature = (schema, *, places, least, null_value, trim_leading, trim_trailing, line_sep=None, record_length=None, charset=None, rules=None, own_rules=HashMap::new(), rescue=None))]
    #[expect(clippy::too_many_arguments, reason = "named: the layout of a file")]
    fn new(
        schema: PySchema,
        places: Vec<(usize, usize)>,
        least: usize,
        null_value: String,
        trim_leading: bool,
        trim_trailing: bool,
        line_sep: Option<&[u8]>,
        record_length: Option<NonZero<usize>>,
        charset: Option<&PyCharset>,
        rules: Option<PyRules>,
        own_rules: HashMap<String, PyRules>,
        rescue: Option<(String, bool)>,
    ) -> PyResult<FixedWidthParser> {
        let framing = match (record_length, charset) {
            (Some(length), Some(charset)) => Framing::Length(length, charset.charset.clone()),
            (Some(_), None) => return Err(Unsupported::new_err("records of no encoding")),
            (None, _) => Framing::Lines(
                Grammar::new(line_sep, None, 1, false).map_err(Unsupported::new_err)?,
            ),
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
        let layout = Layout {
            places,
            least,
            null_value,
            trim_leading,
            trim_trailing,
        };
        let parser = Parser::new(framing, schema.0, layout, rules, rescue);
        Ok(FixedWidthParser {
            parser: parser.map_err(Unsupported::new_err)?,
            delivered: Arc::new(Schema::new(fields)),
        })
    }

    /// The records of `data[start:end]` that start before `stop`.
    #[expect(clippy::too_many_arguments, reason = "the seam of all parsers")]
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
        let bounds = bounds(start, stop, at_end, max_rows, max_record_bytes);
        PyParsed::read(py, start, &self.delivered, || {
            self.parser.parse(part, bounds)
        })
    }

    /// Records that were found before; lines are in UTF-8.
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
        let parse = || self.parser.parse_framed(&data, frames);
        PyParsed::read(py, 0, &self.delivered, parse)
    }
}
