//! The tokens of JSON, and values skipped in full: every byte is checked, nothing is kept.

use crate::bits::{LANE, first_special};

use super::causes::{Reason, Wrong};
use super::dialect::Dialect;
use super::nest::Nest;
use super::number::{Number, number};

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is none.
    #[default]
    Absent,
    Null,
    True,
    False,
    Number,
    /// A string as it is written.
    Plain,
    /// A string with escapes.
    Escaped,
    Array,
    Object,
}

/// A value and where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub kind: Kind,
    /// Whether a number is nothing but a sign, `digits`, and a point before the last `places` of them.
    pub is_plain: bool,
    pub start: usize,
    pub stop: usize,
    pub digits: u64,
    pub places: usize,
}

impl Span {
    #[inline]
    pub(crate) fn new(kind: Kind, start: usize, stop: usize) -> Span {
        Span {
            kind,
            start,
            stop,
            ..Span::default()
        }
    }
}

/// What a value is, and where it stops; absent if it is wrong. Two words, so that it is returned in registers.
type Token = (Kind, usize);

/// Reads tokens of a text that is valid UTF-8. Each method answers where it stops; nothing if the text is wrong, and
/// then `wrong` says why.
pub(crate) struct Scanner {
    pub dialect: Dialect,
    /// Whether everything is wrong that framing may read in another way: strings over line feeds, or in single quotes
    /// where quotes matter to framing.
    pub as_framed: bool,
    /// Whether line ends are wrong even as white space.
    pub in_line: bool,
    pub wrong: Wrong,
    nest: Nest,
}

impl Scanner {
    pub(crate) fn new(dialect: Dialect) -> Scanner {
        let wrong = Wrong {
            reason: Reason::Value,
            at: 0,
        };
        Scanner {
            dialect,
            as_framed: false,
            in_line: false,
            wrong,
            nest: Nest::default(),
        }
    }

    #[cold]
    fn none(&mut self, reason: Reason, at: usize) -> Token {
        self.wrong = Wrong { reason, at };
        (Kind::Absent, at)
    }

    #[cold]
    pub(crate) fn fail<T>(&mut self, reason: Reason, at: usize) -> Option<T> {
        self.wrong = Wrong { reason, at };
        None
    }

    /// The value at `at`, whatever it is.
    #[inline(always)] // in the loop over members: a value that is returned in memory is read again before it is there
    pub(crate) fn value(&mut self, text: &[u8], at: usize) -> Option<Span> {
        let (kind, stop) = match text.get(at) {
            Some(b'"') => self.quoted::<b'"'>(text, at),
            Some(b'-' | b'0'..=b'9') => {
                let Number {
                    stop,
                    digits,
                    places,
                    is_plain,
                } = number(text, at, self.dialect.allow_numeric_leading_zeros);
                if stop != at {
                    return Some(Span {
                        kind: Kind::Number,
                        is_plain,
                        start: at,
                        stop,
                        digits,
                        places,
                    });
                }
                self.odd(text, at)
            }
            Some(b'{') => (Kind::Object, self.container(text, at)?),
            Some(b'[') => (Kind::Array, self.container(text, at)?),
            _ => self.word(text, at),
        };
        match kind {
            Kind::Absent => None,
            _ => Some(Span::new(kind, at, stop)),
        }
    }

    /// The value at `at`, which is no bracket.
    fn scalar(&mut self, text: &[u8], at: usize) -> Token {
        match text.get(at) {
            Some(b'"') => self.quoted::<b'"'>(text, at),
            Some(b'-' | b'0'..=b'9') => {
                match number(text, at, self.dialect.allow_numeric_leading_zeros).stop {
                    stop if stop != at => (Kind::Number, stop),
                    _ => self.odd(text, at),
                }
            }
            _ => self.word(text, at),
        }
    }

    /// A literal, a string in single quotes, or a number that is none.
    #[inline(never)]
    fn word(&mut self, text: &[u8], at: usize) -> Token {
        let rest = text.get(at..).unwrap_or_default();
        let (kind, length) = match rest.first() {
            Some(b't') if rest.starts_with(b"true") => (Kind::True, 4),
            Some(b'f') if rest.starts_with(b"false") => (Kind::False, 5),
            Some(b'n') if rest.starts_with(b"null") => (Kind::Null, 4),
            Some(b'\'') if self.takes_single_quotes() => {
                return self.quoted::<b'\''>(text, at);
            }
            _ => return self.odd(text, at),
        };
        match rest.get(length) {
            Some(&byte)
                if byte.is_ascii_alphanumeric() || byte >= 0x80 || b"_$".contains(&byte) =>
            {
                self.none(Reason::Value, at)
            }
            _ => (kind, at + length),
        }
    }

    /// `NaN` and the like.
    #[cold]
    fn odd(&mut self, text: &[u8], at: usize) -> Token {
        const AFTER_MINUS: [&[u8]; 4] = [b"NaN", b"Infinity", b"Inf", b"INF"];
        const AFTER_PLUS: [&[u8]; 2] = [b"INF", b"Infinity"];
        let rest = text.get(at..).unwrap_or_default();
        let (signs, words): (usize, &[&[u8]]) = match rest.first() {
            Some(b'-') => (1, &AFTER_MINUS),
            Some(b'+') => (1, &AFTER_PLUS),
            _ => (0, &AFTER_MINUS[..3]),
        };
        let unsigned = rest.get(signs..).unwrap_or_default();
        let found = words
            .iter()
            .find(|word| self.dialect.allow_non_numeric_numbers && unsigned.starts_with(word));
        match found {
            Some(word) => (Kind::Number, at + signs + word.len()),
            None => self.none(Reason::Value, at),
        }
    }

    /// The string whose quote is at `at`.
    #[inline(always)] // as above
    fn quoted<const QUOTE: u8>(&mut self, text: &[u8], at: usize) -> Token {
        let stop = special::<QUOTE>(text, at.wrapping_add(1)); // there is a byte at `at`
        if text.get(stop) == Some(&QUOTE) {
            return (Kind::Plain, stop.wrapping_add(1));
        }
        self.quoted_oddly::<QUOTE>(text, stop)
    }

    /// The same where something special is in the string, first at `odd`.
    #[inline(never)]
    fn quoted_oddly<const QUOTE: u8>(&mut self, text: &[u8], odd: usize) -> Token {
        let (mut at, mut kind) = (odd, Kind::Plain);
        loop {
            match text.get(at) {
                Some(&byte) if byte == QUOTE => return (kind, at + 1),
                Some(b'\\') => match self.escape(text, at + 1) {
                    Some(stop) => (kind, at) = (Kind::Escaped, stop),
                    None => return self.none(Reason::Text, at),
                },
                Some(&byte)
                    if self.dialect.allow_unquoted_control_chars && !self.ends_string(byte) =>
                {
                    at += 1
                }
                _ => return self.none(Reason::Text, at),
            }
            at = special::<QUOTE>(text, at);
        }
    }

    /// After what a backslash escapes.
    fn escape(&self, text: &[u8], at: usize) -> Option<usize> {
        match *text.get(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
            b'u' => text
                .get(at + 1..at + 5)?
                .iter()
                .all(u8::is_ascii_hexdigit)
                .then_some(at + 5),
            b'\'' if self.dialect.allow_single_quotes => Some(at + 1),
            byte if self.dialect.allow_backslash_escaping_any_character
                && !self.ends_string(byte) =>
            {
                Some(at + 1)
            }
            _ => None,
        }
    }

    fn takes_single_quotes(&self) -> bool {
        self.dialect.allow_single_quotes && (!self.as_framed || self.in_line)
    }

    fn ends_string(&self, byte: u8) -> bool {
        matches!(byte, b'\n' | b'\r') && self.as_framed
    }

    /// After the white space at `at`.
    #[inline(always)] // mostly there is none
    pub(crate) fn skip_space(&mut self, text: &[u8], at: usize) -> usize {
        match text.get(at) {
            Some(&byte) if byte <= b' ' => self.skip_spaces(text, at),
            _ => at,
        }
    }

    fn skip_spaces(&mut self, text: &[u8], mut at: usize) -> usize {
        const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
        loop {
            match text.get(at) {
                Some(b' ') => {
                    let next = text.get(at..).and_then(|rest| rest.first_chunk::<8>());
                    let others = next.map_or(!0xff, |next| u64::from_le_bytes(*next) ^ SPACES);
                    at = at.wrapping_add((others.trailing_zeros() / 8) as usize); // no further than the text
                }
                Some(b'\t') => at = at.wrapping_add(1),
                Some(b'\n' | b'\r') if !self.in_line => at = at.wrapping_add(1),
                _ => return at,
            }
        }
    }

    /// The name at `at`, as it is written.
    #[inline]
    pub(crate) fn name(&mut self, text: &[u8], at: usize) -> Option<Span> {
        match text.get(at) {
            Some(b'"') => spanned(self.quoted::<b'"'>(text, at), at),
            _ => self.odd_name(text, at),
        }
    }

    /// After a name, its colon, and white space.
    fn named(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let stop = self.name(text, at)?.stop;
        self.colon(text, stop)
    }

    /// After the colon that follows a name, and white space.
    #[inline]
    pub(crate) fn colon(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let at = self.skip_space(text, at);
        if text.get(at) != Some(&b':') {
            return self.fail(Reason::Colon, at);
        }
        Some(self.skip_space(text, at + 1))
    }

    fn odd_name(&mut self, text: &[u8], at: usize) -> Option<Span> {
        if text.get(at) == Some(&b'\'') && self.takes_single_quotes() {
            let token = self.quoted::<b'\''>(text, at);
            return spanned(token, at);
        }
        if !self.dialect.allow_unquoted_field_names {
            return self.fail(Reason::Name, at);
        }
        let length = bare_name(text.get(at..).unwrap_or_default());
        match length {
            0 => self.fail(Reason::Name, at),
            length => Some(Span::new(Kind::Plain, at, at + length)),
        }
    }

    /// After the object or array that opens at `at`, however deep it is.
    #[inline(never)]
    fn container(&mut self, text: &[u8], at: usize) -> Option<usize> {
        self.nest.clear();
        let mut at = self.open(text, at)?;
        while self.nest.is_open() {
            at = match text.get(at) {
                Some(b'{' | b'[') => self.open(text, at)?,
                _ => {
                    let (kind, stop) = self.scalar(text, at);
                    if kind == Kind::Absent {
                        return None;
                    }
                    self.close(text, stop)?
                }
            };
        }
        Some(at)
    }

    /// Go into the container that opens at `at`; if it is empty, go on after it.
    #[inline]
    fn open(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let is_object = text.get(at) == Some(&b'{');
        let inside = self.skip_space(text, at + 1);
        if text.get(inside) == Some(&closer(is_object)) {
            return self.close(text, inside + 1);
        }
        self.nest.open(is_object);
        if is_object {
            self.named(text, inside)
        } else {
            Some(inside)
        }
    }

    /// After a value: to the next one, or out of everything.
    #[inline]
    fn close(&mut self, text: &[u8], after: usize) -> Option<usize> {
        let mut at = after;
        while self.nest.is_open() {
            let is_object = self.nest.is_object();
            let is_end;
            (at, is_end) = self.after_part(text, at, is_object)?;
            if !is_end {
                return match is_object {
                    true => self.named(text, at),
                    false => Some(at),
                };
            }
            self.nest.close();
        }
        Some(at)
    }

    /// After a value in an object or an array: where the next part of it begins, or, with `true`, after all of it.
    #[inline]
    pub(crate) fn after_part(
        &mut self,
        text: &[u8],
        after: usize,
        is_object: bool,
    ) -> Option<(usize, bool)> {
        let at = self.skip_space(text, after);
        match text.get(at) {
            Some(b',') => Some((self.skip_space(text, at + 1), false)),
            Some(&byte) if byte == closer(is_object) => Some((at + 1, true)),
            _ if is_object => self.fail(Reason::Object, at),
            _ => self.fail(Reason::Array, at),
        }
    }
}

fn spanned((kind, stop): Token, start: usize) -> Option<Span> {
    (kind != Kind::Absent).then(|| Span::new(kind, start, stop))
}

/// Length of the name without quotes that some text begins with: letters, digits and `_$@#*+-`, and outside of ASCII
/// whatever is no blank and stands for no byte that is no text.
fn bare_name(text: &[u8]) -> usize {
    let is_part = |symbol: char| match symbol.is_ascii() {
        true => symbol.is_ascii_alphanumeric() || "_$@#*+-".contains(symbol),
        false => !symbol.is_whitespace() && symbol != char::REPLACEMENT_CHARACTER,
    };
    let others = |(at, symbol): (usize, char)| (!is_part(symbol)).then_some(at);
    let mut before = 0; // bytes of the chunks of text that are all name
    for chunk in text.utf8_chunks() {
        if let Some(at) = chunk.valid().char_indices().find_map(others) {
            return before + at;
        }
        before += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            return before;
        }
    }
    before
}

fn closer(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

/// The first quote, backslash or control character from `at` on, or the end.
#[inline(always)] // strings are short
fn special<const QUOTE: u8>(text: &[u8], mut at: usize) -> usize {
    while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk::<LANE>()) {
        if let Some(found) = first_special(bytes, QUOTE) {
            return at.wrapping_add(found); // no further than the text
        }
        at = at.wrapping_add(LANE);
    }
    let rest = text.get(at..).unwrap_or_default();
    let length = rest
        .iter()
        .position(|&byte| byte == QUOTE || byte == b'\\' || byte < 0x20);
    length.map_or(text.len().max(at), |length| at + length)
}
