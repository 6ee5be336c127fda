//! Values of items.

use super::layout::{Coding, Leaf, Notation};
use crate::charsets::Charset;

const SKIPPED: u8 = 10;
const PLUS: u8 = 11;
const MINUS: u8 = 12;
const POINT: u8 = 13;
const POSITIVE: u8 = 16;
const NEGATIVE: u8 = 32;
const NO_DIGIT: u8 = 0xFF;
const MINUS_NIBBLE: u8 = 0xD;
const LAST_BLANK: char = ' ';

/// Bytes are no value of their item.
pub(super) struct NoValue;

/// A number, or nothing.
pub(super) type Read<T> = Result<Option<T>, NoValue>;

/// Whole numbers that digits are put together in.
pub(super) trait Digits: Copy + Into<i128> {
    const ZERO: Self;
    /// With one more digit; nothing if that is too large.
    fn with(self, digit: u8) -> Option<Self>;
    fn negated(self) -> Self;
}

impl Digits for i64 {
    const ZERO: i64 = 0;

    #[inline(always)] // once a digit
    fn with(self, digit: u8) -> Option<i64> {
        Some(self.wrapping_mul(10).wrapping_add(i64::from(digit))) // of items of at most 18 bytes
    }

    #[inline(always)]
    fn negated(self) -> i64 {
        self.wrapping_neg() // it is positive
    }
}

impl Digits for i128 {
    const ZERO: i128 = 0;

    #[inline(always)]
    fn with(self, digit: u8) -> Option<i128> {
        self.checked_mul(10)?.checked_add(i128::from(digit))
    }

    #[inline(always)]
    fn negated(self) -> i128 {
        self.wrapping_neg()
    }
}

/// What is dropped of texts.
#[derive(Clone, Copy)]
struct Trimming {
    left: bool,
    right: bool,
    zeros_are_null: bool,
}

impl Trimming {
    /// All that says nothing.
    const ALL: Trimming = Trimming {
        left: true,
        right: true,
        zeros_are_null: true,
    };
}

impl Notation {
    /// A number of which each digit is a byte.
    #[inline]
    pub(super) fn zoned<T: Digits>(&self, leaf: &Leaf, data: &[u8]) -> Read<T> {
        let mut value = T::ZERO;
        for &byte in data {
            let meaning = self.meaning(byte);
            if meaning >= SKIPPED {
                return self.zoned_with_signs(leaf, data);
            }
            value = value.with(meaning).ok_or(NoValue)?;
        }
        match leaf.option {
            true => self.zoned_with_signs(leaf, data),
            false => Ok(Some(value)),
        }
    }

    #[inline(always)] // once a byte
    fn meaning(&self, byte: u8) -> u8 {
        self.digits
            .get(usize::from(byte))
            .copied()
            .unwrap_or(NO_DIGIT)
    }

    fn zoned_with_signs<T: Digits>(&self, leaf: &Leaf, data: &[u8]) -> Read<T> {
        let mut value = T::ZERO;
        let (mut digits, mut decimals) = (0u32, None::<u32>);
        let mut negative = None;
        let (mut is_over, mut has_gap) = (false, false); // only blanks may follow, or a sign
        for &byte in data {
            let meaning = self.meaning(byte);
            let mut sign = None;
            match meaning {
                SKIPPED => {
                    has_gap |= digits > 0 || decimals.is_some();
                    continue;
                }
                POINT => {
                    if !leaf.option || decimals.is_some() || is_over || has_gap {
                        return Err(NoValue);
                    }
                    decimals = Some(0);
                    continue;
                }
                PLUS | MINUS => {
                    if negative.is_some() || !leaf.signed {
                        return Err(NoValue);
                    }
                    negative = Some(meaning == MINUS);
                    is_over = digits > 0 || decimals.is_some();
                    continue;
                }
                POSITIVE.. => {
                    let is_minus = meaning >= NEGATIVE;
                    let is_refused = !leaf.signed && (is_minus || !self.signs_anywhere);
                    if meaning == NO_DIGIT || negative.is_some() || is_refused {
                        return Err(NoValue);
                    }
                    sign = Some(is_minus);
                }
                _ => {}
            }
            if is_over || has_gap {
                return Err(NoValue);
            }
            if sign.is_some() {
                negative = sign;
                is_over = !self.signs_inside && digits > 0;
            }
            value = value.with(meaning % POSITIVE).ok_or(NoValue)?;
            digits += 1;
            decimals = decimals.map(|decimals| decimals + 1);
        }
        if digits == 0 {
            return if negative.is_none() && decimals.is_none() {
                Ok(None)
            } else {
                Err(NoValue)
            };
        }
        if leaf.option {
            value = scaled(value, leaf.scale, decimals.unwrap_or(0))?;
        }
        Ok(Some(if negative == Some(true) {
            value.negated()
        } else {
            value
        }))
    }

    /// A number of which each digit is half a byte.
    #[inline]
    pub(super) fn packed<T: Digits>(leaf: &Leaf, data: &[u8]) -> Read<T> {
        let mut value = T::ZERO;
        let (last, whole) = data.split_last().ok_or(NoValue)?;
        for &byte in whole {
            value = pair(value, byte)?;
        }
        if leaf.option {
            return pair(value, *last).map(Some);
        }
        value = digit(value, last >> 4)?;
        match last & 0xF {
            0xC | 0xF => Ok(Some(value)),
            MINUS_NIBBLE if leaf.signed => Ok(Some(value.negated())),
            _ => Err(NoValue),
        }
    }

    /// Append a text; false for null.
    #[inline]
    pub(super) fn text(&self, data: &[u8], to: &mut Vec<u8>) -> bool {
        self.text_as(self.trimming(), data, to)
    }

    fn trimming(&self) -> Trimming {
        Trimming {
            left: self.trim_left,
            right: self.trim_right,
            zeros_are_null: self.zeros_are_null,
        }
    }

    #[inline(always)] // once a value
    fn text_as(&self, trimming: Trimming, data: &[u8], to: &mut Vec<u8>) -> bool {
        if trimming.zeros_are_null && data.iter().all(|&byte| byte == 0) {
            return false;
        }
        let is_blank = |byte: &u8| {
            let symbol = self.characters.get(usize::from(*byte));
            symbol.is_some_and(|&symbol| symbol <= LAST_BLANK)
        };
        let mut left = data;
        while trimming.left
            && let Some((first, rest)) = left.split_first()
            && is_blank(first)
        {
            left = rest;
        }
        while trimming.right
            && let Some((last, rest)) = left.split_last()
            && is_blank(last)
        {
            left = rest;
        }
        let before = to.len();
        let ascii = |byte: &u8| self.ascii.get(usize::from(*byte)).copied().unwrap_or(0xFF);
        to.extend(left.iter().map(ascii));
        if to.get(before..).unwrap_or_default().is_ascii() {
            return true;
        }
        to.truncate(before);
        for &byte in left {
            let symbol = self
                .characters
                .get(usize::from(byte))
                .copied()
                .unwrap_or_default();
            to.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes());
        }
        true
    }

    /// The text that an item is compared by; `None` without one.
    pub(super) fn key(&self, leaf: &Leaf, data: &[u8]) -> Option<String> {
        if matches!(leaf.coding, Coding::Text | Coding::National) {
            let mut text = Vec::new();
            let is_text = match leaf.coding {
                Coding::Text => self.text_as(Trimming::ALL, data, &mut text),
                _ => Notation::national_as(Trimming::ALL, data, &mut text),
            };
            return is_text.then(|| String::from_utf8_lossy(&text).into_owned());
        }
        if data.len() < leaf.size {
            return None;
        }
        let number = match leaf.coding {
            Coding::Zoned => self.zoned::<i128>(leaf, data).ok()?,
            Coding::Packed => Notation::packed::<i128>(leaf, data).ok()?,
            _ => binary(leaf, data),
        };
        number.map(|number| number.to_string())
    }

    /// Append a text of characters of two bytes; false for null.
    pub(super) fn national(&self, data: &[u8], to: &mut Vec<u8>) -> bool {
        Notation::national_as(self.trimming(), data, to)
    }

    fn national_as(trimming: Trimming, data: &[u8], to: &mut Vec<u8>) -> bool {
        if trimming.zeros_are_null && data.iter().all(|&byte| byte == 0) {
            return false;
        }
        let text = Charset::Utf16(true).text(data);
        let is_blank = |symbol: char| symbol <= LAST_BLANK;
        let left = if trimming.left {
            text.trim_start_matches(is_blank)
        } else {
            &text
        };
        let left = if trimming.right {
            left.trim_end_matches(is_blank)
        } else {
            left
        };
        to.extend_from_slice(left.as_bytes());
        true
    }
}

#[inline(always)] // once a byte
fn digit<T: Digits>(value: T, nibble: u8) -> Result<T, NoValue> {
    if nibble > 9 {
        return Err(NoValue);
    }
    value.with(nibble).ok_or(NoValue)
}

#[inline(always)]
fn pair<T: Digits>(value: T, byte: u8) -> Result<T, NoValue> {
    digit(digit(value, byte >> 4)?, byte & 0xF)
}

/// A number with `decimals` digits after its point as one of `scale`, if it has not more.
fn scaled<T: Digits>(value: T, scale: u32, decimals: u32) -> Result<T, NoValue> {
    if decimals > scale {
        return Err(NoValue);
    }
    let mut value = value;
    for _ in decimals..scale {
        value = value.with(0).ok_or(NoValue)?;
    }
    Ok(value)
}

/// A number in binary of at most 16 bytes; `None` if it is larger than any that a column holds.
#[inline]
pub(super) fn binary(leaf: &Leaf, data: &[u8]) -> Option<i128> {
    let highest = if leaf.option {
        data.last()
    } else {
        data.first()
    };
    let is_negative = leaf.signed && *highest? >= 0x80;
    let mut wide = [if is_negative { 0xFF } else { 0 }; 16];
    match leaf.option {
        true => wide.get_mut(..data.len())?.copy_from_slice(data),
        false => wide
            .get_mut(16usize.checked_sub(data.len())?..)?
            .copy_from_slice(data),
    }
    let value = if leaf.option {
        i128::from_le_bytes(wide)
    } else {
        i128::from_be_bytes(wide)
    };
    (is_negative == (value < 0)).then_some(value)
}

/// A floating-point number of four or eight bytes; those of mainframes are signed leaves.
pub(super) fn float(leaf: &Leaf, data: &[u8]) -> Option<f64> {
    let mut bytes = [0; 8];
    let size = data.len();
    bytes
        .get_mut(8usize.checked_sub(size)?..)?
        .copy_from_slice(data);
    if leaf.option {
        bytes.get_mut(8 - size..)?.reverse();
    }
    let bits = u64::from_be_bytes(bytes);
    if !leaf.signed {
        return Some(match size {
            4 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        });
    }
    let fraction = 8 * (size as u32 - 1);
    let (high, low) = (bits >> fraction, bits & ((1 << fraction) - 1));
    let power = 4 * ((high as i32 & 0x7F) - 64) - fraction as i32;
    let value = low as f64 * 2f64.powi(power);
    let value = if high & 0x80 == 0 { value } else { -value };
    (size > 4 || low == 0 || (value as f32).is_finite()).then_some(value)
}
