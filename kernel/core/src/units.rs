//! Code units of several bytes.

use std::borrow::Cow;

/// Units as bytes: ASCII as it is, those beyond it that marks have as bytes of their own, and all others as [`OTHER`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbols {
    own: Vec<u32>, // in order
    width: usize,
    big_endian: bool,
}

impl Symbols {
    /// Of marks whose code units have `width` bytes.
    ///
    /// # Errors
    /// If no unit has so many, or the marks have more units beyond ASCII than can be told apart.
    pub fn of(marks: &[&[u8]], width: usize, big_endian: bool) -> Result<Symbols, String> {
        if !matches!(width, 1 | 2 | 4) {
            return Err("code units have 1, 2 or 4 bytes".into());
        }
        let units = marks.iter().flat_map(|mark| mark.chunks_exact(width));
        let mut own: Vec<u32> = match width {
            1 => Vec::new(),
            _ => units
                .map(|unit| number(unit, big_endian))
                .filter(|&unit| unit >= u32::from(OTHER))
                .collect(),
        };
        own.sort_unstable();
        own.dedup();
        if own.len() > usize::from(u8::MAX - OTHER) {
            return Err("too many different characters beyond ASCII".into());
        }
        Ok(Symbols {
            own,
            width,
            big_endian,
        })
    }

    /// Bytes of a code unit.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The symbols of some data; a part of a unit at the end is left out.
    pub fn read<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        if self.width == 1 {
            return Cow::Borrowed(data);
        }
        let mut symbols = narrow(data, self.width, self.big_endian);
        if !self.own.is_empty() {
            for (symbol, unit) in symbols.iter_mut().zip(data.chunks_exact(self.width)) {
                if *symbol == OTHER
                    && let Ok(place) = self.own.binary_search(&number(unit, self.big_endian))
                {
                    *symbol = OTHER + 1 + place as u8; // as many as fit
                }
            }
        }
        Cow::Owned(symbols)
    }
}

fn number(unit: &[u8], big_endian: bool) -> u32 {
    let place = |number: u32, &byte: &u8| number << 8 | u32::from(byte);
    if big_endian {
        unit.iter().fold(0, place)
    } else {
        unit.iter().rev().fold(0, place)
    }
}

/// The code units of `data`, one byte for each: ASCII as it is, all others as [`OTHER`].
///
/// A unit that is cut off at the end is left out. `width` is 2 or 4; for 1 the bytes are the units.
pub fn narrow(data: &[u8], width: usize, big_endian: bool) -> Vec<u8> {
    let byte = |unit: u32| unit.min(u32::from(OTHER)) as u8; // at most 0x80
    match (width, big_endian) {
        (2, false) => each(data, |unit| byte(u16::from_le_bytes(unit).into())),
        (2, true) => each(data, |unit| byte(u16::from_be_bytes(unit).into())),
        (4, false) => each(data, |unit| byte(u32::from_le_bytes(unit))),
        (4, true) => each(data, |unit| byte(u32::from_be_bytes(unit))),
        _ => data.to_vec(),
    }
}

/// Stands for every unit outside of ASCII: a byte that no option can name.
pub const OTHER: u8 = 0x80;

fn each<const WIDTH: usize>(data: &[u8], byte: impl Fn([u8; WIDTH]) -> u8) -> Vec<u8> {
    data.as_chunks().0.iter().map(|unit| byte(*unit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_their_ascii_and_nothing_else() {
        assert_eq!(narrow(b"a\0\0a\xe9\0\0", 2, false), [b'a', OTHER, OTHER]);
        assert_eq!(narrow(b"\0a\xd8\n\0\x80", 2, true), [b'a', OTHER, OTHER]);
        assert_eq!(narrow(b"\n\0\0\0\n\0\0\x01", 4, false), [b'\n', OTHER]);
        assert_eq!(narrow(b"\0\0\0\n\0\0\x01\n\0", 4, true), [b'\n', OTHER]);
    }
}
