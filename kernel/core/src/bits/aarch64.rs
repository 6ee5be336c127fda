//! NEON, which every ARMv8 processor has.

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vceqq_u8, vcltq_u8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vorrq_u8,
    vpaddq_u8, vreinterpretq_u64_u8,
};

use super::{BLOCK, LANE, Needles};

/// The bit that each byte of a vector contributes to its half of 16 bits.
const WEIGHTS: [u8; LANE] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Which bytes of the block are one of the needles.
#[inline]
pub fn any_of<const N: usize>(block: &[u8; BLOCK], needles: &Needles<N>) -> u64 {
    let (lanes, _) = block.as_chunks::<LANE>();
    let weights = load(&WEIGHTS);
    // SAFETY: NEON is part of the ARMv8 baseline; none of these touches memory.
    unsafe {
        let hits: [uint8x16_t; BLOCK / LANE] = std::array::from_fn(|number| {
            let bytes = load(&lanes[number]);
            let found = needles.iter().fold(vdupq_n_u8(0), |found, needle| {
                vorrq_u8(found, vceqq_u8(bytes, load(needle)))
            });
            vandq_u8(found, weights)
        });
        let pairs = vpaddq_u8(vpaddq_u8(hits[0], hits[1]), vpaddq_u8(hits[2], hits[3]));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)))
    }
}

/// Which bytes of a vector are `quote`, a backslash or a control character.
#[inline]
pub fn special(bytes: &[u8; LANE], quote: u8) -> u32 {
    let (bytes, weights) = (load(bytes), load(&WEIGHTS));
    // SAFETY: NEON is part of the ARMv8 baseline; none of these touches memory.
    unsafe {
        let quotes = vceqq_u8(bytes, vdupq_n_u8(quote));
        let slashes = vceqq_u8(bytes, vdupq_n_u8(b'\\'));
        let controls = vcltq_u8(bytes, vdupq_n_u8(b' '));
        let hits = vandq_u8(vorrq_u8(vorrq_u8(quotes, slashes), controls), weights);
        let pairs = vpaddq_u8(hits, hits);
        let fours = vpaddq_u8(pairs, pairs);
        let eights = vpaddq_u8(fours, fours);
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(eights)) as u32 & 0xffff
    }
}

#[inline]
fn load(bytes: &[u8; LANE]) -> uint8x16_t {
    // SAFETY: the array has the 16 bytes that are read, and the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
