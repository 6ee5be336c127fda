//! Work on masks, compiled for every processor and again for newer ones.

#[cfg(target_arch = "x86_64")]
use super::x86_64::Avx2;
use super::{BLOCK, hits, parity};

/// How masks are made.
pub trait Vectors {
    /// Which bytes of a block are one of these.
    fn hits<const N: usize>(block: &[u8; BLOCK], bytes: [u8; N]) -> u64;

    /// For every bit, whether the bits up to it are odd in number.
    fn parity(bits: u64) -> u64;
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
pub struct Level {
    has_avx2: bool, // only where that was seen
}

impl Level {
    /// What every processor of this architecture has.
    pub const BASELINE: Level = Level { has_avx2: false };

    /// The best that this processor has.
    pub fn best() -> Level {
        #[cfg(target_arch = "x86_64")]
        let has_avx2 = Avx2::is_there();
        #[cfg(not(target_arch = "x86_64"))]
        let has_avx2 = false;
        Level { has_avx2 }
    }

    /// Do some work with it.
    #[inline]
    pub fn run<T: Task>(self, task: T) -> T::Answer {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: no level is newer but those of `best`, which has asked the processor.
            return unsafe { Avx2::run(task) };
        }
        Baseline::run(task)
    }
}
