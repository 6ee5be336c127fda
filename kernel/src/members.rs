//! The members of records, and their types, for Python. Names may hold any character, so they do not cross as Arrow's C
//! strings.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use splitscan_kernel_core::places::Summarise;
use splitscan_kernel_core::xml::Naming;
use splitscan_kernel_core::{json, xml};

use crate::Unsupported;
use crate::export::{PyRules, read_positions};
use crate::guard::detached;

/// The members of records and the types of their values.
#[pyclass]
pub struct MemberSummary {
    summary: Box<dyn Summarise + Send + Sync>,
}

#[pymethods]
impl MemberSummary {
    /// Of no records of JSON.
    #[staticmethod]
    #[pyo3(signature = (*, allow_single_quotes, allow_unquoted_field_names, allow_numeric_leading_zeros, allow_non_numeric_numbers, allow_backslash_escaping_any_character, allow_unquoted_control_chars, primitives_as_string, prefers_decimal))]
    #[expect(clippy::too_many_arguments, reason = "named: the options of JSON")]
    fn json(
        allow_single_quotes: bool,
        allow_unquoted_field_names: bool,
        allow_numeric_leading_zeros: bool,
        allow_non_numeric_numbers: bool,
        allow_backslash_escaping_any_character: bool,
        allow_unquoted_control_chars: bool,
        primitives_as_string: bool,
        prefers_decimal: bool,
    ) -> MemberSummary {
        let dialect = json::Dialect {
            allow_single_quotes,
            allow_unquoted_field_names,
            allow_numeric_leading_zeros,
            allow_non_numeric_numbers,
            allow_backslash_escaping_any_character,
            allow_unquoted_control_chars,
        };
        let wanted = json::Wanted {
            primitives_as_string,
            prefers_decimal,
        };
        MemberSummary {
            summary: Box::new(json::Summary::new(dialect, wanted)),
        }
    }

    /// Of no records of XML.
    #[staticmethod]
    #[pyo3(signature = (rules, *, attribute_prefix, value_tag, exclude_attribute, ignore_namespace, null_value, prefers_decimal, prefer_date))]
    #[expect(clippy::too_many_arguments, reason = "named: the options of XML")]
    fn xml(
        rules: PyRules,
        attribute_prefix: String,
        value_tag: String,
        exclude_attribute: bool,
        ignore_namespace: bool,
        null_value: Option<String>,
        prefers_decimal: bool,
        prefer_date: bool,
    ) -> PyResult<MemberSummary> {
        let naming = Naming {
            attribute_prefix,
            value_tag,
            exclude_attribute,
            ignore_namespace,
            ignore_surrounding_spaces: true, // in what a type is looked for
            null_value,
        };
        let wanted = xml::Wanted {
            prefers_decimal,
            prefer_date,
        };
        let summary = xml::Summary::new(naming, &rules.read()?, wanted);
        Ok(MemberSummary {
            summary: Box::new(summary.map_err(Unsupported::new_err)?),
        })
    }

    /// Take records whose contents are known, in UTF-8; answers which of them only the reference engine can read.
    fn take(
        &mut self,
        py: Python<'_>,
        data: PyBackedBytes,
        starts: PyBackedBytes,
        stops: PyBackedBytes,
    ) -> PyResult<Vec<usize>> {
        let (starts, stops) = (read_positions(&starts)?, read_positions(&stops)?);
        let summary = &mut self.summary;
        detached(py, 0, || summary.take(&data, &starts, &stops))?.map_err(PyValueError::new_err)
    }

    /// Whether some record has no members.
    #[getter]
    fn has_others(&self) -> bool {
        self.summary.has_others()
    }

    /// Whether there are more members than are kept.
    #[getter]
    fn is_full(&self) -> bool {
        self.summary.places().is_full()
    }

    /// The members, in order, as JSON: the name of each and its type.
    fn members(&self) -> String {
        self.summary.places().members().to_string()
    }
}
