//! The Python module `splitscan_kernel`: a thin shell around the core crate.

mod csv;
mod export;
mod json;
mod lines;

use pyo3::prelude::*;

/// The native engine of splitscan.
#[pymodule(gil_used = false)]
mod splitscan_kernel {
    use super::*;

    #[pymodule_export]
    use csv::Csv;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("SEAM", 1)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
