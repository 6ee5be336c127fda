//! Parts of elements by the columns that they are of.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::DataType;
use serde::Deserialize;

use super::fill::Reading;
use super::names::Names;
use super::tree::{Kind, Part};
use crate::kinds::{is_variant, kind_name};

/// How parts of elements become columns; names and meaning as in the Python class `XmlOptions`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Naming {
    /// What the names of columns made of attributes begin with.
    pub attribute_prefix: String,
    /// Name of the text of an element that has attributes or children.
    pub value_tag: String,
    /// Attributes are no columns.
    pub exclude_attribute: bool,
    /// Prefixes of names are left out.
    pub ignore_namespace: bool,
    /// White space around values is left out.
    pub ignore_surrounding_spaces: bool,
    /// Text that stands for null.
    pub null_value: Option<String>,
}

/// What is known of a column's type besides the column.
#[derive(Debug)]
pub(super) struct Member {
    pub kind: Arc<str>, // as faults name it
    pub inside: Inside,
}

#[derive(Debug)]
pub(super) enum Inside {
    Text,
    Binary,
    Boolean,
    Scalar,
    Struct(Members),
    List(Box<Member>),
    Map(Box<Member>),
    Variant,
}

/// The members of a struct, or the columns of records.
#[derive(Debug)]
pub(super) struct Members {
    children: Names,
    attributes: Names,
    pub value: Option<usize>, // slot of texts
    pub slots: Vec<usize>,    // of each column the first one of its name
    pub found: Vec<Found>,    // of each slot
    pub all: Vec<(String, Member)>,
}

/// The parts of one name in order, linked by [`Part::same`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub count: usize,
    pub first: usize,
    pub last: usize,
    /// Whether none of them is an element.
    pub is_text: bool,
}

impl Found {
    pub(super) fn one(index: usize, is_text: bool) -> Found {
        Found {
            count: 1,
            first: index,
            last: index,
            is_text,
        }
    }

    pub(super) fn push(&mut self, parts: &mut [Part], index: usize, is_text: bool) {
        *self = self.and(parts, Found::one(index, is_text));
    }

    /// These, and others after them.
    pub(super) fn and(self, parts: &mut [Part], others: Found) -> Found {
        if self.count == 0 {
            return others;
        }
        if others.count == 0 {
            return self;
        }
        if let Some(part) = parts.get_mut(self.last) {
            part.same = others.first;
        }
        Found {
            count: self.count + others.count,
            first: self.first,
            last: others.last,
            is_text: self.is_text && others.is_text,
        }
    }
}

impl Member {
    pub(super) fn new(kind: &DataType, naming: &Naming) -> Member {
        let boxed = |kind: &DataType| Box::new(Member::new(kind, naming));
        let inside = match kind {
            kind if is_variant(kind) => Inside::Variant,
            DataType::Utf8 => Inside::Text,
            DataType::Binary => Inside::Binary,
            DataType::Boolean => Inside::Boolean,
            DataType::Struct(members) => Inside::Struct(Members::new(
                members
                    .iter()
                    .map(|member| (member.name().as_str(), member.data_type())),
                naming,
            )),
            DataType::List(item) => Inside::List(boxed(item.data_type())),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(both) if both.len() == 2 => {
                    Inside::Map(boxed(both[1].data_type()))
                }
                _ => Inside::Scalar,
            },
            _ => Inside::Scalar,
        };
        Member {
            kind: kind_name(kind).into(),
            inside,
        }
    }
}

impl Members {
    pub(super) fn new<'a>(
        members: impl Iterator<Item = (&'a str, &'a DataType)> + Clone,
        naming: &Naming,
    ) -> Members {
        let names: Vec<&str> = members.clone().map(|(name, _)| name).collect();
        let mut first: HashMap<&str, usize> = HashMap::new();
        let slots: Vec<usize> = (0..names.len())
            .map(|slot| *first.entry(names[slot]).or_insert(slot))
            .collect();
        let firsts = || first.iter().map(|(name, slot)| (*name, *slot));
        let prefix = naming.attribute_prefix.as_str();
        let attributes =
            firsts().filter_map(|(name, slot)| Some((name.strip_prefix(prefix)?, slot)));
        Members {
            children: Names::new(firsts()),
            attributes: match naming.exclude_attribute {
                true => Names::default(),
                false => Names::new(attributes),
            },
            value: first.get(naming.value_tag.as_str()).copied(),
            found: vec![Found::default(); slots.len()],
            slots,
            all: members
                .map(|(name, kind)| (name.to_string(), Member::new(kind, naming)))
                .collect(),
        }
    }

    /// The column that has a name; of several the last one.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.all.iter().rposition(|(each, _)| each == name)
    }

    /// Note which parts of an element are of which column; answers whether some are of none.
    pub(super) fn find(&mut self, reading: &mut Reading<'_>, element: usize) -> bool {
        self.found.fill(Found::default());
        let (mut has_others, mut texts, mut attribute) =
            (false, Found::default(), Found::default());
        let excludes = reading.naming.exclude_attribute;
        let mut at = element + 1;
        let stop = reading.part(element).next;
        while at < stop {
            let part = *reading.part(at);
            match part.kind {
                Kind::Text | Kind::Cdata => {
                    if !part.goes_on && reading.says_something(at) {
                        texts.push(reading.parts, at, true);
                    }
                }
                Kind::Attribute if excludes => {}
                Kind::Attribute => match self.attributes.slot(reading.name(&part)) {
                    Some(slot) if Some(slot) == self.value => attribute = Found::one(at, true),
                    Some(slot) => self.found[slot] = Found::one(at, true),
                    None => has_others = true,
                },
                Kind::Element => match self.children.slot(reading.name(&part)) {
                    Some(slot) => self.found[slot].push(reading.parts, at, false),
                    None => has_others = true,
                },
            }
            at = part.next;
        }
        match self.value {
            Some(slot) => {
                let own = attribute.and(reading.parts, texts);
                self.found[slot] = own.and(reading.parts, self.found[slot]);
            }
            None => has_others |= texts.count > 0,
        }
        has_others
    }
}

/// Parts by name, in the order in which names come first.
#[derive(Default)]
pub(super) struct Groups {
    pub all: Vec<(String, Found)>,
    places: HashMap<String, usize>,
}

impl Groups {
    pub(super) fn of(&mut self, name: &str) -> &mut Found {
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                self.places.insert(name.to_string(), self.all.len());
                self.all.push((name.to_string(), Found::default()));
                self.all.len() - 1
            }
        };
        &mut self.all[place].1
    }
}
