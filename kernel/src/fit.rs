//! Which types columns of texts fit, for Python.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{Array, StringArray, StructArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use splitscan_kernel_core::fit::{Fit, Fitter};

use crate::export::PyRules;
use crate::guard::detached;

/// Types, digits, and whether a text was seen.
type Found = (u8, usize, bool);

/// A record batch of Python whose columns are texts, through Arrow's PyCapsule interface.
pub struct Texts(Vec<StringArray>);

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(batch: Borrowed<'_, 'py, PyAny>) -> PyResult<Texts> {
        let (schema, array): (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>) =
            batch.call_method0("__arrow_c_array__")?.extract()?;
        let schema = schema
            .pointer_checked(Some(c"arrow_schema"))?
            .cast::<FFI_ArrowSchema>();
        let array = array
            .pointer_checked(Some(c"arrow_array"))?
            .cast::<FFI_ArrowArray>();
        // SAFETY: capsules of these names hold the structures that they are called after (the Arrow PyCapsule
        // interface), and nobody else reads them. The array is moved out and left as a released one, which the
        // capsule's destructor passes over; the schema is borrowed while its capsule lives.
        let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) }
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let columns = StructArray::from(data).columns().to_vec();
        columns
            .iter()
            .map(|column| column.as_any().downcast_ref::<StringArray>().cloned())
            .collect::<Option<Vec<_>>>()
            .map(Texts)
            .ok_or_else(|| PyTypeError::new_err("the columns are texts"))
    }
}

/// Summarise the columns of a batch. `kinds` are the types that are still possible, a bit for each, by column.
#[pyfunction]
pub fn fit_texts(
    py: Python<'_>,
    batch: Texts,
    kinds: Vec<u8>,
    rules: PyRules,
) -> PyResult<Vec<Found>> {
    let rules = rules.read()?;
    detached(py, 0, || {
        let mut fitter = Fitter::new(&rules)?;
        Ok(batch
            .0
            .iter()
            .zip(kinds)
            .map(|(column, kinds)| fit_column(&mut fitter, column, kinds))
            .collect())
    })?
    .map_err(PyValueError::new_err::<String>)
}

fn fit_column(fitter: &mut Fitter, column: &StringArray, kinds: u8) -> Found {
    let mut fit = Fit {
        kinds,
        ..Fit::default()
    };
    for text in column.iter().flatten() {
        fitter.take(&mut fit, text);
        if fit.kinds == 0 {
            break;
        }
    }
    (fit.kinds, fit.digits, fit.any)
}
