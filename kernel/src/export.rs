//! What crosses between Python and Rust: schemas and rules in; batches without copies, positions as bytes, and faults
//! as a batch out.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int64Array, LargeStringArray, StructArray, UInt16Array,
    make_array,
};
use arrow_schema::{Field, Schema, SchemaRef};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use splitscan_kernel_core::fault::Fault;
use splitscan_kernel_core::kinds::nullable;
use splitscan_kernel_core::parsed::Parsed;
use splitscan_kernel_core::rules::Rules;
use splitscan_kernel_core::value::zone;

use crate::guard::detached;

/// Starts and stops as little-endian integers of 64 bits, records that are malformed, where the next one starts.
pub type Framed<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<u32>, usize);

/// Rows as columns; `pyarrow.record_batch` takes it, without copying.
#[pyclass(frozen)]
pub struct Batch {
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
}

#[pymethods]
impl Batch {
    /// The schema and the rows, as Arrow's PyCapsule interface has them.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema; // the interface allows to hand over what there is
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref()).map_err(refused)?;
        let fields = self.columns.iter().zip(self.schema.fields());
        let fields = fields
            .map(|(column, field)| Field::new(field.name(), column.data_type().clone(), true))
            .collect();
        let rows = StructArray::try_new_with_length(fields, self.columns.clone(), None, self.rows);
        let rows = FFI_ArrowArray::new(&rows.map_err(refused)?.to_data());
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, rows, c"arrow_array")?,
        ))
    }
}

/// Records as columns, and what is wrong with them.
#[pyclass(frozen, name = "Parsed")]
pub struct PyParsed {
    parsed: Parsed, // without its faults
    faults: Option<(SchemaRef, Vec<ArrayRef>)>,
    schema: SchemaRef,
}

impl PyParsed {
    /// Parse while other threads of Python run. The columns have the types of `schema`, in that order.
    ///
    /// # Errors
    /// If the parser refuses, or if it panics: then `offset` says which bytes it was about.
    pub fn read(
        py: Python<'_>,
        offset: usize,
        schema: &SchemaRef,
        parse: impl FnOnce() -> Result<Parsed, String> + Send,
    ) -> PyResult<PyParsed> {
        let both = detached(py, offset, || {
            let mut parsed = parse()?;
            let faults = std::mem::take(&mut parsed.faults);
            Ok((parsed, (!faults.is_empty()).then(|| as_columns(&faults))))
        })?;
        let (parsed, faults) = both.map_err(PyValueError::new_err::<String>)?;
        Ok(PyParsed {
            parsed,
            faults,
            schema: schema.clone(),
        })
    }
}

#[pymethods]
impl PyParsed {
    /// Number of records.
    #[getter]
    fn rows(&self) -> usize {
        self.parsed.rows
    }

    /// The columns.
    #[getter]
    fn batch(&self) -> PyResult<Batch> {
        batch(
            self.schema.clone(),
            self.parsed.columns.clone(),
            self.parsed.rows,
        )
    }

    /// First byte of each record, as little-endian integers of 64 bits.
    #[getter]
    fn starts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        positions(py, &self.parsed.frames.starts)
    }

    /// First byte after each record's content, likewise.
    #[getter]
    fn stops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        positions(py, &self.parsed.frames.stops)
    }

    /// Records that end inside quotes.
    #[getter]
    fn malformed(&self) -> Vec<u32> {
        self.parsed.frames.malformed.clone()
    }

    /// Where the next record starts.
    #[getter]
    fn next_start(&self) -> usize {
        self.parsed.frames.next_start
    }

    /// Why there are no more.
    #[getter]
    fn stopped(&self) -> &'static str {
        self.parsed.stopped.name()
    }

    /// What is wrong, a row for each fault: record, code, column, what was seen, Spark's name of the type. Columns and
    /// types are dictionaries. `None` if nothing is.
    #[getter]
    fn faults(&self) -> PyResult<Option<Batch>> {
        let faults = self.faults.as_ref();
        faults
            .map(|(schema, columns)| {
                let rows = columns.first().map_or(0, |column| column.len());
                batch(schema.clone(), columns.clone(), rows)
            })
            .transpose()
    }

    /// Records with another number of fields than expected, and how many those have.
    #[getter]
    fn counts(&self) -> Vec<(u32, u32)> {
        self.parsed.counts.clone()
    }

    /// Records that only the reference engine can read.
    #[getter]
    fn undecided(&self) -> Vec<u32> {
        self.parsed.undecided.clone()
    }
}

/// A batch whose columns have the types of `schema`, apart from what may be null.
///
/// # Errors
/// If they have not, or not as many rows: a bug of a parser.
pub fn batch(schema: SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> PyResult<Batch> {
    let is_alike = |(column, field): (&ArrayRef, &Arc<Field>)| {
        column.len() == rows && *column.data_type() == nullable(field.data_type())
    };
    if columns.len() != schema.fields().len() || !columns.iter().zip(schema.fields()).all(is_alike)
    {
        return Err(crate::KernelBug::new_err(
            "columns must have the types of their schema, and as many rows",
        ));
    }
    Ok(Batch {
        schema,
        columns,
        rows,
    })
}

/// Faults as columns. The few names of columns and of types are there once each, however many faults name them.
fn as_columns(faults: &[Fault]) -> (SchemaRef, Vec<ArrayRef>) {
    let names = |name: fn(&Fault) -> &str| {
        let names: DictionaryArray<Int32Type> = faults.iter().map(name).collect();
        Arc::new(names) as ArrayRef
    };
    let seen = LargeStringArray::from_iter_values(faults.iter().map(|fault| &fault.seen));
    let records = faults.iter().map(|fault| fault.record as i64);
    let codes = faults.iter().map(|fault| fault.code as u16);
    let columns: [(&str, ArrayRef); 5] = [
        ("record", Arc::new(Int64Array::from_iter_values(records))),
        ("code", Arc::new(UInt16Array::from_iter_values(codes))),
        ("column", names(|fault| &fault.column)),
        ("seen", Arc::new(seen)),
        ("type", names(|fault| &fault.kind)),
    ];
    let fields = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    (
        schema,
        columns.into_iter().map(|(_, array)| array).collect(),
    )
}

/// Positions as the bytes of little-endian integers of 64 bits, for `numpy.frombuffer`.
pub fn positions<'py>(py: Python<'py>, positions: &[i64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(positions), |bytes| {
        for (place, position) in bytes.chunks_exact_mut(size_of::<i64>()).zip(positions) {
            place.copy_from_slice(&position.to_le_bytes());
        }
        Ok(())
    })
}

/// Positions from such bytes.
pub fn read_positions(bytes: &[u8]) -> PyResult<Vec<i64>> {
    let (whole, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("positions have 8 bytes each"));
    }
    Ok(whole
        .iter()
        .map(|bytes| i64::from_le_bytes(*bytes))
        .collect())
}

/// A part of some bytes.
pub fn part(data: &[u8], start: usize, end: usize) -> PyResult<&[u8]> {
    data.get(start..end)
        .ok_or_else(|| PyValueError::new_err("start and end are positions in data"))
}

/// A schema of Python, through Arrow's PyCapsule interface.
pub struct PySchema(pub SchemaRef);

impl<'py> FromPyObject<'_, 'py> for PySchema {
    type Error = PyErr;

    fn extract(schema: Borrowed<'_, 'py, PyAny>) -> PyResult<PySchema> {
        let capsule = schema.call_method0("__arrow_c_schema__")?;
        let capsule = capsule
            .cast::<PyCapsule>()
            .map_err(|_| PyTypeError::new_err("a capsule is wanted"))?;
        let pointer = capsule
            .pointer_checked(Some(c"arrow_schema"))?
            .cast::<FFI_ArrowSchema>();
        // SAFETY: a capsule of this name holds an ArrowSchema that its destructor releases (the Arrow PyCapsule
        // interface); `capsule` keeps it alive to the end of this function, and nobody else has it.
        let schema = Schema::try_from(unsafe { pointer.as_ref() }).map_err(refused)?;
        Ok(PySchema(Arc::new(schema)))
    }
}

/// Rules as a dictionary of Python: the attributes of its class `Rules`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PyRules {
    nan_value: String,
    positive_inf: String,
    negative_inf: String,
    date_format: Option<String>,
    timestamp_format: Option<String>,
    timestamp_ntz_format: Option<String>,
    time_zone: String,
    exact_numbers: bool,
}

impl PyRules {
    /// The rules as the core has them.
    pub fn read(self) -> PyResult<Rules> {
        Ok(Rules {
            nan_value: self.nan_value,
            positive_inf: self.positive_inf,
            negative_inf: self.negative_inf,
            date_format: self.date_format,
            timestamp_format: self.timestamp_format,
            timestamp_ntz_format: self.timestamp_ntz_format,
            zone: zone::named(&self.time_zone).ok_or_else(|| {
                PyValueError::new_err(format!("there is no time zone {}", self.time_zone))
            })?,
            exact_numbers: self.exact_numbers,
        })
    }
}

/// The rules of each column of a schema: its own, or those of all.
pub fn rules_of(
    schema: &Schema,
    common: Option<PyRules>,
    own: HashMap<String, PyRules>,
) -> PyResult<Vec<Rules>> {
    let common = common.map_or_else(|| Ok(Rules::default()), PyRules::read)?;
    let own = own
        .into_iter()
        .map(|(name, rules)| Ok((name, rules.read()?)));
    let own: HashMap<String, Rules> = own.collect::<PyResult<_>>()?;
    let fields = schema.fields().iter();
    Ok(fields
        .map(|field| own.get(field.name()).unwrap_or(&common).clone())
        .collect())
}

/// An array of Python, or a batch, through Arrow's PyCapsule interface.
pub fn imported<'py>(array: Borrowed<'_, 'py, PyAny>) -> PyResult<ArrayRef> {
    let (schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
        array.call_method0("__arrow_c_array__")?.extract()?;
    let schema = schema
        .pointer_checked(Some(c"arrow_schema"))?
        .cast::<FFI_ArrowSchema>();
    let array = array
        .pointer_checked(Some(c"arrow_array"))?
        .cast::<FFI_ArrowArray>();
    // SAFETY: capsules of these names hold the structures that they are called after (the Arrow PyCapsule interface),
    // and nobody else reads them. The array is moved out and left as a released one, which the capsule's destructor
    // passes over; the schema is borrowed while its capsule lives.
    let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    data.map(make_array).map_err(refused)
}

fn refused(error: arrow_schema::ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
