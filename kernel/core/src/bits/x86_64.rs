//! SSE2, which every x86-64 processor has; and for a [`Task`] what those of the last ten years have.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_cmpeq_epi8, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    _mm_setzero_si128, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm512_add_epi32, _mm512_alignr_epi64,
    _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi32, _mm512_loadu_si512,
    _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512,
};

use super::{BLOCK, LANE, Needles, Task, Vectors, places};

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

/// Vectors of 32 bytes, and what came with them or before.
pub struct Avx2(());

impl Avx2 {
    /// Whether the processor has all of it.
    pub fn is_there() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("pclmulqdq")
            && is_x86_feature_detected!("popcnt")
    }

    /// Do some work with it.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,pclmulqdq,popcnt")]
    pub fn run<T: Task>(task: T) -> T::Answer {
        task.run::<Avx2>()
    }
}

impl Vectors for Avx2 {
    #[inline(always)] // as those of every processor
    fn hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
        // SAFETY: nobody names the type but `run`, which may be called where the instructions are.
        unsafe { wide_hits(block, bytes) }
    }

    #[inline(always)] // once a block
    fn parity(bits: u64) -> u64 {
        // SAFETY: as above.
        unsafe { quick_parity(bits) }
    }

    #[inline(always)] // once a block
    fn places(bits: u64, base: u32, room: &mut [u32]) {
        places(bits, base, room);
    }
}

/// Vectors of 64 bytes.
pub struct Avx512(());

impl Avx512 {
    /// Whether the processor has them, and is of those that are not slower for having used them.
    pub fn is_there() -> bool {
        Avx2::is_there()
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vbmi2")
    }

    /// Do some work with them.
    #[target_feature(enable = "avx2,avx512bw,avx512vbmi2,bmi1,bmi2,lzcnt,pclmulqdq,popcnt")]
    pub fn run<T: Task>(task: T) -> T::Answer {
        task.run::<Avx512>()
    }
}

impl Vectors for Avx512 {
    #[inline(always)] // as those of every processor
    fn hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
        // SAFETY: nobody names the type but `run`, which may be called where the instructions are.
        unsafe { widest_hits(block, bytes) }
    }

    #[inline(always)] // once a block
    fn parity(bits: u64) -> u64 {
        // SAFETY: as above.
        unsafe { quick_parity(bits) }
    }

    #[inline(always)] // once a block
    fn places(bits: u64, base: u32, room: &mut [u32]) {
        // SAFETY: as above.
        unsafe { packed_places(bits, base, room) }
    }
}

#[inline]
#[target_feature(enable = "avx512bw")]
fn widest_hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
    // SAFETY: the block has the 64 bytes that are read, and the load needs no alignment.
    let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    bytes.iter().fold(0, |bits, &byte| {
        bits | _mm512_cmpeq_epi8_mask(block, _mm512_set1_epi8(byte as i8))
    })
}

/// The numbers of all bits, of which those are packed together that are set; 16 at a time become wider.
#[inline]
#[target_feature(enable = "avx512bw,avx512vbmi2")]
fn packed_places(bits: u64, base: u32, room: &mut [u32]) {
    const NUMBERS: [u8; BLOCK] = {
        let mut numbers = [0; BLOCK];
        let mut number = 0;
        while number < BLOCK {
            numbers[number] = number as u8; // below 64
            number += 1;
        }
        numbers
    };
    // SAFETY: there are the 64 bytes that are read, and the load needs no alignment.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let mut packed = _mm512_maskz_compress_epi8(bits, numbers);
    let base = _mm512_set1_epi32(base as i32);
    let mut left = bits.count_ones();
    let (parts, _) = room.as_chunks_mut::<LANE>();
    for part in parts {
        let places = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed));
        // SAFETY: a part has the 64 bytes that are written, and the store needs no alignment.
        unsafe { _mm512_storeu_si512(part.as_mut_ptr().cast(), _mm512_add_epi32(places, base)) };
        left = left.saturating_sub(LANE as u32);
        if left == 0 {
            break;
        }
        packed = _mm512_alignr_epi64::<2>(packed, packed);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn wide_hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
    let (halves, _) = block.as_chunks::<{ BLOCK / 2 }>();
    halves.iter().rev().fold(0, |bits, half| {
        // SAFETY: a half has the 32 bytes that are read, and the load needs no alignment.
        let half: __m256i = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let found = bytes.iter().fold(_mm256_setzero_si256(), |found, &byte| {
            _mm256_or_si256(found, _mm256_cmpeq_epi8(half, _mm256_set1_epi8(byte as i8)))
        });
        bits << 32 | u64::from(_mm256_movemask_epi8(found) as u32)
    })
}

/// A carry-less product with ones is the sum of all bits up to each.
#[inline]
#[target_feature(enable = "pclmulqdq")]
fn quick_parity(bits: u64) -> u64 {
    let product = _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(bits as i64), _mm_set1_epi8(-1));
    _mm_cvtsi128_si64(product) as u64
}
