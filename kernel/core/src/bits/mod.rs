//! Special bytes, found 64 at a time. The only place with `unsafe`, and the only one with vector instructions.
//!
//! A block of 64 bytes becomes a mask: bit `i` says whether byte `i` is one of the needles. [`scalar`] is the
//! definition; each architecture gives the same masks, faster.
#![allow(unsafe_code)] // loads of vectors; each has its reason beside it

mod scalar;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::any_of;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use scalar::any_of;
#[cfg(target_arch = "x86_64")]
use x86_64::any_of;

/// Bytes in a block: one bit of a machine word for each.
const BLOCK: usize = 64;

/// Bytes in a vector: what every x86-64 and every ARMv8 processor has.
const LANE: usize = 16;

/// Bytes to look for, each repeated as often as a vector has bytes.
type Needles<const N: usize> = [[u8; LANE]; N];

/// Finds the next of `N` bytes, from left to right; a block is looked at once, however many hits it has.
///
/// Positions may also go back, at the price of looking at a block again.
#[derive(Clone)]
pub struct Finder<'a, const N: usize> {
    data: &'a [u8],
    needles: Needles<N>,
    base: usize, // of the block that `bits` are of; a multiple of BLOCK, or NO_BLOCK
    bits: u64,
}

const NO_BLOCK: usize = usize::MAX;

impl<'a, const N: usize> Finder<'a, N> {
    /// A finder of any of `needles` (some may be the same) in `data`.
    pub fn new(data: &'a [u8], needles: [u8; N]) -> Self {
        Finder {
            data,
            needles: needles.map(|needle| [needle; LANE]),
            base: NO_BLOCK,
            bits: 0,
        }
    }

    /// Position of the first needle at or after `from`; the length of the data where there is none.
    #[inline]
    pub fn next(&mut self, from: usize) -> usize {
        let wanted = from & !(BLOCK - 1);
        if wanted != self.base {
            if from >= self.data.len() {
                return self.data.len();
            }
            self.load(wanted);
        }
        let mut bits = self.bits & (u64::MAX << (from & (BLOCK - 1)));
        while bits == 0 {
            let next = self.base.wrapping_add(BLOCK); // below the length of a slice plus a block
            if next >= self.data.len() {
                return self.data.len();
            }
            self.load(next);
            bits = self.bits;
        }
        self.base.wrapping_add(bits.trailing_zeros() as usize)
    }

    #[inline]
    fn load(&mut self, base: usize) {
        let rest = self.data.get(base..).unwrap_or_default();
        self.bits = match rest.first_chunk::<BLOCK>() {
            Some(block) => any_of(block, &self.needles),
            None => self.tail(rest),
        };
        self.base = base;
    }

    /// The mask of fewer bytes than a block has: what is behind them is no hit, whatever is looked for.
    #[cold]
    fn tail(&self, rest: &[u8]) -> u64 {
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(rest) {
            *to = *from;
        }
        any_of(&block, &self.needles) & !(u64::MAX << rest.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repeated(needles: [u8; 3]) -> Needles<3> {
        needles.map(|needle| [needle; LANE])
    }

    proptest! {
        #[test]
        fn masks_are_those_of_the_definition(block: [u8; 64], needles: [u8; 3]) {
            let needles = repeated(needles);
            prop_assert_eq!(any_of(&block, &needles), scalar::any_of(&block, &needles));
        }

        #[test]
        fn hits_are_found_wherever_one_begins(
            data in prop::collection::vec(prop::sample::select(&b"\0\0\0\0\0\0\0\0\0\0\0\0abc\xff"[..]), 0..300),
            starts in prop::collection::vec(0usize..310, 1..20),
            needles in prop::sample::select(vec![*b"abc", *b"aaa", *b"\0\0\xff", *b"xyz"]),
        ) {
            let mut finder = Finder::new(&data, needles);
            for start in starts {
                let naive = data.iter().enumerate().position(|(at, byte)| at >= start && needles.contains(byte));
                prop_assert_eq!(finder.next(start), naive.unwrap_or(data.len()));
            }
        }
    }

    #[test]
    fn every_byte_of_a_block_has_its_bit() {
        for at in 0..BLOCK {
            let mut block = [b'x'; BLOCK];
            block[at] = 0x80;
            assert_eq!(any_of(&block, &repeated([0x80, 1, 0])), 1 << at);
        }
    }
}
