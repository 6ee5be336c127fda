//! Code units of several bytes.

/// The code units of `data`, one byte for each: ASCII as it is, all others as a byte that no option can name.
///
/// A unit that is cut off at the end is left out. `width` is 2 or 4; for 1 the bytes are the units.
pub fn narrow(data: &[u8], width: usize, big_endian: bool) -> Vec<u8> {
    let low = if big_endian { width - 1 } else { 0 };
    let narrowed = data.chunks_exact(width).map(|unit| {
        let is_ascii = unit
            .iter()
            .enumerate()
            .all(|(at, &byte)| byte == 0 || at == low && byte < OTHER);
        if is_ascii {
            unit.get(low).copied().unwrap_or(OTHER)
        } else {
            OTHER
        }
    });
    narrowed.collect()
}

/// Stands for every unit outside of ASCII.
pub const OTHER: u8 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_keep_their_ascii_and_nothing_else() {
        assert_eq!(narrow(b"a\0\0a\xe9\0\0", 2, false), [b'a', OTHER, OTHER]);
        assert_eq!(narrow(b"\0a\xd8\n\0\x80", 2, true), [b'a', OTHER, OTHER]);
        assert_eq!(narrow(b"\n\0\0\0\n\0\0\x01", 4, false), [b'\n', OTHER]);
    }
}
