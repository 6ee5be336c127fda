//! Members of objects: which of them are wanted, and where they are.

use super::scan::{Scanner, Span, skip_space};
use super::unescape::meant;

/// Most names that are remembered in the order in which records have them.
const MOST_GUESSES: usize = 256;

/// How far ahead of the expected name others are tried: members that a record does not have.
const TRIES: usize = 3;

/// A name as a record before had it, with its quotes, and what it is.
#[derive(Clone, Copy, Debug)]
struct Guess {
    start: usize,
    stop: usize,
    slot: Option<usize>,
}

/// The names that are wanted, and the members that the last object had of them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    sorted: Vec<(Box<str>, usize)>, // each name once, with its slot
    slots: Vec<usize>,              // of each column, in order
    columns: Vec<usize>,            // of each slot, the last one
    found: Vec<Span>,               // of each slot
    guesses: Vec<Guess>,
    epoch: u64,
    scratch: String,
}

impl Names {
    /// Of columns in order; some may have the same name.
    pub(crate) fn new<'a>(columns: impl Iterator<Item = &'a str> + Clone) -> Names {
        let mut unique: Vec<&str> = columns.clone().collect();
        unique.sort_unstable();
        unique.dedup();
        let slot = |name: &str| unique.binary_search(&name).unwrap_or_default();
        let slots: Vec<usize> = columns.map(slot).collect();
        let mut last = vec![0; unique.len()];
        slots
            .iter()
            .enumerate()
            .for_each(|(column, &slot)| last[slot] = column);
        let sorted = unique
            .iter()
            .enumerate()
            .map(|(slot, &name)| (name.into(), slot))
            .collect();
        Names {
            found: vec![Span::default(); unique.len()],
            sorted,
            slots,
            columns: last,
            ..Names::default()
        }
    }

    /// Where the value of a column is in the last object.
    #[inline]
    pub(crate) fn value(&self, column: usize) -> Span {
        self.slots
            .get(column)
            .and_then(|&slot| self.found.get(slot))
            .copied()
            .unwrap_or_default()
    }

    /// The column that has a name; of several the last one.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.slot(name)
            .and_then(|slot| self.columns.get(slot))
            .copied()
    }

    fn slot(&self, name: &str) -> Option<usize> {
        let at = self
            .sorted
            .binary_search_by(|(each, _)| each.as_ref().cmp(name))
            .ok()?;
        self.sorted.get(at).map(|&(_, slot)| slot)
    }

    /// Find the wanted members of the object that opens at `at`, and check all of it; of a name that comes twice the
    /// last counts. Answers where the object ends, and whether it has other members.
    ///
    /// `epoch` is another one whenever `text` is another text.
    pub(crate) fn read(
        &mut self,
        scanner: &mut Scanner,
        text: &str,
        limit: usize,
        at: usize,
        epoch: u64,
    ) -> Option<(usize, bool)> {
        if self.epoch != epoch {
            self.guesses.clear();
            self.epoch = epoch;
        }
        self.found.fill(Span::default());
        let bytes = text.as_bytes().get(..limit).unwrap_or_default();
        let (mut expected, mut has_others) = (0, false);
        let mut at = skip_space(bytes, at + 1);
        if bytes.get(at) == Some(&b'}') {
            return Some((at + 1, false));
        }
        loop {
            let (slot, stop) = match self.guessed(bytes, at, &mut expected) {
                Some(found) => found,
                None => self.looked_up(scanner, text, bytes, at, &mut expected)?,
            };
            let start = scanner.colon(bytes, stop)?;
            let span = scanner.value(bytes, start)?;
            match slot.and_then(|slot| self.found.get_mut(slot)) {
                Some(found) => *found = span,
                None => has_others = true,
            }
            at = skip_space(bytes, span.stop);
            match bytes.get(at) {
                Some(b',') => at = skip_space(bytes, at + 1),
                Some(b'}') => return Some((at + 1, has_others)),
                _ => return scanner.fail(super::dialect::Reason::Object, at),
            }
        }
    }

    /// The name at `at`, if it is one of the next ones that records before had: its slot, and where it stops.
    #[inline]
    fn guessed(
        &self,
        bytes: &[u8],
        at: usize,
        expected: &mut usize,
    ) -> Option<(Option<usize>, usize)> {
        let rest = bytes.get(at..)?;
        for (ahead, guess) in self
            .guesses
            .get(*expected..)?
            .iter()
            .take(TRIES)
            .enumerate()
        {
            if rest.starts_with(bytes.get(guess.start..guess.stop)?) {
                *expected += ahead + 1;
                return Some((guess.slot, at + guess.stop - guess.start));
            }
        }
        None
    }

    #[inline(never)]
    fn looked_up(
        &mut self,
        scanner: &mut Scanner,
        text: &str,
        bytes: &[u8],
        at: usize,
        expected: &mut usize,
    ) -> Option<(Option<usize>, usize)> {
        let name = scanner.name(bytes, at)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let slot = self.slot(meant(text, name, &mut scratch));
        self.scratch = scratch;
        let written = bytes.get(name.start..name.stop).unwrap_or_default();
        if written.first() == Some(&b'"') && written.iter().all(|&byte| byte >= b' ') {
            let guess = Guess {
                start: name.start,
                stop: name.stop,
                slot,
            };
            if self.guesses.len() < MOST_GUESSES {
                let place = (*expected).min(self.guesses.len());
                self.guesses.insert(place, guess);
                *expected = place + 1;
            } else if let Some(place) = self.guesses.get_mut(*expected) {
                *place = guess;
                *expected += 1;
            }
        }
        Some((slot, name.stop))
    }
}
