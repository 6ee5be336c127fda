//! Reads one element: checks it as the reference's parser (expat) does, and notes where its parts are.

use super::grammar::is_space;
use super::letters;
use super::plain::{IN_VALUE, is_no_character, plain};
use super::text::meaning;
use super::tree::{Kind, Part, Reason, Wrong};

/// Reads elements, one after the other.
#[derive(Debug, Default)]
pub(super) struct Reader {
    ignore_namespace: bool,
    /// Of the last one that was read.
    pub parts: Vec<Part>,
    /// Why the last one is none.
    pub wrong: Wrong,
    pub(super) open: Vec<(usize, (usize, usize))>, // elements, with their names as they are written
    pub(super) continues: bool,                    // the next text belongs to the last one
}

impl Reader {
    pub(super) fn new(ignore_namespace: bool) -> Reader {
        Reader {
            ignore_namespace,
            ..Reader::default()
        }
    }

    /// Read the element at `start`; answers where it ends.
    pub(super) fn read(&mut self, text: &str, start: usize) -> Option<usize> {
        self.parts.clear();
        self.open.clear();
        self.continues = false;
        let bytes = text.as_bytes();
        match (bytes.get(start)?, bytes.get(start + 1)) {
            (b'<', Some(b'!' | b'?') | None) => return self.fail(Reason::Unsure, start),
            (b'<', Some(&byte)) if byte.is_ascii() && !letters::begins(byte.into()) => {
                return self.fail(Reason::Token, start + 1);
            }
            (b'<', _) => {}
            _ => return self.fail(Reason::Unsure, start),
        }
        let mut at = self.start_tag(text, start)?;
        while !self.open.is_empty() {
            at = match (bytes.get(at), bytes.get(at + 1)) {
                (Some(b'<'), Some(b'/')) => self.end_tag(text, at)?,
                (Some(b'<'), Some(b'!')) => self.declaration(bytes, at)?,
                (Some(b'<'), Some(b'?')) => self.instruction(text, at)?,
                (Some(b'<'), Some(_)) => self.start_tag(text, at)?,
                (Some(b'<'), None) | (None, _) => return self.fail(Reason::Unsure, at),
                _ => self.characters(text, at)?,
            };
        }
        Some(at)
    }

    #[cold]
    pub(super) fn fail<T>(&mut self, reason: Reason, at: usize) -> Option<T> {
        self.wrong = Wrong { reason, at };
        None
    }

    /// The byte at `at` is wrong there, or missing.
    #[cold]
    pub(super) fn refuse<T>(&mut self, bytes: &[u8], at: usize) -> Option<T> {
        let reason = match bytes.get(at) {
            Some(_) => Reason::Token,
            None => Reason::Unsure,
        };
        self.fail(reason, at)
    }

    /// After the name at `start`.
    #[inline]
    pub(super) fn name(&mut self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = start;
        loop {
            match bytes.get(at) {
                Some(byte) if byte.is_ascii_lowercase() => at += 1,
                Some(byte) if byte.is_ascii() => {
                    let symbol = char::from(*byte);
                    let is_part =
                        letters::goes_on(symbol) && (at > start || letters::begins(symbol));
                    if !is_part {
                        break;
                    }
                    at += 1;
                }
                Some(_) => {
                    let symbol = text.get(at..).and_then(|rest| rest.chars().next());
                    match symbol {
                        Some(symbol) if at == start && letters::begins(symbol) => {
                            at += symbol.len_utf8()
                        }
                        Some(symbol) if at > start && letters::goes_on(symbol) => {
                            at += symbol.len_utf8()
                        }
                        _ => break,
                    }
                }
                None => break,
            }
        }
        if at == start {
            return self.refuse(bytes, at);
        }
        Some(at)
    }

    fn local(&self, bytes: &[u8], (start, stop): (usize, usize)) -> (usize, usize) {
        if !self.ignore_namespace {
            return (start, stop);
        }
        let name = bytes.get(start..stop).unwrap_or_default();
        let prefix = name.iter().rposition(|&byte| byte == b':');
        (start + prefix.map_or(0, |length| length + 1), stop)
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        kind: Kind,
        name: (usize, usize),
        value: (usize, usize),
        is_plain: bool,
    ) {
        let next = self.parts.len() + 1;
        self.parts.push(Part {
            kind,
            is_plain,
            goes_on: self.continues,
            has_children: false,
            has_attributes: false,
            name,
            value,
            next,
            same: 0,
        });
    }

    fn start_tag(&mut self, text: &str, lt: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let element = self.parts.len();
        let name = (lt + 1, self.name(text, lt + 1)?);
        self.continues = false;
        if let Some(&(parent, _)) = self.open.last()
            && let Some(part) = self.parts.get_mut(parent)
        {
            part.has_children = true;
        }
        self.push(Kind::Element, self.local(bytes, name), (0, 0), true);
        let mut at = name.1;
        let is_empty = loop {
            match bytes.get(at) {
                Some(b'>') => break false,
                Some(b'/') if bytes.get(at + 1) == Some(&b'>') => break true,
                Some(b'/') => return self.refuse(bytes, at + 1),
                Some(&byte) if is_space(byte) => {
                    at = after_space(bytes, at);
                    if !matches!(bytes.get(at), Some(b'>' | b'/')) {
                        at = self.attribute(text, at)?;
                        if !matches!(bytes.get(at), Some(&byte) if is_space(byte) || byte == b'>' || byte == b'/')
                        {
                            return self.refuse(bytes, at);
                        }
                    }
                }
                _ => return self.refuse(bytes, at),
            }
        };
        let attributes = element + 1..self.parts.len();
        if !attributes.is_empty() {
            let has_references = self
                .parts
                .get(attributes.clone())?
                .iter()
                .any(|part| !part.is_plain);
            if attributes.len() > 1 || has_references {
                self.check_attributes(bytes, lt, attributes.clone())?;
            }
            for index in attributes.filter(|_| self.ignore_namespace) {
                let local = self.local(bytes, self.parts.get(index)?.name);
                self.parts.get_mut(index)?.name = local;
            }
        }
        let after = at + if is_empty { 2 } else { 1 };
        let next = self.parts.len();
        let part = self.parts.get_mut(element)?;
        part.has_attributes = next > element + 1;
        (part.value, part.next) = ((after, after), next);
        if !is_empty {
            self.open.push((element, name));
        }
        Some(after)
    }

    /// Read the attribute at `start`, up to behind its closing quote.
    fn attribute(&mut self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let name = (start, self.name(text, start)?);
        let equals = after_space(bytes, name.1);
        if bytes.get(equals) != Some(&b'=') {
            return self.refuse(bytes, equals);
        }
        let open = after_space(bytes, equals + 1);
        let Some(&quote @ (b'"' | b'\'')) = bytes.get(open) else {
            return self.refuse(bytes, open);
        };
        let (mut at, mut is_plain) = (open + 1, true);
        loop {
            at = plain(bytes, at, &IN_VALUE);
            match bytes.get(at) {
                Some(&byte) if byte == quote => break,
                Some(b'"' | b'\'') => at += 1,
                Some(b'\t' | b'\n' | b'\r') => (at, is_plain) = (at + 1, false),
                Some(b'&') => (at, is_plain) = (self.reference(text, at)?, false),
                Some(0xEF) if !is_no_character(bytes, at) => at += 3,
                _ => return self.refuse(bytes, at),
            }
        }
        self.push(Kind::Attribute, name, (open + 1, at), is_plain);
        Some(at + 1)
    }

    /// Attributes whose tag is well-formed: each name comes once, and references mean something.
    fn check_attributes(
        &mut self,
        bytes: &[u8],
        lt: usize,
        attributes: std::ops::Range<usize>,
    ) -> Option<()> {
        const FEW: usize = 8;
        let mut names = std::collections::HashSet::new();
        for index in attributes.clone() {
            let Part {
                name,
                value,
                is_plain,
                ..
            } = *self.parts.get(index)?;
            let written =
                |(start, stop): (usize, usize)| bytes.get(start..stop).unwrap_or_default();
            let is_double = if attributes.len() > FEW {
                !names.insert(written(name))
            } else {
                let before = self.parts.get(attributes.start..index)?;
                before
                    .iter()
                    .any(|part| written(part.name) == written(name))
            };
            if is_double {
                return self.fail(Reason::Double, name.0);
            }
            let mut at = value.0;
            while !is_plain && let Some(length) = memchr::memchr(b'&', written((at, value.1))) {
                at += length;
                self.check_reference(bytes, at, value.1, lt)?;
                at += 1;
            }
        }
        Some(())
    }

    /// After the reference at `start`, if it is written as one.
    pub(super) fn reference(&mut self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let rest = bytes.get(start + 1..).unwrap_or_default();
        let at = match rest {
            [b'#', b'x', ..] => self.digits(bytes, start + 3, u8::is_ascii_hexdigit)?,
            [b'#', ..] => self.digits(bytes, start + 2, u8::is_ascii_digit)?,
            _ => self.name(text, start + 1)?,
        };
        match bytes.get(at) {
            Some(b';') => Some(at + 1),
            _ => self.refuse(bytes, at),
        }
    }

    fn digits(&mut self, bytes: &[u8], start: usize, is_digit: fn(&u8) -> bool) -> Option<usize> {
        let rest = bytes.get(start..).unwrap_or_default();
        match rest.iter().take_while(|byte| is_digit(byte)).count() {
            0 => self.refuse(bytes, start),
            count => Some(start + count),
        }
    }

    /// Whether the reference at `start`, which is written as one, means something; of an entity that is not known the
    /// place is `token`.
    pub(super) fn check_reference(
        &mut self,
        bytes: &[u8],
        start: usize,
        limit: usize,
        token: usize,
    ) -> Option<()> {
        let written = bytes.get(start..limit).unwrap_or_default();
        match meaning(written) {
            Some(_) => Some(()),
            None if written.get(1) == Some(&b'#') => self.fail(Reason::Number, start),
            None => self.fail(Reason::Entity, token),
        }
    }

    fn end_tag(&mut self, text: &str, lt: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let &(element, (start, stop)) = self.open.last()?;
        let name = bytes.get(start..stop).unwrap_or_default();
        let rest = bytes.get(lt + 2..).unwrap_or_default();
        let after = match rest.strip_prefix(name) {
            Some([b'>', ..]) => lt + 3 + name.len(),
            _ => {
                let end = self.name(text, lt + 2)?;
                let close = after_space(bytes, end);
                if bytes.get(close) != Some(&b'>') {
                    return self.refuse(bytes, close);
                }
                if bytes.get(lt + 2..end) != Some(name) {
                    return self.fail(Reason::Mismatch, lt + 2);
                }
                close + 1
            }
        };
        self.open.pop();
        self.continues = false;
        let next = self.parts.len();
        let part = self.parts.get_mut(element)?;
        (part.value.1, part.next) = (lt, next);
        Some(after)
    }
}

#[inline]
fn after_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|&&byte| is_space(byte)).count()
}
