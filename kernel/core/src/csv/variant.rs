//! Fields as variants, and records as objects of their fields.

use std::borrow::Cow;

use super::layout::{Object, Typing};
use super::values::OneField;
use crate::columns::{Cells, Column};
use crate::rules::Rules;
use crate::variant::{Builder, Scalars};

/// The null of variants, and the names of a variant that has none.
const NULL: (&[u8], &[u8]) = (&[0], &[1, 0, 0]);

/// Writes one variant after the other.
pub(super) struct Writer {
    builder: Builder,
    scalars: Scalars,
    names: Vec<String>, // that are given, as far as they were needed
}

impl Writer {
    /// An error says what is wrong with a pattern.
    pub(super) fn new(typing: Typing, rules: &Rules) -> Result<Writer, String> {
        Ok(Writer {
            builder: Builder::new(typing.rules),
            scalars: Scalars::with_moments(rules, typing.prefers_dates)?,
            names: Vec::new(),
        })
    }

    /// Why a field is no variant.
    pub(super) fn too_long(&self) -> String {
        self.builder.too_long()
    }

    /// Append fields, each by itself; `refuse` is told of those that are no variants, which are null.
    pub(super) fn push_fields(
        &mut self,
        column: &mut Column,
        cells: &OneField<'_>,
        mut refuse: impl FnMut(usize),
    ) {
        for row in 0..cells.rows() {
            if !cells.is_there(row) {
                column.push_null();
                continue;
            }
            let Some(text) = cells.text(row) else {
                column.push_variant(NULL.0, NULL.1);
                continue;
            };
            self.builder.begin();
            self.scalars.write(&text, &mut self.builder);
            match self.builder.finish() {
                Ok((value, metadata)) => column.push_variant(value, metadata),
                Err(_) => {
                    column.push_null();
                    refuse(row);
                }
            }
        }
    }

    /// The variant of a record, from its fields; those that no name is for are left out.
    ///
    /// # Errors
    /// A sentence, if it is no variant.
    pub(super) fn object<'a>(
        &mut self,
        object: &Object,
        fields: impl Iterator<Item = Option<Cow<'a, str>>>,
    ) -> Result<(&[u8], &[u8]), String> {
        let most = object.names.as_ref().map_or(object.most, Vec::len);
        self.builder.begin();
        self.builder.open(true)?;
        for (index, text) in fields.take(most).enumerate() {
            if object.names.is_none() && index == self.names.len() {
                self.names.push(format!("_c{index}"));
            }
            let names = object.names.as_ref().unwrap_or(&self.names);
            self.builder
                .name(names.get(index).map_or("", String::as_str));
            match text {
                Some(text) => self.scalars.write(&text, &mut self.builder),
                None => self.builder.null(),
            }
        }
        self.builder.close()?;
        self.builder.finish()
    }
}
