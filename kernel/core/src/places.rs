//! Places where values stand in records of objects, and what was seen at each: a summary of records of any number.
//!
//! What was seen is a union of kinds, so no order and no cut matters; types follow from it at the end. What a record has
//! changed can be undone.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::value::DOUBLE_DIGITS;

/// Objects and arrays inside each other; what is nested deeper is text.
pub(crate) const MOST_LEVELS: usize = 50;

/// Places that are kept: some more than the members that records may have, at all levels together.
pub(crate) const MOST_PLACES: usize = 20_000;

/// Digits of a decimal.
pub(crate) const MOST_DIGITS: usize = 38;

const LONG_DIGITS: u8 = 20; // of a whole number among decimals, as Spark counts

/// How far ahead of the expected name others are tried: members that a record does not have.
const TRIES: usize = 3;

/// Bits of kinds of values.
pub(crate) const TEXT: u16 = 1;
pub(crate) const BOOLEAN: u16 = 1 << 1;
pub(crate) const LONG: u16 = 1 << 2;
pub(crate) const DECIMAL: u16 = 1 << 3;
pub(crate) const DOUBLE: u16 = 1 << 4;
pub(crate) const DATE: u16 = 1 << 5;
pub(crate) const TIMESTAMP: u16 = 1 << 6;
pub(crate) const OBJECT: u16 = 1 << 7;
/// Values that are arrays: their items have a place of their own.
pub(crate) const ARRAY: u16 = 1 << 8;
/// Values that come several times in a record: what is seen is seen of each.
pub(crate) const MANY: u16 = 1 << 9;
/// Beside [`LONG`] or [`DECIMAL`]: whole numbers with more digits than every double holds.
pub(crate) const WIDE: u16 = 1 << 10;
const NUMBER: u16 = LONG | DECIMAL | DOUBLE | WIDE;
const TIME: u16 = DATE | TIMESTAMP;

const MIXED: &str = "large_string"; // values of several kinds: each is read as its text

/// The place of the records.
pub(crate) const ROOT: usize = 0;

/// Values at one place: nothing but nulls, or values of any kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// A bit for each kind.
    pub kinds: u16,
    /// Most digits of decimals before the point.
    pub whole: u8,
    /// And after it.
    pub scale: u8,
}

impl Seen {
    /// Values of one kind that has no digits.
    pub(crate) fn of(kinds: u16) -> Seen {
        Seen {
            kinds,
            ..Seen::default()
        }
    }

    /// A decimal with so many digits before its point, and after it.
    pub(crate) fn decimal(whole: usize, scale: usize) -> Seen {
        let digits = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
        Seen {
            kinds: DECIMAL,
            whole: digits(whole),
            scale: digits(scale),
        }
    }

    /// A whole number of 64 bits.
    #[inline]
    pub(crate) fn long(value: i64) -> Seen {
        const MOST: u64 = 10u64.pow(DOUBLE_DIGITS as u32) - 1;
        Seen::of(match value.unsigned_abs() <= MOST {
            true => LONG,
            false => LONG | WIDE,
        })
    }

    /// A whole number beyond 64 bits.
    pub(crate) fn wide(digits: usize) -> Seen {
        let decimal = Seen::decimal(digits, 0);
        Seen {
            kinds: decimal.kinds | WIDE,
            ..decimal
        }
    }

    fn and(self, other: Seen) -> Seen {
        Seen {
            kinds: self.kinds | other.kinds,
            whole: self.whole.max(other.whole),
            scale: self.scale.max(other.scale),
        }
    }

    /// The narrowest type that holds all of the values, which are not all objects or all arrays; no value, no type.
    fn scalar(self) -> Value {
        match self.kinds {
            0 => "null".into(),
            BOOLEAN => "bool".into(),
            LONG => "int64".into(),
            kinds if kinds & !WIDE == LONG => "uint64".into(), // a bigint that no double holds
            DATE => "date32".into(),
            kinds if kinds & !TIME == 0 => "timestamp".into(),
            TEXT => "string".into(),
            kinds if kinds & !NUMBER != 0 => MIXED.into(),
            kinds if kinds & DOUBLE != 0 && kinds & WIDE != 0 => MIXED.into(),
            kinds if kinds & DOUBLE != 0 => "double".into(),
            kinds => {
                let least = if kinds & LONG != 0 { LONG_DIGITS } else { 0 };
                let digits = self.whole.max(least).saturating_add(self.scale);
                match (usize::from(digits) <= MOST_DIGITS, kinds & WIDE != 0) {
                    (true, true) => json!({ "wide": [digits, self.scale] }),
                    (true, false) => json!({ "decimal": [digits, self.scale] }),
                    (false, true) => MIXED.into(),
                    (false, false) => "double".into(),
                }
            }
        }
    }
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
    object: u64, // the last one that has this member
}

/// What a record has changed, so that it can be undone.
#[derive(Debug)]
enum Change {
    Seen(usize, Seen),
    Member(usize),
    Items(usize),
    Repeated,
}

/// All places of records, and what the last record has changed.
#[derive(Debug)]
pub struct Places {
    all: Vec<Place>,
    changes: Vec<Change>,
    is_full: bool,
    repeated: Option<Box<str>>,
}

impl Places {
    /// Of no records.
    pub(crate) fn new() -> Places {
        Places {
            all: vec![Place::default()],
            changes: Vec::new(),
            is_full: false,
            repeated: None,
        }
    }

    /// Whether there are more members than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The first name found that an object has twice.
    pub fn repeated(&self) -> Option<&str> {
        self.repeated.as_deref()
    }

    /// The members of all records, in the order in which they were first seen: name and type of each, as JSON.
    ///
    /// A type is its name; or what the items of an array are, the members of a struct, or digits of a decimal.
    pub fn members(&self) -> Value {
        self.members_of(ROOT)
    }

    fn members_of(&self, place: usize) -> Value {
        let members = self.all.get(place).map(|place| place.members.as_slice());
        let named = members.unwrap_or_default().iter().filter_map(|&member| {
            let name = self.all.get(member)?.name.as_ref();
            Some(json!([name, self.kind(member)]))
        });
        named.collect()
    }

    /// The narrowest type that holds all values of a place.
    fn kind(&self, place: usize) -> Value {
        let Some(found) = self.all.get(place) else {
            return Seen::default().scalar();
        };
        let one = match found.seen.kinds & !MANY {
            OBJECT => json!({ "members": self.members_of(place) }),
            ARRAY => match found.items {
                Some(items) => json!({ "items": self.kind(items) }),
                None => json!({ "items": "null" }),
            },
            kinds => Seen {
                kinds,
                ..found.seen
            }
            .scalar(),
        };
        match found.seen.kinds & MANY {
            0 => one,
            _ => json!({ "items": one }),
        }
    }

    /// What was seen at a place.
    #[inline]
    pub(crate) fn seen(&self, place: usize) -> Seen {
        self.all
            .get(place)
            .map_or(Seen::default(), |place| place.seen)
    }

    /// The name at `at` in quotes, if it is one of the next ones that objects before had: its place, and where it ends.
    #[inline]
    pub(crate) fn expected(
        &self,
        place: usize,
        bytes: &[u8],
        at: usize,
        expected: &mut usize,
    ) -> Option<(Option<usize>, usize)> {
        let rest = bytes.get(at..)?.strip_prefix(b"\"")?;
        let next = self.all.get(place)?.members.get(*expected..)?;
        for &member in next.iter().take(TRIES) {
            *expected += 1;
            let Place {
                name, is_written, ..
            } = self.all.get(member)?;
            if *is_written && let Some([b'"', ..]) = rest.strip_prefix(name.as_bytes()) {
                return Some((Some(member), at + name.len() + 2));
            }
        }
        None
    }

    /// The place of a member, which is probably the one at the position `expected`; `None` if there is no room for it.
    pub(crate) fn member(
        &mut self,
        place: usize,
        name: &str,
        expected: &mut usize,
    ) -> Option<usize> {
        let added = self.all.len();
        if let Some(&member) = self.all.get(place)?.members.get(*expected)
            && self.all.get(member)?.name.as_ref() == name
        {
            *expected += 1;
            return Some(member);
        }
        let here = self.all.get_mut(place)?;
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
        self.all.push(Place {
            name: name.into(),
            is_written: name
                .bytes()
                .all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\'),
            ..Place::default()
        });
        Some(added)
    }

    /// The place of the items of an array.
    pub(crate) fn items(&mut self, place: usize) -> Option<usize> {
        let added = self.all.len();
        let here = self.all.get_mut(place)?;
        if here.items.is_none() {
            here.items = Some(added);
            self.changes.push(Change::Items(place));
            self.all.push(Place::default());
        }
        self.all.get(place)?.items
    }

    /// Note that a member is one of an object, which has a number; answers whether it was before.
    #[inline]
    pub(crate) fn is_again(&mut self, member: usize, object: u64) -> bool {
        let before = self.all.get_mut(member).map(|place| &mut place.object);
        before.is_some_and(|before| std::mem::replace(before, object) == object)
    }

    /// Note that an object, which has a number, has a member: it may have it twice.
    #[inline]
    pub(crate) fn count(&mut self, member: usize, object: u64) {
        if self.is_again(member, object) && self.repeated.is_none() {
            self.repeated = self.all.get(member).map(|place| place.name.clone());
            self.changes.push(Change::Repeated);
        }
    }

    /// Add values to what was seen at a place.
    #[inline]
    pub(crate) fn see(&mut self, place: usize, found: Seen) {
        let Some(Place { seen, .. }) = self.all.get_mut(place) else {
            return;
        };
        let both = seen.and(found);
        if *seen != both {
            self.changes.push(Change::Seen(place, *seen));
            *seen = both;
        }
    }

    /// Scalars that become a member of the objects that stand at a place too: they are the text of objects.
    pub(crate) fn see_object_with_text(&mut self, place: usize, text: &str) {
        const AROUND: u16 = OBJECT | MANY;
        let before = self.seen(place);
        if before.kinds & OBJECT != 0 {
            return;
        }
        if before.kinds & !AROUND != 0
            && let Some(member) = self.member(place, text, &mut 0)
        {
            let kinds = before.kinds & !AROUND;
            self.see(member, Seen { kinds, ..before });
        }
        self.changes.push(Change::Seen(place, before));
        if let Some(here) = self.all.get_mut(place) {
            here.seen = Seen::of(before.kinds & MANY | OBJECT);
        }
    }

    /// Keep what the last record has changed.
    #[inline]
    pub(crate) fn keep(&mut self) {
        self.changes.clear();
    }

    /// Undo what the last record has changed, the last change first.
    #[cold]
    pub(crate) fn undo(&mut self) {
        while let Some(change) = self.changes.pop() {
            match change {
                Change::Seen(place, before) => {
                    if let Some(place) = self.all.get_mut(place) {
                        place.seen = before;
                    }
                }
                Change::Member(place) => {
                    let name = self.all.pop().map(|member| member.name);
                    if let (Some(place), Some(name)) = (self.all.get_mut(place), name) {
                        place.members.pop();
                        place.by_name.remove(&name);
                    }
                }
                Change::Repeated => self.repeated = None,
                Change::Items(place) => {
                    self.all.pop();
                    if let Some(place) = self.all.get_mut(place) {
                        place.items = None;
                    }
                }
            }
        }
    }
}

/// A summary of records by the places of their values.
pub trait Summarise {
    /// What was seen.
    fn places(&self) -> &Places;

    /// Whether some record shows no place.
    fn has_others(&self) -> bool;

    /// Take records whose contents are known. Answers which of them only the reference engine can read.
    ///
    /// # Errors
    /// If a record is not in the data.
    fn take(&mut self, data: &[u8], starts: &[i64], stops: &[i64]) -> Result<Vec<usize>, String>;
}
