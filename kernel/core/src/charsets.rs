//! Texts of files in other encodings than UTF-8, and bytes that are no text: what Python's codecs make of them with
//! the error handler "replace".

use std::borrow::Cow;
use std::sync::Arc;

use crate::codes::Codes;
use crate::frames::Frames;

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
const HIGH: u64 = u64::from_le_bytes([0x80; 8]); // set in no byte of ASCII

/// How the texts of a file are encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// One byte for each character, the first 128 as in ASCII.
    Table(Box<[char; 256]>),
    /// One byte for a character of ASCII, several for most others.
    Codes(Arc<Codes>),
    /// UTF-16, big-endian or not.
    Utf16(bool),
    /// UTF-32, big-endian or not.
    Utf32(bool),
}

impl Charset {
    /// An encoding with one byte for each character.
    ///
    /// # Errors
    /// If the table has not 256 characters, or its first half is not ASCII.
    pub fn table(characters: &str) -> Result<Charset, String> {
        let table: Vec<char> = characters.chars().collect();
        let table: Box<[char; 256]> = table
            .try_into()
            .map_err(|_| "a table has 256 characters".to_string())?;
        match (0u8..0x80)
            .zip(table.iter())
            .all(|(byte, &character)| char::from(byte) == character)
        {
            true => Ok(Charset::Table(table)),
            false => Err("an encoding whose first 128 characters are not those of ASCII".into()),
        }
    }

    /// Bytes of one code unit, and whether the first is the highest.
    pub fn unit(&self) -> (usize, bool) {
        match *self {
            Charset::Utf8 | Charset::Table(_) | Charset::Codes(_) => (1, false),
            Charset::Utf16(big_endian) => (2, big_endian),
            Charset::Utf32(big_endian) => (4, big_endian),
        }
    }

    /// Append `data` as UTF-8. What is no text becomes U+FFFD, as often as Python's codec says.
    pub fn append(&self, data: &[u8], texts: &mut Vec<u8>) {
        match self {
            Charset::Utf8 => {
                for chunk in data.utf8_chunks() {
                    texts.extend_from_slice(chunk.valid().as_bytes());
                    if !chunk.invalid().is_empty() {
                        push(REPLACEMENT, texts);
                    }
                }
            }
            Charset::Table(table) => one_byte(data, table, texts),
            Charset::Codes(codes) => codes.append(data, texts),
            Charset::Utf16(big_endian) => utf16(data, *big_endian, texts),
            Charset::Utf32(big_endian) => utf32(data, *big_endian, texts),
        }
    }

    /// A mark as files have it.
    ///
    /// # Errors
    /// If it is not known.
    pub fn write(&self, mark: &str) -> Result<Vec<u8>, String> {
        let written = match self {
            Charset::Table(table) => {
                let byte =
                    |character| (0..=u8::MAX).find(|&byte| table[usize::from(byte)] == character);
                mark.chars().map(byte).collect()
            }
            Charset::Codes(codes) if !mark.is_ascii() => codes.written(mark).map(<[u8]>::to_vec),
            Charset::Utf8 | Charset::Codes(_) => Some(mark.as_bytes().to_vec()),
            Charset::Utf16(big_endian) => {
                let write: fn(u16) -> [u8; 2] = match big_endian {
                    true => u16::to_be_bytes,
                    false => u16::to_le_bytes,
                };
                Some(mark.encode_utf16().flat_map(write).collect())
            }
            Charset::Utf32(big_endian) => {
                let write: fn(u32) -> [u8; 4] = match big_endian {
                    true => u32::to_be_bytes,
                    false => u32::to_le_bytes,
                };
                Some(mark.chars().map(u32::from).flat_map(write).collect())
            }
        };
        written.ok_or_else(|| format!("a mark as the encoding has it: {mark}"))
    }

    /// `data` as a text.
    pub fn text<'a>(&self, data: &'a [u8]) -> Cow<'a, str> {
        if *self == Charset::Utf8 {
            return String::from_utf8_lossy(data);
        }
        let mut text = Vec::with_capacity(data.len());
        self.append(data, &mut text);
        Cow::Owned(String::from_utf8_lossy(&text).into_owned())
    }

    /// `data` in UTF-8, where what is no text is U+FFFD; every place in it is one of the data.
    ///
    /// Half a character at the end is left out where more may follow; a part of a code unit at the end of all is text if
    /// `keeps_part`.
    pub fn in_utf8(&self, data: &[u8], stop: usize, at_end: bool, keeps_part: bool) -> Text {
        let units = data.len() - data.len() % self.unit().0;
        let end = match (at_end, keeps_part) {
            (false, _) => self.complete(data),
            (true, false) => units,
            (true, true) => data.len(),
        };
        let data_bytes = if at_end { data.len() } else { end };
        let data = data.get(..end).unwrap_or_default();
        let complete = |stop: usize| self.complete(data.get(..stop).unwrap_or(data));
        let cut = (stop..data.len()).find(|&cut| complete(cut) == cut);
        let cut = cut.unwrap_or(data.len());
        let mut bytes = Vec::with_capacity(data.len() + data.len() / 8);
        let (before, after) = data.split_at_checked(cut).unwrap_or((data, &[]));
        self.append(before, &mut bytes);
        let stop = bytes.len();
        self.append(after, &mut bytes);
        Text {
            bytes,
            stop,
            data_bytes,
            keeps_part,
            charset: self.clone(),
        }
    }

    /// Where records of the text that [`Charset::in_utf8`] gives are in the data.
    pub fn locate(
        &self,
        text: &[u8],
        starts: &mut [i64],
        stops: &mut [i64],
        next_start: usize,
    ) -> usize {
        let both = starts.iter_mut().zip(stops);
        let both = both.flat_map(|(start, stop)| [start, stop]);
        self.locate_all(text, both, next_start)
    }

    fn locate_all<'p>(
        &self,
        text: &[u8],
        positions: impl Iterator<Item = &'p mut i64>,
        next_start: usize,
    ) -> usize {
        let mut passed = Passed::new(self, text);
        for position in positions {
            *position = passed.data_bytes(usize::try_from(*position).unwrap_or_default()) as i64;
        }
        passed.data_bytes(next_start)
    }

    /// How many bytes at the front of the data are whole characters, if the rest of them are.
    fn complete(&self, data: &[u8]) -> usize {
        let (width, big_endian) = self.unit();
        let units = data.len() - data.len() % width.max(1);
        let high = if big_endian { 2 } else { 1 };
        let opens_pair = matches!(self, Charset::Utf16(_))
            && units >= 2
            && data
                .get(units - high)
                .is_some_and(|byte| (0xD8..0xDC).contains(byte));
        if opens_pair { units - 2 } else { units }
    }
}

/// A part of a file in UTF-8.
#[derive(Clone, Debug)]
pub struct Text {
    /// The text.
    pub bytes: Vec<u8>,
    /// Where the characters end that start before the stop that was given.
    pub stop: usize,
    data_bytes: usize,
    keeps_part: bool,
    charset: Charset,
}

impl Text {
    /// Where records, and what follows them, are in the file's own bytes.
    pub fn frames(&self, mut frames: Frames) -> Frames {
        let (starts, stops) = (&mut frames.starts, &mut frames.stops);
        let ends = self.bytes.len() as i64;
        let is_last = self.keeps_part && stops.last() == Some(&ends);
        let next = frames.next_start.min(self.bytes.len());
        let place = self.charset.locate(&self.bytes, starts, stops, next);
        frames.next_start = self.at_end(next).unwrap_or(place);
        if let Some(last) = stops.last_mut().filter(|_| is_last) {
            *last = self.data_bytes as i64;
        }
        frames
    }

    /// Where positions are in the file's own bytes, one after the other.
    pub fn locate(&self, positions: &mut [i64]) {
        let end = self.bytes.len();
        self.charset
            .locate_all(&self.bytes, positions.iter_mut(), end);
    }

    /// The same of one position.
    pub fn unit(&self, position: usize) -> usize {
        self.charset.locate(&self.bytes, &mut [], &mut [], position)
    }

    /// The same, where the end is that of the data.
    pub fn end(&self, position: usize) -> usize {
        let end = self.at_end(position);
        end.unwrap_or_else(|| self.unit(position))
    }

    fn at_end(&self, position: usize) -> Option<usize> {
        (position >= self.bytes.len()).then_some(self.data_bytes)
    }
}

/// How many bytes of data a text was, up to one position after the other.
struct Passed<'a> {
    words: &'a [[u8; 8]],
    last: [u8; 8],
    passed: usize, // words
    added: i64,    // bytes in them that are there in UTF-8 only
    unit_bytes: usize,
    has_pairs: bool,
}

impl<'a> Passed<'a> {
    fn new(charset: &Charset, text: &'a [u8]) -> Passed<'a> {
        let (words, rest) = text.as_chunks();
        let mut last = [0; 8];
        for (byte, &given) in last.iter_mut().zip(rest) {
            *byte = given;
        }
        Passed {
            words,
            last,
            passed: 0,
            added: 0,
            unit_bytes: charset.unit().0,
            has_pairs: matches!(charset, Charset::Utf16(_)),
        }
    }

    /// Up to `position`, which is the first byte of a character, and not before the one asked for last.
    fn data_bytes(&mut self, position: usize) -> usize {
        let (word, bits) = (position / 8, 8 * (position % 8));
        for word in self.words.get(self.passed..word).unwrap_or_default() {
            self.added += self.added_by(u64::from_le_bytes(*word));
        }
        self.passed = word;
        let last = u64::from_le_bytes(*self.words.get(word).unwrap_or(&self.last));
        let added = self.added + self.added_by(last & !(u64::MAX << bits));
        self.unit_bytes * (position as i64 - added) as usize
    }

    /// Every byte of a character but the first; in UTF-16, a character of four bytes is two units.
    #[inline]
    fn added_by(&self, word: u64) -> i64 {
        let high = word & HIGH;
        if high == 0 {
            return 0;
        }
        let further = high & !(word << 1);
        let four = high & (word << 1) & (word << 2) & (word << 3);
        let four = if self.has_pairs { four } else { 0 };
        i64::from(further.count_ones()) - i64::from(four.count_ones())
    }
}

/// Records in UTF-8, each with a line feed after it: the bytes, and where each starts and stops.
pub fn transcode(
    data: &[u8],
    records: impl Iterator<Item = (usize, usize)>,
    charset: &Charset,
) -> (Vec<u8>, Vec<i64>, Vec<i64>) {
    let mut texts = Vec::with_capacity(data.len());
    let (mut starts, mut stops) = (Vec::new(), Vec::new());
    for (start, stop) in records {
        starts.push(texts.len() as i64);
        charset.append(data.get(start..stop).unwrap_or_default(), &mut texts);
        stops.push(texts.len() as i64);
        texts.push(b'\n'); // a parser that reads on finds the end of the record
    }
    (texts, starts, stops)
}

/// Append what has one byte for each character, eight at a time where they are ASCII.
fn one_byte(data: &[u8], table: &[char; 256], texts: &mut Vec<u8>) {
    let mut rest = data;
    while let Some((word, others)) = rest.split_first_chunk() {
        let high = u64::from_le_bytes(*word) & HIGH;
        let before = texts.len();
        texts.extend_from_slice(word);
        if high == 0 {
            rest = others;
            continue;
        }
        let ascii = (high.trailing_zeros() / 8) as usize;
        texts.truncate(before + ascii);
        let Some((&byte, others)) = rest.get(ascii..).and_then(<[u8]>::split_first) else {
            break;
        };
        push(table[usize::from(byte)], texts);
        rest = others;
    }
    for &byte in rest {
        push(table[usize::from(byte)], texts);
    }
}

#[inline]
fn push(character: char, texts: &mut Vec<u8>) {
    match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => texts.push(byte),
        _ => texts.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

fn utf16(data: &[u8], big_endian: bool, texts: &mut Vec<u8>) {
    let (units, rest) = data.as_chunks();
    let read = match big_endian {
        true => u16::from_be_bytes,
        false => u16::from_le_bytes,
    };
    let unit = |at: usize| units.get(at).map(|unit| read(*unit));
    let mut at = 0;
    while let Some(first) = unit(at) {
        if let Some(units) = units.get(at..).and_then(<[_]>::first_chunk) {
            let ascii = ascii_units(units, big_endian, texts);
            at += ascii;
            if ascii > 0 {
                continue;
            }
        }
        let pair = [first, unit(at + 1).unwrap_or_default()];
        let length = match char::decode_utf16(pair).next() {
            Some(Ok(character)) => {
                push(character, texts);
                character.len_utf16()
            }
            _ => {
                push(REPLACEMENT, texts);
                1
            }
        };
        at += length;
    }
    let opens_pair = |unit: &[u8; 2]| (0xD800..0xDC00).contains(&read(*unit));
    if !rest.is_empty() && !units.last().is_some_and(opens_pair) {
        push(REPLACEMENT, texts); // half a pair and half a unit are replaced together
    }
}

/// Append those of eight units that are ASCII, up to the first that is not.
#[inline]
fn ascii_units(units: &[[u8; 2]; 8], big_endian: bool, texts: &mut Vec<u8>) -> usize {
    // set in no unit of ASCII
    let other: [u8; 2] = if big_endian {
        [0xFF, 0x80]
    } else {
        [0x80, 0xFF]
    };
    let others = units.map(|unit| u16::from_le_bytes(unit) & u16::from_le_bytes(other));
    let first = others.iter().position(|&unit| unit != 0);
    let ascii = first.unwrap_or(units.len());
    let before = texts.len();
    texts.extend_from_slice(&units.map(|unit| unit[usize::from(big_endian)]));
    texts.truncate(before + ascii);
    ascii
}

fn utf32(data: &[u8], big_endian: bool, texts: &mut Vec<u8>) {
    let (units, rest) = data.as_chunks();
    let read = match big_endian {
        true => u32::from_be_bytes,
        false => u32::from_le_bytes,
    };
    for unit in units {
        push(char::from_u32(read(*unit)).unwrap_or(REPLACEMENT), texts);
    }
    if !rest.is_empty() {
        push(REPLACEMENT, texts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(charset: &Charset, data: &[u8]) -> String {
        let mut text = Vec::new();
        charset.append(data, &mut text);
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let latin: String = (0u8..=255).map(char::from).collect();
        let latin = Charset::table(&latin).expect("256 characters");
        assert_eq!(
            text(&Charset::Utf8, b"a\xed\xa0\x80\xf0\x9f\x98z"),
            "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}z"
        );
        assert_eq!(text(&latin, b"a\xe9"), "a\u{e9}");
        assert_eq!(
            text(&Charset::Utf16(false), b"a\0\x3d\xd8\x00\xde\0\xd8b\0"),
            "a\u{1f600}\u{fffd}b"
        );
        assert_eq!(text(&Charset::Utf16(true), b"\0a\xd8\0\0"), "a\u{fffd}");
        assert_eq!(
            text(&Charset::Utf16(true), b"\0a\xdc\0\0"),
            "a\u{fffd}\u{fffd}"
        );
        assert_eq!(
            text(&Charset::Utf32(false), b"a\0\0\0\0\xd8\0\0\0\0\x11\0a\0"),
            "a\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(text(&Charset::Utf32(true), b"\0\x01\xf6\0"), "\u{1f600}");
    }

    #[test]
    fn texts_know_where_they_were() {
        let characters = "a\u{e9}b\u{20ac}\u{1f600}cdefgh\u{1f601}\u{ff}i".chars();
        let latin: String = (0u8..=255).map(char::from).collect();
        let latin = Charset::table(&latin).expect("256 characters");
        type Encode = fn(char) -> Vec<u8>;
        let cases: [(Charset, Encode); 5] = [
            (latin, |c| vec![u8::try_from(c).unwrap_or(b'?')]),
            (Charset::Utf16(false), |c| {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                units.into_iter().flat_map(u16::to_le_bytes).collect()
            }),
            (Charset::Utf16(true), |c| {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                units.into_iter().flat_map(u16::to_be_bytes).collect()
            }),
            (Charset::Utf32(false), |c| {
                u32::from(c).to_le_bytes().to_vec()
            }),
            (Charset::Utf32(true), |c| {
                u32::from(c).to_be_bytes().to_vec()
            }),
        ];
        for (charset, encode) in cases {
            let (mut data, mut texts) = (Vec::new(), Vec::new());
            let mut places = vec![(0, 0)];
            for character in characters.clone() {
                let bytes = encode(character);
                charset.append(&bytes, &mut texts);
                data.extend(bytes);
                places.push((data.len(), texts.len()));
            }
            for end in 0..=data.len() {
                let whole = places.iter().rev().find(|place| place.0 <= end);
                let (whole, text) = *whole.expect("0 at least");
                for stop in 0..=end + 1 {
                    let cut = places.iter().find(|place| place.0 >= stop.min(whole));
                    let cut = cut.map(|place| place.1);
                    let found = charset.in_utf8(&data[..end], stop, false, false);
                    assert_eq!(found.bytes, texts[..text], "{end} {stop}");
                    assert_eq!(Some(found.stop), cut, "{end} {stop}");
                }
                let found = charset.in_utf8(&data[..end], end, true, true);
                assert!(found.bytes.starts_with(&texts[..text]));
                assert_eq!(found.bytes.len() == text, whole == end);
            }
            for pair in places.windows(2) {
                let [(start, first), (stop, last)] = [pair[0], pair[1]];
                let (mut starts, mut stops) = ([first as i64], [last as i64]);
                let next = charset.locate(&texts, &mut starts, &mut stops, texts.len());
                assert_eq!(
                    (starts, stops, next),
                    ([start as i64], [stop as i64], data.len())
                );
            }
        }
    }

    #[test]
    fn marks_are_written_as_they_are_read() {
        let latin: String = (0u8..=255).map(char::from).collect();
        let latin = Charset::table(&latin).expect("256 characters");
        let others = [false, true]
            .map(|big_endian| [Charset::Utf16(big_endian), Charset::Utf32(big_endian)]);
        for charset in [Charset::Utf8, latin.clone()]
            .iter()
            .chain(others.as_flattened())
        {
            let written = charset.write("\u{ab}|").expect("characters that there are");
            assert_eq!(text(charset, &written), "\u{ab}|");
        }
        assert!(latin.write("\u{20ac}").is_err());
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        assert!(Charset::table("abc").is_err());
        let swapped: String = (0u8..=255).rev().map(char::from).collect();
        assert!(Charset::table(&swapped).is_err());
    }

    #[test]
    fn characters_beside_runs_of_ascii_are_found_at_every_place() {
        let table: String = (0u8..=255).map(char::from).collect();
        let latin = Charset::table(&table).expect("256 characters");
        for length in 0..20 {
            for at in 0..length {
                let text: String = (0..length)
                    .map(|place| if place == at { '\u{e9}' } else { 'a' })
                    .collect();
                let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
                let units = |write: fn(u16) -> [u8; 2]| -> Vec<u8> {
                    text.encode_utf16().flat_map(write).collect()
                };
                let mut found = Vec::new();
                latin.append(&bytes, &mut found);
                Charset::Utf16(false).append(&units(u16::to_le_bytes), &mut found);
                Charset::Utf16(true).append(&units(u16::to_be_bytes), &mut found);
                assert_eq!(found, text.repeat(3).as_bytes());
            }
        }
    }

    #[test]
    fn records_are_transcoded_one_by_one() {
        let records = [(0, 2), (4, 6), (6, 6)];
        let found = transcode(
            b"a\0\n\0\xe9\0",
            records.into_iter(),
            &Charset::Utf16(false),
        );
        assert_eq!(
            found,
            (
                "a\n\u{e9}\n\n".as_bytes().to_vec(),
                vec![0, 2, 5],
                vec![1, 4, 5]
            )
        );
    }
}
