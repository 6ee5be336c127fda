//! SSE2, which every x86-64 processor has. AVX2 was measured and gained nothing on whole parses.

use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
    _mm_set1_epi8, _mm_setzero_si128,
};

use super::{BLOCK, LANE, Needles};

/// Which bytes of the block are one of the needles.
#[inline]
pub fn any_of<const N: usize>(block: &[u8; BLOCK], needles: &Needles<N>) -> u64 {
    let mut bits = 0;
    let (lanes, _) = block.as_chunks::<LANE>();
    for (number, lane) in lanes.iter().enumerate() {
        let bytes = load(lane);
        // SAFETY: SSE2 is part of the x86-64 baseline; none of these touches memory.
        let hits = unsafe {
            let found = needles.iter().fold(_mm_setzero_si128(), |found, needle| {
                _mm_or_si128(found, _mm_cmpeq_epi8(bytes, load(needle)))
            });
            _mm_movemask_epi8(found)
        };
        bits |= u64::from(hits as u16) << (LANE * number); // 16 bits are set at most
    }
    bits
}

/// Which bytes of a vector are `quote`, a backslash or a control character.
#[inline(always)] // one call for each short string
pub fn special(bytes: &[u8; LANE], quote: u8) -> u32 {
    let bytes = load(bytes);
    // SAFETY: SSE2 is part of the x86-64 baseline; none of these touches memory.
    let hits = unsafe {
        let quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(quote as i8));
        let slashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        let controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, slashes), controls))
    };
    u32::from(hits as u16) // 16 bits are set at most
}

#[inline]
fn load(bytes: &[u8; LANE]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are read, and the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
