//! Records to rows, one after the other.

use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};

use super::element::Reader;
use super::fill::Reading;
use super::members::{Members, Naming};
use super::rescue::unfit_record;
use super::tree::Reason;
use super::variant::Elements;
use crate::fault::Code;
use crate::filling::{Filling, Outcome, Rescue};
use crate::kinds::is_variant;
use crate::parsed::Parsed;
use crate::rules::{Rules, Variants};
use crate::windows::Sink;

/// Columns while they are filled, and what is wrong with their records.
pub(super) struct Rows<'p> {
    naming: &'p Naming,
    members: Members,
    names: Vec<Arc<str>>,
    reader: Reader,
    elements: Elements,
    is_whole: bool, // a record is one variant
    pub filling: Filling<'p>,
}

impl<'p> Rows<'p> {
    pub(super) fn new(
        schema: &SchemaRef,
        rules: &[Rules],
        naming: &'p Naming,
        (variants, is_whole): (Variants, bool),
        rescue: Option<&'p Rescue>,
    ) -> Result<Rows<'p>, String> {
        let fields = schema.fields().iter();
        let members = Members::new(
            fields
                .clone()
                .map(|field| (field.name().as_str(), field.data_type())),
            naming,
        );
        let writes_names = rescue.is_some_and(|rescue| rescue.wanted)
            || fields.clone().any(|field| has_names(field.data_type()));
        let named = match writes_names {
            true => 1 + naming.attribute_prefix.len() + naming.value_tag.len(),
            false => 1,
        };
        Ok(Rows {
            naming,
            members,
            names: fields.map(|field| field.name().as_str().into()).collect(),
            reader: Reader::new(naming.ignore_namespace),
            elements: Elements::new(variants, rules),
            is_whole,
            filling: Filling::new(schema, rules, rescue)?.with_names(named),
        })
    }

    /// Whether a record of so many bytes fits into the columns for sure.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.filling.has_room(bytes)
    }

    /// Read the record at `start` of `text` if it is an element, which ends where it is framed: answers its end.
    #[inline]
    pub(super) fn push_open(&mut self, text: &str, start: usize, most: usize) -> Option<usize> {
        let stop = self.reader.read(text, start)?;
        if stop - start > most || !self.has_room(stop - start) {
            return None;
        }
        self.take(text, stop - start);
        Some(stop)
    }

    /// Append the row of the record that was read.
    fn take(&mut self, text: &str, bytes: usize) {
        let parts = &mut self.reader.parts;
        let mut reading = Reading::new(text, parts, self.naming, Some(&mut self.elements));
        let filling = &mut self.filling;
        let columns = &mut filling.columns;
        reading.record(&mut self.members, columns, &self.names, self.is_whole);
        let problem = reading.problem.take();
        let mut rescued = None;
        if let Some(tail) = filling.tail()
            && reading.has_unfit
        {
            rescued = unfit_record(&mut reading, &mut self.members, &mut filling.columns, tail);
        }
        let outcome = match reading.is_undecided {
            true => Outcome::Undecided,
            false => Outcome::of(problem),
        };
        filling.end_row(bytes, outcome, rescued.as_deref());
    }

    /// Append nulls for a record that is no element.
    #[cold]
    fn refuse(&mut self, text: &str, start: usize) {
        let wrong = self.reader.wrong;
        let bytes = text.len() - start;
        let outcome = match wrong.reason {
            Reason::Unsure => Outcome::Undecided,
            _ => Outcome::of_record(Code::BadXml, wrong.sentence(text, start)),
        };
        self.filling.refuse(bytes, outcome);
    }

    /// The rows; frames are not in it.
    pub(super) fn finish(self) -> Parsed {
        self.filling.finish()
    }
}

/// Whether values of a type have names of parts in them.
fn has_names(kind: &DataType) -> bool {
    match kind {
        DataType::Map(..) => true,
        kind if is_variant(kind) => true,
        DataType::List(item) => has_names(item.data_type()),
        DataType::Struct(members) => members.iter().any(|member| has_names(member.data_type())),
        _ => false,
    }
}

impl Sink for Rows<'_> {
    /// Texts are not remembered.
    fn enter(&mut self) {}

    fn push(&mut self, text: &str, start: usize, stop: usize) {
        let record = text.get(..stop).unwrap_or_default();
        match self.reader.read(record, start) {
            Some(end) if end == stop => self.take(record, stop - start),
            Some(_) => self.filling.refuse(stop - start, Outcome::Undecided), // something follows
            None => self.refuse(record, start),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_schema::{Field, Schema};

    use super::*;

    #[test]
    fn only_names_in_values_make_a_record_take_more_room_than_it_has() {
        let naming = Naming {
            attribute_prefix: "_".into(),
            value_tag: "_VALUE".into(),
            exclude_attribute: false,
            ignore_namespace: false,
            ignore_surrounding_spaces: true,
            null_value: None,
        };
        let entries = [("key", DataType::Utf8), ("value", DataType::Utf8)];
        let entries = entries.map(|(name, kind)| Field::new(name, kind, name == "value"));
        let entries = DataType::Struct(entries.to_vec().into());
        let map = DataType::Map(Arc::new(Field::new("entries", entries, false)), false);
        let has_room = |kind: &DataType| {
            let schema = Arc::new(Schema::new(vec![Field::new("a", kind.clone(), true)]));
            let rules = [Rules::default()];
            let rows = Rows::new(&schema, &rules, &naming, (Variants::default(), false), None)
                .expect("a schema");
            rows.has_room(1 << 30)
        };
        assert!(has_room(&DataType::Utf8));
        assert!(!has_room(&map));
    }
}
