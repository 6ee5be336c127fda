//! Which lines begin records.

use memchr::memchr2;
use regex::bytes::{Regex, RegexBuilder};

use crate::charsets::Charset;
use crate::frames::Frames;
use crate::lines::Records;
use crate::lines::grammar::Grammar;

/// How many bytes of a line say whether a record begins with it.
pub const HEAD_BYTES: usize = 4096;

/// Bytes of a pattern that is built; those that Python builds, and this does not, are less by far.
pub(super) const MOST_PATTERN_BYTES: usize = 24 << 20;

/// Which lines begin records.
#[derive(Clone, Debug)]
pub enum StartsWith {
    /// Every line.
    AnyLine,
    /// Those whose beginning matches, or those whose beginning does not.
    Pattern(Box<Regex>, bool),
}

/// Finds records: each is a line that begins one, and all lines up to the next such line. The first record begins
/// where the data does, whatever its first line is.
#[derive(Clone, Debug)]
pub struct Starts {
    lines: Grammar,
    which: StartsWith,
    charset: Charset,
}

impl Starts {
    /// Records whose first line begins with what matches `pattern`, or, with `continues`, with what does not. Without a
    /// pattern every line is a record. Lines are found in their own bytes. An error says what is wrong with it.
    pub fn new(
        pattern: Option<&str>,
        continues: bool,
        charset: &Charset,
    ) -> Result<Starts, String> {
        let which = match pattern {
            None => StartsWith::AnyLine,
            Some(pattern) => {
                let mut built = RegexBuilder::new(&format!(r"\A(?:{pattern})"));
                let built = built.size_limit(MOST_PATTERN_BYTES).build();
                let built = built.map_err(|error| error.to_string())?;
                StartsWith::Pattern(Box::new(built), !continues)
            }
        };
        Ok(Starts {
            lines: Grammar::new(None, None, 1, false)?,
            which,
            charset: charset.clone(),
        })
    }

    /// Whether a record begins with this line.
    #[inline]
    pub fn begins(&self, line: &[u8]) -> bool {
        let StartsWith::Pattern(pattern, wanted) = &self.which else {
            return true;
        };
        let head = line.get(..HEAD_BYTES).unwrap_or(line);
        let is_match = match (&self.charset, head.is_ascii()) {
            (Charset::Utf8, false) => {
                pattern.is_match(head)
                    || (std::str::from_utf8(head).is_err()
                        && pattern.is_match(String::from_utf8_lossy(head).as_bytes()))
            }
            (charset, false) => pattern.is_match(charset.text(head).as_bytes()),
            (_, true) => pattern.is_match(head),
        };
        is_match == *wanted
    }

    /// Whether the first line of a record begins one; that of a file may not.
    pub(crate) fn is_begun(&self, record: &[u8]) -> bool {
        let line = memchr2(b'\r', b'\n', record).and_then(|stop| record.get(..stop));
        self.begins(line.unwrap_or(record))
    }

    /// Whether what is shown of a line that is not complete is enough.
    fn is_decided(&self, part: &[u8]) -> bool {
        !part.is_empty()
            && (matches!(self.which, StartsWith::AnyLine)
                || part
                    .len()
                    .saturating_sub(usize::from(part.last() == Some(&b'\r')))
                    >= HEAD_BYTES)
    }

    /// Hand over where each complete record starts, where it stops, and where the next one starts, for as long as `take`
    /// wants more.
    pub(crate) fn each(
        &self,
        data: &[u8],
        at_end: bool,
        mut take: impl FnMut(usize, usize, usize) -> bool,
    ) {
        let records = Records::new(&self.lines, data, data.len(), at_end);
        if matches!(self.which, StartsWith::AnyLine) {
            return records.each(0, take);
        }
        let mut open: Option<(usize, usize)> = None; // a record, as far as its lines are known
        let (mut rest, mut wants_more) = (0, true);
        records.each(0, |start, stop, next| {
            rest = next;
            let line = data.get(start..stop).unwrap_or_default();
            open = match open {
                Some((first, last)) if self.begins(line) => {
                    wants_more = take(first, last, start);
                    Some((start, stop))
                }
                Some((first, _)) => Some((first, stop)),
                None => Some((start, stop)),
            };
            wants_more
        });
        let Some((first, last)) = open.filter(|_| wants_more) else {
            return;
        };
        let part = data.get(rest..).unwrap_or_default();
        if at_end {
            take(first, last, data.len());
        } else if self.is_decided(part) && self.begins(part) {
            take(first, last, rest);
        }
    }

    /// The complete records of `data`.
    pub(crate) fn frame(&self, data: &[u8], at_end: bool) -> Frames {
        let mut frames = Frames::default();
        self.each(data, at_end, |start, stop, next| {
            frames.starts.push(start as i64);
            frames.stops.push(stop as i64);
            frames.next_start = next;
            true
        });
        frames
    }

    /// The first record start of `data`, which begins with a line, at or after `from`; `None` where more of the data is
    /// needed. At the end of a file there may be none: then it is that end.
    pub fn first(&self, data: &[u8], from: usize, at_end: bool) -> Option<usize> {
        let records = Records::new(&self.lines, data, data.len(), at_end);
        let (mut found, mut rest) = (None, from);
        records.each(from, |start, stop, next| {
            rest = next;
            if self.begins(data.get(start..stop).unwrap_or_default()) {
                found = Some(start);
            }
            found.is_none()
        });
        let part = data.get(rest..).unwrap_or_default();
        let is_part = found.is_none() && !at_end && self.is_decided(part) && self.begins(part);
        found
            .or(is_part.then_some(rest))
            .or(at_end.then_some(data.len()))
    }

    /// Where the second line of `data` begins, if it is known.
    pub(crate) fn second_line(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let mut records = Records::new(&self.lines, data, data.len(), at_end);
        records.after(0).map(|(_, next)| next)
    }

    /// How many bytes of a record that is given up say nothing of its end: all before the end of its last complete line,
    /// unless the line after it is known to begin no record.
    pub(crate) fn droppable(&self, data: &[u8]) -> usize {
        let mut last = None;
        Records::new(&self.lines, data, data.len(), false).each(0, |_, stop, next| {
            last = Some((stop, next));
            true
        });
        match last {
            Some((stop, next)) if !self.is_decided(data.get(next..).unwrap_or_default()) => stop,
            _ => data.len() - usize::from(data.last() == Some(&b'\r')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Contents of the records, by lines alone.
    fn slow(data: &[u8], begins: impl Fn(&[u8]) -> bool) -> Vec<(usize, usize)> {
        let (mut lines, mut start, mut at) = (Vec::new(), 0, 0);
        while at < data.len() {
            let length = match &data[at..] {
                [b'\r', b'\n', ..] => 2,
                [b'\r' | b'\n', ..] => 1,
                _ => 0,
            };
            if length > 0 {
                lines.push((start, at));
                start = at + length;
            }
            at += length.max(1);
        }
        if start < data.len() {
            lines.push((start, data.len()));
        }
        let mut records: Vec<(usize, usize)> = Vec::new();
        for (start, stop) in lines {
            match records.last_mut() {
                Some(last) if !begins(&data[start..stop]) => last.1 = stop,
                _ => records.push((start, stop)),
            }
        }
        records
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"abb \xff\r\n".as_slice()), 0..60)
    }

    fn found(starts: &Starts, data: &[u8], at_end: bool) -> Vec<(usize, usize)> {
        let frames = starts.frame(data, at_end);
        let spans = frames.starts.iter().zip(&frames.stops);
        spans
            .map(|(&start, &stop)| (start as usize, stop as usize))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn records_begin_with_lines_that_match(data in text(), continues in any::<bool>(), shown in 0usize..60) {
            let starts = Starts::new(Some(if continues { "b| " } else { "a" }), continues, &Charset::Utf8).expect("a pattern");
            let begins = |line: &[u8]| match continues {
                true => !line.starts_with(b"b") && !line.starts_with(b" "),
                false => line.starts_with(b"a"),
            };
            let all = slow(&data, begins);
            prop_assert_eq!(&found(&starts, &data, true), &all);
            let part = &data[..shown.min(data.len())];
            let early = found(&starts, part, false);
            prop_assert_eq!(early.as_slice(), &all[..early.len()]);

            let next = all.get(1).map_or(data.len(), |&(start, _)| start);
            let resumed = |data: &[u8]| starts.second_line(data, true).and_then(|line| starts.first(data, line, true));
            if !data.is_empty() {
                prop_assert_eq!(resumed(&data), Some(next));
            }
            let dropped = starts.droppable(part);
            if next >= part.len() && dropped < data.len() {
                prop_assert_eq!(resumed(&data[dropped..]).map(|at| at + dropped), Some(next));
            }
        }
    }

    #[test]
    fn the_beginning_of_a_long_line_is_enough() {
        let starts = Starts::new(Some("a"), false, &Charset::Utf8).expect("a pattern");
        let mut data = b"x\na".to_vec();
        data.resize(data.len() + HEAD_BYTES - 1, b' ');
        assert_eq!(found(&starts, &data, false), [(0, 1)]);
        assert_eq!(found(&starts, &data[..data.len() - 1], false), []);
    }
}
