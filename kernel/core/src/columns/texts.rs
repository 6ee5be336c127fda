//! Texts and byte strings one after the other.

use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use crate::limits::MAX_COLUMN_BYTES;

/// Where lists end: offsets that begin with 0, as Arrow has them.
#[derive(Debug)]
pub(super) struct Offsets(Vec<i32>);

impl Offsets {
    pub(super) fn new() -> Self {
        Offsets(vec![0])
    }

    /// End a list where `end` items are there.
    #[inline]
    pub(super) fn push(&mut self, end: usize) {
        assert!(
            end <= MAX_COLUMN_BYTES,
            "more items than the offsets of Arrow can tell apart"
        );
        self.0.push(end as i32);
    }

    /// Drop lists from the end; answers how many items remain.
    pub(super) fn truncate(&mut self, lists: usize) -> usize {
        self.0.truncate(lists + 1);
        self.last()
    }

    /// How many items the lists have.
    pub(super) fn last(&self) -> usize {
        self.0.last().map_or(0, |&end| end as usize)
    }

    pub(super) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// The offsets, without copying; none but the first 0 are left.
    pub(super) fn take(&mut self) -> OffsetBuffer<i32> {
        OffsetBuffer::new(ScalarBuffer::from(std::mem::replace(&mut self.0, vec![0])))
    }
}

const SHORT: usize = 32; // bytes
const LONG: usize = 64;

/// Texts, or bytes.
#[derive(Debug)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    offsets: Offsets,
}

impl Texts {
    pub(super) fn new() -> Self {
        Texts {
            bytes: Vec::new(),
            offsets: Offsets::new(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.offsets.push(self.bytes.len());
    }

    /// Append `bytes[start..stop]`. Of a short text a fixed number of bytes is copied and the rest dropped again: that
    /// is a few moves, where a copy of any length is a call.
    #[inline(always)] // once a value
    pub(super) fn push_part(&mut self, bytes: &[u8], start: usize, stop: usize) {
        let rest = bytes.get(start..).unwrap_or_default();
        let length = stop.wrapping_sub(start); // not before it
        let end = self.bytes.len().wrapping_add(length); // in memory
        match (rest.first_chunk::<SHORT>(), rest.first_chunk::<LONG>()) {
            (Some(short), _) if length <= SHORT => self.bytes.extend_from_slice(short),
            (_, Some(long)) if length <= LONG => self.bytes.extend_from_slice(long),
            _ => self
                .bytes
                .extend_from_slice(rest.get(..length).unwrap_or_default()),
        }
        self.bytes.truncate(end);
        self.offsets.push(end);
    }

    /// Append what `write` adds to the bytes, and answer what it does.
    pub(super) fn push_any<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let written = write(&mut self.bytes);
        self.offsets.push(self.bytes.len());
        written
    }

    /// Append what `write` adds to the bytes; nothing if that is no value.
    pub(super) fn push_with(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        let cell = write(&mut self.bytes);
        if cell == Some(()) {
            self.offsets.push(self.bytes.len());
        }
        cell
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        let kept = self.offsets.truncate(rows);
        self.bytes.truncate(kept);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn reserve(&mut self, rows: usize, bytes: usize) {
        self.offsets.reserve(rows);
        self.bytes.reserve(bytes);
    }

    /// Offsets and bytes, without copying; none are left.
    pub(super) fn take(&mut self) -> (OffsetBuffer<i32>, Buffer) {
        (
            self.offsets.take(),
            Buffer::from_vec(std::mem::take(&mut self.bytes)),
        )
    }
}
