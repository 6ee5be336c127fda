//! The values of many rows at once, by what reads them.

use super::nulls::{GROUP, Nulls};
use super::{Column, Data};

/// Append a value for each row; `None` is null.
#[inline(always)] // once for each type and reader
fn extend<T: Copy + Default>(
    values: &mut Vec<T>,
    nulls: &mut Nulls,
    rows: usize,
    mut read: impl FnMut(usize) -> Option<T>,
) {
    for from in (0..rows).step_by(GROUP) {
        let group = GROUP.min(rows.wrapping_sub(from)); // from is below it
        let mut missing = 0;
        values.extend((0..group).map(|number| {
            let value = read(from.wrapping_add(number)); // a row
            missing |= u64::from(value.is_none()) << number;
            value.unwrap_or_default()
        }));
        nulls.push_group(missing, group);
    }
}

impl Column {
    /// Append whole numbers, which the type of the column holds.
    ///
    /// # Panics
    /// If the column is neither of numbers of 32 or 64 bits nor of decimals.
    #[inline]
    pub fn extend_numbers<V>(&mut self, rows: usize, mut read: impl FnMut(usize) -> Option<V>)
    where
        V: Copy + Into<i128> + TryInto<i32> + TryInto<i64>,
    {
        let nulls = &mut self.nulls;
        match &mut self.data {
            Data::Int32(values) => extend(values, nulls, rows, |row| read(row)?.try_into().ok()),
            Data::Int64(values) => extend(values, nulls, rows, |row| read(row)?.try_into().ok()),
            Data::Decimal(values) => extend(values, nulls, rows, |row| read(row).map(Into::into)),
            _ => panic!("whole numbers for a column of type {}", self.kind),
        }
    }

    /// Append floating-point numbers.
    ///
    /// # Panics
    /// If the column is of another type.
    pub fn extend_floats(&mut self, rows: usize, mut read: impl FnMut(usize) -> Option<f64>) {
        let nulls = &mut self.nulls;
        match &mut self.data {
            Data::Float32(values) => {
                extend(values, nulls, rows, |row| read(row).map(|it| it as f32));
            }
            Data::Float64(values) => extend(values, nulls, rows, read),
            _ => panic!("fractions for a column of type {}", self.kind),
        }
    }

    /// Append texts or bytes: `write` appends those of a row to others, or answers false for null and appends nothing.
    ///
    /// # Panics
    /// If the column is of another type. What is no UTF-8 in a column of texts panics in [`Column::finish`].
    #[inline]
    pub fn extend_texts(
        &mut self,
        rows: usize,
        mut write: impl FnMut(usize, &mut Vec<u8>) -> bool,
    ) {
        let (Data::Text(texts) | Data::Binary(texts)) = &mut self.data else {
            panic!("texts for a column of type {}", self.kind)
        };
        for from in (0..rows).step_by(GROUP) {
            let group = GROUP.min(rows.wrapping_sub(from)); // from is below it
            let mut missing = 0;
            for number in 0..group {
                let is_there = texts.push_any(|bytes| write(from.wrapping_add(number), bytes));
                missing |= u64::from(!is_there) << number;
            }
            self.nulls.push_group(missing, group);
        }
    }

    /// End objects, to each of whose members as many rows were appended; `is_there` says which are no nulls.
    ///
    /// # Panics
    /// If the column is of another type, or a member has another number of rows.
    pub fn extend_structs(&mut self, rows: usize, mut is_there: impl FnMut(usize) -> bool) {
        let Data::Struct(members) = &self.data else {
            panic!("objects for a column of type {}", self.kind)
        };
        let all = self.nulls.len() + rows;
        assert!(
            members.iter().all(|member| member.len() == all),
            "a value a member"
        );
        for row in 0..rows {
            match is_there(row) {
                true => self.nulls.push_valid(),
                false => self.nulls.push_null(),
            }
        }
    }

    /// End lists, whose items were appended one list after the other: how many each has, or that it is null.
    ///
    /// # Panics
    /// If the column is of another type, or there are not as many items.
    pub fn extend_lists(&mut self, lengths: impl Iterator<Item = Option<usize>>) {
        let Data::List(offsets, items) = &mut self.data else {
            panic!("lists for a column of type {}", self.kind)
        };
        for length in lengths {
            offsets.push(offsets.last() + length.unwrap_or(0));
            match length {
                Some(_) => self.nulls.push_valid(),
                None => self.nulls.push_null(),
            }
        }
        assert_eq!(
            offsets.last(),
            items.len(),
            "as many items as the lists have"
        );
    }
}
