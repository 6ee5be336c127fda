//! Values into columns, along the schema: nothing recurses over the data.

use std::sync::Arc;

use super::members::{Found, Groups, Inside, Member, Members, Naming};
use super::text::{append_cdata, append_text, append_value};
use super::tree::{Kind, Part};
use super::variant::Elements;
use crate::columns::{Column, Pushed, Shape};
use crate::fault::{Code, Fault};
use crate::value::{is_space, without_space};

/// A record that was read, and what reading its values has shown so far.
pub(super) struct Reading<'a> {
    pub text: &'a str,
    pub parts: &'a mut [Part],
    pub naming: &'a Naming,
    /// The first value that does not fit.
    pub problem: Option<Fault>,
    /// Whether only the reference engine can read a value.
    pub is_undecided: bool,
    /// Whether there may be something to rescue.
    pub has_unfit: bool,
    /// Whether a value was not of its type since this was last reset.
    pub is_bad: bool,
    column: Arc<str>,
    elements: Option<&'a mut Elements>, // while no variant is written
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        text: &'a str,
        parts: &'a mut [Part],
        naming: &'a Naming,
        elements: Option<&'a mut Elements>,
    ) -> Reading<'a> {
        Reading {
            text,
            parts,
            naming,
            problem: None,
            is_undecided: false,
            has_unfit: false,
            is_bad: false,
            column: Arc::default(),
            elements,
        }
    }

    #[inline]
    pub(super) fn part(&self, index: usize) -> &Part {
        &self.parts[index]
    }

    pub(super) fn name(&self, part: &Part) -> &'a str {
        self.text.get(part.name.0..part.name.1).unwrap_or_default()
    }

    pub(super) fn written(&self, part: &Part) -> &'a str {
        self.text
            .get(part.value.0..part.value.1)
            .unwrap_or_default()
    }

    /// The columns of a record, each of which is all of it if it `is_whole`.
    pub(super) fn record(
        &mut self,
        members: &mut Members,
        columns: &mut [Column],
        names: &[Arc<str>],
        is_whole: bool,
    ) {
        self.has_unfit |= !is_whole && members.find(self, 0);
        for (index, column) in columns.iter_mut().enumerate() {
            let found = match is_whole {
                true => Found::one(0, false),
                false => members.found[members.slots[index]],
            };
            if let Some((_, member)) = members.all.get_mut(index) {
                if self.problem.is_none()
                    && let Some(name) = names.get(index)
                {
                    self.column = name.clone();
                }
                self.value(member, column, found);
            }
        }
    }

    /// The members of an element, each to its column.
    fn members(&mut self, members: &mut Members, columns: &mut [Column], element: usize) {
        self.has_unfit |= members.find(self, element);
        for (index, column) in columns.iter_mut().enumerate() {
            let found = members.found[members.slots[index]];
            if let Some((_, member)) = members.all.get_mut(index) {
                self.value(member, column, found);
            }
        }
    }

    /// Append what the parts of one name say.
    pub(super) fn value(&mut self, member: &mut Member, column: &mut Column, found: Found) {
        if found.count == 0 {
            return column.push_null();
        }
        if let Inside::List(item) = &mut member.inside {
            if let Shape::List(items) = column.shape() {
                let mut at = found.first;
                for _ in 0..found.count {
                    self.one(item, items, at);
                    at = self.part(at).same;
                }
            }
            return column.push_list();
        }
        if found.count == 1 {
            return self.one(member, column, found.first);
        }
        if found.is_text {
            let text = self.joined(found);
            return self.text(member, column, &text);
        }
        self.has_unfit = true;
        self.one(member, column, found.last);
    }

    /// Append what one part says.
    fn one(&mut self, member: &mut Member, column: &mut Column, index: usize) {
        if self.part(index).kind == Kind::Element {
            return self.element(member, column, index);
        }
        if let Some(written) = self.plain(index) {
            return self.text(member, column, written);
        }
        let text = self.joined(Found::one(index, true));
        self.text(member, column, &text);
    }

    fn element(&mut self, member: &mut Member, column: &mut Column, index: usize) {
        match &mut member.inside {
            Inside::Struct(members) => {
                if let Shape::Struct(columns) = column.shape() {
                    self.members(members, columns, index);
                }
                column.push_struct();
            }
            Inside::List(item) => {
                if let Shape::List(items) = column.shape() {
                    self.element(item, items, index);
                }
                column.push_list();
            }
            Inside::Map(item) => {
                if let Shape::Map(keys, values) = column.shape() {
                    for (name, found) in self.groups(index) {
                        keys.push_utf8(&name);
                        self.value(item, values, found);
                    }
                }
                column.push_list();
            }
            Inside::Variant => self.variant(column, index, None),
            _ => {
                let part = *self.part(index);
                self.has_unfit |= part.has_attributes && !self.naming.exclude_attribute;
                if part.has_children {
                    let written = self.written(&part);
                    return self.scalar(member, column, written);
                }
                match self.only_text(index) {
                    Some(text) => self.scalar(member, column, text),
                    None => {
                        let text = self.texts(index);
                        self.scalar(member, column, &text);
                    }
                }
            }
        }
    }

    /// Append what a text says that is no element.
    pub(super) fn text(&mut self, member: &mut Member, column: &mut Column, text: &str) {
        match &mut member.inside {
            Inside::Struct(members) => {
                let value = members.value.filter(|_| is_something(text));
                self.has_unfit |= value.is_none() && is_something(text);
                if let Shape::Struct(columns) = column.shape() {
                    for (index, column) in columns.iter_mut().enumerate() {
                        let is_value = value == Some(members.slots[index]);
                        match members.all.get_mut(index).filter(|_| is_value) {
                            Some((_, member)) => self.text(member, column, text),
                            None => column.push_null(),
                        }
                    }
                }
                column.push_struct();
            }
            Inside::List(item) => {
                if let Shape::List(items) = column.shape() {
                    self.text(item, items, text);
                }
                column.push_list();
            }
            Inside::Map(item) => {
                if let (true, Shape::Map(keys, values)) = (is_something(text), column.shape()) {
                    keys.push_utf8(&self.naming.value_tag);
                    self.text(item, values, text);
                }
                column.push_list();
            }
            Inside::Variant => self.variant(column, 0, Some(text)),
            _ => self.scalar(member, column, text),
        }
    }

    /// Append an element, or else a text, as a variant; if it is none, a null.
    fn variant(&mut self, column: &mut Column, element: usize, text: Option<&str>) {
        let Some(elements) = self.elements.take() else {
            return column.push_null(); // nothing is written inside of what is written
        };
        let encoded = match text {
            Some(text) => elements.text(self.naming, text),
            None => elements.element(self, element),
        };
        match encoded {
            Ok((value, metadata)) => column.push_variant(value, metadata),
            Err(reason) => {
                column.push_null();
                let written = text.unwrap_or_else(|| self.written(self.part(element)));
                self.note(format!("variant: {reason}").into(), written);
            }
        }
        self.elements = Some(elements);
    }

    #[inline]
    fn scalar(&mut self, member: &Member, column: &mut Column, text: &str) {
        let written = match self.naming.ignore_surrounding_spaces {
            true => without_space(text),
            false => text,
        };
        if self.naming.null_value.as_deref() == Some(written) {
            return column.push_null();
        }
        if let Inside::Text | Inside::Binary = member.inside {
            return column.push_bytes(written.as_bytes());
        }
        let written = without_space(written);
        if written.is_empty() {
            return column.push_null();
        }
        let pushed = match (&member.inside, written) {
            (Inside::Boolean, "1") => column.push_bool(true),
            (Inside::Boolean, "0") => column.push_bool(false),
            _ => column.push_text(written),
        };
        match pushed {
            Pushed::Stored => {}
            Pushed::Undecided => self.is_undecided = true,
            Pushed::Bad => self.note(member.kind.clone(), written),
        }
    }

    #[cold]
    fn note(&mut self, kind: Arc<str>, written: &str) {
        (self.has_unfit, self.is_bad) = (true, true);
        if self.problem.is_none() {
            self.problem = Some(Fault {
                record: 0,
                code: Code::BadValue,
                column: self.column.clone(),
                seen: crate::fault::shown(written),
                kind,
            });
        }
    }

    /// The text of an element without children, if it is written as it is meant.
    #[inline]
    pub(super) fn only_text(&self, element: usize) -> Option<&'a str> {
        let stop = self.part(element).next;
        let mut at = element + 1;
        while at < stop && self.part(at).kind == Kind::Attribute {
            at += 1;
        }
        match self.parts.get(at..stop)? {
            [] => Some(""),
            [text] if text.is_plain => Some(self.written(text)),
            _ => None,
        }
    }

    /// All texts of an element, without those of its children.
    pub(super) fn texts(&self, element: usize) -> String {
        let mut texts = String::new();
        let stop = self.part(element).next;
        let mut at = element + 1;
        while at < stop {
            let part = *self.part(at);
            if matches!(part.kind, Kind::Text | Kind::Cdata) {
                self.append(&part, &mut texts);
            }
            at = part.next;
        }
        texts
    }

    /// What parts say that are no elements.
    pub(super) fn joined(&self, found: Found) -> String {
        let mut texts = String::new();
        let mut at = found.first;
        for _ in 0..found.count {
            self.append(self.part(at), &mut texts);
            let mut more = at;
            while self.is_continued(more) {
                more += 1;
                self.append(self.part(more), &mut texts);
            }
            at = self.part(at).same;
        }
        texts
    }

    fn append(&self, part: &Part, out: &mut String) {
        let written = self.written(part);
        match part.kind {
            _ if part.is_plain => out.push_str(written),
            Kind::Attribute => append_value(written, out),
            Kind::Cdata => append_cdata(written, out),
            Kind::Text | Kind::Element => append_text(written, out),
        }
    }

    /// Whether the part after this one belongs to the same text.
    #[inline]
    fn is_continued(&self, index: usize) -> bool {
        let is_text = |part: &Part| matches!(part.kind, Kind::Text | Kind::Cdata);
        self.parts
            .get(index + 1)
            .is_some_and(|part| part.goes_on && is_text(part))
            && is_text(self.part(index))
    }

    /// What is written in an attribute or a text, if that is what it means.
    #[inline]
    pub(super) fn plain(&self, index: usize) -> Option<&'a str> {
        let part = self.part(index);
        (part.is_plain && !self.is_continued(index)).then(|| self.written(part))
    }

    /// Whether a text is more than white space.
    pub(super) fn says_something(&self, index: usize) -> bool {
        if let Some(written) = self.plain(index) {
            return is_something(written);
        }
        is_something(&self.joined(Found::one(index, true)))
    }

    /// The parts that an element has, or that texts are, by the names of columns.
    pub(super) fn groups_of(&mut self, found: Found) -> Vec<(String, Found)> {
        if !found.is_text {
            return self.groups(found.first);
        }
        let (mut texts, mut at) = (Found::default(), found.first);
        for _ in 0..found.count {
            let next = self.part(at).same;
            if self.says_something(at) {
                texts.push(self.parts, at, true);
            }
            at = next;
        }
        match texts.count {
            0 => Vec::new(),
            _ => vec![(self.naming.value_tag.clone(), texts)],
        }
    }

    /// The parts of an element by the names of columns.
    pub(super) fn groups(&mut self, element: usize) -> Vec<(String, Found)> {
        let mut groups = Groups::default();
        let stop = self.part(element).next;
        for kinds in [
            &[Kind::Attribute][..],
            &[Kind::Text, Kind::Cdata],
            &[Kind::Element],
        ] {
            let mut at = element + 1;
            while at < stop {
                let part = *self.part(at);
                if kinds.contains(&part.kind) {
                    self.group(&mut groups, at, &part);
                }
                at = part.next;
            }
        }
        groups.all
    }

    fn group(&mut self, groups: &mut Groups, at: usize, part: &Part) {
        let (is_text, naming) = (part.kind != Kind::Element, self.naming);
        let name = match part.kind {
            Kind::Attribute if self.naming.exclude_attribute => return,
            Kind::Attribute => {
                let name = format!("{}{}", self.naming.attribute_prefix, self.name(part));
                *groups.of(&name) = Found::one(at, true);
                return;
            }
            Kind::Element => self.name(part),
            Kind::Text | Kind::Cdata if part.goes_on || !self.says_something(at) => return,
            Kind::Text | Kind::Cdata => &naming.value_tag,
        };
        groups.of(name).push(self.parts, at, is_text);
    }
}

/// Whether a text is more than white space.
fn is_something(text: &str) -> bool {
    text.chars().any(|symbol| !is_space(symbol))
}
