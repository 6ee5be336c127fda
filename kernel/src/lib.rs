//! The Python module `splitscan_kernel`: a thin shell around the core crate.
#![allow(missing_docs)] // the macros of exceptions write items without any

mod block;
mod cobol;
mod content;
mod csv;
mod digest;
mod export;
mod fit;
mod guard;
mod json;
mod laws;
mod lines;
mod members;
mod messages;
mod xml;

use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    splitscan_kernel,
    KernelBug,
    PyRuntimeError,
    "The native engine is wrong, not the data."
);
create_exception!(
    splitscan_kernel,
    Unsupported,
    PyValueError,
    "The native engine leaves this to the reference engine."
);

create_exception!(
    splitscan_kernel,
    BlockFailed,
    PyRuntimeError,
    "A block cannot be read on: kind, rule, offset, what was seen, how to mend it, code, the record that ends it."
);

/// The native engine of splitscan.
#[pymodule(gil_used = false)]
mod splitscan_kernel {
    use super::*;

    #[pymodule_export]
    use block::PyBlockReader;
    #[pymodule_export]
    use cobol::CobolRecords;
    #[pymodule_export]
    use content::PyContent;
    #[pymodule_export]
    use csv::Csv;
    #[pymodule_export]
    use digest::Blake3;
    #[pymodule_export]
    use export::Batch;
    #[pymodule_export]
    use fit::fit_texts;
    #[pymodule_export]
    use json::{Json, JsonPast};
    #[pymodule_export]
    use laws::project_document;
    #[pymodule_export]
    use lines::Lines;
    #[pymodule_export]
    use members::PyMemberSummary;
    #[pymodule_export]
    use messages::PyMessageReader;
    #[pymodule_export]
    use xml::{Xml, XmlPast};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        guard::remember_panics();
        module.add("KernelBug", module.py().get_type::<KernelBug>())?;
        module.add("BlockFailed", module.py().get_type::<BlockFailed>())?;
        module.add("Unsupported", module.py().get_type::<Unsupported>())?;
        module.add("SEAM", 27)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
