//! How much the columns of rows may still take.

use super::layout::Shape;
use super::rows::Rows;
use crate::columns::Column;

/// Most bytes that a byte of a record can become in a column: a control character of rescued data.
const MOST_GROWTH: usize = 6;

/// Most bytes of a member of a variant besides its text and its name: the numbers of both, and a name that is given.
const MOST_MEMBER: usize = 48;

impl Rows<'_> {
    /// Whether there is none yet.
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether a record of so many bytes fits into the columns, whatever it holds.
    #[inline]
    pub(super) fn has_room(&mut self, record_bytes: usize) -> bool {
        let needed = record_bytes.max(1);
        let fits = needed <= self.room;
        self.room -= if fits { needed } else { 0 };
        fits
    }

    /// Look at the sizes of the columns again, which hold all records by now.
    pub(super) fn make_room(&mut self) {
        let columns = self.columns.iter().chain(&self.rescued);
        let used = columns.map(Column::text_bytes).max().unwrap_or(0);
        // A record of one byte or more adds at most that many times what each of its bytes may become.
        self.room =
            self.limit.saturating_sub(used) / MOST_GROWTH.saturating_add(self.fixed_bytes());
    }

    /// Make room for the rows of some bytes, if they are like those of others, which are in the columns. Not if that is
    /// much more than the bytes: those may have been unlike all others.
    pub(super) fn reserve(&mut self, bytes: usize, others: usize) {
        let more = |count: usize| {
            let more = count.saturating_mul(bytes) / others.max(1);
            more.saturating_add(more / 16)
        };
        let texts = self.columns.iter().map(Column::text_bytes).sum::<usize>();
        let values = self.rows.saturating_mul(8 * self.columns.len());
        if more(texts.saturating_add(values)) > 2 * bytes {
            return;
        }
        for column in &mut self.columns {
            column.reserve(more(self.rows), more(column.text_bytes()));
        }
    }

    /// What a record may add to a column besides its own bytes.
    fn fixed_bytes(&self) -> usize {
        let named = match &self.layout.shape {
            Shape::Columns(named) => {
                let blank = named
                    .blanks
                    .iter()
                    .filter_map(|(_, text)| text.as_ref())
                    .map(String::len)
                    .max()
                    .unwrap_or(0);
                let keys: usize = named
                    .names
                    .iter()
                    .map(|name| MOST_GROWTH.saturating_mul(name.len()) + 8)
                    .sum();
                blank
                    + named
                        .rescue
                        .as_ref()
                        .map_or(0, |rescue| keys + rescue.tail.len() + 32)
            }
            Shape::Object(object) => {
                // A byte ends a field as a rule, so that a record has at most twice as many as bytes.
                let names = object.names.iter().flatten();
                2 * (names.map(String::len).max().unwrap_or(0) + MOST_MEMBER)
            }
            _ => 0,
        };
        named + MOST_GROWTH * self.layout.meaning.empty_value.len() + 32
    }
}
