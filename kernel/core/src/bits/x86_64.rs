//! SSE2, which every x86-64 processor has. AVX2 was measured and gained nothing on whole parses.

use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_setzero_si128,
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

#[inline]
fn load(bytes: &[u8; LANE]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are read, and the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}
