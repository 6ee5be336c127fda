//! Which parts of a record its columns cannot hold, as JSON.

use super::fill::Reading;
use super::members::{Found, Inside, Member, Members};
use super::tree::Kind;
use crate::columns::{Column, Shape};
use crate::quoting::write_string;

/// Elements nested deeper are kept as they are written.
const DEEPEST: usize = 100;

/// The parts of a record which have no column, or a value that does not fit it, as an object that `tail` ends; nothing
/// without any.
pub(super) fn unfit_record(
    reading: &mut Reading<'_>,
    members: &mut Members,
    columns: &mut [Column],
    tail: &str,
) -> Option<String> {
    let groups = reading.groups(0);
    unfit_members(reading, members, columns, groups, tail)
}

fn unfit_members(
    reading: &mut Reading<'_>,
    members: &mut Members,
    columns: &mut [Column],
    groups: Vec<(String, Found)>,
    tail: &str,
) -> Option<String> {
    let mut out = String::new();
    for (name, found) in groups {
        let place = members.column(&name);
        let wanted = place.and_then(|index| columns.get_mut(index).zip(members.all.get_mut(index)));
        let unfit = match wanted {
            Some((column, (_, member))) => match unfit(reading, member, column, found) {
                Some(unfit) => unfit,
                None => continue,
            },
            None => as_json(reading, found, 0).unwrap_or_else(|| "null".into()),
        };
        write_member(&name, &unfit, &mut out);
    }
    ended(out, tail)
}

/// What a type cannot hold of the parts of one name; nothing if it holds all.
fn unfit(
    reading: &mut Reading<'_>,
    member: &mut Member,
    column: &mut Column,
    found: Found,
) -> Option<String> {
    if let (Inside::List(item), Shape::List(items)) = (&mut member.inside, column.shape()) {
        let mut at = found.first;
        for _ in 0..found.count {
            let (next, is_text) = (
                reading.part(at).same,
                reading.part(at).kind != Kind::Element,
            );
            if unfit(reading, item, items, Found::one(at, is_text)).is_some() {
                return as_json(reading, found, 0);
            }
            at = next;
        }
        return None;
    }
    if found.count > 1 && !found.is_text {
        return as_json(reading, found, 0); // the last one alone is read
    }
    let element = reading.part(found.first);
    let is_variant = matches!(member.inside, Inside::Variant);
    let has_more = element.has_attributes && !reading.naming.exclude_attribute && !is_variant;
    match (&mut member.inside, column.shape()) {
        (Inside::Struct(members), Shape::Struct(columns)) => {
            let groups = reading.groups_of(found);
            unfit_members(reading, members, columns, groups, "}")
        }
        (Inside::Map(item), Shape::Map(_, values)) => {
            let groups = reading.groups_of(found);
            let fits = groups
                .into_iter()
                .all(|(_, found)| unfit(reading, item, values, found).is_none());
            if fits {
                None
            } else {
                as_json(reading, found, 0)
            }
        }
        _ => {
            let fits = fits(reading, column, |reading, column| {
                reading.value(member, column, found)
            });
            if fits && !has_more {
                None
            } else {
                as_json(reading, found, 0)
            }
        }
    }
}

/// Whether all that `push` appends is of its type; the column stays as it is.
fn fits(
    reading: &mut Reading<'_>,
    column: &mut Column,
    push: impl FnOnce(&mut Reading<'_>, &mut Column),
) -> bool {
    let rows = column.len();
    reading.is_bad = false;
    push(reading, column);
    column.truncate(rows);
    !reading.is_bad
}

/// What parts of one name hold: texts, objects of what elements hold, or a list of them; nothing for null.
fn as_json(reading: &mut Reading<'_>, found: Found, depth: usize) -> Option<String> {
    let mut values = Vec::with_capacity(found.count);
    let mut at = found.first;
    for _ in 0..found.count {
        let (next, kind) = (reading.part(at).same, reading.part(at).kind);
        values.push(match kind {
            Kind::Element => object(reading, at, depth),
            _ => Some(string(&reading.joined(Found::one(at, true)))),
        });
        at = next;
    }
    if found.count == 1 {
        return values.pop().flatten();
    }
    let values: Vec<String> = values
        .into_iter()
        .map(|value| value.unwrap_or_else(|| "null".into()))
        .collect();
    Some(format!("[{}]", values.join(",")))
}

fn object(reading: &mut Reading<'_>, element: usize, depth: usize) -> Option<String> {
    let groups = reading.groups(element);
    let part = *reading.part(element);
    let is_value = |(name, _): &(String, Found)| *name == reading.naming.value_tag;
    if !part.has_children && groups.iter().all(is_value) {
        let text = reading.texts(element);
        return (!text.is_empty()).then(|| string(&text));
    }
    if depth > DEEPEST {
        return Some(string(reading.written(&part)));
    }
    let mut out = String::new();
    for (name, found) in groups {
        let value = as_json(reading, found, depth + 1).unwrap_or_else(|| "null".into());
        write_member(&name, &value, &mut out);
    }
    if out.is_empty() {
        out.push('{');
    }
    ended(out, "}")
}

fn write_member(name: &str, value: &str, out: &mut String) {
    out.push(if out.is_empty() { '{' } else { ',' });
    write_string(name, out);
    out.push(':');
    out.push_str(value);
}

fn ended(mut members: String, tail: &str) -> Option<String> {
    if members.is_empty() {
        return None;
    }
    members.push_str(tail);
    Some(members)
}

fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(text, &mut out);
    out
}
