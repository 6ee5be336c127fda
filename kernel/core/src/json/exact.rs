//! The exact framer: one byte at a time, for bytes that break the grammar of JSON.
//!
//! So that one broken value does not swallow those that follow it, a string ends at a line feed, and `{` inside a value
//! begins a new record unless `[`, `,` or `:` stands before it.

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
    /// Brackets that do not close.
    Open {
        /// After its content so far.
        stop: usize,
    },
}

/// Go through the record that begins at `start`, which is no separator.
pub fn walk(data: &[u8], start: usize, shape: Shape) -> Walk {
    match data.get(start) {
        Some(b'{' | b'[') => value(data, start),
        _ => loose(data, start, shape),
    }
}

fn value(data: &[u8], start: usize) -> Walk {
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    let mut before = Some(b'['); // the last byte that is no white space; nothing after a broken string
    let mut stop = start;
    for (at, &byte) in data.iter().enumerate().skip(start) {
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        if in_string {
            if byte == b'\n' {
                (in_string, before) = (false, None);
                continue;
            }
            in_string = !is_quote;
        } else if byte == b'{' && !before.is_some_and(precedes_brace) {
            return Walk::Ends { stop, next: at };
        } else if is_quote {
            in_string = true;
        } else if matches!(byte, b'{' | b'[') {
            depth += 1;
        } else if matches!(byte, b'}' | b']') {
            depth -= 1;
        }
        if !is_space(byte) {
            (before, stop) = (Some(byte), at + 1);
        }
        if depth == 0 {
            return Walk::Ends {
                stop: at + 1,
                next: at + 1,
            };
        }
    }
    Walk::Open { stop }
}

fn loose(data: &[u8], start: usize, shape: Shape) -> Walk {
    let (mut in_string, mut is_escaped, mut stop) = (false, false, start);
    for (at, &byte) in data.iter().enumerate().skip(start) {
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        let ends = if in_string {
            byte == b'\n'
        } else {
            shape.ends_loose(byte)
        };
        if ends && at > start {
            return Walk::Ends { stop, next: at };
        }
        in_string ^= is_quote;
        if !matches!(byte, b' ' | b'\t') {
            stop = at + 1;
        }
    }
    Walk::Loose { stop }
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
