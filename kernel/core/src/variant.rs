//! Variant: values that say their types themselves, in the bytes that Spark and Parquet agree on.
//!
//! Source: `VariantEncoding.md` of apache/parquet-format; where it leaves a choice, what Spark writes.

mod scalars;

use std::collections::HashMap;

pub(crate) use scalars::Scalars;

use crate::fault::shown;
use crate::quoting::quoted;
use crate::rules::Variants;

/// Objects and arrays inside each other, as in Spark: readers go down by recursion.
const MOST_LEVELS: usize = 1000;
/// Digits of a decimal, before and after its point.
const MOST_DIGITS: usize = 38;
/// Names that are remembered from one variant to the next.
const MOST_NAMES: usize = 1 << 16;

/// An object or an array that is open.
#[derive(Debug)]
struct Open {
    is_object: bool,
    start: usize, // of its values
    first: usize, // of its parts
}

/// A part of an object, or an item of an array.
#[derive(Clone, Copy, Debug)]
struct Part {
    id: usize,    // of its name
    start: usize, // of its value, after that of the object
}

/// Writes one variant after the other, each from the outside to the inside.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    rules: Variants,
    value: Vec<u8>,
    metadata: Vec<u8>,
    open: Vec<Open>,
    parts: Vec<Part>,
    names: Vec<u8>,
    stops: Vec<usize>,                      // of each name, by its number
    known: HashMap<Box<str>, (u64, usize)>, // in which variant a name was last seen, and its number there
    epoch: u64,
}

impl Builder {
    pub(crate) fn new(rules: Variants) -> Builder {
        Builder {
            rules,
            ..Builder::default()
        }
    }

    /// Why a variant that takes too many bytes is none.
    pub(crate) fn too_long(&self) -> String {
        format!("it is longer than maxVariantBytes={}", self.rules.max_bytes)
    }

    /// Begin another variant.
    pub(crate) fn begin(&mut self) {
        self.value.clear();
        self.open.clear();
        self.parts.clear();
        self.names.clear();
        self.stops.clear();
        self.epoch += 1;
        if self.known.len() > MOST_NAMES {
            self.known.clear();
        }
    }

    /// Whether the innermost of what is open is an object; nothing if nothing is.
    #[inline]
    pub(crate) fn inside_object(&self) -> Option<bool> {
        self.open.last().map(|open| open.is_object)
    }

    /// Open an object or an array.
    ///
    /// # Errors
    /// If it is nested too deep.
    pub(crate) fn open(&mut self, is_object: bool) -> Result<(), String> {
        if self.open.len() == MOST_LEVELS {
            return Err(format!(
                "it has more than {MOST_LEVELS} objects and arrays inside each other"
            ));
        }
        self.item();
        self.open.push(Open {
            is_object,
            start: self.value.len(),
            first: self.parts.len(),
        });
        Ok(())
    }

    /// Name the value that comes next, in an object.
    pub(crate) fn name(&mut self, name: &str) {
        let next = self.stops.len();
        let id = match self.known.get_mut(name) {
            Some((epoch, id)) if *epoch == self.epoch => *id,
            Some(known) => {
                *known = (self.epoch, next);
                next
            }
            None => {
                self.known.insert(name.into(), (self.epoch, next));
                next
            }
        };
        if id == next {
            self.names.extend_from_slice(name.as_bytes());
            self.stops.push(self.names.len());
        }
        self.part(id);
    }

    fn part(&mut self, id: usize) {
        let start = self.open.last().map_or(0, |open| open.start);
        self.parts.push(Part {
            id,
            start: self.value.len() - start,
        });
    }

    /// Note where the next value begins, if it is in an array.
    #[inline]
    fn item(&mut self) {
        if self.inside_object() == Some(false) {
            self.part(0);
        }
    }

    fn primitive(&mut self, kind: u8, bytes: &[u8]) {
        self.item();
        self.value.push(kind << 2);
        self.value.extend_from_slice(bytes);
    }

    pub(crate) fn null(&mut self) {
        self.primitive(0, &[]);
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.primitive(if value { 1 } else { 2 }, &[]);
    }

    /// A whole number, in the fewest bytes.
    pub(crate) fn whole(&mut self, value: i64) {
        let (kind, size) = if i8::try_from(value).is_ok() {
            (3, 1)
        } else if i16::try_from(value).is_ok() {
            (4, 2)
        } else if i32::try_from(value).is_ok() {
            (5, 4)
        } else {
            (6, 8)
        };
        self.primitive(kind, &value.to_le_bytes()[..size]);
    }

    pub(crate) fn double(&mut self, value: f64) {
        self.primitive(7, &value.to_le_bytes());
    }

    /// A decimal of so many digits and decimals; false, and nothing, if these are too many.
    pub(crate) fn decimal(&mut self, unscaled: i128, digits: usize, scale: usize) -> bool {
        let most = digits.max(scale);
        let (kind, size) = match most {
            0..=9 => (8, 4),
            10..=18 => (9, 8),
            19..=MOST_DIGITS => (10, 16),
            _ => return false,
        };
        self.item();
        self.value.extend([kind << 2, scale as u8]);
        self.value
            .extend_from_slice(&unscaled.to_le_bytes()[..size]);
        true
    }

    /// A day, counted from 1970-01-01.
    pub(crate) fn date(&mut self, day: i32) {
        self.primitive(11, &day.to_le_bytes());
    }

    /// A moment, in microseconds since 1970 in UTC.
    pub(crate) fn timestamp(&mut self, micros: i64) {
        self.primitive(12, &micros.to_le_bytes());
    }

    /// A number as JSON writes it: whole, or a decimal of up to 38 digits; a double if it is neither.
    pub(crate) fn number(&mut self, text: &str) {
        let is_plain = text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
        if !is_plain {
            return self.double(double(text));
        }
        if let Ok(whole) = text.parse() {
            return self.whole(whole);
        }
        let unsigned = text.trim_start_matches('-');
        let (before, after) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let significant = [before, after].concat();
        let significant = significant.trim_start_matches('0');
        let digits = significant.len().max(1);
        let is_decimal = digits <= MOST_DIGITS && {
            let unscaled: i128 = significant.parse().unwrap_or(0); // no digit is left of zeros
            let sign = if text.starts_with('-') { -1 } else { 1 };
            self.decimal(sign * unscaled, digits, after.len())
        };
        if !is_decimal {
            self.double(double(text));
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.item();
        match u8::try_from(text.len()) {
            Ok(length) if length < 64 => self.value.push(length << 2 | 1),
            _ => {
                self.value.push(16 << 2);
                self.value
                    .extend_from_slice(&(text.len() as u32).to_le_bytes()); // a column has no longer one
            }
        }
        self.value.extend_from_slice(text.as_bytes());
    }

    /// Close the innermost of what is open.
    ///
    /// # Errors
    /// If a key comes twice, and must not.
    pub(crate) fn close(&mut self) -> Result<(), String> {
        let Some(Open {
            is_object,
            start,
            first,
        }) = self.open.pop()
        else {
            return Ok(());
        };
        if is_object {
            self.sort(start, first)?;
        }
        let parts = self.parts.get(first..).unwrap_or_default();
        let (count, total) = (parts.len(), self.value.len() - start);
        let is_large = count > usize::from(u8::MAX);
        let size = width(total);
        let last = parts.iter().map(|part| part.id).max().unwrap_or(0);
        let id_size = if is_object { width(last) } else { 0 };
        let sizes = (size - 1) as u8;
        let head = match is_object {
            true => 2 | sizes << 2 | ((id_size - 1) as u8) << 4 | u8::from(is_large) << 6,
            false => 3 | sizes << 2 | u8::from(is_large) << 4,
        };
        let head_bytes = 1 + if is_large { 4 } else { 1 } + count * id_size + (count + 1) * size;
        self.value.resize(start + total + head_bytes, 0);
        self.value
            .copy_within(start..start + total, start + head_bytes);
        let mut to = self.value.get_mut(start..).unwrap_or_default();
        put(&mut to, usize::from(head), 1);
        put(&mut to, count, if is_large { 4 } else { 1 });
        if is_object {
            for part in parts {
                put(&mut to, part.id, id_size);
            }
        }
        for part in parts {
            put(&mut to, part.start, size);
        }
        put(&mut to, total, size);
        self.parts.truncate(first);
        Ok(())
    }

    /// The parts of an object by their names; of a name that comes twice the last one is left, if that is allowed.
    fn sort(&mut self, start: usize, first: usize) -> Result<(), String> {
        let (names, stops) = (&self.names, &self.stops);
        let name = |id: usize| {
            let from = id
                .checked_sub(1)
                .and_then(|before| stops.get(before))
                .copied();
            let stop = stops.get(id).copied().unwrap_or_default();
            names.get(from.unwrap_or(0)..stop).unwrap_or_default()
        };
        let parts = self.parts.get_mut(first..).unwrap_or_default();
        parts.sort_by(|one, other| by_utf16(name(one.id), name(other.id))); // stable: the last one stays last
        let double = parts.windows(2).find(|pair| pair[0].id == pair[1].id);
        let Some(double) = double else {
            return Ok(());
        };
        if !self.rules.allow_duplicate_keys {
            let key = String::from_utf8_lossy(name(double[0].id));
            return Err(format!(
                "key {} comes twice; variantAllowDuplicateKeys=true takes the last",
                quoted(&shown(&key))
            ));
        }
        self.drop_doubles(start, first);
        Ok(())
    }

    #[cold]
    fn drop_doubles(&mut self, start: usize, first: usize) {
        let sorted = self.parts.split_off(first);
        let is_last = |place: usize| {
            let next = sorted.get(place + 1);
            next.is_none_or(|next| next.id != sorted[place].id)
        };
        let mut by_place: Vec<(Part, bool)> = (0..sorted.len())
            .map(|place| (sorted[place], is_last(place)))
            .collect();
        by_place.sort_by_key(|(part, _)| part.start);
        let values = self.value.split_off(start);
        let mut moved = HashMap::new(); // where the value of a name is now
        for (place, (part, is_last)) in by_place.iter().enumerate() {
            let stop = by_place
                .get(place + 1)
                .map_or(values.len(), |(next, _)| next.start);
            if *is_last {
                moved.insert(part.id, self.value.len() - start);
                self.value
                    .extend_from_slice(values.get(part.start..stop).unwrap_or_default());
            }
        }
        for (place, part) in sorted.iter().enumerate() {
            if is_last(place)
                && let Some(&start) = moved.get(&part.id)
            {
                self.parts.push(Part { id: part.id, start });
            }
        }
    }

    /// The variant that is complete: its value, and its metadata.
    ///
    /// # Errors
    /// If it is too long.
    pub(crate) fn finish(&mut self) -> Result<(&[u8], &[u8]), String> {
        let (count, bytes) = (self.stops.len(), self.names.len());
        let size = width(bytes.max(count));
        self.metadata.clear();
        self.metadata
            .resize(1 + size + (count + 1) * size, 1 | ((size - 1) as u8) << 6);
        let mut to = self.metadata.get_mut(1..).unwrap_or_default();
        put(&mut to, count, size);
        put(&mut to, 0, size);
        for &stop in &self.stops {
            put(&mut to, stop, size);
        }
        self.metadata.extend_from_slice(&self.names);
        let longest = self.value.len().max(self.metadata.len());
        if longest > self.rules.max_bytes {
            return Err(self.too_long());
        }
        Ok((&self.value, &self.metadata))
    }
}

fn double(text: &str) -> f64 {
    if text.contains("NaN") {
        return f64::NAN;
    }
    if text.contains('I') {
        return f64::INFINITY.copysign(if text.starts_with('-') { -1.0 } else { 1.0 });
    }
    text.parse().unwrap_or(f64::NAN) // the grammar of JSON is a part of Rust's
}

/// Bytes that a number takes.
fn width(value: usize) -> usize {
    match value {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xff_ffff => 3,
        _ => 4,
    }
}

/// Write a number into the first bytes that are left.
#[inline]
fn put(to: &mut &mut [u8], value: usize, size: usize) {
    let (bytes, rest) = std::mem::take(to).split_at_mut(size);
    bytes.copy_from_slice(&value.to_le_bytes()[..size]);
    *to = rest;
}

/// Order by the code units of UTF-16, as in Spark; the specification has those of UTF-8.
pub(crate) fn by_utf16(one: &[u8], other: &[u8]) -> std::cmp::Ordering {
    let weight = |byte: u8| match byte {
        0xf0.. => 0xed00 | u16::from(byte), // surrogates are below U+E000
        _ => u16::from(byte) << 8,
    };
    let differ = one.iter().zip(other).find(|(one, other)| one != other);
    match differ {
        Some((&one, &other)) => weight(one).cmp(&weight(other)),
        None => one.len().cmp(&other.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_sort_as_in_utf16(one: String, other: String) {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            let expected = units(&one).cmp(&units(&other));
            prop_assert_eq!(by_utf16(one.as_bytes(), other.as_bytes()), expected);
        }
    }

    #[test]
    fn names_beyond_the_surrogates_come_after_them() {
        let sorted = ["\u{d7ff}", "\u{1f600}", "\u{e000}", "\u{fffd}"];
        for pair in sorted.windows(2) {
            assert!(by_utf16(pair[0].as_bytes(), pair[1].as_bytes()).is_lt());
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn numbers_take_the_fewest_bytes() {
        for (text, expected) in [
            ("1", "0c01"),
            ("-128", "0c80"),
            ("128", "108000"),
            ("-0", "0c00"),
            ("1.5", "20010f000000"),
            ("-0.0", "200100000000"),
            ("1e2", "1c0000000000005940"),
            (
                "9223372036854775808",
                "280000000000000000800000000000000000",
            ),
        ] {
            let mut builder = Builder::new(Variants::default());
            builder.begin();
            builder.number(text);
            let (value, metadata) = builder.finish().expect("short");
            assert_eq!(
                (hex(value), hex(metadata)),
                (expected.into(), "010000".into())
            );
        }
    }

    #[test]
    fn of_a_key_that_comes_twice_the_last_value_is_left() {
        let mut builder = Builder::new(Variants {
            allow_duplicate_keys: true,
            ..Variants::default()
        });
        builder.begin();
        builder.open(true).expect("flat");
        for (name, value) in [("b", 1), ("a", 2), ("b", 3)] {
            builder.name(name);
            builder.whole(value);
        }
        builder.close().expect("allowed");
        let (value, metadata) = builder.finish().expect("short");
        assert_eq!(hex(value), "02020100000204".to_string() + "0c020c03");
        assert_eq!(hex(metadata), "01020001026261");
    }
}
