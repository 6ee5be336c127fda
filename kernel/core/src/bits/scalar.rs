//! The definition: one byte after the other.
#![cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))] // there it is what tests compare with

use super::{BLOCK, Needles};

/// Which bytes of the block are one of the needles.
pub fn any_of<const N: usize>(block: &[u8; BLOCK], needles: &Needles<N>) -> u64 {
    let is_hit = |byte: u8| needles.iter().any(|needle| needle[0] == byte);
    block
        .iter()
        .rev()
        .fold(0, |bits, &byte| bits << 1 | u64::from(is_hit(byte)))
}
