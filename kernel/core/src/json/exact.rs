//! The exact framer: one byte at a time, for bytes that break the grammar of JSON.
//!
//! So that one broken value does not swallow those that follow it, a string ends at a line feed, and `{` inside a value
//! begins a new record unless `[`, `,` or `:` stands before it.

use super::path::between;
use super::{Shape, is_space, precedes_brace};

/// What one record is, from its first byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// It ends.
    Ends {
        /// After its content.
        stop: usize,
        /// Where to go on.
        next: usize,
    },
    /// A scalar or garbage, which ends where the file ends.
    Loose {
        /// After its content so far.
        stop: usize,
    },
    /// None: reading goes on there.
    Gap {
        /// Where.
        next: usize,
    },
    /// None, if the file ends here; else what follows tells.
    Blank,
    /// Brackets that do not close.
    Open {
        /// After its content so far.
        stop: usize,
    },
}

/// Go through the record that begins at `start`, which is no separator.
pub fn walk(data: &[u8], start: usize, shape: &Shape) -> Walk {
    match (data.get(start), shape) {
        (Some(b'{' | b'['), _) => value(data, start),
        (Some(b']' | b':'), Shape::Below(path)) => between(data, start, path),
        _ => loose(data, start, shape),
    }
}

/// The state inside of a value that begins with a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    before: Option<u8>, // the last byte that is no white space; nothing after a broken string
    stop: usize,        // after that byte, in the bytes that were looked at last
}

impl Default for Value {
    fn default() -> Value {
        Value {
            depth: 0,
            in_string: false,
            is_escaped: false,
            before: Some(b'['),
            stop: 0,
        }
    }
}

impl Value {
    /// Go on at `from`: where the value stops, and where to go on.
    pub(crate) fn end(&mut self, data: &[u8], from: usize) -> Option<(usize, usize)> {
        self.stop = from;
        for (at, &byte) in data.iter().enumerate().skip(from) {
            let is_quote = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            if self.in_string {
                if byte == b'\n' {
                    (self.in_string, self.before) = (false, None);
                    continue;
                }
                self.in_string = !is_quote;
            } else if byte == b'{' && !self.before.is_some_and(precedes_brace) {
                return Some((self.stop, at));
            } else if is_quote {
                self.in_string = true;
            } else if matches!(byte, b'{' | b'[') {
                self.depth += 1;
            } else if matches!(byte, b'}' | b']') {
                self.depth -= 1;
            }
            if !is_space(byte) {
                (self.before, self.stop) = (Some(byte), at + 1);
            }
            if self.depth == 0 {
                return Some((at + 1, at + 1));
            }
        }
        None
    }
}

fn value(data: &[u8], start: usize) -> Walk {
    let mut value = Value::default();
    match value.end(data, start) {
        Some((stop, next)) => Walk::Ends { stop, next },
        None => Walk::Open { stop: value.stop },
    }
}

/// The state inside of a scalar, or of garbage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loose {
    in_string: bool,
    is_escaped: bool,
    stop: usize, // after its last byte that is no blank, in the bytes that were looked at last
}

impl Loose {
    /// Go on at `from`: where it ends. What it begins with does not end it.
    pub(crate) fn end(
        &mut self,
        data: &[u8],
        from: usize,
        is_first: bool,
        shape: &Shape,
    ) -> Option<usize> {
        self.stop = from;
        for (at, &byte) in data.iter().enumerate().skip(from) {
            let is_quote = byte == b'"' && !self.is_escaped;
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            let ends = if self.in_string {
                byte == b'\n'
            } else {
                shape.ends_loose(byte)
            };
            if ends && !(is_first && at == from) {
                return Some(at);
            }
            self.in_string ^= is_quote;
            if !matches!(byte, b' ' | b'\t') {
                self.stop = at + 1;
            }
        }
        None
    }
}

fn loose(data: &[u8], start: usize, shape: &Shape) -> Walk {
    let mut loose = Loose::default();
    match loose.end(data, start, true, shape) {
        Some(next) => Walk::Ends {
            stop: loose.stop,
            next,
        },
        None => Walk::Loose { stop: loose.stop },
    }
}

/// Where values begin that do not end in `data`, or are longer than `longest` bytes; `data` begins outside of strings.
///
/// Such a value is a record where the brackets around it are given up.
pub fn open_starts(data: &[u8], longest: usize) -> Vec<i64> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let (mut in_string, mut is_escaped, mut before, mut stop) = (false, false, None, 0usize);
    for (at, &byte) in data.iter().enumerate() {
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        if in_string {
            in_string = !is_quote && byte != b'\n';
            if byte == b'\n' {
                before = None;
                continue;
            }
        } else if matches!(byte, b'{' | b'[') {
            if byte == b'{' && !before.is_some_and(precedes_brace) {
                found.extend(open.drain(..).filter(|&start| stop > longest + start));
            }
            open.push(at);
        } else if matches!(byte, b'}' | b']') {
            found.extend(open.pop().filter(|&start| at + 1 > longest + start));
        } else {
            in_string = is_quote;
        }
        if !is_space(byte) {
            (before, stop) = (Some(byte), at + 1);
        }
    }
    found.append(&mut open);
    found.sort_unstable();
    found.into_iter().map(|start| start as i64).collect()
}
