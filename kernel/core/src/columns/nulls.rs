//! Which rows are null.

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

/// A list of bits, the least significant first, as Arrow has them.
#[derive(Debug, Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

impl Bits {
    /// Append one bit.
    #[inline]
    pub(super) fn push(&mut self, bit: bool) {
        let within = self.len % 8;
        match self.bytes.last_mut() {
            Some(byte) if within != 0 => *byte |= u8::from(bit) << within,
            _ => self.bytes.push(u8::from(bit)),
        }
        self.len += 1;
    }

    /// Append the lowest bits of a word; the others are 0.
    pub(super) fn push_word(&mut self, word: u64, count: usize) {
        let within = self.len % 8;
        let mut bytes = (u128::from(word) << within).to_le_bytes().into_iter();
        if within != 0
            && let (Some(last), Some(first)) = (self.bytes.last_mut(), bytes.next())
        {
            *last |= first;
        }
        self.len += count;
        let missing = self.len.div_ceil(8) - self.bytes.len();
        self.bytes.extend(bytes.take(missing));
    }

    /// Drop bits from the end.
    pub(super) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        self.bytes.truncate(len.div_ceil(8));
        if let Some(byte) = self.bytes.last_mut()
            && !len.is_multiple_of(8)
        {
            *byte &= (1 << (len % 8)) - 1;
        }
        self.len = len;
    }

    /// Make room for more bits.
    pub(super) fn reserve(&mut self, more: usize) {
        self.bytes.reserve(more.div_ceil(8));
    }

    /// The bits, without copying; none are left.
    pub(super) fn take(&mut self) -> BooleanBuffer {
        let len = std::mem::take(&mut self.len);
        BooleanBuffer::new(Buffer::from_vec(std::mem::take(&mut self.bytes)), 0, len)
    }

    fn ones(len: usize) -> Self {
        let mut bits = Bits {
            bytes: vec![u8::MAX; len.div_ceil(8)],
            len: len.next_multiple_of(8),
        };
        bits.truncate(len);
        bits
    }
}

/// Rows whose nulls are told of at once.
pub(super) const GROUP: usize = 64;

/// Whether each row is there. Costs an addition a row until the first null.
#[derive(Debug, Default)]
pub(super) struct Nulls {
    len: usize,
    valid: Option<Bits>,
}

impl Nulls {
    /// Number of rows.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Append a row that is there.
    #[inline]
    pub(super) fn push_valid(&mut self) {
        if let Some(valid) = &mut self.valid {
            valid.push(true);
        }
        self.len += 1;
    }

    /// Append up to [`GROUP`] rows: bit `i` says whether row `i` is missing.
    #[inline]
    pub(super) fn push_group(&mut self, missing: u64, rows: usize) {
        if missing != 0 || self.valid.is_some() {
            let all = u64::MAX.unbounded_shr((GROUP.wrapping_sub(rows)) as u32); // not more than that
            let bits = self.valid.get_or_insert_with(|| Bits::ones(self.len));
            bits.push_word(all & !missing, rows);
        }
        self.len += rows;
    }

    /// Append a null.
    pub(super) fn push_null(&mut self) {
        self.valid
            .get_or_insert_with(|| Bits::ones(self.len))
            .push(false);
        self.len += 1;
    }

    /// Drop rows from the end.
    pub(super) fn truncate(&mut self, rows: usize) {
        if let Some(valid) = &mut self.valid {
            valid.truncate(rows);
        }
        self.len = self.len.min(rows);
    }

    /// The rows as Arrow has them, `None` if no row is null; none are left.
    pub(super) fn take(&mut self) -> Option<NullBuffer> {
        self.len = 0;
        self.valid
            .take()
            .map(|mut bits| NullBuffer::new(bits.take()))
            .filter(|nulls| nulls.null_count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_are_kept_across_bytes_and_cuts() {
        for rows in [0, 1, 7, 8, 9, 64, 65] {
            let mut nulls = Nulls::default();
            (0..rows).for_each(|_| nulls.push_valid());
            nulls.push_null();
            nulls.push_valid();
            assert_eq!(nulls.len(), rows + 2);
            nulls.truncate(rows + 1);
            nulls.push_valid();
            let found: Vec<bool> = nulls.take().expect("one null").iter().collect();
            let expected: Vec<bool> = (0..rows + 2).map(|row| row != rows).collect();
            assert_eq!(found, expected);
            assert!(nulls.take().is_none());
        }
    }

    #[test]
    fn groups_are_rows_one_after_the_other() {
        let words = [u64::MAX, 0x8000_0000_0000_0001, 0b101, 0, 1];
        let counts = [64, 64, 3, 9, 1, 63];
        let (mut each, mut groups) = (Nulls::default(), Nulls::default());
        for round in 0..20 {
            let (word, count) = (words[round % 5], counts[round % 6]);
            let word = word & (u64::MAX >> (GROUP - count));
            groups.push_group(!word, count);
            for bit in 0..count {
                match word >> bit & 1 {
                    0 => each.push_null(),
                    _ => each.push_valid(),
                }
            }
            assert_eq!(groups.len(), each.len());
        }
        assert_eq!(groups.take(), each.take());
    }

    #[test]
    fn a_null_that_is_cut_off_leaves_none() {
        let mut nulls = Nulls::default();
        nulls.push_valid();
        nulls.push_null();
        nulls.truncate(1);
        nulls.push_valid();
        assert!(nulls.take().is_none());
    }
}
