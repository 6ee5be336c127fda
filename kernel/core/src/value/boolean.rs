//! True and false.

/// `true` or `false` in any case, and nothing around it.
pub fn parse(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        return Some(true);
    }
    if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}
