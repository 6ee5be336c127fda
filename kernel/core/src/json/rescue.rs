//! Which parts of a record its columns cannot hold, as JSON again.

use super::fill::{Inside, Members, Part, Reading, all_pairs, next_item, pairs};
use super::is_space;
use super::number::number;
use super::scan::{Kind, Span};
use super::unescape::meant;
use crate::columns::{Column, Shape};
use crate::quoting::write_string;

/// The members of the object that was checked at `object` which have no column, or a value that does not fit it, as an
/// object that `tail` ends; nothing without any.
pub(crate) fn unfit_members(
    reading: &mut Reading<'_>,
    members: &mut Members,
    columns: &mut [Column],
    object: Span,
    tail: &str,
) -> Option<String> {
    let text = reading.text;
    let (mut out, mut scratch) = (String::new(), String::new());
    for (name, value) in pairs(reading.scanner, text, object).last {
        let name = meant(text, name, &mut scratch);
        let column = members.names.column(name);
        let wanted =
            column.and_then(|index| columns.get_mut(index).zip(members.parts.get_mut(index)));
        let unfit = match wanted {
            Some((column, (_, part))) => match unfit(reading, part, column, value) {
                Some(unfit) => unfit,
                None => continue,
            },
            None => as_json(text, value),
        };
        out.push(if out.is_empty() { '{' } else { ',' });
        write_string(name, &mut out);
        out.push(':');
        out.push_str(&unfit);
    }
    if out.is_empty() {
        return None;
    }
    out.push_str(tail);
    Some(out)
}

/// The part of a value that a type cannot hold; nothing if it holds all.
fn unfit(
    reading: &mut Reading<'_>,
    part: &mut Part,
    column: &mut Column,
    value: Span,
) -> Option<String> {
    let text = reading.text;
    let fits = match (value.kind, part.inside(), column.shape()) {
        (Kind::Object, Inside::Struct(members), Shape::Struct(columns)) => {
            return unfit_members(reading, members, columns, value, "}");
        }
        (Kind::Array, Inside::List(items), Shape::List(child)) => {
            let (mut fits, mut after, limit) = (true, None, value.stop);
            while let (true, Some(start)) = (fits, next_item(reading.scanner, text, value, after))
                && let Some(item) = items.scan(reading.scanner, text, limit, start, reading.epoch)
            {
                fits = unfit(reading, items, child, item).is_none();
                after = Some(item.stop);
            }
            fits
        }
        (Kind::Object, Inside::Map(values), Shape::Map(_, child)) => {
            let all = all_pairs(reading.scanner, text, value).unwrap_or_default();
            all.into_iter()
                .all(|(_, item)| unfit(reading, values, child, item).is_none())
        }
        _ => fits(reading, part, column, value),
    };
    (!fits).then(|| as_json(text, value))
}

/// Whether a column can hold a value; the column stays as it is.
fn fits(reading: &mut Reading<'_>, part: &mut Part, column: &mut Column, value: Span) -> bool {
    let rows = column.len();
    let fits = reading.value(part, column, &value);
    column.truncate(rows);
    fits
}

/// A value that was checked as strict JSON without white space, however deep it is; numbers as they are written.
fn as_json(text: &str, value: Span) -> String {
    let bytes = text.as_bytes().get(..value.stop).unwrap_or_default();
    let (mut out, mut scratch) = (String::new(), String::new());
    let mut at = value.start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => {
                out.push(char::from(byte));
                at += 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'"' | b'\'' => {
                let stop = after_string(bytes, at);
                write_string(
                    meant(text, Span::new(Kind::Escaped, at, stop), &mut scratch),
                    &mut out,
                );
                at = stop;
            }
            _ => {
                let length = bytes
                    .get(at..)
                    .unwrap_or_default()
                    .iter()
                    .take_while(|byte| !ends_word(byte))
                    .count();
                let word = text.get(at..at + length).unwrap_or_default();
                at += length;
                let is_name = bytes
                    .get(at..)
                    .and_then(|rest| rest.iter().find(|&&byte| !is_space(byte)))
                    == Some(&b':');
                let is_literal = matches!(word, "true" | "false" | "null");
                if !is_name && (is_literal || number(word.as_bytes(), 0, false).stop == word.len())
                {
                    out.push_str(word);
                } else {
                    write_string(word, &mut out); // a name, NaN, or zeros in front: JSON has no such numbers
                }
            }
        }
    }
    out
}

fn ends_word(byte: &u8) -> bool {
    matches!(
        byte,
        b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n'
    )
}

/// After the string that opens at `at`, which was checked.
fn after_string(bytes: &[u8], at: usize) -> usize {
    let (quote, mut stop) = (bytes.get(at), at + 1);
    while bytes.get(stop).is_some_and(|byte| Some(byte) != quote) {
        stop += if bytes.get(stop) == Some(&b'\\') {
            2
        } else {
            1
        };
    }
    stop + 1
}
