//! What a piece of a file does to a reader that enters it in any state.
//!
//! There is one walker for each state. The walker that is behind takes the next line; walkers that meet at a line start
//! go on as one. As they meet soon in ordinary data, a summary costs little more than one reading.

use super::grammar::{BLANKS, CR, Grammar, LAST_BLANK, LF};
use super::leap::{Leap, Leaper};
use super::machine::{Edge, Machine, RUNS, with_machine};
use super::steps::{Entry, Kind, Place, Step, Tail};
use crate::bits::Marks;
use crate::frames::Run;

/// Outside quotes, or where a record starts: a state of summaries.
const BETWEEN: i64 = 0;
/// Inside quotes.
const QUOTED: i64 = 1;
/// In a comment.
const COMMENT: i64 = 2;

/// Summarise `data`, which lies between two safe cuts, for each state that a reader may enter it in.
///
/// `before` is some bytes right before it, none where the records of the file begin; `mark` is the position from which
/// on a record start is asked for. `None` instead of a run means that `before` does not tell whether a field begins.
pub fn summarise(data: &[u8], grammar: &Grammar, before: &[u8], mark: usize) -> Vec<Option<Run>> {
    with_machine!(
        grammar,
        OUTSIDE,
        INSIDE,
        Walk::<OUTSIDE, INSIDE>::new(data, grammar, mark).run(before)
    )
}

/// What was found for one state at the start.
#[derive(Clone, Copy, Default)]
struct Found {
    first: Option<usize>,
    last: Option<usize>,
    marked: Option<usize>,
    records: usize,
}

/// A reader in the data, for all states at the start (numbers of `Walk::found`) that have led it where it is.
struct Walker {
    states: Vec<usize>,
    at: usize,
    entry: Entry,
}

struct Walk<'a, const OUTSIDE: usize, const INSIDE: usize> {
    data: &'a [u8],
    grammar: &'a Grammar,
    mark: usize,
    found: Vec<Found>,
    ends: Vec<Option<i64>>,
    leaper: Option<Leaper>,
}

impl<'a, const OUTSIDE: usize, const INSIDE: usize> Walk<'a, OUTSIDE, INSIDE> {
    fn new(data: &'a [u8], grammar: &'a Grammar, mark: usize) -> Self {
        let states = if grammar.dialect().comment.is_some() {
            3
        } else {
            2
        };
        Walk {
            data,
            grammar,
            mark,
            found: vec![Found::default(); states],
            ends: vec![None; states],
            leaper: Leaper::new(grammar),
        }
    }

    fn run(mut self, before: &[u8]) -> Vec<Option<Run>> {
        let entries = [
            self.entry_outside(before),
            Some(Entry::Quoted),
            Some(Entry::Comment),
        ];
        let mut walkers: Vec<(Walker, Machine<'a, OUTSIDE, INSIDE>)> = entries
            .into_iter()
            .take(self.found.len())
            .enumerate()
            .filter_map(|(state, entry)| {
                Some(Walker {
                    states: vec![state],
                    at: 0,
                    entry: entry?,
                })
            })
            .map(|walker| (walker, Machine::new(self.data, self.grammar, Tail::Open)))
            .collect();
        while let Some((mut walker, mut machine)) = take_hindmost(&mut walkers) {
            let limit = walkers
                .iter()
                .map(|(other, _)| other.at)
                .min()
                .unwrap_or(usize::MAX);
            let mut is_open = false;
            while !is_open && walker.at <= limit {
                self.leap(&mut walker, limit);
                is_open = !self.advance(&mut walker, &mut machine);
                if let Some((other, _)) = walkers
                    .iter_mut()
                    .find(|(other, _)| other.is_at(&walker) && !is_open)
                {
                    other.states.append(&mut walker.states);
                    is_open = true; // the other one goes on for both
                }
            }
            if !is_open {
                walkers.push((walker, machine));
            }
        }
        self.found
            .iter()
            .zip(&self.ends)
            .map(|(found, end)| Some(found.run((*end)?)))
            .collect()
    }

    /// Take as many lines as can be passed at once before `limit`.
    fn leap(&mut self, walker: &mut Walker, limit: usize) {
        let (Entry::Line, Some(leaper)) = (walker.entry, self.leaper) else {
            return;
        };
        let leap = leaper.leap(self.data, walker.at, limit, self.mark);
        for &state in &walker.states {
            self.found[state].leap(&leap);
        }
        walker.at = leap.next;
    }

    /// Take one line; false at the end of the data.
    fn advance(&mut self, walker: &mut Walker, machine: &mut Machine<'a, OUTSIDE, INSIDE>) -> bool {
        let begins_here = walker.entry == Entry::Line;
        match machine.line(walker.at, walker.entry, &mut ()) {
            Step::Line { kind, next, .. } => {
                let is_record = begins_here && matches!(kind, Kind::Record | Kind::Malformed);
                for &state in &walker.states {
                    self.found[state].pass(next, self.mark, is_record);
                }
                (walker.at, walker.entry) = (next, Entry::Line);
                true
            }
            Step::Open(place) => {
                let is_record = begins_here && !matches!(place, Place::Comment | Place::Gap);
                for &state in &walker.states {
                    self.found[state].records += usize::from(is_record);
                    self.ends[state] = Some(match place {
                        Place::Outside | Place::Gap => BETWEEN,
                        Place::Quotes => QUOTED,
                        Place::Comment => COMMENT,
                    });
                }
                false
            }
        }
    }

    /// How a reader that is outside quotes enters the data; `None` where that cannot be told.
    ///
    /// It is told by the delimiters and blanks right before the data. Where no other byte is seen before those, they
    /// may begin anywhere, which matters if they have several bytes.
    fn entry_outside(&self, before: &[u8]) -> Option<Entry> {
        if before.is_empty() {
            return Some(Entry::Line);
        }
        if OUTSIDE == RUNS && before.last().is_some_and(|byte| BLANKS.contains(byte)) {
            return None; // the record may begin with some
        }
        let dialect = self.grammar.dialect();
        let line_ends = dialect.line_sep.as_deref().unwrap_or(&[LF, CR]);
        let is_ordinary = |&byte: &u8| {
            !(self.grammar.separates(byte)
                || line_ends.contains(&byte)
                || dialect.trim_leading && byte <= LAST_BLANK)
        };
        let ordinary = before.iter().rposition(is_ordinary);
        let tail = before
            .get(ordinary.map_or(0, |at| at + 1)..)
            .unwrap_or_default();
        let (at, seen) = self.last_edge(tail);
        let rest = tail.get(at..).unwrap_or_default();
        if dialect.line_sep.is_none() && rest.last() == Some(&CR) {
            return None; // a line feed may belong to it
        }
        let entry = match seen {
            Some(entry) if rest.is_empty() => entry,
            Some(_) if rest.iter().all(|&byte| byte <= LAST_BLANK) => Entry::Field,
            _ => Entry::Plain,
        };
        let short = (OUTSIDE == RUNS || dialect.sep.len() == 1)
            && dialect
                .line_sep
                .as_ref()
                .is_none_or(|line_sep| line_sep.len() == 1);
        let is_certain = ordinary.is_some() || (short && seen.is_some()) || !self.begins_quoted();
        is_certain.then_some(entry)
    }

    /// The end of the last delimiter in bytes outside quotes, and what begins there.
    fn last_edge(&self, tail: &[u8]) -> (usize, Option<Entry>) {
        let machine = Machine::<OUTSIDE, INSIDE>::new(tail, self.grammar, Tail::Open);
        let mut marks = Marks::NONE;
        let (mut at, mut seen) = (0, None);
        loop {
            (at, seen) = match machine.edge(at, &mut marks) {
                Edge::Separator { next, .. } => (next, Some(Entry::Field)),
                Edge::Line { next, .. } => (next, Some(Entry::Line)),
                Edge::Open => return (at, seen),
            };
        }
    }

    /// Whether the data would begin with a quoted field, if a field began there.
    fn begins_quoted(&self) -> bool {
        Machine::<OUTSIDE, INSIDE>::new(self.data, self.grammar, Tail::Open)
            .opening(0)
            .is_some()
    }
}

/// The walker that has come least far.
fn take_hindmost<M>(walkers: &mut Vec<(Walker, M)>) -> Option<(Walker, M)> {
    let number = (0..walkers.len()).min_by_key(|&number| walkers[number].0.at)?;
    Some(walkers.swap_remove(number))
}

impl Walker {
    /// Whether this one and the other read on from the same line start.
    fn is_at(&self, other: &Walker) -> bool {
        self.at == other.at && self.entry == Entry::Line && other.entry == Entry::Line
    }
}

impl Found {
    /// A line ended before `next`.
    fn pass(&mut self, next: usize, mark: usize, is_record: bool) {
        self.first = self.first.or(Some(next));
        self.last = Some(next);
        if self.marked.is_none() && next >= mark {
            self.marked = Some(next);
        }
        self.records += usize::from(is_record);
    }

    /// Lines were passed; no line start is one that was there before.
    fn leap(&mut self, leap: &Leap) {
        if leap.first.is_some() {
            self.first = self.first.or(leap.first);
            self.last = Some(leap.next);
            self.marked = self.marked.or(leap.marked);
            self.records += leap.records;
        }
    }

    fn run(&self, state: i64) -> Run {
        Run {
            state,
            first: self.first,
            last: self.last,
            marked: self.marked,
            records: Some(self.records),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::grammar::{Dialect, Mark};
    use super::super::machine::{LINES, MARKS, SPANNING};
    use super::*;
    use crate::bits::BLOCK;
    use crate::csv::{count, frame};
    use proptest::prelude::*;

    /// What a careful writer writes, with up to three other things somewhere in it.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let orderly = prop::sample::select(vec![
            "ab",
            "1234567890123456789",
            "\"a,b\"",
            "\"a\nb\"",
            "\"\"",
            "\"a\"\"b\"",
            "\"x\r\ny\"",
            "\n",
            "\r\n",
        ]);
        let odd = prop::sample::select(vec![
            "\"", "\"\"", "a\"", "\r", "#", " ", "\\", "\\\"", "a\n", "\n\n",
        ]);
        let line = prop::collection::vec(orderly, 0..100);
        let others = prop::collection::vec((any::<prop::sample::Index>(), odd), 0..4);
        (line, others).prop_map(|(line, others)| {
            let mut text = line.join(",").replace("\n,", "\n");
            for (index, odd) in others {
                text.insert_str(index.index(text.len() + 1), odd);
            }
            text.into_bytes()
        })
    }

    fn grammars() -> impl Strategy<Value = Grammar> {
        (
            prop::sample::select(vec![None, Some(b'"')]),
            prop::sample::select(vec![None, Some(b'\\')]),
            prop::sample::select(vec![None, Some(b'#')]),
            prop::sample::select(vec![None, Some(b"\n".to_vec()), Some(b"\r\n".to_vec())]),
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(
                |(quote, escape, comment, line_sep, multi_line, trim_leading)| {
                    grammar(quote, escape, comment, line_sep, multi_line, trim_leading)
                },
            )
    }

    fn grammar(
        quote: Option<u8>,
        escape: Option<u8>,
        comment: Option<u8>,
        line_sep: Option<Vec<u8>>,
        multi_line: bool,
        trim_leading: bool,
    ) -> Grammar {
        let [quote, escape, comment] = [quote, escape, comment].map(|byte| byte.map(Mark::from));
        let escape = escape.filter(|_| quote.is_some());
        let dialect = Dialect {
            sep: b",".to_vec(),
            quote,
            escape,
            escape_escape: escape,
            doubled: quote.is_some() && escape.is_none(),
            skips_values: false,
            comment,
            line_sep,
            multi_line,
            trim_leading,
        };
        Grammar::new(dialect).expect("the parts do not contradict each other")
    }

    fn summarised<const INSIDE: usize>(
        data: &[u8],
        grammar: &Grammar,
        before: &[u8],
        mark: usize,
        leaps: bool,
    ) -> Vec<Option<Run>> {
        let mut walk = Walk::<MARKS, INSIDE>::new(data, grammar, mark);
        walk.leaper = walk.leaper.filter(|_| leaps);
        walk.run(before)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn leaps_change_no_summary(
            data in pieces(),
            grammar in grammars(),
            before in prop::sample::select(vec![&b""[..], b"a", b"\n", b"a,", b"\"", b"a\r"]),
            mark in 0usize..700,
        ) {
            let [with, without] = [true, false].map(|leaps| match grammar.spans_lines() {
                true => summarised::<SPANNING>(&data, &grammar, before, mark, leaps),
                false => summarised::<LINES>(&data, &grammar, before, mark, leaps),
            });
            prop_assert_eq!(with, without);
        }

        #[test]
        fn leaps_change_no_count(data in pieces(), grammar in grammars(), at_end: bool) {
            let (counted, frames) = (count(&data, &grammar, at_end), frame(&data, &grammar, at_end));
            prop_assert_eq!((counted.records, counted.next_start), (frames.starts.len(), frames.next_start));
        }
    }

    /// The same with what is odd at every place of a block, and at every edge between two.
    #[test]
    fn leaps_change_nothing_wherever_a_block_ends() {
        let odd = [
            "\"b,\"c\nd~\"\ne\n",
            ",\"b\"\"c\nd\"\ne\n",
            ",\"\"\"b\nc\"\nd\n",
            "\rb\nc\n",
            "\n\rb\n\n",
            "\n\n#\"\nb\n",
            ",\"\\\"\n\"\nb\n",
            ",\"b\"c\n\"d\ne\"\n",
        ];
        let shifted = odd
            .iter()
            .flat_map(|odd| (0..2 * BLOCK + 2).map(move |length| (odd, length)));
        for (odd, length) in shifted {
            let odd = odd.replace('~', &"c".repeat(2 * BLOCK));
            let data = format!("x\n{}{odd}{}", "a".repeat(length), ",b\n".repeat(50)).into_bytes();
            for (escape, comment, multi_line) in [
                (None, None, true),
                (Some(b'\\'), Some(b'#'), true),
                (None, None, false),
            ] {
                let grammar = grammar(Some(b'"'), escape, comment, None, multi_line, false);
                let [with, without] = [true, false].map(|leaps| match multi_line {
                    true => summarised::<SPANNING>(&data, &grammar, b"", 100, leaps),
                    false => summarised::<LINES>(&data, &grammar, b"", 100, leaps),
                });
                assert_eq!(with, without, "{odd:?} at {length}");
            }
        }
    }
}
