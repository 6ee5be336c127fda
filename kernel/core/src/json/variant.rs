//! Values of JSON as variants.

use super::scan::{Kind, Scanner, Span};
use super::unescape::{inner, meant};
use crate::variant::Builder;

/// Write a value that was checked, from its first byte to its last one: nothing recurses.
///
/// # Errors
/// A sentence, if it is no variant.
pub(super) fn encode(
    builder: &mut Builder,
    scanner: &mut Scanner,
    text: &str,
    value: Span,
    scratch: &mut String,
) -> Result<(), String> {
    builder.begin();
    let bytes = text.as_bytes().get(..value.stop).unwrap_or_default();
    let mut at = value.start;
    let checked = || "it was checked before".to_string();
    loop {
        let mut after = match bytes.get(at) {
            Some(&open @ (b'{' | b'[')) => {
                let is_object = open == b'{';
                builder.open(is_object)?;
                let inside = scanner.skip_space(bytes, at + 1);
                match bytes.get(inside) {
                    Some(b'}' | b']') => {
                        builder.close()?;
                        inside + 1
                    }
                    _ => {
                        at = part(builder, scanner, text, bytes, inside, is_object, scratch)
                            .ok_or_else(checked)?;
                        continue;
                    }
                }
            }
            _ => {
                let found = scanner.value(bytes, at).ok_or_else(checked)?;
                scalar(builder, text, found, scratch);
                found.stop
            }
        };
        loop {
            let Some(is_object) = builder.inside_object() else {
                return Ok(());
            };
            let (next, is_end) = scanner
                .after_part(bytes, after, is_object)
                .ok_or_else(checked)?;
            if !is_end {
                at = part(builder, scanner, text, bytes, next, is_object, scratch)
                    .ok_or_else(checked)?;
                break;
            }
            builder.close()?;
            after = next;
        }
    }
}

/// Where the value of the part at `at` begins, after its name.
fn part(
    builder: &mut Builder,
    scanner: &mut Scanner,
    text: &str,
    bytes: &[u8],
    at: usize,
    is_object: bool,
    scratch: &mut String,
) -> Option<usize> {
    if !is_object {
        return Some(at);
    }
    let name = scanner.name(bytes, at)?;
    builder.name(meant(text, name, scratch));
    scanner.colon(bytes, name.stop)
}

fn scalar(builder: &mut Builder, text: &str, span: Span, scratch: &mut String) {
    let written = text.get(span.start..span.stop).unwrap_or_default();
    match span.kind {
        Kind::Number if span.is_plain && span.places == 0 && span.digits <= i64::MAX as u64 => {
            let whole = span.digits as i64;
            builder.whole(if written.starts_with('-') {
                -whole
            } else {
                whole
            });
        }
        Kind::Number => builder.number(written),
        Kind::Plain => builder.text(inner(text, span)),
        Kind::Escaped => builder.text(meant(text, span, scratch)),
        Kind::True => builder.boolean(true),
        Kind::False => builder.boolean(false),
        _ => builder.null(),
    }
}
