//! What crosses between Python and Rust: batches without copies, and positions as bytes.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{Array, ArrayRef, StructArray, make_array};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use splitscan_kernel_core::frames::Frames;
use splitscan_kernel_core::kinds::nullable;

/// Starts and stops as little-endian integers of 64 bits, records that are malformed, where the next one starts.
pub type Framed<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<u32>, usize);

/// Records that were found, for Python.
pub fn framed<'py>(py: Python<'py>, frames: Frames) -> PyResult<Framed<'py>> {
    Ok((
        positions(py, &frames.starts)?,
        positions(py, &frames.stops)?,
        frames.malformed,
        frames.next_start,
    ))
}

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
        let schema = FFI_ArrowSchema::try_from(&named(&self.schema)).map_err(refused)?;
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

/// A schema whose names can cross: Arrow's C interface ends them at a null character, which is replaced.
fn named(schema: &Schema) -> Schema {
    Schema::new(schema.fields().iter().map(named_field).collect::<Vec<_>>())
}

fn named_field(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        DataType::Struct(parts) => DataType::Struct(parts.iter().map(named_field).collect()),
        DataType::List(item) => DataType::List(named_field(item)),
        DataType::Map(entry, is_sorted) => DataType::Map(named_field(entry), *is_sorted),
        other => other.clone(),
    };
    let name = field.name().replace('\0', "\u{fffd}");
    let metadata = field.metadata().clone();
    Arc::new(Field::new(name, kind, field.is_nullable()).with_metadata(metadata))
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
