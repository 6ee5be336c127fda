//! Work on masks, compiled for every processor and again for newer ones.

#[cfg(target_arch = "x86_64")]
use super::x86_64::{Avx2, Avx512};
use super::{BLOCK, hits, parity, places};

/// How masks are made.
pub trait Vectors {
    /// Which bytes of a block are one of these.
    fn hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64;

    /// For every bit, whether the bits up to it are odd in number.
    fn parity(bits: u64) -> u64;

    /// The numbers of the bits that are set, each added to `base`. What comes after them in `room` has no meaning.
    fn places(bits: u64, base: u32, room: &mut [u32]);
}

/// What every processor of an architecture has.
pub struct Baseline;

impl Baseline {
    #[inline(never)] // once for each task, as with newer instructions
    fn run<T: Task>(task: T) -> T::Answer {
        task.run::<Baseline>()
    }
}

impl Vectors for Baseline {
    #[inline(always)] // as `hits`
    fn hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64 {
        hits(block, bytes)
    }

    #[inline(always)] // once a block
    fn parity(bits: u64) -> u64 {
        parity(bits)
    }

    #[inline(always)] // once a block
    fn places(bits: u64, base: u32, room: &mut [u32]) {
        places(bits, base, room);
    }
}

/// Work on many blocks.
pub trait Task {
    /// What comes of it.
    type Answer;

    /// Do it. To be inlined, with all that it calls: what is a call is not compiled for newer processors.
    fn run<V: Vectors>(self) -> Self::Answer;
}

/// What the processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Seen);

/// Nobody but [`Level::every`] makes one that is not of every processor, and only of what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// All that this processor has, the best last.
    pub fn every() -> impl Iterator<Item = Level> {
        let there = [
            (Seen::Baseline, true),
            #[cfg(target_arch = "x86_64")]
            (Seen::Avx2, Avx2::is_there()),
            #[cfg(target_arch = "x86_64")]
            (Seen::Avx512, Avx512::is_there()),
        ];
        there
            .into_iter()
            .filter_map(|(seen, is_there)| is_there.then_some(Level(seen)))
    }

    /// The best that this processor has.
    pub fn best() -> Level {
        Level::every().last().unwrap_or(Level(Seen::Baseline))
    }

    /// Do some work with it.
    #[inline]
    pub fn run<T: Task>(self, task: T) -> T::Answer {
        match self.0 {
            Seen::Baseline => Baseline::run(task),
            // SAFETY: the processor was asked for it.
            #[cfg(target_arch = "x86_64")]
            Seen::Avx2 => unsafe { Avx2::run(task) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Seen::Avx512 => unsafe { Avx512::run(task) },
        }
    }
}
