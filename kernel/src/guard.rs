//! Work without the interpreter's lock, and bugs as errors.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};

use pyo3::prelude::*;

use crate::KernelBug;

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Remember where a panic was, instead of printing it. Called once, when the module is made; only panics of this
/// library come here.
pub fn remember_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        PLACE.with_borrow_mut(|kept| *kept = place);
    }));
}

/// Do some work while other threads of Python run.
///
/// # Errors
/// `KernelBug` if it panics: then `offset` says which bytes it was about. What it worked on must not be used again.
pub fn detached<T: Send>(
    py: Python<'_>,
    offset: usize,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| panic::catch_unwind(AssertUnwindSafe(work))).map_err(|cause| {
        let said = cause.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        let place = PLACE.with_borrow_mut(std::mem::take);
        KernelBug::new_err(format!(
            "{said}{place} in the bytes from {offset} on, splitscan-kernel {}; please report it, and set \
             SPLITSCAN_ENGINE=reference until it is mended",
            env!("CARGO_PKG_VERSION")
        ))
    })
}
