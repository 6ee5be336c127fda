//! Batches of a bounded size: large ones are cut, small ones put together.

use std::collections::VecDeque;

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;

use super::error::BlockError;
use super::reader::Batch;

const SMALL_ROWS: usize = 1024; // fewer rows, in fewer bytes, are not worth a batch of their own
const SMALL_BYTES: usize = 1 << 20;

/// Rows on their way out, in order.
pub(super) struct Batches {
    most_rows: usize,
    most_bytes: usize,
    ready: VecDeque<Batch>,
    small: Vec<Batch>,
    small_rows: usize,
    small_bytes: usize,
}

impl Batches {
    pub(super) fn new(most_rows: usize, most_bytes: usize) -> Batches {
        Batches {
            most_rows,
            most_bytes,
            ready: VecDeque::new(),
            small: Vec::new(),
            small_rows: 0,
            small_bytes: 0,
        }
    }

    /// Take rows.
    pub(super) fn add(&mut self, batch: Batch) -> Result<(), BlockError> {
        if batch.rows == 0 {
            return Ok(());
        }
        let bytes = batch.bytes();
        let least_rows = SMALL_ROWS.min(self.most_rows);
        let least_bytes = SMALL_BYTES.min(self.most_bytes);
        let is_small = batch.rows < least_rows && bytes < least_bytes;
        if !is_small && self.small.is_empty() {
            self.cut(batch);
            return Ok(());
        }
        self.small_rows += batch.rows;
        self.small_bytes += bytes;
        self.small.push(batch);
        if self.small_rows >= least_rows || self.small_bytes >= least_bytes {
            self.join()?;
        }
        Ok(())
    }

    /// The next batch; with `flush`, a small one will do.
    pub(super) fn take(&mut self, flush: bool) -> Result<Option<Batch>, BlockError> {
        if self.ready.is_empty() && flush {
            self.join()?;
        }
        Ok(self.ready.pop_front())
    }

    fn join(&mut self) -> Result<(), BlockError> {
        let small = std::mem::take(&mut self.small);
        (self.small_rows, self.small_bytes) = (0, 0);
        let rows = small.iter().map(|batch| batch.rows).sum();
        let width = small.first().map_or(0, |batch| batch.columns.len());
        let column = |index: usize| -> Result<ArrayRef, BlockError> {
            let parts: Vec<&dyn Array> = small
                .iter()
                .filter_map(|batch| batch.columns.get(index))
                .map(AsRef::as_ref)
                .collect();
            concat(&parts).map_err(|error| BlockError::invariant(error.to_string()))
        };
        let columns = (0..width).map(column).collect::<Result<_, _>>()?;
        if rows > 0 {
            self.cut(Batch { columns, rows });
        }
        Ok(())
    }

    /// Pieces of about the same size, each of which fits.
    fn cut(&mut self, batch: Batch) {
        let by_bytes = batch.bytes().div_ceil(self.most_bytes);
        let pieces = batch
            .rows
            .div_ceil(self.most_rows)
            .max(by_bytes)
            .min(batch.rows);
        if pieces <= 1 {
            return self.ready.push_back(batch);
        }
        let bound = |number: usize| batch.rows * number / pieces;
        for number in 0..pieces {
            let (start, stop) = (bound(number), bound(number + 1));
            self.fit(batch.slice(start, stop - start));
        }
    }

    /// Halves of it, until each fits: some rows are larger than others.
    fn fit(&mut self, batch: Batch) {
        if batch.rows <= 1 || batch.bytes() <= self.most_bytes {
            return self.ready.push_back(batch);
        }
        let half = batch.rows / 2;
        self.fit(batch.slice(0, half));
        self.fit(batch.slice(half, batch.rows - half));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    use super::*;

    #[test]
    fn batches_have_a_useful_size_and_rows_keep_their_order() {
        let mut batches = Batches::new(3000, 1 << 20);
        let (mut added, mut found, mut sizes) = (0i64, Vec::new(), Vec::new());
        for rows in [1, 7000, 2, 1020, 1, 1, 2999] {
            let values = Int64Array::from_iter_values(added..added + rows);
            added += rows;
            let batch = Batch {
                columns: vec![Arc::new(values)],
                rows: rows as usize,
            };
            batches.add(batch).expect("columns of one type");
        }
        while let Some(batch) = batches.take(true).expect("columns of one type") {
            sizes.push(batch.rows);
            found.extend_from_slice(batch.columns[0].as_primitive::<Int64Type>().values());
        }
        assert_eq!(found, (0..added).collect::<Vec<_>>());
        assert!(
            sizes.iter().all(|&rows| rows <= 3000) && sizes.len() < 8,
            "{sizes:?}"
        );
    }
}
