//! Single values, for the tests that compare them with the reference engine.

use pyo3::prelude::*;
use splitscan_kernel_core::columns::{Column, Pushed};

use crate::Unsupported;
use crate::export::{Batch, PyRules, PySchema, batch};
use crate::guard::detached;

type Converted = (Batch, Vec<usize>, Vec<usize>);

/// Convert texts as CSV has them: a batch of one column, which values are bad, and which ones only the reference can
/// read. `None` is null.
#[pyfunction]
pub fn convert_texts(
    py: Python<'_>,
    values: Vec<Option<String>>,
    schema: PySchema,
    rules: PyRules,
) -> PyResult<Converted> {
    converted(py, schema, rules, values, |column, value| match value {
        Some(text) => column.push_text(&text),
        None => null(column),
    })
}

/// Convert numbers and strings of JSON: what is written, and whether it is a string. `allow_named` as in the options.
#[pyfunction]
pub fn convert_json(
    py: Python<'_>,
    values: Vec<(String, bool)>,
    schema: PySchema,
    rules: PyRules,
    allow_named: bool,
) -> PyResult<Converted> {
    converted(py, schema, rules, values, |column, (written, is_text)| {
        column.push_json(&written, is_text, allow_named)
    })
}

fn null(column: &mut Column) -> Pushed {
    column.push_null();
    Pushed::Stored
}

fn converted<T: Send>(
    py: Python<'_>,
    schema: PySchema,
    rules: PyRules,
    values: Vec<T>,
    push: impl Fn(&mut Column, T) -> Pushed + Send + Sync,
) -> PyResult<Converted> {
    let rules = rules.read()?;
    let field = schema.0.field(0).clone();
    let (array, pushed) = detached(py, 0, || {
        let mut column = Column::new(&field, &rules)?;
        let pushed: Vec<Pushed> = values
            .into_iter()
            .map(|value| push(&mut column, value))
            .collect();
        Ok::<_, String>((column.finish(), pushed))
    })?
    .map_err(Unsupported::new_err)?;
    let which = |wanted: Pushed| {
        (0..pushed.len())
            .filter(|&index| pushed[index] == wanted)
            .collect()
    };
    Ok((
        batch(schema.0, vec![array], pushed.len())?,
        which(Pushed::Bad),
        which(Pushed::Undecided),
    ))
}
