//! Which parts XML records have, and which types hold their values: a summary of all records, in one pass.
//!
//! An element without parts is a value, and the text of an element that has some elsewhere. A record that is broken
//! leaves nothing behind.

use std::sync::Arc;

use super::element::Reader;
use super::fill::Reading;
use super::members::{Found, Naming};
use super::tree::{Kind, Part, Reason};
use crate::fit::{Fitter, loses_nanoseconds};
use crate::places::{
    BOOLEAN, DATE, DOUBLE, MANY, MOST_DIGITS, MOST_LEVELS, OBJECT, Places, ROOT, Seen, Summarise,
    TEXT, TIMESTAMP,
};
use crate::rules::Rules;
use crate::value::{int, loses_digits, outgrows_double, without_space};
use crate::windows::{Sink, push_framed};

/// How types are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Fractions are decimals.
    pub prefers_decimal: bool,
    /// Dates are tried before moments.
    pub prefer_date: bool,
}

/// The parts of records and the types of their values.
#[derive(Debug)]
pub struct Summary {
    places: Places,
    reader: Reader,
    naming: Arc<Naming>,
    types: Types,
    scratch: String,
    objects: u64,
    has_others: bool,
    records: usize,
    undecided: Vec<usize>,
}

/// Finds the types of values.
#[derive(Debug)]
struct Types {
    wanted: Wanted,
    null_value: Option<String>,
    fitter: Fitter,
}

impl Summary {
    /// Of no records; an error says what is wrong with a pattern.
    ///
    /// # Errors
    /// If a pattern is not supported.
    pub fn new(naming: Naming, rules: &Rules, wanted: Wanted) -> Result<Summary, String> {
        Ok(Summary {
            places: Places::new(),
            reader: Reader::new(naming.ignore_namespace),
            types: Types {
                wanted,
                null_value: naming.null_value.clone(),
                fitter: Fitter::new(rules)?,
            },
            naming: Arc::new(naming),
            scratch: String::new(),
            objects: 0,
            has_others: false,
            records: 0,
            undecided: Vec::new(),
        })
    }

    /// Take the element that was read; `None` if only the reference engine can tell the type of a value.
    fn take_element(&mut self, text: &str) -> Option<()> {
        let mut parts = std::mem::take(&mut self.reader.parts);
        let naming = self.naming.clone();
        let reading = Reading::new(text, &mut parts, &naming, None);
        let taken = self.element(ROOT, &reading, 0, 0);
        self.reader.parts = parts;
        taken
    }

    /// Take the parts of an element: attributes, texts, and then other elements. It recurses as deep as types may be
    /// nested.
    fn element(
        &mut self,
        place: usize,
        reading: &Reading<'_>,
        element: usize,
        level: usize,
    ) -> Option<()> {
        self.objects += 1;
        let (object, mut expected) = (self.objects, 0);
        let stop = reading.part(element).next;
        let mut first = element + 1;
        while first < stop && reading.part(first).kind == Kind::Attribute {
            if !self.naming.exclude_attribute {
                self.attribute(place, reading, first, stop, object, &mut expected)?;
            }
            first += 1;
        }
        let mut at = first;
        while at < stop {
            let part = reading.part(at);
            if part.kind != Kind::Element && !part.goes_on && reading.says_something(at) {
                let name = &self.naming.value_tag;
                if let Some(member) = self.places.member(place, name, &mut expected) {
                    self.note(member, object);
                    self.text(member, reading, at)?;
                }
            }
            at = part.next;
        }
        let mut at = first;
        while at < stop {
            let part = *reading.part(at);
            if part.kind == Kind::Element {
                let name = reading.name(&part);
                if let Some(member) = self.places.member(place, name, &mut expected) {
                    self.note(member, object);
                    self.child(member, reading, at, &part, level)?;
                }
            }
            at = part.next;
        }
        Some(())
    }

    /// Of attributes that have one name without their prefixes the last one counts.
    fn attribute(
        &mut self,
        place: usize,
        reading: &Reading<'_>,
        at: usize,
        stop: usize,
        object: u64,
        expected: &mut usize,
    ) -> Option<()> {
        let own = reading.name(reading.part(at));
        self.scratch.clear();
        self.scratch.push_str(&self.naming.attribute_prefix);
        self.scratch.push_str(own);
        let Some(member) = self.places.member(place, &self.scratch, expected) else {
            return Some(());
        };
        let is_hidden = self.naming.ignore_namespace
            && (at + 1..stop)
                .map(|later| reading.part(later))
                .take_while(|later| later.kind == Kind::Attribute)
                .any(|later| reading.name(later) == own);
        if is_hidden {
            return Some(());
        }
        self.note(member, object);
        self.text(member, reading, at)
    }

    /// Note that an object has a part of this name; it may have several.
    #[inline]
    fn note(&mut self, member: usize, object: u64) {
        if self.places.is_again(member, object) {
            self.places.see(member, Seen::of(MANY));
        }
    }

    fn child(
        &mut self,
        place: usize,
        reading: &Reading<'_>,
        at: usize,
        part: &Part,
        level: usize,
    ) -> Option<()> {
        if part.has_children || part.has_attributes && !self.naming.exclude_attribute {
            if level > MOST_LEVELS {
                self.see_scalar(place, Seen::of(TEXT));
                return Some(());
            }
            self.places
                .see_object_with_text(place, &self.naming.value_tag);
            return self.element(place, reading, at, level + 1);
        }
        match reading.only_text(at) {
            Some(text) => self.scalar(place, text),
            None => {
                let text = reading.texts(at);
                self.scalar(place, &text)
            }
        }
    }

    /// Take the value of an attribute, or a text with what goes on with it.
    fn text(&mut self, place: usize, reading: &Reading<'_>, at: usize) -> Option<()> {
        match reading.plain(at) {
            Some(text) => self.scalar(place, text),
            None => {
                let text = reading.joined(Found::one(at, true));
                self.scalar(place, &text)
            }
        }
    }

    #[inline]
    fn scalar(&mut self, place: usize, text: &str) -> Option<()> {
        if let Some(seen) = self.types.of(without_space(text)) {
            self.see_scalar(place, seen);
        }
        Some(())
    }

    /// A value where elements have parts is their text.
    fn see_scalar(&mut self, place: usize, seen: Seen) {
        let mut place = place;
        while self.places.seen(place).kinds & OBJECT != 0 {
            let text = &self.naming.value_tag;
            match self.places.member(place, text, &mut 0) {
                Some(member) => place = member,
                None => return,
            }
        }
        self.places.see(place, seen);
    }
}

impl Types {
    /// The kind of a value; none of one that is null.
    fn of(&mut self, written: &str) -> Option<Seen> {
        let last = written.bytes().last()?;
        if self.null_value.as_deref() == Some(written) {
            return None;
        }
        let unsigned = written.strip_prefix(['+', '-']).unwrap_or(written);
        // a leading zero is lost in any number
        let is_number = !(matches!(unsigned.as_bytes(), [b'0', b'0'..=b'9', ..])
            || written.starts_with('+') && loses_digits(written)
            || self.fitter.loses_point(written));
        if is_number && let Some(number) = self.exact(written, unsigned) {
            return Some(number);
        }
        if written.eq_ignore_ascii_case("true") || written.eq_ignore_ascii_case("false") {
            return Some(Seen::of(BOOLEAN));
        }
        let is_number =
            is_number && !matches!(last, b'd' | b'D' | b'f' | b'F') && !outgrows_double(written);
        if is_number && self.fitter.is_double(written) {
            return Some(Seen::of(DOUBLE));
        }
        Some(self.time(written))
    }

    /// Whole numbers, and decimals where those are wanted.
    fn exact(&self, written: &str, unsigned: &str) -> Option<Seen> {
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if unsigned.is_empty() || !are_digits(whole) || !are_digits(fraction) {
            return None;
        }
        let digits = whole.trim_start_matches('0').len();
        if whole.len() == unsigned.len() {
            return match int::parse::<i64>(written) {
                _ if digits > MOST_DIGITS => None,
                None => Some(Seen::wide(digits)),
                Some(value) => Some(Seen::long(value)),
            };
        }
        let is_wanted = self.wanted.prefers_decimal && !fraction.is_empty();
        (is_wanted && digits + fraction.len() <= MOST_DIGITS)
            .then(|| Seen::decimal(digits, fraction.len()))
    }

    /// Dates, moments and texts.
    fn time(&mut self, written: &str) -> Seen {
        const DATE_CHARACTERS: usize = 10;
        let (has_dates, has_moments) = self.fitter.has_patterns();
        if has_dates || has_moments || is_dated(written) {
            let may_be_date = has_dates || written.chars().nth(DATE_CHARACTERS).is_none();
            if may_be_date && self.wanted.prefer_date && self.fitter.is_date(written) {
                return Seen::of(DATE);
            }
            let loses = !has_moments && loses_nanoseconds(written);
            if !loses && self.fitter.is_moment(written) {
                return Seen::of(TIMESTAMP);
            }
        }
        Seen::of(TEXT)
    }
}

/// Whether a text begins with a date.
fn is_dated(text: &str) -> bool {
    let Some(date) = text.as_bytes().first_chunk::<10>() else {
        return false;
    };
    date.iter().enumerate().all(|(index, byte)| match index {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

impl Sink for Summary {
    fn enter(&mut self) {}

    fn push(&mut self, text: &str, start: usize, stop: usize) {
        let record = text.get(..stop).unwrap_or_default();
        let is_undecided = match self.reader.read(record, start) {
            Some(end) if end == stop => self.take_element(record).is_none(),
            Some(_) => true, // something follows
            None => {
                self.has_others |= self.reader.wrong.reason != Reason::Unsure;
                self.reader.wrong.reason == Reason::Unsure
            }
        };
        if is_undecided {
            self.places.undo();
            self.undecided.push(self.records);
        }
        self.places.keep();
        self.records += 1;
    }
}

impl Summarise for Summary {
    fn places(&self) -> &Places {
        &self.places
    }

    fn has_others(&self) -> bool {
        self.has_others
    }

    fn take(&mut self, data: &[u8], starts: &[i64], stops: &[i64]) -> Result<Vec<usize>, String> {
        self.records = 0;
        push_framed(self, data, starts, stops, |_, _| true)?;
        Ok(std::mem::take(&mut self.undecided))
    }
}
