//! What runs of letters match, and what the matched texts say.

use super::Piece;
use super::said::{Said, Value};
use crate::rules::Names;
use crate::value::digits;
use crate::value::zone::{self, ZoneText};

const SHORT_ZONES: [(&str, &str); 9] = [
    ("EST", "America/New_York"),
    ("EDT", "America/New_York"),
    ("CST", "America/Chicago"),
    ("CDT", "America/Chicago"),
    ("MST", "America/Denver"),
    ("MDT", "America/Denver"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
    ("UT", "UTC"),
];
const MOST_DIGITS: usize = 19;
const CENTURY: u64 = 2000; // years of two digits belong to it

/// The texts that a run of letters matches.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// So many digits; `base` is added.
    Fixed { digits: usize, base: u64 },
    /// Any number of digits. `last`: what it takes is never given back.
    Digits { last: bool },
    /// Up to so many digits of a fraction of a second.
    Fraction { most: usize, last: bool },
    /// One of these names, the longest ones first.
    Names(Vec<Name>),
    /// Sign and digits, with minutes if need be; `zulu`: or the letter Z.
    Offset { zulu: bool, minutes: Minutes },
    /// A region, or an offset. `short`: short names of zones are read too.
    Region { short: bool },
}

/// A name in any case.
#[derive(Clone, Debug)]
pub(super) struct Name {
    text: String,
    forms: Vec<[char; FORMS]>, // those of each of its characters; none of ASCII
    value: u64,
}

const FORMS: usize = 5; // of a character, in small and in capital letters

impl Name {
    fn new(text: &str, value: u64) -> Name {
        let forms = match text.is_ascii() {
            true => Vec::new(),
            false => text.chars().map(forms).collect(),
        };
        Name {
            text: text.to_string(),
            forms,
            value,
        }
    }

    /// How long the name is at the front of a text.
    fn length_in(&self, text: &[u8]) -> Option<usize> {
        if self.forms.is_empty() {
            return begins(text, &self.text).then_some(self.text.len());
        }
        let text = std::str::from_utf8(text).ok()?; // as a whole: names begin and end at characters
        let mut symbols = text.chars();
        for forms in &self.forms {
            symbols.next().filter(|symbol| forms.contains(symbol))?;
        }
        Some(text.len() - symbols.as_str().len())
    }
}

/// A character in small and in capital letters, as far as those are one character.
fn forms(symbol: char) -> [char; FORMS] {
    let lower = |symbol: char| only(symbol.to_lowercase()).unwrap_or(symbol);
    let upper = |symbol: char| only(symbol.to_uppercase()).unwrap_or(symbol);
    [
        symbol,
        lower(symbol),
        upper(symbol),
        lower(upper(symbol)),
        upper(lower(symbol)),
    ]
}

fn only(mut symbols: impl Iterator<Item = char>) -> Option<char> {
    let first = symbols.next();
    first.filter(|_| symbols.next().is_none())
}

/// How an offset has its minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Minutes {
    May,
    Must,
    Colon,
}

/// What a run of letters stands for, with the names of a locale; `None` if it has no meaning.
pub(super) fn meaning(run: &str, names: &Names) -> Option<Piece> {
    let letter = run.chars().next()?;
    let number = |said| match run.len() {
        1 => Some((said, Form::Digits { last: true })),
        2 => Some((said, Form::Fixed { digits: 2, base: 0 })),
        _ => None,
    };
    let named = |run, said, first| Some((said, Form::Names(longest_first(names.get(run)?, first))));
    let offset = |zulu, minutes| Some((Said::Zone, Form::Offset { zulu, minutes }));
    let (said, form) = match (letter, run.len()) {
        ('y' | 'u', 1) => Some((Said::Year, Form::Digits { last: true })),
        ('y' | 'u', 2) => Some((
            Said::Year,
            Form::Fixed {
                digits: 2,
                base: CENTURY,
            },
        )),
        ('y' | 'u', 4) => Some((Said::Year, Form::Fixed { digits: 4, base: 0 })),
        ('M' | 'L', 3 | 4) => named(run, Said::Month, 1),
        ('M' | 'L', _) => number(Said::Month),
        ('d', _) => number(Said::Day),
        ('D', 1) => Some((Said::DayOfYear, Form::Digits { last: true })),
        ('D', 3) => Some((Said::DayOfYear, Form::Fixed { digits: 3, base: 0 })),
        ('E', 1..=3) => named("E", Said::Weekday, 0),
        ('E', 4) => named(run, Said::Weekday, 0),
        ('H', _) => number(Said::Hour),
        ('k', _) => number(Said::HourFrom1),
        ('h', _) => number(Said::HalfHour),
        ('K', _) => number(Said::HalfHourFrom0),
        ('a', 1) => named(run, Said::Half, 0),
        ('m', _) => number(Said::Minute),
        ('s', _) => number(Said::Second),
        ('S', most @ 1..=9) => Some((Said::Micros, Form::Fraction { most, last: true })),
        ('X', 1) => offset(true, Minutes::May),
        ('X', 2) => offset(true, Minutes::Must),
        ('X', 3) | ('Z', 5) => offset(true, Minutes::Colon),
        ('x', 1) => offset(false, Minutes::May),
        ('x', 2) | ('Z', 1..=3) => offset(false, Minutes::Must),
        ('x', 3) => offset(false, Minutes::Colon),
        ('V', 2) => Some((Said::Zone, Form::Region { short: false })),
        ('z', 1..=3) => Some((Said::Zone, Form::Region { short: true })),
        _ => None,
    }?;
    Some(Piece { said, form })
}

fn longest_first(names: &[String], first: u64) -> Vec<Name> {
    let mut found: Vec<Name> = (first..)
        .zip(names)
        .map(|(value, name)| Name::new(name, value))
        .collect();
    found.sort_by_key(|name| std::cmp::Reverse(name.text.chars().count()));
    found
}

impl Form {
    /// Whether the longest match is the only one that counts.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Form::Digits { last } | Form::Fraction { last, .. } => *last,
            Form::Fixed { .. } | Form::Names(_) => true,
            Form::Offset { minutes, .. } => *minutes != Minutes::May,
            Form::Region { .. } => false,
        }
    }

    /// The length of the longest match at the front of a text.
    pub(super) fn longest(&self, text: &[u8]) -> Option<usize> {
        let digits = |most: usize| {
            let count = text
                .iter()
                .take(most)
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            (count > 0).then_some(count)
        };
        match self {
            Form::Fixed { digits: wanted, .. } => digits(*wanted).filter(|count| count == wanted),
            Form::Digits { .. } => digits(MOST_DIGITS),
            Form::Fraction { most, .. } => digits(*most),
            Form::Names(names) => names.iter().find_map(|name| name.length_in(text)),
            Form::Offset { zulu: true, .. } if begins(text, "z") => Some(1),
            Form::Offset {
                minutes: Minutes::Colon,
                ..
            } => shape(text, b"+00:00"),
            Form::Offset {
                minutes: Minutes::Must,
                ..
            } => shape(text, b"+0000"),
            Form::Offset {
                minutes: Minutes::May,
                ..
            } => shape(text, b"+0000").or_else(|| shape(text, b"+00")),
            Form::Region { .. } => region(text)
                .or_else(|| shape(text, b"+00:00"))
                .or_else(|| shape(text, b"+00")),
        }
    }

    /// The next shorter match after one of `length`, in the order in which Python tries them.
    pub(super) fn shorter(&self, text: &[u8], length: usize) -> Option<usize> {
        match (self, text.first()) {
            (Form::Digits { .. } | Form::Fraction { .. }, _) => (length > 1).then(|| length - 1),
            (
                Form::Offset {
                    minutes: Minutes::May,
                    ..
                },
                _,
            ) => (length == 5).then_some(3),
            (Form::Region { .. }, Some(b'+' | b'-')) => (length == 6).then_some(3),
            (Form::Region { .. }, _) => (1..length)
                .rev()
                .find(|&shorter| text.get(shorter - 1) != Some(&b'/')),
            _ => None,
        }
    }

    /// What a matched text says; `None` if it is out of range.
    pub(super) fn read<'t>(&self, text: &'t [u8]) -> Option<Value<'t>> {
        match self {
            Form::Fixed { base, .. } => Some(Value::Number(base + digits::all(text)?)),
            Form::Digits { .. } => digits::all(text).map(Value::Number),
            Form::Fraction { .. } => {
                let micros = digits::all(text.get(..6).unwrap_or(text))?;
                let missing = 6usize.saturating_sub(text.len());
                Some(Value::Number(
                    micros * 10u64.pow(u32::try_from(missing).ok()?),
                ))
            }
            Form::Names(names) => {
                let is = |name: &&Name| name.length_in(text) == Some(text.len());
                names.iter().find(is).map(|name| Value::Number(name.value))
            }
            Form::Offset { .. } => zone(text, false),
            Form::Region { short } => zone(text, *short),
        }
    }
}

/// The zone that a text names; `short`: or its short name.
fn zone(text: &[u8], short: bool) -> Option<Value<'_>> {
    let is = |name: &&(&str, &str)| short && text.eq_ignore_ascii_case(name.0.as_bytes());
    let name = match SHORT_ZONES.iter().find(is) {
        Some((_, name)) => name,
        None => std::str::from_utf8(text).ok()?,
    };
    match zone::read(name.as_bytes()) {
        ZoneText::Offset(seconds) => Some(Value::Offset(seconds)),
        ZoneText::Region => Some(Value::Region(name)),
        ZoneText::Bad => None,
    }
}

fn begins(text: &[u8], name: &str) -> bool {
    text.get(..name.len())
        .is_some_and(|front| front.eq_ignore_ascii_case(name.as_bytes()))
}

/// The length of `form` if the text has its signs and digits.
fn shape(text: &[u8], form: &[u8]) -> Option<usize> {
    let is_like = |(byte, wanted): (&u8, &u8)| match wanted {
        b'+' => matches!(byte, b'+' | b'-'),
        b'0' => byte.is_ascii_digit(),
        _ => byte == wanted,
    };
    text.get(..form.len())?
        .iter()
        .zip(form)
        .all(is_like)
        .then_some(form.len())
}

/// The length of the longest name of a region: a letter, then letters, digits and `_+-`, in parts between slashes.
fn region(text: &[u8]) -> Option<usize> {
    if !text.first()?.is_ascii_alphabetic() {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_+-".contains(byte);
    let mut length = 0;
    loop {
        length += text
            .get(length..)?
            .iter()
            .take_while(|byte| is_part(byte))
            .count();
        match text.get(length..length + 2) {
            Some([b'/', next]) if is_part(next) => length += 1,
            _ => return Some(length),
        }
    }
}
