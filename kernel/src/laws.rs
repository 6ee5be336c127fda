//! Documents, for the tests that compare what the connector makes of them with what Python does.

use pyo3::prelude::*;
use splitscan_kernel_core::block::project;

use crate::Unsupported;

/// The document of a scan that delivers some columns and members, as the connector makes it.
#[pyfunction]
pub fn project_document(scan: &str, wanted: &str) -> PyResult<Option<String>> {
    let parsed = |text: &str| {
        serde_json::from_str(text).map_err(|error| Unsupported::new_err(error.to_string()))
    };
    Ok(project(parsed(scan)?, &parsed(wanted)?).map(|document| document.to_string()))
}
