//! Code units of several bytes.

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
