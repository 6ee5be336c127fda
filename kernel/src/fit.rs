//! Which types columns of texts fit, for Python.

use arrow_array::cast::AsArray;
use arrow_array::{StringArray, StructArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use splitscan_kernel_core::block::fitter;
use splitscan_kernel_core::fit::{Fit, Fitter};

use crate::Unsupported;
use crate::export::imported;
use crate::guard::detached;

/// Types, digits, and whether a text was seen.
type Found = (u8, usize, bool);

/// A record batch of Python whose columns are texts, through Arrow's PyCapsule interface.
pub struct Texts(Vec<StringArray>);

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(batch: Borrowed<'_, 'py, PyAny>) -> PyResult<Texts> {
        let texts = |batch: &StructArray| {
            let columns = batch.columns().iter();
            columns
                .map(|column| Some(column.as_string_opt()?.clone()))
                .collect()
        };
        let columns: Option<Vec<_>> = imported(batch)?.as_struct_opt().and_then(texts);
        columns
            .map(Texts)
            .ok_or_else(|| PyTypeError::new_err("the columns are texts"))
    }
}

/// Summarise the columns of a batch, as a document of inference says how values are written. `kinds` are the types that
/// are still possible, a bit for each, by column.
#[pyfunction]
pub fn fit_texts(
    py: Python<'_>,
    document: &str,
    batch: Texts,
    kinds: Vec<u8>,
) -> PyResult<Vec<Found>> {
    let mut fitter = fitter(document).map_err(|error| Unsupported::new_err(error.to_string()))?;
    detached(py, 0, || {
        let columns = batch.0.iter().zip(kinds);
        columns
            .map(|(column, kinds)| fit_column(&mut fitter, column, kinds))
            .collect()
    })
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
