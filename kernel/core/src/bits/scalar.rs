//! The definition: one byte after the other.
#![cfg_attr(any(target_arch = "x86_64", target_arch = "aarch64"), allow(dead_code))] // there it is what tests compare with

use super::{BLOCK, LANE, Needles};

/// Which bytes of the block are one of the needles.
pub fn any_of<const N: usize>(block: &[u8; BLOCK], needles: &Needles<N>) -> u64 {
    let is_hit = |byte: u8| needles.iter().any(|needle| needle[0] == byte);
    block
        .iter()
        .rev()
        .fold(0, |bits, &byte| bits << 1 | u64::from(is_hit(byte)))
}

/// Which bytes of a vector are `quote`, a backslash or a control character.
pub fn special(bytes: &[u8; LANE], quote: u8) -> u32 {
    let is_special = |byte: u8| byte == quote || byte == b'\\' || byte < b' ';
    bytes
        .iter()
        .rev()
        .fold(0, |bits, &byte| bits << 1 | u32::from(is_special(byte)))
}
