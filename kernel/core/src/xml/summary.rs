//! What a piece of a file does to the framer, whatever precedes it.

use super::grammar::{Kind, PLACES, Place, RowTag};
use super::scan::Scanner;
use crate::frames::Run;

/// Row tags inside each other for which summaries have answers.
const DEEPEST: usize = 2;

/// No summary has an answer for it.
const UNKNOWN_STATE: i64 = -1;

/// Units of the beginning of what ends a comment and the like.
const MOST_BEFORE: usize = 4;

/// One run for each place and depth; nothing where only reading can tell.
///
/// # Arguments
/// * `data` - the piece.
/// * `before` - what precedes it.
/// * `mark` - the position, relative to the piece, from which on the first record start is noted.
pub fn summarise(data: &[u8], before: &[u8], mark: i64, tag: &RowTag) -> Vec<Option<Run>> {
    let width = tag.width();
    let symbols = tag.symbols(data);
    let known = before.len().saturating_sub(MOST_BEFORE * width);
    let before = tag.symbols(before.get(known..).unwrap_or_default());
    let mut main = Scanner::new(tag, &symbols, 0);
    main.run(0);
    let mut piece = Piece {
        tag,
        data: &symbols,
        before: &before,
        mark: mark.div_euclid(width as i64) + i64::from(mark.rem_euclid(width as i64) != 0),
        main,
        known: Vec::new(),
    };
    let states = (0..=DEEPEST).flat_map(|depth| PLACES.map(|place| (place, depth)));
    states
        .map(|(place, depth)| piece.run(place, depth).map(|run| in_bytes(run, width)))
        .collect()
}

fn has_answer(place: Place, depth: usize) -> bool {
    let needs_record = matches!(place, Place::Closing | Place::Tag(Kind::Row, _));
    depth <= DEEPEST && (depth > 0 || !needs_record) // outside, where such a tag begins is no longer known
}

/// The number of the place and depth that a scanner has come to; 0 is outside of everything.
fn state_of(scanner: &Scanner<'_>) -> i64 {
    let place = scanner
        .place
        .filter(|place| has_answer(*place, scanner.depth));
    let number = place.and_then(|place| PLACES.iter().position(|each| *each == place));
    number.map_or(UNKNOWN_STATE, |number| {
        (number + PLACES.len() * scanner.depth) as i64
    })
}

/// The way through a piece from outside of everything; every other way ends where it meets that one.
struct Piece<'a> {
    tag: &'a RowTag,
    data: &'a [u8],
    before: &'a [u8],
    mark: i64,
    main: Scanner<'a>,
    known: Vec<((usize, usize), Option<Run>)>, // of row tags, and how many are open there
}

impl Piece<'_> {
    /// What the piece does to a parser in one place.
    fn run(&mut self, place: Place, depth: usize) -> Option<Run> {
        if !has_answer(place, depth) {
            return None;
        }
        let mut scanner = Scanner::new(self.tag, self.data, depth);
        let Some(at) = scanner.leave(place, 0, self.before) else {
            return self.joined(&scanner, &scanner.starts, self.main.starts.len());
        };
        if scanner.depth == 0 {
            return self.finished(scanner, at);
        }
        let Some(row) = scanner.first(at) else {
            return self.joined(&scanner, &scanner.starts, self.main.starts.len());
        };
        let key = (row, scanner.depth); // before it, inside of a record, nothing begins
        if let Some((_, known)) = self.known.iter().find(|(each, _)| *each == key) {
            return *known;
        }
        let run = self.finished(scanner, row);
        self.known.push((key, run));
        run
    }

    /// What a way does that is outside of all marks at `at`.
    fn finished(&self, mut scanner: Scanner<'_>, at: usize) -> Option<Run> {
        let stops = &self.main.stops;
        let met = |position: usize| stops.binary_search(&(position as i64)).ok();
        let position = match met(at) {
            Some(_) if scanner.depth == 0 => Some(at),
            _ => scanner.run_until(at, |after| met(after).is_some()),
        };
        match position.and_then(met) {
            Some(begun) => self.joined(&self.main, &scanner.starts, begun + 1),
            None => self.joined(&scanner, &scanner.starts, self.main.starts.len()),
        }
    }

    /// The records that one way has, and those of the main one but for the first `begun`.
    fn joined(&self, end: &Scanner<'_>, own: &[i64], begun: usize) -> Option<Run> {
        if end.place == Some(Place::Closing) && end.depth == 0 {
            return None; // a record begins with this tag if nothing but white space follows in it
        }
        let main = self.main.starts.get(begun..).unwrap_or_default();
        let from_mark = |starts: &[i64]| {
            let place = starts.partition_point(|&start| start < self.mark);
            starts.get(place).copied()
        };
        let position = |start: Option<i64>| start.map(|start| start as usize); // in the piece
        let (first, last) = (own.first().or(main.first()), main.last().or(own.last()));
        Some(Run {
            state: state_of(end),
            first: position(first.copied()),
            last: position(last.copied()),
            marked: position(from_mark(own).or_else(|| from_mark(main))),
            records: Some(own.len() + main.len()),
        })
    }
}

fn in_bytes(run: Run, width: usize) -> Run {
    let bytes = |position: Option<usize>| position.map(|position| position * width);
    Run {
        first: bytes(run.first),
        last: bytes(run.last),
        marked: bytes(run.marked),
        ..run
    }
}
