//! Single values, for the tests that compare them with the reference engine.

use std::borrow::Cow;

use pyo3::prelude::*;
use splitscan_kernel_core::block::project;
use splitscan_kernel_core::columns::{Cells, Column, Place, Pushed};

use crate::Unsupported;
use crate::export::{Batch, PyRules, PySchema, batch};
use crate::guard::detached;

type Converted = (Batch, Vec<usize>);

/// Convert texts as CSV has them: a batch of one column, and which values are bad. `None` is null.
#[pyfunction]
pub fn convert_texts(
    py: Python<'_>,
    values: Vec<Option<String>>,
    schema: PySchema,
    rules: PyRules,
) -> PyResult<Converted> {
    converted(py, schema, rules, |column| {
        let mut pushed = vec![Pushed::Stored; values.len()];
        column.push_texts(&Joined::of(&values), |row| pushed[row] = Pushed::Bad);
        pushed
    })
}

/// Texts right after one another, as fields of a file nearly are: null, or from where to where.
struct Joined {
    text: String,
    places: Vec<Option<(usize, usize)>>,
}

impl Joined {
    fn of(values: &[Option<String>]) -> Joined {
        let mut text = String::new();
        let places = values.iter().map(|value| {
            let start = text.len();
            text.push_str(value.as_deref()?);
            Some((start, text.len()))
        });
        let places = places.collect();
        Joined { text, places }
    }
}

impl Cells for Joined {
    fn rows(&self) -> usize {
        self.places.len()
    }

    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    fn place(&self, row: usize) -> Place {
        self.places[row].map_or(Place::Nothing, |(start, stop)| Place::At(start, stop))
    }

    fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        self.places[row].map(|(start, stop)| Cow::Borrowed(&self.text[start..stop]))
    }
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
    converted(py, schema, rules, |column| {
        let push =
            |(written, is_text): &(String, bool)| column.push_json(written, *is_text, allow_named);
        values.iter().map(push).collect()
    })
}

fn converted(
    py: Python<'_>,
    schema: PySchema,
    rules: PyRules,
    push: impl Fn(&mut Column) -> Vec<Pushed> + Send + Sync,
) -> PyResult<Converted> {
    let rules = rules.read()?;
    let field = schema.0.field(0).clone();
    let (array, pushed) = detached(py, 0, || {
        let mut column = Column::new(&field, &rules)?;
        let pushed = push(&mut column);
        Ok::<_, String>((column.finish(), pushed))
    })?
    .map_err(Unsupported::new_err)?;
    let bad = (0..pushed.len()).filter(|&index| pushed[index] != Pushed::Stored);
    Ok((batch(schema.0, vec![array], pushed.len())?, bad.collect()))
}

/// The document of a scan that delivers some columns and members, as the connector makes it.
#[pyfunction]
pub fn project_document(scan: &str, wanted: &str) -> PyResult<Option<String>> {
    let parsed = |text: &str| {
        serde_json::from_str(text).map_err(|error| Unsupported::new_err(error.to_string()))
    };
    Ok(project(parsed(scan)?, &parsed(wanted)?).map(|document| document.to_string()))
}
