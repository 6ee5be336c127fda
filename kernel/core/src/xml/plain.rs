//! Bytes that mean themselves, wherever they are.

/// Bytes at which a look at plain ones stops.
pub(super) type Stops = [bool; 256];

const fn stops(at: &[u8]) -> Stops {
    let mut stops = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        stops[byte] = !matches!(byte as u8, b'\t' | b'\n' | b'\r');
        byte += 1;
    }
    stops[0xEF] = true; // U+FFFE and U+FFFF begin with it
    let mut place = 0;
    while place < at.len() {
        stops[at[place] as usize] = true;
        place += 1;
    }
    stops
}

pub(super) static IN_TEXT: Stops = stops(b"<&]\r");
pub(super) static IN_VALUE: Stops = stops(b"<&\"'\t\n\r");
pub(super) static IN_CDATA: Stops = stops(b"]\r");
pub(super) static IN_COMMENT: Stops = stops(b"-");
pub(super) static IN_INSTRUCTION: Stops = stops(b"?");

/// The first byte from `at` on that is none of the plain ones, or the end.
#[inline]
pub(super) fn plain(bytes: &[u8], at: usize, stops: &Stops) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.iter().position(|&byte| stops[usize::from(byte)]);
    length.map_or(bytes.len(), |length| at + length)
}

/// Whether U+FFFE or U+FFFF is at `at`, which no XML may have.
pub(super) fn is_no_character(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at..), Some([0xEF, 0xBF, 0xBE | 0xBF, ..]))
}
