//! Names of time zones that need no time zone database.

/// What the name of a zone says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneText {
    /// Seconds that clocks are ahead of UTC.
    Offset(i64),
    /// A region, if there is one of that name.
    Region,
    /// None.
    Bad,
}

const MOST_MINUTES: i64 = 18 * 60; // as in Java

/// Read a name as the Python function `zone_of` does: `UTC`, `GMT` and `Z` in any case, offsets, regions.
pub(super) fn read(name: &[u8]) -> ZoneText {
    if [b"UTC".as_slice(), b"GMT", b"Z"]
        .iter()
        .any(|utc| name.eq_ignore_ascii_case(utc))
    {
        return ZoneText::Offset(0);
    }
    let offset = name
        .strip_prefix(b"UTC")
        .or_else(|| name.strip_prefix(b"GMT"))
        .unwrap_or(name);
    let (is_west, digits) = match offset {
        [b'+', digits @ ..] => (false, digits),
        [b'-', digits @ ..] => (true, digits),
        _ => return ZoneText::Region,
    };
    match minutes(digits) {
        Some(minutes) if is_west => ZoneText::Offset(-60 * minutes),
        Some(minutes) => ZoneText::Offset(60 * minutes),
        None if offset.len() < name.len() => ZoneText::Region, // such as UTC+abc: no zone today, but a name
        None => ZoneText::Bad,
    }
}

/// One or two digits of hours, and two of minutes if there are more, a colon between them or not.
fn minutes(digits: &[u8]) -> Option<i64> {
    let (hours, minutes) = match digits {
        [h] => (number(b'0', *h)?, 0),
        [h, i] => (number(*h, *i)?, 0),
        [h, b':', m, n] | [h, m, n] => (number(b'0', *h)?, number(*m, *n)?),
        [h, i, b':', m, n] | [h, i, m, n] => (number(*h, *i)?, number(*m, *n)?),
        _ => return None,
    };
    let all = hours * 60 + minutes;
    (minutes < 60 && all <= MOST_MINUTES).then_some(all)
}

fn number(tens: u8, ones: u8) -> Option<i64> {
    let is_number = tens.is_ascii_digit() && ones.is_ascii_digit();
    is_number.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
}

#[cfg(test)]
mod tests {
    use super::ZoneText::{Bad, Offset, Region};
    use super::*;

    #[test]
    fn offsets_have_the_forms_of_java() {
        for (name, expected) in [
            ("utc", Offset(0)),
            ("z", Offset(0)),
            ("+1", Offset(3600)),
            ("-0130", Offset(-5400)),
            ("+130", Offset(5400)),
            ("UTC+1:30", Offset(5400)),
            ("GMT-18", Offset(-64_800)),
            ("+18:01", Bad),
            ("+01:60", Bad),
            ("+", Bad),
            ("+1:3", Bad),
            ("+12345", Bad),
            ("Europe/Berlin", Region),
            ("utc+1", Region),
            ("UTC+x", Region),
        ] {
            assert_eq!(read(name.as_bytes()), expected, "{name}");
        }
    }
}
