//! Texts of files in other encodings than UTF-8, and bytes that are no text: what Python's codecs make of them with
//! the error handler "replace".

const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// How the texts of a file are encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8.
    Utf8,
    /// One byte for each character, the first 128 as in ASCII.
    Table(Box<[char; 256]>),
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
            Charset::Utf8 | Charset::Table(_) => (1, false),
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
            Charset::Table(table) => {
                let mut rest = data;
                while let Some((ascii, others)) = rest.split_at_checked(ascii_bytes(rest)) {
                    texts.extend_from_slice(ascii);
                    let Some((&byte, more)) = others.split_first() else {
                        break;
                    };
                    push(table[usize::from(byte)], texts);
                    rest = more;
                }
            }
            Charset::Utf16(big_endian) => utf16(data, *big_endian, texts),
            Charset::Utf32(big_endian) => utf32(data, *big_endian, texts),
        }
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

/// How many bytes at the front are ASCII.
#[inline]
fn ascii_bytes(data: &[u8]) -> usize {
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, rest) = data.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let high = u64::from_le_bytes(*word) & HIGH;
        if high != 0 {
            return 8 * number + (high.trailing_zeros() / 8) as usize;
        }
    }
    8 * words.len() + rest.iter().take_while(|byte| byte.is_ascii()).count()
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
        if let Some(ascii) = ascii_of(units.get(at..).unwrap_or_default(), big_endian) {
            texts.extend_from_slice(&ascii);
            at += ascii.len();
            continue;
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

/// The next eight units, if all of them are ASCII.
#[inline]
fn ascii_of(units: &[[u8; 2]], big_endian: bool) -> Option<[u8; 8]> {
    let units = units.first_chunk::<8>()?;
    let (ascii, other) = (usize::from(big_endian), usize::from(!big_endian));
    let bits = |place: usize| units.iter().fold(0, |bits, unit| bits | unit[place & 1]);
    (bits(other) == 0 && bits(ascii) < 0x80).then(|| units.map(|unit| unit[ascii & 1]))
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
