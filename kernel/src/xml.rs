//! XML for Python.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use splitscan_kernel_core::filling::Rescue;
use splitscan_kernel_core::frames::{Counted, Frames, Run};
use splitscan_kernel_core::lines::Bounds;
use splitscan_kernel_core::xml::{self, Naming, PLACES, Parser, RowTag};

use crate::Unsupported;
use crate::charsets::Data;
use crate::export::{
    Framed, PyParsed, PyRules, PySchema, part, positions, read_positions, rules_of,
};
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
        Ok((
            positions(py, &frames.starts)?,
            positions(py, &frames.stops)?,
            frames.malformed,
            frames.next_start,
        ))
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

/// Reads XML records in UTF-8 to columns.
#[pyclass(frozen)]
pub struct XmlParser {
    parser: Parser,
    delivered: SchemaRef, // with the rescued data, if that is asked for
}

#[pymethods]
impl XmlParser {
    /// The columns of `schema`; `own_rules` are those of single columns, `rescue` what ends the text of data that does
    /// not fit, and whether it is asked for.
    #[new]
    #[pyo3(signature = (xml, schema, *, attribute_prefix, value_tag, exclude_attribute, ignore_namespace, ignore_surrounding_spaces, null_value=None, rules=None, own_rules=HashMap::new(), rescue=None))]
    #[expect(clippy::too_many_arguments, reason = "named: the options of XML")]
    fn new(
        xml: &Xml,
        schema: PySchema,
        attribute_prefix: String,
        value_tag: String,
        exclude_attribute: bool,
        ignore_namespace: bool,
        ignore_surrounding_spaces: bool,
        null_value: Option<String>,
        rules: Option<PyRules>,
        own_rules: HashMap<String, PyRules>,
        rescue: Option<(String, bool)>,
    ) -> PyResult<XmlParser> {
        let naming = Naming {
            attribute_prefix,
            value_tag,
            exclude_attribute,
            ignore_namespace,
            ignore_surrounding_spaces,
            null_value,
        };
        let rules = rules_of(&schema.0, rules, own_rules)?;
        let rescue = rescue.map(|(tail, wanted)| Rescue {
            tail,
            wanted,
            is_fault: false,
        });
        let mut fields = schema.0.fields().to_vec();
        if rescue.as_ref().is_some_and(|rescue| rescue.wanted) {
            fields.push(Arc::new(Field::new("rescued", DataType::Utf8, true)));
        }
        let parser = Parser::new(xml.tag.clone(), schema.0, naming, rules, rescue);
        let parser = parser.map_err(Unsupported::new_err)?;
        Ok(XmlParser {
            parser,
            delivered: Arc::new(Schema::new(fields)),
        })
    }

    /// Read records of `data[start:end]`, which begins outside of all: those that start before `stop`.
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
        let bounds = Bounds {
            stop: stop.saturating_sub(start),
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
