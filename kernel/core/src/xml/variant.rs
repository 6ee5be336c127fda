//! Elements as variants: nothing recurses over the data.

use std::ops::Range;

use super::fill::Reading;
use super::members::{Found, Naming};
use super::tree::Kind;
use crate::rules::{Rules, Variants};
use crate::variant::{Builder, Scalars, by_utf16};

const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Writes one variant after the other.
#[derive(Debug, Default)]
pub(super) struct Elements {
    builder: Builder,
    scalars: Scalars,
    open: Vec<Open>,
    members: Vec<Member>,      // of the elements that are open
    groups: Vec<Range<usize>>, // members of one name; of each element in the order in which they are written
    names: String,             // of members, as they are and without regard to case
}

/// A part of an element.
#[derive(Clone, Debug)]
struct Member {
    part: usize,
    name: Range<usize>,
    folded: Range<usize>,
}

/// An object or an array that is open.
#[derive(Debug)]
struct Open {
    is_object: bool,
    left: Range<usize>, // groups of an object, members of an array
    before: Lengths,
}

/// How much there was before an element was looked at.
#[derive(Clone, Copy, Debug)]
struct Lengths {
    members: usize,
    groups: usize,
    names: usize,
}

/// What is to be written.
enum Node {
    Part(usize),
    Items(Range<usize>), // members
}

impl Elements {
    pub(super) fn new(variants: Variants, rules: &[Rules]) -> Elements {
        Elements {
            builder: Builder::new(variants),
            scalars: rules.first().map_or_else(Scalars::default, Scalars::new),
            ..Elements::default()
        }
    }

    /// The variant of a text.
    ///
    /// # Errors
    /// A sentence, if it is none.
    pub(super) fn text(&mut self, naming: &Naming, text: &str) -> Result<(&[u8], &[u8]), String> {
        self.builder.begin();
        self.scalar(naming, text);
        self.builder.finish()
    }

    /// The variant of an element.
    ///
    /// # Errors
    /// A sentence, if it is none.
    pub(super) fn element(
        &mut self,
        reading: &Reading<'_>,
        element: usize,
    ) -> Result<(&[u8], &[u8]), String> {
        self.builder.begin();
        self.open.clear();
        self.members.clear();
        self.groups.clear();
        self.names.clear();
        let mut node = Node::Part(element);
        loop {
            self.write(reading, node)?;
            match self.next()? {
                Some(next) => node = next,
                None => return self.builder.finish(),
            }
        }
    }

    /// Write a value without parts, or open one with parts.
    fn write(&mut self, reading: &Reading<'_>, mut node: Node) -> Result<(), String> {
        let before = Lengths {
            members: self.members.len(),
            groups: self.groups.len(),
            names: self.names.len(),
        };
        let mut is_outermost = self.open.is_empty();
        loop {
            let element = match node {
                Node::Items(left) => return self.begin(false, left, before),
                Node::Part(part) => part,
            };
            let part = reading.part(element);
            let is_text =
                !part.has_children && (!part.has_attributes || reading.naming.exclude_attribute);
            if part.kind != Kind::Element {
                match reading.plain(element) {
                    Some(text) => self.scalar(reading.naming, text),
                    None => self.scalar(reading.naming, &joined(reading, element)),
                }
                break;
            }
            if let Some(text) = reading.only_text(element).filter(|_| is_text) {
                match text.trim_matches(SPACE) {
                    "" => self.builder.null(),
                    _ => self.scalar(reading.naming, text),
                }
                break;
            }
            let groups = self.groups.len();
            self.find(reading, element, is_outermost);
            match self.groups.get(groups..).unwrap_or_default() {
                [] => {
                    self.builder.null();
                    break;
                }
                [only] if self.name(only.start) == reading.naming.value_tag => {
                    node = self.node(only.clone());
                    is_outermost = false;
                }
                _ => return self.begin(true, groups..self.groups.len(), before),
            }
        }
        self.forget(before);
        Ok(())
    }

    /// What is to be written next; what has no more parts is closed.
    fn next(&mut self) -> Result<Option<Node>, String> {
        while let Some(open) = self.open.last_mut() {
            if let Some(next) = open.left.next() {
                if !open.is_object {
                    return Ok(self.members.get(next).map(|member| Node::Part(member.part)));
                }
                let group = self.groups.get(next).cloned().unwrap_or_default();
                if let Some(member) = self.members.get(group.start) {
                    self.builder
                        .name(self.names.get(member.name.clone()).unwrap_or_default());
                }
                return Ok(Some(self.node(group)));
            }
            self.builder.close()?;
            if let Some(open) = self.open.pop() {
                self.forget(open.before);
            }
        }
        Ok(None)
    }

    fn node(&self, group: Range<usize>) -> Node {
        match self.members.get(group.clone()) {
            Some([member]) => Node::Part(member.part),
            _ => Node::Items(group),
        }
    }

    fn begin(
        &mut self,
        is_object: bool,
        left: Range<usize>,
        before: Lengths,
    ) -> Result<(), String> {
        self.builder.open(is_object)?;
        self.open.push(Open {
            is_object,
            left,
            before,
        });
        Ok(())
    }

    fn forget(&mut self, before: Lengths) {
        self.members.truncate(before.members);
        self.groups.truncate(before.groups);
        self.names.truncate(before.names);
    }

    fn name(&self, member: usize) -> &str {
        let member = self.members.get(member);
        member
            .and_then(|member| self.names.get(member.name.clone()))
            .unwrap_or_default()
    }

    fn scalar(&mut self, naming: &Naming, text: &str) {
        let written = match naming.ignore_surrounding_spaces {
            true => text.trim_matches(SPACE),
            false => text,
        };
        match naming.null_value.as_deref() == Some(written) {
            true => self.builder.null(),
            false => self.scalars.write(written, &mut self.builder),
        }
    }

    /// Add the parts of an element, and their groups: names that differ in case are that which comes first.
    fn find(&mut self, reading: &Reading<'_>, element: usize, is_outermost: bool) {
        let (from, groups) = (self.members.len(), self.groups.len());
        let (mut at, stop) = (element + 1, reading.part(element).next);
        while at < stop {
            let part = reading.part(at);
            match part.kind {
                Kind::Attribute if reading.naming.exclude_attribute => {}
                Kind::Attribute => {
                    let prefix = reading.naming.attribute_prefix.as_str();
                    self.add(at, [prefix, reading.name(part)]);
                }
                Kind::Element => self.add(at, [reading.name(part), ""]),
                Kind::Text | Kind::Cdata if part.goes_on || is_blank(reading, at) => {}
                Kind::Text | Kind::Cdata => self.add(at, [&reading.naming.value_tag, ""]),
            }
            at = part.next;
        }
        let names = &self.names;
        let text = |range: &Range<usize>| names.get(range.clone()).unwrap_or_default();
        let members = self.members.get_mut(from..).unwrap_or_default();
        members.sort_by(|one, other| text(&one.folded).cmp(text(&other.folded)));
        let mut stop = 0;
        for run in members.chunk_by(|one, other| text(&one.folded) == text(&other.folded)) {
            self.groups.push(from + stop..from + stop + run.len());
            stop += run.len();
        }
        if reading.naming.ignore_namespace {
            self.drop_doubles(reading, groups);
        }
        if !is_outermost {
            let (names, members) = (&self.names, &self.members);
            let name = |group: &Range<usize>| {
                let name = members.get(group.start).map(|member| member.name.clone());
                let name = name.and_then(|name| names.get(name));
                name.unwrap_or_default().as_bytes()
            };
            let groups = self.groups.get_mut(groups..).unwrap_or_default();
            groups.sort_unstable_by(|one, other| by_utf16(name(one), name(other)));
        }
    }

    /// Of attributes that have one name without their prefixes, leave the last value, at the place of the first.
    fn drop_doubles(&mut self, reading: &Reading<'_>, groups: usize) {
        let names = &self.names;
        for group in self.groups.get_mut(groups..).unwrap_or_default() {
            let members = self.members.get_mut(group.clone()).unwrap_or_default();
            let is_attribute = |member: &Member| reading.part(member.part).kind == Kind::Attribute;
            let name = |member: &Member| names.get(member.name.clone()).unwrap_or_default();
            let mut kept = 0;
            for index in 0..members.len() {
                let member = members[index].clone();
                let mut before = members[..kept].iter_mut().filter(|each| is_attribute(each));
                match before.find(|each| is_attribute(&member) && name(each) == name(&member)) {
                    Some(first) => first.part = member.part,
                    None => {
                        members[kept] = member;
                        kept += 1;
                    }
                }
            }
            group.end = group.start + kept;
        }
    }

    fn add(&mut self, part: usize, name: [&str; 2]) {
        let start = self.names.len();
        name.iter().for_each(|each| self.names.push_str(each));
        let stop = self.names.len();
        for each in name {
            fold(each, &mut self.names);
        }
        self.members.push(Member {
            part,
            name: start..stop,
            folded: stop..self.names.len(),
        });
    }
}

fn joined(reading: &Reading<'_>, part: usize) -> String {
    reading.joined(Found::one(part, true))
}

fn is_blank(reading: &Reading<'_>, part: usize) -> bool {
    let is_blank = |text: &str| text.trim_matches(SPACE).is_empty();
    reading
        .plain(part)
        .map_or_else(|| is_blank(&joined(reading, part)), is_blank)
}

/// Append a name without regard to case, as Java compares names: letter by letter.
fn fold(name: &str, out: &mut String) {
    for letter in name.chars() {
        if letter.is_ascii() {
            out.push(letter.to_ascii_lowercase());
            continue;
        }
        let mut upper = letter.to_uppercase();
        let upper = match (upper.next(), upper.next()) {
            (Some(upper), None) => upper,
            _ => letter,
        };
        out.extend(upper.to_lowercase().next());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_folded_letter_by_letter() {
        for (name, folded) in [
            ("aBc_-", "abc_-"),
            ("Stra\u{df}E", "stra\u{df}e"),
            ("\u{130}\u{131}I", "iii"),
            ("\u{1c5}", "\u{1c6}"),
        ] {
            let mut out = String::new();
            fold(name, &mut out);
            assert_eq!(out, folded);
        }
    }
}
