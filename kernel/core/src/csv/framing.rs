//! The complete records at the front of some bytes: where they are, or how many; and those that are not complete.

use super::grammar::Grammar;
use super::leap::Leaper;
use super::machine::{LINES, Machine, with_machine};
use super::steps::{Entry, Kind, Place, Step, Tail};
use crate::frames::{Counted, Frames};

/// Where the complete records of `data` are, which begins with one; all that no later byte can change.
pub fn frame(data: &[u8], grammar: &Grammar, at_end: bool) -> Frames {
    let mut frames = Frames::default();
    frames.next_start = each_record(data, grammar, at_end, |start, stop, kind| {
        if kind == Kind::Malformed {
            frames.malformed.push(frames.starts.len() as u32); // a record has a byte: fewer than 2^32 of them
        }
        frames.starts.push(start as i64);
        frames.stops.push(stop as i64);
    });
    frames
}

/// How many records [`frame`] finds.
pub fn count(data: &[u8], grammar: &Grammar, at_end: bool) -> Counted {
    with_machine!(
        grammar,
        OUTSIDE,
        INSIDE,
        pass(
            data,
            Machine::<OUTSIDE, INSIDE>::new(data, grammar, Tail::of(at_end)),
            Leaper::new(grammar),
        )
    )
}

fn each_record(
    data: &[u8],
    grammar: &Grammar,
    at_end: bool,
    take: impl FnMut(usize, usize, Kind),
) -> usize {
    with_machine!(
        grammar,
        OUTSIDE,
        INSIDE,
        walk(
            Machine::<OUTSIDE, INSIDE>::new(data, grammar, Tail::of(at_end)),
            take
        )
    )
}

/// Read line after line; returns where the first one begins that is not complete.
fn walk<const OUTSIDE: usize, const INSIDE: usize>(
    mut machine: Machine<'_, OUTSIDE, INSIDE>,
    mut take: impl FnMut(usize, usize, Kind),
) -> usize {
    let mut start = 0;
    while let Step::Line { kind, stop, next } = machine.line(start, Entry::Line, &mut ()) {
        if matches!(kind, Kind::Record | Kind::Malformed) {
            take(start, stop, kind);
        }
        start = next;
    }
    start
}

/// Count line after line, many at a time where that can be.
fn pass<const OUTSIDE: usize, const INSIDE: usize>(
    data: &[u8],
    mut machine: Machine<'_, OUTSIDE, INSIDE>,
    leaper: Option<Leaper>,
) -> Counted {
    let mut counted = Counted::default();
    loop {
        if let Some(leaper) = leaper {
            let leap = leaper.leap(data, counted.next_start, data.len(), usize::MAX);
            counted.records += leap.records;
            counted.next_start = leap.next;
        }
        let Step::Line { kind, next, .. } = machine.line(counted.next_start, Entry::Line, &mut ())
        else {
            return counted;
        };
        counted.records += usize::from(matches!(kind, Kind::Record | Kind::Malformed));
        counted.next_start = next;
    }
}

/// Where records would begin that end inside quotes with `data`, or are longer than `longest`: at any line start.
///
/// Each line is read twice, as a record and as what follows an open quote, so no quote is followed from line to line.
/// None where quotes hide no terminators: then no record begins in another.
pub fn open_starts(data: &[u8], grammar: &Grammar, longest: usize) -> Vec<i64> {
    if !grammar.spans_lines() || grammar.dialect().quote.is_none() {
        return Vec::new();
    }
    with_machine!(
        grammar,
        OUTSIDE,
        INSIDE,
        open_lines::<OUTSIDE, { LINES + INSIDE % 2 }>(data, grammar, longest)
    )
}

fn open_lines<const OUTSIDE: usize, const INSIDE: usize>(
    data: &[u8],
    grammar: &Grammar,
    longest: usize,
) -> Vec<i64> {
    let mut machines = [(); 2].map(|()| Machine::<OUTSIDE, INSIDE>::new(data, grammar, Tail::Open));
    let [lines, quoted] = &mut machines;
    let cut = grammar.dialect().line_sep.as_ref().map_or(1, Vec::len); // of a terminator that may end the data
    let mut open = Vec::new();
    let mut waiting = Vec::new(); // for the quote that closes
    let mut start = 0;
    loop {
        let inside = quoted.line(start, Entry::Quoted, &mut ());
        let closes_at = match inside {
            Step::Line { kind, stop, .. } => (kind != Kind::Malformed).then_some(stop),
            Step::Open(Place::Quotes) => None,
            Step::Open(_) => Some(data.len().saturating_sub(cut)),
        };
        if let Some(stop) = closes_at {
            let long =
                waiting.partition_point(|&begin: &usize| stop.saturating_sub(begin) > longest);
            open.extend(waiting.drain(..).take(long).map(|begin| begin as i64));
        }
        match lines.line(start, Entry::Line, &mut ()) {
            Step::Line { kind, next, .. } => {
                if kind == Kind::Malformed {
                    waiting.push(start);
                }
                start = next;
            }
            Step::Open(place) => {
                if place == Place::Quotes {
                    waiting.push(start);
                }
                open.extend(waiting.drain(..).map(|begin| begin as i64));
                return open;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::{Dialect, Mark};
    use super::super::machine::{LONG_SPANNING, MARKS};
    use super::*;
    use proptest::prelude::*;

    fn grammar(
        escape: Option<u8>,
        line_sep: Option<&[u8]>,
        multi_line: bool,
        trim_leading: bool,
    ) -> Grammar {
        let escape = escape.map(Mark::from);
        let dialect = Dialect {
            sep: b",".to_vec(),
            quote: Some(b'"'.into()),
            escape,
            escape_escape: escape,
            doubled: escape.is_none(),
            skips_values: false,
            comment: Some(b'#'.into()),
            line_sep: line_sep.map(<[u8]>::to_vec),
            multi_line,
            trim_leading,
        };
        Grammar::new(dialect).expect("the parts do not contradict each other")
    }

    fn contents<'a>(data: &'a [u8], frames: &Frames) -> Vec<&'a [u8]> {
        frames
            .starts
            .iter()
            .zip(&frames.stops)
            .map(|(&start, &stop)| &data[start as usize..stop as usize])
            .collect()
    }

    #[test]
    fn terminators_in_quotes_belong_to_the_record() {
        let data = b"a,\"b\nc\"\r\n\r\n#x\"\n\"d\"\"\n\"e\nf";
        let frames = frame(data, &grammar(None, None, true, false), true);
        assert_eq!(
            contents(data, &frames),
            [&b"a,\"b\nc\""[..], b"\"d\"\"\n\"e", b"f"]
        );
        assert_eq!(frames.next_start, data.len());
    }

    #[test]
    fn without_multi_line_a_record_that_ends_inside_quotes_is_malformed() {
        let data = b"a,\"b\nc\"\n \"x\\\"y\nz";
        let frames = frame(data, &grammar(Some(b'\\'), None, false, true), true);
        assert_eq!(
            contents(data, &frames),
            [&b"a,\"b"[..], b"c\"", b" \"x\\\"y", b"z"]
        );
        assert_eq!(frames.malformed, [0, 2]);
    }

    #[test]
    fn a_carriage_return_is_undecided_while_a_line_feed_may_follow() {
        let rules = grammar(None, None, true, false);
        assert_eq!(frame(b"a\r", &rules, false), Frames::default());
        assert_eq!(
            count(b"a\r", &rules, true),
            Counted {
                records: 1,
                next_start: 2
            }
        );
    }

    #[test]
    fn a_quote_that_never_closes_leaves_its_record_unread() {
        let frames = frame(b"a\n\"b\nc\n", &grammar(None, None, true, false), true);
        assert_eq!((frames.starts.len(), frames.next_start), (1, 2));
    }

    fn quoted(quote: &str, rules: &Grammar) -> Grammar {
        let quote = Mark::new(quote.as_bytes()).ok();
        let dialect = rules.dialect().clone();
        Grammar::new(Dialect { quote, ..dialect }).expect("another quote")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn open_starts_are_those_of_each_line_on_its_own(
            data in prop::collection::vec(prop::sample::select(&b",\"\"\n\n\r# \\ab\xc2\xab"[..]), 0..60),
            quote in prop::sample::select(vec!["\"", "\u{ab}"]),
            escape in prop::sample::select(vec![None, Some(b'\\')]),
            line_sep in prop::sample::select(vec![None, Some(&b"\n"[..]), Some(&b"ab"[..]), Some(&b"aa"[..])]),
            trim_leading in any::<bool>(),
            longest in 0usize..30,
        ) {
            let rules = quoted(quote, &grammar(escape, line_sep, true, trim_leading));
            let found = open_starts(&data, &rules, longest);
            let unquoted = Dialect { quote: None, escape: None, escape_escape: None, doubled: false, comment: None, ..rules.dialect().clone() };
            let unquoted = Grammar::new(unquoted).expect("it has less");
            let mut lines = Machine::<MARKS, LINES>::new(&data, &unquoted, Tail::Open);
            let mut start = 0;
            loop {
                let mut one = Machine::<MARKS, LONG_SPANNING>::new(&data, &rules, Tail::Open);
                let line = lines.line(start, Entry::Line, &mut ());
                let stop_of_line = if let Step::Line { stop, .. } = line { stop } else { data.len() };
                let is_open = match one.line(start, Entry::Line, &mut ()) {
                    Step::Open(Place::Quotes) => Some(true),
                    Step::Open(_) => None, // the record may end there
                    Step::Line { kind, stop, .. } => Some(kind == Kind::Record && stop > stop_of_line && stop - start > longest),
                };
                if let Some(is_open) = is_open {
                    prop_assert_eq!(found.contains(&(start as i64)), is_open, "{} {:?}", start, found);
                }
                let Step::Line { next, .. } = line else { break };
                start = next;
            }
        }

        #[test]
        fn what_is_given_of_a_part_is_given_of_the_whole(
            data in prop::collection::vec(prop::sample::select(&b",\"\"\n\r# \\ab\xc2\xab"[..]), 0..200),
            cut in 0usize..200,
            quote in prop::sample::select(vec!["\"", "\u{ab}"]),
            escape in prop::sample::select(vec![None, Some(b'\\')]),
            line_sep in prop::sample::select(vec![None, Some(&b"\n"[..]), Some(&b"ab"[..])]),
            multi_line in any::<bool>(),
            trim_leading in any::<bool>(),
        ) {
            let rules = quoted(quote, &grammar(escape, line_sep, multi_line, trim_leading));
            let part = frame(&data[..cut.min(data.len())], &rules, false);
            let whole = frame(&data, &rules, true);
            prop_assert!(contents(&data, &whole).starts_with(&contents(&data, &part)));
            let rest = frame(&data[part.next_start..], &rules, true);
            prop_assert_eq!(part.starts.len() + rest.starts.len(), whole.starts.len());
            prop_assert_eq!(count(&data, &rules, true).records, whole.starts.len());
        }
    }
}
