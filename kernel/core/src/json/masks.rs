//! Strings and brackets of 64 bytes at a time, as bits.

pub(crate) use crate::bits::BLOCK;
use crate::bits::{hits, parity};

/// What matters to framing in one block, one bit for each byte.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Bytes in strings, from the opening quote to the byte before the closing one.
    pub inside: u64,
    /// Line feeds, in strings or not.
    pub feeds: u64,
    /// `{` and `[`, in strings or not.
    pub openers: u64,
    /// `}` and `]`, in strings or not.
    pub closers: u64,
}

/// Goes from block to block; knows whether a string, or an escape, reaches into the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marker {
    in_string: u64,
    is_escaped: u64,
}

impl Marker {
    /// Marks of the next block.
    #[inline]
    pub(crate) fn next(&mut self, block: &[u8; BLOCK]) -> Marks {
        let (mut quotes, backslashes) = (hits(block, *b"\""), hits(block, *b"\\"));
        if backslashes | self.is_escaped != 0 {
            quotes &= !self.escaped(backslashes);
        }
        let inside = parity(quotes) ^ self.in_string;
        self.in_string = 0u64.wrapping_sub(inside >> 63);
        Marks {
            inside,
            feeds: hits(block, *b"\n"),
            openers: hits(block, *b"{["),
            closers: hits(block, *b"}]"),
        }
    }

    /// Whether the blocks so far end in a string.
    pub(crate) fn in_string(&self) -> bool {
        self.in_string != 0
    }

    /// The bytes that a backslash escapes; the arithmetic is that of simdjson.
    #[inline]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let backslashes = backslashes & !self.is_escaped;
        let follows = (backslashes << 1) | self.is_escaped;
        let odd_starts = backslashes & ODD & !follows;
        let (sums, overflow) = odd_starts.overflowing_add(backslashes);
        self.is_escaped = u64::from(overflow);
        (!ODD ^ (sums << 1)) & follows
    }
}

/// The block at `at`, filled up with spaces at the end of the data.
#[inline]
pub(crate) fn block_at<'a>(
    data: &'a [u8],
    at: usize,
    spare: &'a mut [u8; BLOCK],
) -> &'a [u8; BLOCK] {
    let rest = data.get(at..).unwrap_or_default();
    if let Some(block) = rest.first_chunk::<BLOCK>() {
        return block;
    }
    spare.fill(b' ');
    spare[..rest.len()].copy_from_slice(rest);
    spare
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plainly(data: &[u8]) -> Vec<(bool, bool, bool, bool)> {
        let (mut in_string, mut is_escaped) = (false, false);
        data.iter()
            .map(|&byte| {
                if byte == b'"' && !is_escaped {
                    in_string = !in_string;
                }
                is_escaped = byte == b'\\' && !is_escaped;
                (
                    in_string,
                    byte == b'\n',
                    b"{[".contains(&byte),
                    b"}]".contains(&byte),
                )
            })
            .collect()
    }

    proptest! {
        #[test]
        fn marks_are_those_of_one_byte_after_the_other(
            data in prop::collection::vec(prop::sample::select(&b"\"\\\\\\\n{}[]a;\xdb\xfb\x22\x02\x8a"[..]), 0..300)
        ) {
            let mut marker = Marker::default();
            let mut found = Vec::new();
            for at in (0..data.len()).step_by(BLOCK) {
                let mut spare = [0; BLOCK];
                let marks = marker.next(block_at(&data, at, &mut spare));
                for bit in 0..BLOCK.min(data.len() - at) {
                    let is = |bits: u64| bits >> bit & 1 == 1;
                    found.push((is(marks.inside), is(marks.feeds), is(marks.openers), is(marks.closers)));
                }
            }
            prop_assert_eq!(found, plainly(&data));
        }
    }
}
