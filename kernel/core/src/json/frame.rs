//! The fast framer: whole blocks, as long as the bytes keep the grammar of JSON as far as framing looks at it.

use super::exact::{Walk, walk};
use super::masks::{BLOCK, Marker, block_at};
use super::{Shape, is_space, precedes_brace};
use crate::frames::{Counted, Frames};

/// Find the complete records of `data`, which begins outside of all records.
pub fn frame(data: &[u8], at_end: bool, shape: &Shape) -> Frames {
    let mut frames = Frames::default();
    frames.next_start = records(data, at_end, shape, |start, stop| {
        frames.starts.push(start as i64);
        frames.stops.push(stop as i64);
    });
    frames
}

/// Count the records that [`frame`] finds.
pub fn count(data: &[u8], at_end: bool, shape: &Shape) -> Counted {
    let mut records_seen = 0;
    let next_start = records(data, at_end, shape, |_, _| records_seen += 1);
    Counted {
        records: records_seen,
        next_start,
    }
}

/// Where the first byte from `at` on is that does not only separate records.
pub(crate) fn after_gap(data: &[u8], at: usize, shape: &Shape) -> usize {
    let rest = data.get(at..).unwrap_or_default();
    rest.iter()
        .position(|&byte| !shape.separates(byte))
        .map_or(data.len(), |length| at + length)
}

/// How many bytes at the front of `data` belong to no record; `None` where later bytes tell.
pub fn gap_bytes(data: &[u8], at_end: bool, shape: &Shape) -> Option<usize> {
    let at = skip_gap(data, 0, at_end, shape);
    let is_known = at_end || at < data.len();
    let is_gap = || {
        matches!(
            walk(data, at, shape),
            Walk::Blank | Walk::Loose { .. } | Walk::Open { .. }
        )
    };
    match data.get(at) {
        Some(b']') if !at_end && matches!(shape, Shape::Below(_)) && is_gap() => None,
        _ => is_known.then_some(at),
    }
}

/// Where the first byte from `at` on is that begins a record, or tells what does.
#[inline]
pub(crate) fn skip_gap(data: &[u8], at: usize, at_end: bool, shape: &Shape) -> usize {
    let mut at = after_gap(data, at, shape);
    while let (Shape::Below(_), Some(b']')) = (shape, data.get(at)) {
        match walk(data, at, shape) {
            Walk::Gap { next } => at = after_gap(data, next, shape),
            Walk::Blank if at_end => return data.len(),
            _ => break,
        }
    }
    at
}

/// Hand every complete record to `each`; the answer is where the next one starts.
fn records(data: &[u8], at_end: bool, shape: &Shape, mut each: impl FnMut(usize, usize)) -> usize {
    let mut at = 0;
    loop {
        match regular(data, at, shape, &mut each) {
            Seen::All { next_start } => return next_start,
            Seen::Odd { start } => at = start,
        }
        at = after_gap(data, at, shape);
        match walk(data, at, shape) {
            _ if at == data.len() => return at,
            Walk::Ends { stop, next } => {
                each(at, stop);
                at = next;
            }
            Walk::Gap { next } => at = next,
            Walk::Loose { stop } if at_end => {
                each(at, stop);
                return data.len();
            }
            Walk::Blank if at_end => return data.len(),
            Walk::Loose { .. } | Walk::Blank | Walk::Open { .. } => return at,
        }
    }
}

enum Seen {
    /// All records were found.
    All { next_start: usize },
    /// From here on the exact framer has to find one.
    Odd { start: usize },
}

/// Find records as long as they are regular. `from` lies outside of all records.
fn regular(data: &[u8], from: usize, shape: &Shape, each: &mut impl FnMut(usize, usize)) -> Seen {
    let (mut marker, mut spare) = (Marker::default(), [0; BLOCK]);
    let (mut depth, mut edge) = (0u32, from); // edge: where the record starts; at depth 0, up to where the gap is known
    for base in (from..data.len()).step_by(BLOCK) {
        let marks = marker.next(block_at(data, base, &mut spare));
        let broken = marks.feeds & marks.inside;
        let known = broken & broken.wrapping_neg(); // the first line feed in a string
        let outside = !marks.inside & known.wrapping_sub(1);
        let (mut openers, closers) = (marks.openers & outside, marks.closers & outside);
        if depth > closers.count_ones() {
            depth += openers.count_ones();
            depth -= closers.count_ones();
            while openers != 0 {
                if is_misplaced(data, base + openers.trailing_zeros() as usize) {
                    return Seen::Odd { start: edge };
                }
                openers &= openers - 1;
            }
        } else {
            let mut brackets = openers | closers;
            while brackets != 0 {
                let bit = brackets & brackets.wrapping_neg();
                let at = base + brackets.trailing_zeros() as usize;
                brackets ^= bit;
                if depth == 0 {
                    if !is_gap(data, edge, at, shape) || openers & bit == 0 {
                        return Seen::Odd { start: edge };
                    }
                    (depth, edge) = (1, at);
                } else if openers & bit != 0 {
                    if is_misplaced(data, at) {
                        return Seen::Odd { start: edge };
                    }
                    depth += 1;
                } else {
                    depth -= 1;
                    if depth == 0 {
                        each(edge, at + 1);
                        edge = at + 1;
                    }
                }
            }
            if depth == 0 {
                let end = data.len().min(base + BLOCK);
                if !is_gap(data, edge, end, shape) {
                    return Seen::Odd { start: edge };
                }
                edge = end;
            }
        }
        if broken != 0 {
            return Seen::Odd { start: edge };
        }
    }
    Seen::All { next_start: edge }
}

/// Whether all bytes of `[low, high)` only separate records.
#[inline]
fn is_gap(data: &[u8], low: usize, high: usize, shape: &Shape) -> bool {
    data.get(low..high)
        .unwrap_or_default()
        .iter()
        .all(|&byte| shape.separates(byte))
}

/// Whether the opening bracket at `at`, inside a value, is a brace where JSON allows none.
#[inline]
pub(crate) fn is_misplaced(data: &[u8], at: usize) -> bool {
    let (before, rest) = data.split_at_checked(at).unwrap_or_default();
    rest.first() == Some(&b'{')
        && !before
            .iter()
            .rev()
            .find(|&&byte| !is_space(byte))
            .is_some_and(|&b| precedes_brace(b))
}

#[cfg(test)]
mod tests {
    use super::super::Path;
    use super::*;
    use proptest::prelude::*;

    /// The same by the exact framer alone.
    fn exactly(data: &[u8], at_end: bool, shape: &Shape) -> Frames {
        let mut frames = Frames::default();
        let mut at = after_gap(data, 0, shape);
        while at < data.len() {
            let (stop, next) = match walk(data, at, shape) {
                Walk::Ends { stop, next } => (stop, next),
                Walk::Loose { stop } if at_end => (stop, data.len()),
                Walk::Gap { next } => {
                    at = after_gap(data, next, shape);
                    continue;
                }
                Walk::Blank if at_end => {
                    at = data.len();
                    break;
                }
                _ => break,
            };
            frames.starts.push(at as i64);
            frames.stops.push(stop as i64);
            at = after_gap(data, next, shape);
        }
        frames.next_start = at;
        frames
    }

    #[test]
    fn records_are_values_wherever_their_lines_end() {
        let data = b"{\"a\": 1},\n {\"a\": \"}\"}]";
        let frames = frame(data, true, &Shape::Array);
        assert_eq!(
            (frames.starts, frames.stops, frames.next_start),
            (vec![0, 11], vec![8, 21], 22)
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]
        #[test]
        fn blocks_agree_with_bytes(
            pieces in prop::collection::vec(prop::sample::select(&[
                "{", "}", "[", "]", "\"", "\\", "\n", ",", ":", " ", "a", "{\"a\": 1}\n", "{\"b\":[{},{}]},", "\u{1e}", "{\"c\":\"x}\\\"\"}",
                "]}", "{\"d\":[", ",\"d\":[", "\"d\"", ":null", "\"\\u0064\": [", "{\"b\":", "]}{\"d\":[{},", "{\"d\":{}}",
                "                                                                   ", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
            ][..]), 0..80),
            at_end: bool, choice in 0..4,
        ) {
            let data = pieces.concat().into_bytes();
            let below = |steps: &[Option<&str>]| {
                let steps = steps.iter().map(|step| step.map(str::to_string));
                Shape::Below(Path::new(steps.collect()).expect("a good path"))
            };
            let shape = match choice {
                0 => Shape::Array,
                1 => Shape::Values,
                2 => below(&[Some("d"), None]),
                _ => below(&[None, Some("b"), Some("d"), None]),
            };
            let found = frame(&data, at_end, &shape);
            prop_assert_eq!(&found, &exactly(&data, at_end, &shape));
            prop_assert_eq!(count(&data, at_end, &shape), Counted { records: found.starts.len(), next_start: found.next_start });
        }
    }
}
