//! Members of objects: which of them are wanted, and where they are.

use super::fill::Part;
use super::scan::{Scanner, Span};
use super::unescape::meant;

/// Most names that are remembered in the order in which records have them.
const MOST_GUESSES: usize = 256;

/// How far ahead of the expected name others are tried: members that a record does not have.
const TRIES: usize = 3;

/// Bytes of a name that are compared at once.
const HEAD: usize = 16;

/// No column has the name.
const NOWHERE: usize = usize::MAX;

/// A name as a record before had it, with its quotes, its colon and the blanks that follow, and what it is.
#[derive(Clone, Copy, Debug)]
struct Guess {
    head: u128, // the first bytes, as many as are compared at once
    mask: u128, // which of those are the name's
    start: usize,
    length: usize,
    slot: usize,
}

impl Guess {
    fn new(written: &[u8], start: usize, slot: usize) -> Guess {
        let (mut head, mut mask) = ([0; HEAD], [0; HEAD]);
        for ((head, mask), &byte) in head.iter_mut().zip(&mut mask).zip(written) {
            (*head, *mask) = (byte, u8::MAX);
        }
        let (head, mask) = (u128::from_le_bytes(head), u128::from_le_bytes(mask));
        Guess {
            head,
            mask,
            start,
            length: written.len(),
            slot,
        }
    }
}

/// An object whose members were found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    epoch: u64, // no text is number 0
    start: usize,
    has_others: bool,
}

/// The names that are wanted, and the members that the last object had of them.
#[derive(Debug, Default)]
pub(crate) struct Names {
    sorted: Vec<(Box<str>, usize)>, // each name once, with its slot
    slots: Vec<usize>,              // of each column the first one of its name, in order
    columns: Vec<usize>,            // of each slot, the last one
    found: Vec<Span>,               // of each slot
    object: Found,                  // whose members these are
    guesses: Vec<Guess>,
    epoch: u64,
    scratch: String,
}

impl Names {
    /// Of columns in order; some may have the same name. Its slot is then the first one.
    pub(crate) fn new<'a>(columns: impl Iterator<Item = &'a str>) -> Names {
        let mut sorted: Vec<(Box<str>, usize)> = Vec::new();
        let mut order: Vec<(&str, usize)> = columns
            .enumerate()
            .map(|(column, name)| (name, column))
            .collect();
        let mut slots = vec![0; order.len()];
        let mut last: Vec<usize> = (0..order.len()).collect();
        order.sort_unstable();
        for (name, column) in order {
            match sorted.last() {
                Some((known, slot)) if known.as_ref() == name => {
                    (slots[column], last[*slot]) = (*slot, column)
                }
                _ => {
                    slots[column] = column;
                    sorted.push((name.into(), column));
                }
            }
        }
        let found = vec![Span::default(); slots.len()];
        Names {
            found,
            sorted,
            slots,
            columns: last,
            ..Names::default()
        }
    }

    /// Where the values of all columns are in the last object, in the order of columns.
    #[inline]
    pub(crate) fn values(&self) -> impl Iterator<Item = &Span> {
        self.slots.iter().filter_map(|&slot| self.found.get(slot))
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

    /// Whether the object at `start` has other members than those that are wanted, if it is the last one that was read.
    pub(crate) fn others_of(&self, start: usize, epoch: u64) -> Option<bool> {
        let Found { has_others, .. } = self.object;
        (self.object.epoch == epoch && self.object.start == start).then_some(has_others)
    }

    /// Find the wanted members of the object that opens at `at`, and check all of it; of a name that comes twice the
    /// last counts. Answers where the object ends, and whether it has other members. The objects among the members are
    /// read in the same way, by the parts of the columns.
    ///
    /// `epoch` is another one whenever `text` is another text.
    pub(crate) fn read(
        &mut self,
        parts: &mut [(String, Part)],
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
        self.object = Found::default();
        self.found.fill(Span::default());
        let bytes = text.as_bytes().get(..limit).unwrap_or_default();
        let (object, mut expected, mut has_others) = (at, 0, false);
        let mut at = scanner.skip_space(bytes, at + 1);
        if bytes.get(at) == Some(&b'}') {
            return Some((self.ends(object, at, false), false));
        }
        loop {
            let (slot, start) = match self.guessed(text.as_bytes(), limit, at, &mut expected) {
                Some((slot, start)) => (slot, scanner.skip_space(bytes, start)),
                None => self.looked_up(scanner, text, bytes, at, &mut expected)?,
            };
            let span = match parts.get_mut(slot) {
                Some((_, part)) => part.scan(scanner, text, limit, start, epoch)?,
                None => scanner.value(bytes, start)?,
            };
            match self.found.get_mut(slot) {
                Some(found) => *found = span,
                None => has_others = true,
            }
            at = scanner.skip_space(bytes, span.stop);
            match bytes.get(at) {
                Some(b',') => at = scanner.skip_space(bytes, at.wrapping_add(1)), // there is a byte at `at`
                Some(b'}') => return Some((self.ends(object, at, has_others), has_others)),
                _ => return scanner.fail(super::causes::Reason::Object, at),
            }
        }
    }

    /// Remember which object was read; answers what follows its bracket at `at`.
    fn ends(&mut self, start: usize, at: usize, has_others: bool) -> usize {
        self.object = Found {
            epoch: self.epoch,
            start,
            has_others,
        };
        at.wrapping_add(1) // there is a byte at `at`
    }

    /// The name at `at`, if it is one of the next ones that records before had: its slot, and what follows its colon.
    #[inline(always)] // in the loop over members
    fn guessed(
        &self,
        text: &[u8],
        limit: usize,
        at: usize,
        expected: &mut usize,
    ) -> Option<(usize, usize)> {
        let next = u128::from_le_bytes(*text.get(at..)?.first_chunk::<HEAD>()?);
        let first = *expected; // at most as many as there are guesses
        for (place, guess) in (first..first.wrapping_add(TRIES)).zip(self.guesses.get(first..)?) {
            let stop = at.wrapping_add(guess.length); // no further than another text like this one
            if (next ^ guess.head) & guess.mask == 0 && stop <= limit {
                if guess.length > HEAD && !is_again(text, guess, at) {
                    continue;
                }
                *expected = place.wrapping_add(1);
                return Some((guess.slot, stop));
            }
        }
        None
    }

    /// The name at `at`, whatever it is: its slot, and where its value begins.
    #[inline(never)]
    fn looked_up(
        &mut self,
        scanner: &mut Scanner,
        text: &str,
        bytes: &[u8],
        at: usize,
        expected: &mut usize,
    ) -> Option<(usize, usize)> {
        let name = scanner.name(bytes, at)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let slot = self
            .slot(meant(text, name, &mut scratch))
            .unwrap_or(NOWHERE);
        self.scratch = scratch;
        let value = scanner.colon(bytes, name.stop)?;
        let written = bytes.get(at..value).unwrap_or_default();
        let is_quoted = match written.first() {
            Some(b'"') => true,
            Some(b'\'') => scanner.in_line, // else framing does not know these quotes, wherever they are met again
            _ => false,
        };
        if is_quoted && written.iter().all(|&byte| byte >= b' ') {
            self.learn(Guess::new(written, at, slot), expected);
        }
        Some((slot, value))
    }

    fn learn(&mut self, guess: Guess, expected: &mut usize) {
        if self.guesses.len() < MOST_GUESSES {
            let place = (*expected).min(self.guesses.len());
            self.guesses.insert(place, guess);
            *expected = place + 1;
        } else if let Some(place) = self.guesses.get_mut(*expected) {
            *place = guess;
            *expected += 1;
        }
    }
}

/// Whether a long name is at `at`.
fn is_again(text: &[u8], guess: &Guess, at: usize) -> bool {
    let known = text
        .get(guess.start..)
        .and_then(|rest| rest.get(..guess.length));
    known.is_some() && text.get(at..).and_then(|rest| rest.get(..guess.length)) == known
}
