//! Encodings of several bytes for some characters: what Python's codec makes of every sequence of bytes.

use std::collections::HashMap;

use serde::Deserialize;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
const NOTHING: char = '\0'; // in a table: these bytes are no character
const FIRST_TRAIL: u8 = 0x21;
const LONG_BYTES: usize = 8; // of a syllable that is written by its parts
const SECOND_PLANE: usize = 189_000; // number of the four bytes that are U+10000

/// The tables of a codec, as Python reads them from it. ASCII is ASCII.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeTables {
    /// The characters of the bytes from 0x80 on that are one; NUL where they are none.
    pub one: String,
    /// For a first byte, the characters that it is with each second byte from 0x21 on.
    pub two: Vec<(u8, String)>,
    /// What two bytes are that are several characters.
    pub pairs: Vec<(u8, u8, String)>,
    /// The characters of four bytes, by their number, in the first plane; where there are none, no four bytes are one.
    pub four: String,
    /// The characters of eight bytes: seven of them, the first eighth one, and the character of that and of those after.
    pub eight: Vec<([u8; LONG_BYTES - 1], u8, String)>,
}

/// What each sequence of bytes is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codes {
    one: Vec<char>,
    two: Vec<char>, // 256 for each first byte from 0x80 on
    pairs: Vec<([u8; 2], String)>,
    four: Vec<char>,
    eight: Vec<([u8; LONG_BYTES], char)>, // sorted
    written: HashMap<String, Vec<u8>>,
}

impl Codes {
    /// Of tables, and of texts beyond ASCII as files have them.
    ///
    /// # Errors
    /// If a table is too short, or too long.
    pub fn new(
        tables: &CodeTables,
        written: HashMap<String, Vec<u8>>,
    ) -> Result<Codes, &'static str> {
        let one: Vec<char> = tables.one.chars().collect();
        if one.len() != 0x80 {
            return Err("a table of a character for each byte from 0x80 on");
        }
        let mut two = vec![NOTHING; 0x80 << 8];
        for (lead, characters) in &tables.two {
            let row = usize::from(lead.checked_sub(0x80).ok_or("a first byte beyond ASCII")?) << 8;
            let row = two.get_mut(row + usize::from(FIRST_TRAIL)..row + 0x100);
            for (place, character) in row.unwrap_or_default().iter_mut().zip(characters.chars()) {
                *place = character;
            }
        }
        let mut eight = Vec::new();
        for (before, first, characters) in &tables.eight {
            for (last, character) in (*first..=u8::MAX).zip(characters.chars()) {
                let [a, b, c, d, e, f, g] = *before;
                if character != NOTHING {
                    eight.push(([a, b, c, d, e, f, g, last], character));
                }
            }
        }
        eight.sort_unstable();
        let pairs = tables.pairs.iter();
        Ok(Codes {
            one,
            two,
            pairs: pairs
                .map(|(lead, trail, text)| ([*lead, *trail], text.clone()))
                .collect(),
            four: tables.four.chars().collect(),
            eight,
            written,
        })
    }

    /// A text as files have it.
    pub fn written(&self, text: &str) -> Option<&[u8]> {
        self.written.get(text).map(Vec::as_slice)
    }

    /// Append `data` as UTF-8. Where bytes are no character, the first of them becomes U+FFFD.
    pub(crate) fn append(&self, data: &[u8], texts: &mut Vec<u8>) {
        let mut rest = data;
        while !rest.is_empty() {
            let high = rest.iter().position(|byte| !byte.is_ascii());
            let (ascii, others) = rest.split_at(high.unwrap_or(rest.len()));
            texts.extend_from_slice(ascii);
            rest = others;
            while let Some(&lead) = rest.first().filter(|byte| !byte.is_ascii()) {
                let length = self.push(lead, rest, texts);
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }

    /// Append the character at the front of `data`, which begins with `lead`; answers how many bytes it has.
    #[inline]
    fn push(&self, lead: u8, data: &[u8], texts: &mut Vec<u8>) -> usize {
        let row = usize::from(lead & 0x7F);
        let one = self.one.get(row).copied().unwrap_or(NOTHING);
        let two = data.get(1).and_then(|&trail| {
            let place = (row << 8) + usize::from(trail);
            self.two.get(place).copied()
        });
        let (character, length) = match (one, two) {
            (NOTHING, Some(two)) if two != NOTHING => (two, 2),
            (NOTHING, _) => match self.longer(data) {
                Ok(found) => found,
                Err(text) => {
                    texts.extend_from_slice(text.as_bytes());
                    return 2;
                }
            },
            (one, _) => (one, 1),
        };
        texts.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        length
    }

    /// The same of those that are no single character of two bytes; `Err` for two bytes that are several.
    #[cold]
    fn longer(&self, data: &[u8]) -> Result<(char, usize), &str> {
        let pair = |(bytes, _): &&([u8; 2], String)| data.starts_with(bytes);
        if let Some((_, text)) = self.pairs.iter().find(pair) {
            return Err(text);
        }
        if let Some(character) = data.first_chunk().and_then(|bytes| self.four(*bytes)) {
            return Ok((character, 4));
        }
        let eight = data.first_chunk::<LONG_BYTES>().and_then(|bytes| {
            let place = self.eight.binary_search_by_key(bytes, |(bytes, _)| *bytes);
            place.ok().and_then(|place| self.eight.get(place))
        });
        Ok(eight.map_or((REPLACEMENT, 1), |&(_, character)| (character, LONG_BYTES)))
    }

    /// The character of four bytes: their number counts a digit with each second one.
    fn four(&self, [a, b, c, d]: [u8; 4]) -> Option<char> {
        let place = |byte: u8, first: u8, last: u8| {
            let is_here = (first..=last).contains(&byte);
            is_here.then(|| usize::from(byte - first))
        };
        let (a, c) = (place(a, 0x81, 0xFE)?, place(c, 0x81, 0xFE)?);
        let (b, d) = (place(b, b'0', b'9')?, place(d, b'0', b'9')?);
        if self.four.is_empty() {
            return None;
        }
        let number = ((a * 10 + b) * 126 + c) * 10 + d;
        match number.checked_sub(SECOND_PLANE) {
            Some(after) => char::from_u32(0x1_0000 + u32::try_from(after).ok()?),
            None => self.four.get(number).copied().filter(|&at| at != NOTHING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes() -> Codes {
        let mut one = "\0".repeat(0x7F);
        one.push('\u{a5}');
        let tables = CodeTables {
            one,
            two: vec![(0x81, "\u{4e00}\u{4e8c}".into()), (0x82, "\0x".into())],
            pairs: vec![(0x82, 0x21, "ab".into())],
            four: "\0\u{80}".into(),
            eight: vec![([0xA4; 7], 0xA1, "\0\u{ac00}".into())],
        };
        let written = HashMap::from([("\u{4e00}".to_string(), vec![0x81, 0x21])]);
        Codes::new(&tables, written).expect("whole tables")
    }

    fn text(data: &[u8]) -> String {
        let mut texts = Vec::new();
        codes().append(data, &mut texts);
        String::from_utf8(texts).expect("UTF-8")
    }

    #[test]
    fn each_sequence_is_what_its_table_says() {
        assert_eq!(text(b"a\x81!b\x81\"\xff!"), "a\u{4e00}b\u{4e8c}\u{a5}!");
        assert_eq!(text(b"\x82!\x82\""), "abx");
        assert_eq!(text(b"\x81\x30\x81\x31|"), "\u{80}|");
        assert_eq!(text(b"\x90\x30\x81\x30"), "\u{10000}");
        assert_eq!(text(b"\xa4\xa4\xa4\xa4\xa4\xa4\xa4\xa2|"), "\u{ac00}|");
        assert_eq!(codes().written("\u{4e00}"), Some(b"\x81!".as_slice()));
    }

    #[test]
    fn the_first_byte_of_what_is_no_character_is_replaced() {
        assert_eq!(text(b"\x81|\x82#\x81"), "\u{fffd}|\u{fffd}#\u{fffd}");
        assert_eq!(text(b"\x81\x30\x81\x30"), "\u{fffd}0\u{fffd}0");
        assert_eq!(text(b"\x81\x30\x81"), "\u{fffd}0\u{fffd}");
        assert_eq!(text(b"\xe3\x32\x9a\x36"), "\u{fffd}2\u{fffd}6");
        assert_eq!(text(b"\xa4\xa4\xa4\xa1"), "\u{fffd}".repeat(4));
    }

    #[test]
    fn tables_of_another_length_are_refused() {
        let tables = CodeTables {
            one: "a".into(),
            two: vec![],
            pairs: vec![],
            four: String::new(),
            eight: vec![],
        };
        assert!(Codes::new(&tables, HashMap::new()).is_err());
    }
}
