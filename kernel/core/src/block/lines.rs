//! Line ends: where the next line starts, and how to find one from the middle of a file.

use memchr::{memchr2, memmem};

const CR: u8 = b'\r';
const LF: u8 = b'\n';

/// What a look around a position tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The first start is so many bytes after it.
    Start(usize),
    /// More of what is before it is needed.
    Before,
    /// More of what is after it is needed.
    After,
}

/// What ends lines: a delimiter, or LF, CR and CRLF as they come; not after an odd run of the escape.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    mark: Option<Vec<u8>>,
    escape: Option<u8>,
    overlaps: bool, // some end of the delimiter is a beginning of it
}

impl Lines {
    pub(super) fn new(mark: Option<Vec<u8>>, escape: Option<u8>) -> Result<Lines, String> {
        if mark.as_ref().is_some_and(Vec::is_empty) {
            return Err("a delimiter without a byte".into());
        }
        let overlaps = mark.as_ref().is_some_and(|mark| {
            (1..mark.len()).any(|shift| mark.ends_with(mark.get(..shift).unwrap_or_default()))
        });
        Ok(Lines {
            mark,
            escape,
            overlaps,
        })
    }

    /// Where the first line that `data` begins with stops, and where the next one starts.
    fn end(&self, data: &[u8], at_end: bool) -> Option<(usize, usize)> {
        let mut from = 0;
        loop {
            let rest = data.get(from..)?;
            let at = from
                + match &self.mark {
                    Some(mark) => memmem::find(rest, mark)?,
                    None => memchr2(CR, LF, rest)?,
                };
            if !self.is_open(data.get(..at).unwrap_or_default()) {
                return match (&self.mark, data.get(at..)?) {
                    (Some(mark), _) => Some((at, at + mark.len())),
                    (None, [CR, LF, ..]) => Some((at, at + 2)),
                    (None, [CR]) if !at_end => None, // a line feed may still follow
                    _ => Some((at, at + 1)),
                };
            }
            from = at + 1;
        }
    }

    /// Length of the run of escapes at the end of some bytes.
    fn run(&self, before: &[u8]) -> usize {
        let others = |&byte: &u8| Some(byte) != self.escape;
        before.iter().rev().position(others).unwrap_or(before.len())
    }

    /// Whether what follows these bytes is data, whatever it is.
    fn is_open(&self, before: &[u8]) -> bool {
        self.run(before) % 2 == 1
    }

    /// Where to go on after the first line.
    pub(super) fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let next = self.end(data, at_end).map(|(_, next)| next);
        next.or(at_end.then_some(data.len()))
    }

    /// How many bytes cannot be part of a terminator that is not complete, and leave no escape open.
    pub(super) fn droppable(&self, data: &[u8]) -> usize {
        let dropped = match &self.mark {
            Some(mark) => (data.len() + 1).saturating_sub(mark.len()),
            None => {
                let (last, before) = data.split_last().unwrap_or((&0, &[]));
                data.len() - usize::from(*last == CR && !self.is_open(before))
            }
        };
        let before = data.get(..dropped).unwrap_or_default();
        dropped - usize::from(self.is_open(before))
    }

    /// Length of the terminators at the front of `data`. Each carriage return and each line feed is one.
    pub(super) fn blank(&self, data: &[u8]) -> usize {
        match &self.mark {
            Some(mark) => {
                data.chunks(mark.len())
                    .take_while(|chunk| chunk == mark)
                    .count()
                    * mark.len()
            }
            None => data
                .iter()
                .take_while(|&&byte| byte == CR || byte == LF)
                .count(),
        }
    }

    /// Whether these bytes may be the beginning of a terminator.
    pub(super) fn may_begin(&self, rest: &[u8]) -> bool {
        self.mark.as_ref().is_some_and(|mark| {
            !rest.is_empty() && rest.len() < mark.len() && mark.starts_with(rest)
        })
    }

    /// The first line start at or after a position, of which the bytes before and after are shown.
    pub(super) fn first_start(
        &self,
        before: &[u8],
        after: &[u8],
        at_start: bool,
        at_end: bool,
    ) -> Look {
        let Some(last) = before.last() else {
            return if at_start {
                Look::Start(0)
            } else {
                Look::Before
            };
        };
        let (back, is_found) = match &self.mark {
            Some(mark) if self.overlaps || self.escape.is_some() => {
                return self.after_cluster(mark, before, after, at_start, at_end);
            }
            Some(mark) if before.len() < mark.len() && !at_start => return Look::Before,
            Some(mark) => (mark.len().min(before.len()), false),
            None => {
                let is_mark = matches!(*last, CR | LF);
                let kept = before.len() - usize::from(is_mark);
                let run = self.run(before.get(..kept).unwrap_or_default());
                if run == before.len() && self.run(after) == after.len() {
                    return past(after, at_end); // what follows the run is not escaped, or is
                }
                if run == kept && !at_start && self.escape.is_some() {
                    return Look::Before;
                }
                let is_open = run % 2 == 1;
                let is_end = is_mark && !is_open;
                (
                    usize::from(is_end || (is_open && !is_mark)), // both keep their effect
                    is_end && *last == LF,
                )
            }
        };
        if is_found {
            return Look::Start(0);
        }
        let around = [before.get(before.len() - back..).unwrap_or_default(), after].concat();
        match self.end(&around, at_end) {
            Some((_, next)) => Look::Start(next - back), // a delimiter that begins before ends at the position or later
            None => past(after, at_end),
        }
    }

    /// The same where delimiters may overlap, or be escaped: which of those count that overlap each other depends on the
    /// first of them.
    fn after_cluster(
        &self,
        mark: &[u8],
        before: &[u8],
        after: &[u8],
        at_start: bool,
        at_end: bool,
    ) -> Look {
        let (position, length) = (before.len(), mark.len());
        let around = [before, after].concat();
        let known_from = match self.escape {
            Some(escape) if !at_start => match around.iter().position(|&byte| byte != escape) {
                Some(other) => other + 1,
                None => return past(after, at_end), // no delimiter holds an escape
            },
            _ => 0,
        };
        if !at_start && position < known_from + length {
            return Look::Before; // as far as the cluster reaches: any delimiter in it decides about all after it
        }
        let first_that_counts = position.saturating_sub(length); // one before that ends before the position
        let mut anchor: Option<usize> = None; // the last one up to there that none before it overlaps
        let (mut last, mut reached) = (None::<usize>, None::<usize>);
        let mut from = 0;
        while let Some(at) = around.get(from..).and_then(|rest| memmem::find(rest, mark)) {
            let at = from + at;
            from = at + 1;
            if self.is_open(around.get(..at).unwrap_or_default()) {
                continue;
            }
            let is_head = match last {
                None => at_start || !self.overlaps || at + 1 >= known_from + length,
                Some(last) => at - last >= length,
            };
            last = Some(at);
            if is_head && reached.is_none_or(|reached| reached < first_that_counts) {
                anchor = Some(at);
            }
            reached = Some(at);
            if at >= first_that_counts {
                break;
            }
        }
        match (reached, anchor) {
            (Some(reached), None) if reached >= first_that_counts => return Look::Before,
            (Some(reached), Some(_)) if reached >= first_that_counts => {}
            _ => return past(after, at_end),
        }
        let mut start = anchor.unwrap_or_default();
        loop {
            let rest = around.get(start..).unwrap_or_default();
            match self.end(rest, at_end) {
                Some((_, next)) if start + next >= position => {
                    return Look::Start(start + next - position);
                }
                Some((_, next)) => start += next,
                None => return past(after, at_end),
            }
        }
    }
}

/// What is told where nothing in `after` ends a line.
fn past(after: &[u8], at_end: bool) -> Look {
    match at_end {
        true => Look::Start(after.len()),
        false => Look::After,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"aab|\\\r\n".as_slice()), 0..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn a_look_finds_the_first_start_that_reading_from_the_front_does(
            data in text(), delimiter in proptest::sample::select(vec![None, Some("|"), Some("\r\n"), Some("ab|"), Some("aa"), Some("aba")]),
            escape in proptest::sample::select(vec![None, Some(b'\\')]), cut in 0usize..31, hidden in 0usize..31,
        ) {
            let lines = Lines::new(delimiter.map(|mark| mark.as_bytes().to_vec()), escape).expect("it has a byte");
            let cut = cut.min(data.len());
            let hidden = hidden.min(cut);
            let mut start = 0;
            while start < cut {
                start += lines.resume_after(&data[start..], true).expect("at the end all is known");
            }
            for shown in 0..=data.len() - cut {
                let at_end = cut + shown == data.len();
                let look = lines.first_start(&data[hidden..cut], &data[cut..cut + shown], hidden == 0, at_end);
                match look {
                    Look::Start(found) => prop_assert_eq!(cut + found, start),
                    Look::After => prop_assert!(!at_end),
                    Look::Before => prop_assert!(hidden > 0, "all is shown that there is"),
                }
            }
        }
    }
}
