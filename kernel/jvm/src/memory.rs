//! Native memory of readers, which the JVM does not see.
//!
//! A reader allocates and frees on the thread of its task, in calls from Java. The allocator counts for its thread
//! alone; the end of each call adds the sum to the number of the whole library.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

thread_local! {
    static OF_CALL: Cell<Bytes> = const { Cell::new(Bytes { held: 0, peak: 0 }) };
}

static HELD: AtomicI64 = AtomicI64::new(0);

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Bytes of memory, now and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    pub held: i64,
    pub peak: i64,
}

impl Bytes {
    /// Take what a call allocated after all calls before it.
    pub fn add(&mut self, call: Bytes) {
        self.peak = self.peak.max(self.held + call.peak);
        self.held += call.held;
    }
}

/// One call from Java, from its begin to its drop.
pub struct Call;

impl Call {
    /// Count from here on.
    pub fn begin() -> Call {
        OF_CALL.set(Bytes::default());
        Call
    }

    /// Memory of the call so far.
    pub fn bytes(&self) -> Bytes {
        OF_CALL.get()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        HELD.fetch_add(OF_CALL.get().held, Ordering::Relaxed);
    }
}

/// Bytes that the calls of all threads have allocated and not freed.
pub fn held() -> i64 {
    HELD.load(Ordering::Relaxed)
}

struct Counted;

// SAFETY: the system's allocator does what is asked; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract, which is the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: the caller keeps the contract, which is the system's.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: the caller keeps the contract, which is the system's.
        unsafe { System.realloc(place, layout, size) }
    }
}

fn count(more: usize, less: usize) {
    // A thread that ends has no counter any more.
    let _ = OF_CALL.try_with(|bytes| {
        let Bytes { held, peak } = bytes.get();
        let held = held + more as i64 - less as i64;
        let peak = peak.max(held);
        bytes.set(Bytes { held, peak });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_call_keeps_is_held_and_what_it_frees_is_in_its_peak() {
        let mut reader = Bytes::default();
        let first = Call::begin();
        let kept = vec![1_u8; 1000];
        drop(vec![1_u8; 5000]);
        reader.add(first.bytes());
        drop(first);
        assert_eq!(
            reader,
            Bytes {
                held: 1000,
                peak: 6000
            }
        );
        let second = Call::begin();
        drop(vec![1_u8; 2000]);
        drop(kept);
        reader.add(second.bytes());
        assert_eq!(
            reader,
            Bytes {
                held: 0,
                peak: 6000
            }
        );
    }
}
