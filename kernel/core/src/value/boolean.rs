//! True and false.

use super::Cell;

/// `true` or `false` in any case, and nothing around it.
pub fn parse(text: &str) -> Cell<bool> {
    if text.eq_ignore_ascii_case("true") {
        return Cell::Value(true);
    }
    if text.eq_ignore_ascii_case("false") {
        Cell::Value(false)
    } else {
        Cell::Bad
    }
}
