//! Which members JSON records have, and which types hold their values: a summary of all records, in one pass.
//!
//! What was seen at a place is a union of kinds, so no order and no cut matters; types follow from it at the end. A
//! record that is broken leaves nothing behind.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};

use super::dialect::{Dialect, Reason};
use super::scan::{Kind, Scanner, Span};
use super::unescape::meant;
use crate::frames::Frames;
use crate::windows::{Sink, push_framed};

/// Objects and arrays inside each other; what is nested deeper is text.
const MOST_LEVELS: usize = 50;

/// Places that are kept: some more than the members that records may have, at all levels together.
pub const MOST_PLACES: usize = 200_000;

const MOST_DIGITS: usize = 38; // of a decimal
const LONG_DIGITS: u8 = 20; // of a whole number among decimals, as Spark counts

/// How far ahead of the expected name others are tried: members that a record does not have.
const TRIES: usize = 3;

/// Bits of kinds of values.
const TEXT: u8 = 1;
const BOOLEAN: u8 = 1 << 1;
const LONG: u8 = 1 << 2;
const DECIMAL: u8 = 1 << 3;
const DOUBLE: u8 = 1 << 4;
const OBJECT: u8 = 1 << 5;
const ARRAY: u8 = 1 << 6;
const NUMBER: u8 = LONG | DECIMAL | DOUBLE;

const ROOT: usize = 0;

/// How types are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Numbers and booleans are texts.
    pub primitives_as_string: bool,
    /// Fractions are decimals.
    pub prefers_decimal: bool,
}

/// What was seen at one place: nothing but nulls, or values of any kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    kinds: u8,
    whole: u8, // most digits of decimals before the point
    scale: u8, // and after it
}

/// A place: the records, a member, or the items of an array.
#[derive(Debug, Default)]
struct Place {
    seen: Seen,
    name: Box<str>,
    is_written: bool,    // whether the name stands in quotes just as it is meant
    members: Vec<usize>, // places, in the order in which they were first seen
    by_name: HashMap<Box<str>, usize>, // positions in `members`
    items: Option<usize>,
}

/// What a record has changed, so that it can be undone.
#[derive(Debug)]
enum Change {
    Seen(usize, Seen),
    Member(usize),
    Items(usize),
}

/// The members of records and the types of their values.
pub struct Summary {
    places: Vec<Place>,
    changes: Vec<Change>,
    scanner: Scanner,
    wanted: Wanted,
    scratch: String,
    has_others: bool,
    is_full: bool,
    records: usize,
    undecided: Vec<usize>,
}

impl Summary {
    /// Of no records.
    pub fn new(dialect: Dialect, wanted: Wanted) -> Summary {
        Summary {
            places: vec![Place::default()],
            changes: Vec::new(),
            scanner: Scanner::new(dialect),
            wanted,
            scratch: String::new(),
            has_others: false,
            is_full: false,
            records: 0,
            undecided: Vec::new(),
        }
    }

    /// Take records whose contents are known. Answers which of them only the reference engine can read.
    ///
    /// # Errors
    /// If a record is not in the data.
    pub fn take(
        &mut self,
        data: &[u8],
        starts: &[i64],
        stops: &[i64],
    ) -> Result<Vec<usize>, String> {
        self.records = 0;
        let _: (Frames, _) = push_framed(self, data, starts, stops, |_, _| true)?;
        Ok(std::mem::take(&mut self.undecided))
    }

    /// Whether some record was no object.
    pub fn has_others(&self) -> bool {
        self.has_others
    }

    /// Whether there are more members than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The members of all records, in the order in which they were first seen.
    pub fn schema(&self) -> Schema {
        Schema::new(self.members(ROOT))
    }

    fn members(&self, place: usize) -> Fields {
        let members = self.places.get(place).map(|place| place.members.as_slice());
        let fields = members.unwrap_or_default().iter().filter_map(|&member| {
            let name = self.places.get(member)?.name.as_ref();
            Some(Field::new(name, self.kind(member), true))
        });
        fields.collect()
    }

    /// The narrowest type that holds all values of a place; no value, no type.
    fn kind(&self, place: usize) -> DataType {
        let Some(found) = self.places.get(place) else {
            return DataType::Null;
        };
        let Seen {
            kinds,
            whole,
            scale,
        } = found.seen;
        match kinds {
            0 => DataType::Null,
            BOOLEAN => DataType::Boolean,
            LONG => DataType::Int64,
            OBJECT => DataType::Struct(self.members(place)),
            ARRAY => {
                let items = found.items.map_or(DataType::Null, |items| self.kind(items));
                DataType::List(Arc::new(Field::new("item", items, true)))
            }
            _ if kinds & !NUMBER != 0 => DataType::Utf8,
            _ if kinds & DOUBLE != 0 => DataType::Float64,
            _ => {
                let whole = if kinds & LONG != 0 {
                    whole.max(LONG_DIGITS)
                } else {
                    whole
                };
                let digits = whole.saturating_add(scale);
                match i8::try_from(scale) {
                    Ok(scale) if usize::from(digits) <= MOST_DIGITS => {
                        DataType::Decimal128(digits, scale)
                    }
                    _ => DataType::Float64,
                }
            }
        }
    }

    /// The record in `[start, stop)`; nothing where it is broken.
    fn record(&mut self, text: &str, start: usize, stop: usize) -> Option<()> {
        let bytes = text.as_bytes().get(..stop).unwrap_or_default();
        let at = self.scanner.skip_space(bytes, start);
        if bytes.get(at) != Some(&b'{') {
            return self.scanner.fail(Reason::Value, at);
        }
        let after = self.object(ROOT, text, bytes, at, 0)?;
        let after = self.scanner.skip_space(bytes, after);
        if after != stop {
            return self.scanner.fail(Reason::Follows, after);
        }
        Some(())
    }

    /// After the object that opens at `at`; its members are those of a place.
    fn object(
        &mut self,
        place: usize,
        text: &str,
        bytes: &[u8],
        at: usize,
        level: usize,
    ) -> Option<usize> {
        let mut expected = 0;
        let mut at = self.scanner.skip_space(bytes, at + 1);
        if bytes.get(at) == Some(&b'}') {
            return Some(at + 1);
        }
        loop {
            let (member, after) = match self.expected(place, bytes, at, &mut expected) {
                Some(found) => found,
                None => self.looked_up(place, text, bytes, at, &mut expected)?,
            };
            let start = self.scanner.colon(bytes, after)?;
            at = self.value(member, text, bytes, start, level + 1)?;
            at = self.scanner.skip_space(bytes, at);
            match bytes.get(at) {
                Some(b',') => at = self.scanner.skip_space(bytes, at + 1),
                Some(b'}') => return Some(at + 1),
                _ => return self.scanner.fail(Reason::Object, at),
            }
        }
    }

    /// The name at `at`, if it is one of the next ones that objects before had: its place, and where it ends.
    #[inline]
    fn expected(
        &self,
        place: usize,
        bytes: &[u8],
        at: usize,
        expected: &mut usize,
    ) -> Option<(Option<usize>, usize)> {
        let rest = bytes.get(at..)?.strip_prefix(b"\"")?;
        let next = self.places.get(place)?.members.get(*expected..)?;
        for &member in next.iter().take(TRIES) {
            *expected += 1;
            let Place {
                name, is_written, ..
            } = self.places.get(member)?;
            if *is_written && let Some([b'"', ..]) = rest.strip_prefix(name.as_bytes()) {
                return Some((Some(member), at + name.len() + 2));
            }
        }
        None
    }

    /// The name at `at`, whatever it is: its place, if there is room for one, and where it ends.
    #[inline(never)]
    fn looked_up(
        &mut self,
        place: usize,
        text: &str,
        bytes: &[u8],
        at: usize,
        expected: &mut usize,
    ) -> Option<(Option<usize>, usize)> {
        let token = self.scanner.name(bytes, at)?;
        let mut scratch = std::mem::take(&mut self.scratch);
        let member = self.member(place, meant(text, token, &mut scratch), expected);
        self.scratch = scratch;
        Some((member, token.stop))
    }

    fn member(&mut self, place: usize, name: &str, expected: &mut usize) -> Option<usize> {
        let added = self.places.len();
        let here = self.places.get_mut(place)?;
        if let Some(&position) = here.by_name.get(name) {
            *expected = position + 1;
            return here.members.get(position).copied();
        }
        if added > MOST_PLACES {
            self.is_full = true;
            return None;
        }
        here.by_name.insert(name.into(), here.members.len());
        here.members.push(added);
        *expected = here.members.len();
        self.changes.push(Change::Member(place));
        self.places.push(Place {
            name: name.into(),
            is_written: name
                .bytes()
                .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\'),
            ..Place::default()
        });
        Some(added)
    }

    fn items(&mut self, place: usize) -> Option<usize> {
        let added = self.places.len();
        let here = self.places.get_mut(place)?;
        if here.items.is_none() {
            here.items = Some(added);
            self.changes.push(Change::Items(place));
            self.places.push(Place::default());
        }
        self.places.get(place)?.items
    }

    /// After the value at `at`, of a place if there is one. It recurses as deep as types may be nested.
    fn value(
        &mut self,
        place: Option<usize>,
        text: &str,
        bytes: &[u8],
        at: usize,
        level: usize,
    ) -> Option<usize> {
        let Some(place) = place else {
            return self.scanner.value(bytes, at).map(|span| span.stop);
        };
        match bytes.get(at) {
            Some(b'{') if level <= MOST_LEVELS => {
                self.see(place, OBJECT, 0, 0);
                self.object(place, text, bytes, at, level)
            }
            Some(b'[') if level <= MOST_LEVELS => {
                self.see(place, ARRAY, 0, 0);
                self.array(place, text, bytes, at, level)
            }
            _ => {
                let span = self.scanner.value(bytes, at)?;
                self.scalar(place, bytes, &span);
                Some(span.stop)
            }
        }
    }

    fn array(
        &mut self,
        place: usize,
        text: &str,
        bytes: &[u8],
        at: usize,
        level: usize,
    ) -> Option<usize> {
        let mut at = self.scanner.skip_space(bytes, at + 1);
        if bytes.get(at) == Some(&b']') {
            return Some(at + 1);
        }
        let items = self.items(place);
        loop {
            at = self.value(items, text, bytes, at, level + 1)?;
            at = self.scanner.skip_space(bytes, at);
            match bytes.get(at) {
                Some(b',') => at = self.scanner.skip_space(bytes, at + 1),
                Some(b']') => return Some(at + 1),
                _ => return self.scanner.fail(Reason::Array, at),
            }
        }
    }

    #[inline]
    fn scalar(&mut self, place: usize, bytes: &[u8], span: &Span) {
        let (kind, whole, scale) = match span.kind {
            Kind::Null | Kind::Absent => return,
            Kind::True | Kind::False if !self.wanted.primitives_as_string => (BOOLEAN, 0, 0),
            Kind::Number if !self.wanted.primitives_as_string => self.number(bytes, span),
            _ => (TEXT, 0, 0),
        };
        self.see(place, kind, whole, scale);
    }

    #[inline]
    fn number(&self, bytes: &[u8], span: &Span) -> (u8, u8, u8) {
        if span.is_plain {
            if span.places == 0 && span.digits <= i64::MAX as u64 {
                return (LONG, 0, 0);
            }
            if span.places != 0 && !self.wanted.prefers_decimal {
                return (DOUBLE, 0, 0);
            }
        }
        let written = bytes.get(span.start..span.stop).unwrap_or_default();
        let written = std::str::from_utf8(written).unwrap_or_default(); // a number is ASCII
        number_kind(written, self.wanted.prefers_decimal)
    }

    #[inline]
    fn see(&mut self, place: usize, kind: u8, whole: u8, scale: u8) {
        let Some(Place { seen, .. }) = self.places.get_mut(place) else {
            return;
        };
        if seen.kinds & kind != 0 && whole <= seen.whole && scale <= seen.scale {
            return;
        }
        self.changes.push(Change::Seen(place, *seen));
        *seen = Seen {
            kinds: seen.kinds | kind,
            whole: seen.whole.max(whole),
            scale: seen.scale.max(scale),
        };
    }

    /// Undo what a broken record has changed, the last change first.
    #[cold]
    fn undo(&mut self) {
        while let Some(change) = self.changes.pop() {
            match change {
                Change::Seen(place, before) => {
                    if let Some(place) = self.places.get_mut(place) {
                        place.seen = before;
                    }
                }
                Change::Member(place) => {
                    let name = self.places.pop().map(|member| member.name);
                    if let (Some(place), Some(name)) = (self.places.get_mut(place), name) {
                        place.members.pop();
                        place.by_name.remove(&name);
                    }
                }
                Change::Items(place) => {
                    self.places.pop();
                    if let Some(place) = self.places.get_mut(place) {
                        place.items = None;
                    }
                }
            }
        }
    }
}

impl Sink for Summary {
    fn enter(&mut self) {}

    fn push(&mut self, text: &str, start: usize, stop: usize) {
        match self.record(text, start, stop) {
            Some(()) => self.changes.clear(),
            None => {
                self.undo();
                if self.scanner.wrong.reason == Reason::Letters {
                    self.undecided.push(self.records);
                } else {
                    self.has_others = true;
                }
            }
        }
        self.records += 1;
    }
}

/// The kind of a number, and the digits of a decimal before and after the point.
fn number_kind(written: &str, prefers_decimal: bool) -> (u8, u8, u8) {
    const SIGNED: usize = MOST_DIGITS + 1;
    let unsigned = written.strip_prefix('-').unwrap_or(written);
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || fraction.is_some_and(|fraction| !are_digits(fraction)) {
        return (DOUBLE, 0, 0);
    }
    let whole = whole.trim_start_matches('0').len();
    match fraction {
        None if written.len() <= SIGNED && written.parse::<i64>().is_ok() => (LONG, 0, 0),
        None if written.len() <= SIGNED && whole <= MOST_DIGITS => (DECIMAL, whole as u8, 0),
        Some(fraction) if prefers_decimal && whole + fraction.len() <= MOST_DIGITS => {
            (DECIMAL, whole as u8, fraction.len() as u8)
        }
        _ => (DOUBLE, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(records: &[&str]) -> Summary {
        let mut found = Summary::new(Dialect::default(), Wanted::default());
        for record in records {
            let undecided = found.take(record.as_bytes(), &[0], &[record.len() as i64]);
            assert_eq!(undecided, Ok(vec![]));
        }
        found
    }

    #[test]
    fn a_broken_record_leaves_nothing_behind() {
        let good = [r#"{"a":1,"m":{"x":[1]}}"#, r#"{"a":2}"#];
        let broken = [
            r#"{"a":"x","new":{"y":1},"m":{"x":[{"z":1}],"w":2},"#,
            r#"{"a":true} x"#,
            "7",
        ];
        let before = summary(&good);
        assert!(!before.has_others());
        let mixed = summary(&[good[0], broken[0], broken[1], broken[2], good[1]]);
        assert_eq!(mixed.schema(), before.schema());
        assert!(mixed.has_others());
    }

    #[test]
    fn more_members_than_are_kept_are_said() {
        let members: Vec<String> = (0..=MOST_PLACES + 5)
            .map(|i| format!("\"m{i}\":1"))
            .collect();
        let found = summary(&[&format!("{{{}}}", members.join(","))]);
        assert!(found.is_full());
        assert_eq!(found.schema().fields().len(), MOST_PLACES);
    }
}
