//! Which members JSON records have, and which types hold their values: a summary of all records, in one pass.
//!
//! A record that is broken leaves nothing behind.

use super::causes::Reason;
use super::dialect::Dialect;
use super::scan::{Kind, Scanner, Span};
use super::unescape::meant;
use crate::places::{
    ARRAY, BOOLEAN, DOUBLE, MOST_DIGITS, MOST_LEVELS, OBJECT, Places, ROOT, Seen, Summarise, TEXT,
};
use crate::value::{DOUBLE_DIGITS, outgrows_double};
use crate::windows::{Sink, push_framed};

/// How types are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Numbers and booleans are texts.
    pub primitives_as_string: bool,
    /// Fractions are decimals.
    pub prefers_decimal: bool,
}

/// The members of records and the types of their values.
pub struct Summary {
    places: Places,
    scanner: Scanner,
    wanted: Wanted,
    scratch: String,
    has_others: bool,
    objects: u64,
    records: usize,
    undecided: Vec<usize>,
}

impl Summary {
    /// Of no records.
    pub fn new(dialect: Dialect, wanted: Wanted) -> Summary {
        Summary {
            places: Places::new(),
            scanner: Scanner::new(dialect),
            wanted,
            scratch: String::new(),
            has_others: false,
            objects: 0,
            records: 0,
            undecided: Vec::new(),
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
        self.objects += 1;
        let object = self.objects;
        loop {
            let (member, after) = match self.places.expected(place, bytes, at, &mut expected) {
                Some(found) => found,
                None => self.looked_up(place, text, bytes, at, &mut expected)?,
            };
            if let Some(member) = member {
                self.places.count(member, object);
            }
            let start = self.scanner.colon(bytes, after)?;
            let after = self.value(member, text, bytes, start, level + 1)?;
            let is_end;
            (at, is_end) = self.scanner.after_part(bytes, after, true)?;
            if is_end {
                return Some(at);
            }
        }
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
        let member = self
            .places
            .member(place, meant(text, token, &mut scratch), expected);
        self.scratch = scratch;
        Some((member, token.stop))
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
                self.places.see(place, Seen::of(OBJECT));
                self.object(place, text, bytes, at, level)
            }
            Some(b'[') if level <= MOST_LEVELS => {
                self.places.see(place, Seen::of(ARRAY));
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
        let items = self.places.items(place);
        loop {
            let after = self.value(items, text, bytes, at, level + 1)?;
            let is_end;
            (at, is_end) = self.scanner.after_part(bytes, after, false)?;
            if is_end {
                return Some(at);
            }
        }
    }

    #[inline]
    fn scalar(&mut self, place: usize, bytes: &[u8], span: &Span) {
        let seen = match span.kind {
            Kind::Null | Kind::Absent => return,
            Kind::True | Kind::False if !self.wanted.primitives_as_string => Seen::of(BOOLEAN),
            Kind::Number if !self.wanted.primitives_as_string => self.number(bytes, span),
            Kind::Array | Kind::Object => Seen::of(OBJECT | TEXT), // too deep for a type
            _ => Seen::of(TEXT),
        };
        self.places.see(place, seen);
    }

    #[inline]
    fn number(&self, bytes: &[u8], span: &Span) -> Seen {
        if span.is_plain {
            if span.places == 0
                && let Ok(value) = i64::try_from(span.digits)
            {
                return Seen::long(value);
            }
            let is_short = span.stop - span.start <= DOUBLE_DIGITS;
            if span.places != 0 && is_short && !self.wanted.prefers_decimal {
                return Seen::of(DOUBLE);
            }
        }
        let written = bytes.get(span.start..span.stop).unwrap_or_default();
        let written = std::str::from_utf8(written).unwrap_or_default(); // a number is ASCII
        number_kind(written, self.wanted.prefers_decimal)
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

impl Sink for Summary {
    fn enter(&mut self) {}

    fn push(&mut self, text: &str, start: usize, stop: usize) {
        match self.record(text, start, stop) {
            Some(()) => self.places.keep(),
            None => {
                self.places.undo();
                self.has_others = true;
            }
        }
        self.records += 1;
    }
}

/// The kind of a number, and the digits of a decimal before and after the point.
fn number_kind(written: &str, prefers_decimal: bool) -> Seen {
    const SIGNED: usize = MOST_DIGITS + 1;
    let unsigned = written.strip_prefix('-').unwrap_or(written);
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let double = match outgrows_double(written) {
        true => Seen::of(TEXT),
        false => Seen::of(DOUBLE),
    };
    if !are_digits(whole) || fraction.is_some_and(|fraction| !are_digits(fraction)) {
        return double;
    }
    let whole = whole.trim_start_matches('0').len();
    match fraction {
        None if written.len() <= SIGNED && whole <= MOST_DIGITS => match written.parse::<i64>() {
            Ok(value) => Seen::long(value),
            Err(_) => Seen::wide(whole),
        },
        Some(fraction) if prefers_decimal && whole + fraction.len() <= MOST_DIGITS => {
            Seen::decimal(whole, fraction.len())
        }
        _ => double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::MOST_PLACES;

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
        assert_eq!(mixed.places().members(), before.places().members());
        assert!(mixed.has_others());
    }

    #[test]
    fn a_name_that_comes_twice_is_noted_unless_its_record_is_broken() {
        let of = |records: &[&str]| summary(records).places().repeated().map(String::from);
        assert_eq!(of(&[r#"{"a":1,"b":{"a":2}}"#, r#"{"b":{},"a":3}"#]), None);
        assert_eq!(of(&[r#"{"a":1,"a":2"#]), None);
        assert_eq!(of(&[r#"{"a":1,"b":1,"a":2}"#]), Some("a".into()));
        assert_eq!(of(&[r#"{"a":[{"b":1},{"b":2,"b":3}]}"#]), Some("b".into()));
    }

    #[test]
    fn more_members_than_are_kept_are_said() {
        let members: Vec<String> = (0..=MOST_PLACES + 5)
            .map(|i| format!("\"m{i}\":1"))
            .collect();
        let found = summary(&[&format!("{{{}}}", members.join(","))]);
        assert!(found.places().is_full());
        assert_eq!(
            found.places().members().as_array().map(Vec::len),
            Some(MOST_PLACES)
        );
    }
}
