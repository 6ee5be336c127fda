//! Special bytes, found 64 at a time. The only place with vector instructions, and nearly the only one with `unsafe`.
//!
//! A block of 64 bytes becomes a mask: bit `i` says whether byte `i` is one of the needles. [`scalar`] is the
//! definition; each architecture gives the same masks, faster.
#![allow(unsafe_code)] // loads of vectors; each has its reason beside it

mod level;
mod scalar;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
use aarch64::{any_of, special};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use scalar::{any_of, special};
#[cfg(target_arch = "x86_64")]
use x86_64::{any_of, special};

pub use level::{Baseline, Level, Task, Vectors};

/// Bytes in a block: one bit of a machine word for each.
pub const BLOCK: usize = 64;

/// Bytes in a vector: what every x86-64 and every ARMv8 processor has.
pub const LANE: usize = 16;

/// Bytes to look for, each repeated as often as a vector has bytes.
type Needles<const N: usize> = [[u8; LANE]; N];

/// Which bytes of a block are one of these.
#[inline(always)] // so that several sets are looked for in one pass
pub fn hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
    any_of(block, &bytes.map(|byte| [byte; LANE]))
}

/// For every bit, whether the bits up to it are odd in number.
#[inline(always)] // once a block
pub fn parity(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32]
        .iter()
        .fold(bits, |bits, shift| bits ^ bits << shift)
}

/// The numbers of the bits that are set, each added to `base`, eight at a time.
#[inline(always)] // once a block
pub fn places(mut bits: u64, base: u32, room: &mut [u32]) {
    let (eights, _) = room.as_chunks_mut::<8>();
    for eight in eights {
        for place in eight {
            *place = base.wrapping_add(bits.trailing_zeros());
            bits &= bits.wrapping_sub(1);
        }
        if bits == 0 {
            break;
        }
    }
}

/// The first byte of a vector that is `quote`, a backslash or a control character: what ends the plain part of a string.
#[inline(always)] // one call for each short string
pub fn first_special(bytes: &[u8; LANE], quote: u8) -> Option<usize> {
    let bits = special(bytes, quote);
    (bits != 0).then_some(bits.trailing_zeros() as usize)
}

/// Two sets of bytes to look for.
#[derive(Clone)]
pub struct Finder<'a, const N: usize, const M: usize> {
    data: &'a [u8],
    first: Needles<N>,
    second: Needles<M>,
}

/// Where the bytes of both sets are in one block. Kept apart from the [`Finder`] so that it can stay in registers.
#[derive(Clone, Copy)]
pub struct Marks {
    base: usize, // first byte of the block; no block where it is odd
    first: u64,
    second: u64,
}

impl Marks {
    /// Before the first look.
    pub const NONE: Marks = Marks {
        base: usize::MAX,
        first: 0,
        second: 0,
    };
}

impl<'a, const N: usize, const M: usize> Finder<'a, N, M> {
    /// A finder of bytes of two sets in `data`; some of a set may be the same.
    pub fn new(data: &'a [u8], first: [u8; N], second: [u8; M]) -> Self {
        let repeat = |needle| [needle; LANE];
        Finder {
            data,
            first: first.map(repeat),
            second: second.map(repeat),
        }
    }

    /// Number of bytes that are looked at.
    #[inline]
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Position of the next byte of the first set at or after `from`; the length of the data where there is none.
    ///
    /// Whoever goes from left to right with the same `marks` has each block looked at once for both sets.
    #[inline(always)] // one call for each field: as a call, it made the whole parse a fifth slower
    pub fn next_first(&self, marks: &mut Marks, from: usize) -> usize {
        self.next(marks, from, |marks| marks.first)
    }

    /// The same for the second set.
    #[inline(always)] // as above
    pub fn next_second(&self, marks: &mut Marks, from: usize) -> usize {
        self.next(marks, from, |marks| marks.second)
    }

    #[inline(always)]
    fn next(&self, marks: &mut Marks, from: usize, set: impl Fn(&Marks) -> u64) -> usize {
        let base = from & !(BLOCK - 1);
        if base != marks.base {
            if from >= self.data.len() {
                return self.data.len();
            }
            *marks = self.look(base);
        }
        let mut bits = set(marks) & (u64::MAX << (from & (BLOCK - 1)));
        while bits == 0 {
            let base = marks.base.wrapping_add(BLOCK); // below the length of a slice plus a block
            if base >= self.data.len() {
                return self.data.len();
            }
            *marks = self.look(base);
            bits = set(marks);
        }
        marks.base.wrapping_add(bits.trailing_zeros() as usize)
    }

    #[inline(never)] // its vectors would push the state of the loop around it out of registers
    fn look(&self, base: usize) -> Marks {
        let rest = self.data.get(base..).unwrap_or_default();
        let Some(block) = rest.first_chunk::<BLOCK>() else {
            return self.look_at_tail(base, rest);
        };
        Marks {
            base,
            first: any_of(block, &self.first),
            second: any_of(block, &self.second),
        }
    }

    /// Fewer bytes than a block has: what is after them is no hit, whatever is looked for.
    #[cold]
    fn look_at_tail(&self, base: usize, rest: &[u8]) -> Marks {
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(rest) {
            *to = *from;
        }
        let there = !(u64::MAX << rest.len());
        let (first, second) = (any_of(&block, &self.first), any_of(&block, &self.second));
        Marks {
            base,
            first: first & there,
            second: second & there,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repeated(needles: [u8; 3]) -> Needles<3> {
        needles.map(|needle| [needle; LANE])
    }

    /// Masks of a block, the parity of one, and the places of its bits.
    struct All<'a>(&'a [u8; BLOCK], [u8; 3]);

    impl Task for All<'_> {
        type Answer = (u64, u64, Vec<u32>);

        fn run<V: Vectors>(self) -> (u64, u64, Vec<u32>) {
            let hits = V::hits(self.0, self.1);
            let mut places = vec![0; BLOCK];
            V::places(hits, 1000, &mut places);
            places.truncate(hits.count_ones() as usize);
            (hits, V::parity(hits), places)
        }
    }

    proptest! {
        #[test]
        fn masks_are_those_of_the_definition(block: [u8; 64], needles: [u8; 3]) {
            let hits = scalar::any_of(&block, &repeated(needles));
            let places: Vec<u32> = (0..64).filter(|at| hits >> at & 1 != 0).map(|at| 1000 + at).collect();
            let parity = (0..64).fold(0, |bits, at| bits | u64::from((hits << (63 - at)).count_ones() % 2) << at);
            prop_assert_eq!(any_of(&block, &repeated(needles)), hits);
            for level in Level::every() {
                prop_assert_eq!(level.run(All(&block, needles)), (hits, parity, places.clone()));
            }
        }

        #[test]
        fn special_bytes_are_those_of_the_definition(
            bytes in prop::collection::vec(prop::sample::select(&b"\"'\\ \x1f\0a\x7f\x80\xff\xa2"[..]), LANE),
            quote in prop::sample::select(&b"\"'"[..]),
        ) {
            let bytes: [u8; LANE] = bytes.try_into().expect("as many as that");
            prop_assert_eq!(special(&bytes, quote), scalar::special(&bytes, quote));
        }

        #[test]
        fn hits_are_found_wherever_one_begins(
            data in prop::collection::vec(prop::sample::select(&b"\0\0\0\0\0\0\0\0\0\0\0\0abc\xff"[..]), 0..300),
            starts in prop::collection::vec(0usize..310, 1..20),
            needles in prop::sample::select(vec![*b"abc", *b"aaa", *b"\0\0\xff", *b"xyz"]),
        ) {
            let finder = Finder::new(&data, *b"zy", needles);
            let mut marks = Marks::NONE;
            for start in starts {
                let naive = data.iter().enumerate().position(|(at, byte)| at >= start && needles.contains(byte));
                prop_assert_eq!(finder.next_second(&mut marks, start), naive.unwrap_or(data.len()));
                prop_assert_eq!(finder.next_first(&mut marks, start), data.len());
            }
        }
    }

    #[test]
    fn every_byte_of_a_block_has_its_bit() {
        for at in 0..BLOCK {
            let mut block = [b'x'; BLOCK];
            block[at] = 0x80;
            assert_eq!(any_of(&block, &repeated([0x80, 1, 0])), 1 << at);
            for level in Level::every() {
                let found = level.run(All(&block, [0x80, 1, 0]));
                assert_eq!(found, (1 << at, u64::MAX << at, vec![1000 + at as u32]));
                let (all, _, places) = level.run(All(&[1; BLOCK], [0x80, 1, 0]));
                assert_eq!(
                    (all, places),
                    (u64::MAX, (1000..1000 + BLOCK as u32).collect())
                );
            }
        }
    }
}
