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

/// What ends lines.
#[derive(Clone, Debug)]
pub(super) struct Lines(Option<Vec<u8>>);

impl Lines {
    /// A delimiter; without one, LF, CR and CRLF as they come. One that overlaps itself is refused.
    pub(super) fn new(delimiter: Option<Vec<u8>>) -> Result<Lines, String> {
        let overlaps = |mark: &Vec<u8>| {
            (1..mark.len()).any(|shift| mark.ends_with(mark.get(..shift).unwrap_or_default()))
        };
        match delimiter {
            Some(mark) if mark.is_empty() || overlaps(&mark) => {
                Err("a delimiter that overlaps itself".into())
            }
            delimiter => Ok(Lines(delimiter)),
        }
    }

    /// Where the first line that `data` begins with stops, and where the next one starts.
    pub(super) fn end(&self, data: &[u8], at_end: bool) -> Option<(usize, usize)> {
        if let Some(mark) = &self.0 {
            return memmem::find(data, mark).map(|at| (at, at + mark.len()));
        }
        let at = memchr2(CR, LF, data)?;
        match data.get(at..)? {
            [CR, LF, ..] => Some((at, at + 2)),
            [CR] if !at_end => None, // a line feed may still follow
            _ => Some((at, at + 1)),
        }
    }

    /// Where to go on after the first line.
    pub(super) fn resume_after(&self, data: &[u8], at_end: bool) -> Option<usize> {
        let next = self.end(data, at_end).map(|(_, next)| next);
        next.or(at_end.then_some(data.len()))
    }

    /// How many bytes cannot be part of a terminator that is not complete.
    pub(super) fn droppable(&self, data: &[u8]) -> usize {
        match &self.0 {
            Some(mark) => (data.len() + 1).saturating_sub(mark.len()),
            None => data.len() - usize::from(data.last() == Some(&CR)),
        }
    }

    /// Length of the terminators at the front of `data`. Each carriage return and each line feed is one.
    pub(super) fn blank(&self, data: &[u8]) -> usize {
        match &self.0 {
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
        self.0.as_ref().is_some_and(|mark| {
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
        let back = match &self.0 {
            Some(mark) if before.len() < mark.len() && !at_start => return Look::Before,
            Some(mark) => mark.len().min(before.len()),
            None if *last == LF => return Look::Start(0),
            None => usize::from(*last == CR),
        };
        let around = [before.get(before.len() - back..).unwrap_or_default(), after].concat();
        match self.end(&around, at_end) {
            Some((_, next)) => Look::Start(next - back), // a delimiter that begins before ends at the position or later
            None if at_end => Look::Start(after.len()),
            None => Look::After,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(proptest::sample::select(b"ab|\r\n".as_slice()), 0..30)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn a_look_finds_the_first_start_that_reading_from_the_front_does(
            data in text(), delimiter in proptest::sample::select(vec![None, Some("|"), Some("\r\n"), Some("ab|")]), cut in 0usize..31,
        ) {
            let lines = Lines::new(delimiter.map(|mark| mark.as_bytes().to_vec())).expect("it does not overlap");
            let cut = cut.min(data.len());
            let mut start = 0;
            while start < cut {
                start += lines.resume_after(&data[start..], true).expect("at the end all is known");
            }
            for shown in 0..=data.len() - cut {
                let at_end = cut + shown == data.len();
                let look = lines.first_start(&data[..cut], &data[cut..cut + shown], true, at_end);
                match look {
                    Look::Start(found) => prop_assert_eq!(cut + found, start),
                    Look::After => prop_assert!(!at_end),
                    Look::Before => prop_assert!(false, "all is shown that there is"),
                }
            }
        }
    }
}
