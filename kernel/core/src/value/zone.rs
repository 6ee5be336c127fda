//! Time zones by name: offsets, and the regions of the time zone database.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneTransition};

use super::calendar::{DAY_US, SECOND_US, day};
use crate::rules::{Table, Zone};

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
const NOT_REGIONS: [&str; 2] = ["localtime", "posixrules"]; // files of some systems, which no other machine reads
const LAST_LISTED: u32 = 2100; // year: no file of a zone lists a change after it, from there on a rule tells them
const CYCLE: u32 = 400; // years after which the calendar and the days of the week repeat

/// The zone of a name as the Python function `zone_of` reads it; `None` if there is none.
pub fn named(name: &str) -> Option<Arc<Zone>> {
    match read(name.as_bytes()) {
        ZoneText::Offset(seconds) => Some(Arc::new(Zone::Fixed(seconds))),
        ZoneText::Region => region(name),
        ZoneText::Bad => None,
    }
}

/// The zone of a region, of which each is looked up once: there are some hundreds.
fn region(name: &str) -> Option<Arc<Zone>> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Zone>>>> = LazyLock::new(Mutex::default);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(zone) = known().get(name) {
        return Some(zone.clone());
    }
    let found = jiff::tz::db().get(name).ok()?;
    if found.iana_name() != Some(name) || NOT_REGIONS.contains(&name) {
        return None; // in other letters, or no region
    }
    let zone = Arc::new(Zone::Table(table(&found)?));
    known().insert(name.into(), zone.clone());
    Some(zone)
}

/// Offsets by what clocks show. Where they are moved forward the offset before holds in the gap, and of two moments at
/// which they show the same the earlier is meant.
fn table(zone: &TimeZone) -> Option<Table> {
    let start_of = |year| Some(i64::from(day(year, 1, 1)?) * DAY_US);
    let (first, repeats_from_us) = (start_of(1)?, start_of(LAST_LISTED + CYCLE)?);
    let first = Timestamp::from_microsecond(first - DAY_US).ok()?;
    let mut offset_us = i64::from(zone.to_offset(first).seconds()) * SECOND_US;
    let (mut starts_us, mut offsets_us) = (vec![i64::MIN], vec![offset_us]);
    for change in zone.following(first) {
        let before = std::mem::replace(&mut offset_us, us_of(&change));
        let start = change.timestamp().as_microsecond() + offset_us.max(before);
        if start >= repeats_from_us {
            break;
        }
        if offset_us != before {
            starts_us.push(start);
            offsets_us.push(offset_us);
        }
    }
    Some(Table {
        starts_us,
        offsets_us,
        repeats_from_us,
    })
}

fn us_of(change: &TimeZoneTransition<'_>) -> i64 {
    i64::from(change.offset().seconds()) * SECOND_US
}

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
    fn regions_have_their_names_and_no_others() {
        for name in ["Europe/Berlin", "UTC", "-01:30", "US/Pacific", "Etc/GMT+3"] {
            assert!(named(name).is_some(), "{name}");
        }
        for name in [
            "europe/berlin",
            "Europe",
            "Europe/Nowhere",
            "posix/Europe/Berlin",
            "right/Europe/Berlin",
            "localtime",
            "+19",
            "",
        ] {
            assert!(named(name).is_none(), "{name}");
        }
    }

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
