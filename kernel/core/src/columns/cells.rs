//! The texts of many rows, one column after the other.

use std::borrow::Cow;

use super::nulls::{GROUP, Nulls};
use super::{Column, Pushed};

/// Where the text of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: the row is null.
    Nothing,
    /// These bytes of [`Cells::bytes`], which are UTF-8.
    At(usize, usize),
    /// Only [`Cells::text`] knows.
    Apart,
}

/// The texts of one column of some rows.
pub trait Cells {
    /// How many rows there are.
    fn rows(&self) -> usize;
    /// What holds most of the texts. Bytes around them are read too, and have no meaning.
    fn bytes(&self) -> &[u8];
    /// Where the text of a row is.
    fn place(&self, row: usize) -> Place;
    /// The text of a row, wherever it is; `None` for null.
    fn text(&self, row: usize) -> Option<Cow<'_, str>>;
    /// Append the text of a row to others in UTF-8; false, and nothing, for null.
    fn write(&self, row: usize, text: &mut Vec<u8>) -> bool {
        write_text(self.text(row), text)
    }
}

/// Append a text to others; false without one.
pub fn write_text(text: Option<Cow<'_, str>>, to: &mut Vec<u8>) -> bool {
    if let Some(text) = &text {
        to.extend_from_slice(text.as_bytes());
    }
    text.is_some()
}

/// One text.
pub(super) struct One<'a>(pub &'a str);

impl Cells for One<'_> {
    #[inline(always)]
    fn rows(&self) -> usize {
        1
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    #[inline(always)]
    fn place(&self, _row: usize) -> Place {
        Place::At(0, self.0.len())
    }

    #[inline(always)]
    fn text(&self, _row: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.0))
    }
}

/// Append a value for each row to some values and their nulls. `quick` reads most texts, where they lie among other
/// bytes; `read` reads any text. `refuse` is told of the rows whose text is no value.
#[inline(always)] // once for each type
pub(super) fn fill<T: Copy + Default, C: Cells>(
    values: &mut Vec<T>,
    nulls: &mut Nulls,
    cells: &C,
    refuse: &mut impl FnMut(usize),
    quick: impl Fn(&[u8], usize, usize) -> Option<T>,
    mut read: impl FnMut(&str) -> Option<T>,
) {
    let bytes = cells.bytes();
    let mut slow = |row: usize, refuse: &mut dyn FnMut(usize)| {
        let value = read(&cells.text(row)?);
        if value.is_none() {
            refuse(row);
        }
        value
    };
    for from in (0..cells.rows()).step_by(GROUP) {
        let rows = GROUP.min(cells.rows().wrapping_sub(from)); // from is below it
        let mut missing = 0;
        let filled = values.len();
        values.resize(filled.wrapping_add(rows), T::default()); // in memory
        let group = values.get_mut(filled..).unwrap_or_default();
        for (number, value) in group.iter_mut().enumerate() {
            let row = from.wrapping_add(number); // a row
            let place = cells.place(row);
            if let Place::At(start, stop) = place
                && let Some(quickly) = quick(bytes, start, stop)
            {
                *value = quickly;
            } else if place != Place::Nothing
                && let Some(slowly) = slow(row, refuse)
            {
                *value = slowly;
            } else {
                missing |= 1u64.wrapping_shl(number as u32); // below GROUP
            }
        }
        nulls.push_group(missing, rows);
    }
}

/// Append texts.
#[inline(always)] // once
pub(super) fn fill_texts<C: Cells>(texts: &mut super::Texts, nulls: &mut Nulls, cells: &C) {
    let bytes = cells.bytes();
    for from in (0..cells.rows()).step_by(GROUP) {
        let rows = GROUP.min(cells.rows().wrapping_sub(from)); // from is below it
        let mut missing = 0;
        for number in 0..rows {
            let row = from.wrapping_add(number); // a row
            let is_there = match cells.place(row) {
                Place::At(start, stop) => {
                    texts.push_part(bytes, start, stop);
                    true
                }
                Place::Nothing => {
                    texts.push(b"");
                    false
                }
                Place::Apart => texts.push_any(|bytes| cells.write(row, bytes)),
            };
            missing |= u64::from(!is_there) << number;
        }
        nulls.push_group(missing, rows);
    }
}

impl Column {
    /// Append the values that some texts are, as CSV has them; `refuse` is told of those that are none, which are null.
    pub fn push_texts(&mut self, cells: &impl Cells, mut refuse: impl FnMut(usize)) {
        self.read_texts(cells, &mut refuse);
    }

    /// Append the value that a text is, as CSV has it.
    #[inline]
    pub fn push_text(&mut self, text: &str) -> Pushed {
        let mut pushed = Pushed::Stored;
        self.read_texts(&One(text), &mut |_| pushed = Pushed::Bad);
        pushed
    }
}
