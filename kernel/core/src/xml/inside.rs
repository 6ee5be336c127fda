//! What is between the tags of an element: texts, comments, CDATA and instructions.

use super::element::Reader;
use super::grammar::is_space;
use super::plain::{IN_CDATA, IN_COMMENT, IN_INSTRUCTION, IN_TEXT, is_no_character, plain};
use super::tree::{Kind, Reason};

impl Reader {
    /// Text up to the next tag.
    #[inline]
    pub(super) fn characters(&mut self, text: &str, start: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let (mut at, mut is_plain) = (start, true);
        loop {
            at = plain(bytes, at, &IN_TEXT);
            match bytes.get(at) {
                Some(b'<') => break,
                Some(b'&') => {
                    let after = self.reference(text, at)?;
                    self.check_reference(bytes, at, after, at)?;
                    (at, is_plain) = (after, false);
                }
                Some(b'\r') => (at, is_plain) = (at + 1, false),
                Some(b']') if bytes.get(at..).is_some_and(|rest| rest.starts_with(b"]]>")) => {
                    return self.fail(Reason::Token, at + 2);
                }
                Some(b']') => at += 1,
                Some(0xEF) if !is_no_character(bytes, at) => at += 3,
                _ => return self.refuse(bytes, at),
            }
        }
        if !self.is_indentation(bytes, start, at) {
            self.push(Kind::Text, (0, 0), (start, at), is_plain);
            self.continues = true;
        }
        Some(at)
    }

    /// Whether a text is blank, and all that is between two tags of an element with children.
    #[inline]
    fn is_indentation(&self, bytes: &[u8], start: usize, stop: usize) -> bool {
        let written = bytes.get(start..stop).unwrap_or_default();
        !self.continues
            && written.iter().all(|&byte| is_space(byte))
            && match bytes.get(stop + 1) {
                Some(b'!' | b'?') | None => false,
                Some(b'/') => {
                    let element = self
                        .open
                        .last()
                        .and_then(|&(element, _)| self.parts.get(element));
                    element.is_some_and(|part| part.has_children)
                }
                Some(_) => true,
            }
    }

    pub(super) fn declaration(&mut self, bytes: &[u8], lt: usize) -> Option<usize> {
        match bytes.get(lt + 2) {
            Some(b'-') if bytes.get(lt + 3) == Some(&b'-') => self.comment(bytes, lt + 4),
            Some(b'-') => self.refuse(bytes, lt + 3),
            Some(b'[') => {
                let rest = bytes.get(lt + 3..).unwrap_or_default();
                let alike = rest
                    .iter()
                    .zip(b"CDATA[")
                    .take_while(|(one, other)| one == other)
                    .count();
                match alike {
                    6 => self.cdata(bytes, lt + 9),
                    _ if rest.len() < 6 => self.fail(Reason::Unclosed, lt), // whatever it is
                    _ => self.fail(Reason::Token, lt + 3 + alike),
                }
            }
            _ => self.refuse(bytes, lt + 2),
        }
    }

    fn comment(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            at = plain(bytes, at, &IN_COMMENT);
            match bytes.get(at) {
                Some(b'-') if bytes.get(at + 1) != Some(&b'-') => at += 1,
                Some(b'-') if bytes.get(at + 2) == Some(&b'>') => return Some(at + 3),
                Some(b'-') => return self.refuse(bytes, at + 2),
                Some(0xEF) if !is_no_character(bytes, at) => at += 3,
                _ => return self.refuse(bytes, at),
            }
        }
    }

    fn cdata(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let (mut at, mut is_plain) = (start, true);
        loop {
            at = plain(bytes, at, &IN_CDATA);
            match bytes.get(at) {
                Some(b']') if bytes.get(at..).is_some_and(|rest| rest.starts_with(b"]]>")) => break,
                Some(b']') => at += 1,
                Some(b'\r') => (at, is_plain) = (at + 1, false),
                Some(0xEF) if !is_no_character(bytes, at) => at += 3,
                _ => return self.refuse(bytes, at),
            }
        }
        if at > start {
            self.push(Kind::Cdata, (0, 0), (start, at), is_plain);
            self.continues = true;
        }
        Some(at + 3)
    }

    /// Where the end of an instruction is, which is open at `start`.
    fn instruction_end(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            at = plain(bytes, at, &IN_INSTRUCTION);
            match bytes.get(at) {
                Some(b'?') if bytes.get(at + 1) == Some(&b'>') => return Some(at),
                Some(b'?') => at += 1,
                Some(0xEF) if !is_no_character(bytes, at) => at += 3,
                _ => return self.refuse(bytes, at),
            }
        }
    }

    pub(super) fn instruction(&mut self, text: &str, lt: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        let mut at = self.name(text, lt + 2)?;
        let target = bytes.get(lt + 2..at).unwrap_or_default();
        let is_declaration = target == b"xml";
        if !is_declaration && target.eq_ignore_ascii_case(b"xml") {
            return self.refuse(bytes, at);
        }
        let has_more = match bytes.get(at) {
            Some(&byte) if is_space(byte) => true,
            Some(b'?') if bytes.get(at + 1) == Some(&b'>') => false,
            Some(b'?') => return self.refuse(bytes, at + 1),
            _ => return self.refuse(bytes, at),
        };
        if has_more {
            at = self.instruction_end(bytes, at)?;
        }
        if is_declaration {
            return self.fail(Reason::Declaration, lt);
        }
        Some(at + 2)
    }
}
