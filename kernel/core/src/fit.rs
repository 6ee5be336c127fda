//! Which types the texts of a column fit: a summary that merges by intersection, so no order and no cut matters.

use crate::rules::Rules;
use crate::value::clock::Clock;
use crate::value::float::Named;
use crate::value::pattern::Pattern;
use crate::value::{
    DOUBLE_DIGITS, boolean, date, float, int, loses_digits, outgrows_double, timestamp,
    without_blanks,
};

/// 32-bit whole numbers.
pub const INT: u8 = 1;
/// 64-bit whole numbers.
pub const LONG: u8 = 1 << 1;
/// Whole numbers of at most [`MOST_DIGITS`] digits.
pub const DECIMAL: u8 = 1 << 2;
/// Floating point numbers.
pub const DOUBLE: u8 = 1 << 3;
/// Dates with every digit and nothing after them, or those of the pattern.
pub const DATE: u8 = 1 << 4;
/// Moments.
pub const TIMESTAMP: u8 = 1 << 5;
/// True and false.
pub const BOOLEAN: u8 = 1 << 6;
/// Every type.
pub const ALL: u8 = (1 << 7) - 1;

const NUMBERS: u8 = INT | LONG | DECIMAL | DOUBLE;
const MOST_DIGITS: usize = 38;
const SHORT_DIGITS: usize = 9; // always fit into 32 bits

/// The types that all texts fit which were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// A bit for each type.
    pub kinds: u8,
    /// Most digits of a whole number.
    pub digits: usize,
    /// Whether a text was seen.
    pub any: bool,
}

impl Default for Fit {
    fn default() -> Self {
        Fit {
            kinds: ALL,
            digits: 0,
            any: false,
        }
    }
}

/// Finds which types texts fit.
#[derive(Debug)]
pub struct Fitter {
    named: Named,
    date: Option<Pattern>,
    time: Option<Pattern>,
    clock: Clock,
    has_points: bool,
}

impl Fitter {
    /// By these rules; an error says what is wrong with a pattern.
    pub fn new(rules: &Rules) -> Result<Fitter, String> {
        let compile = |text: &String| Pattern::new(text, &rules.names);
        let pattern = |text: &Option<String>| text.as_ref().map(compile).transpose();
        Ok(Fitter {
            named: Named::new(rules),
            date: pattern(&rules.date_format)?,
            time: pattern(&rules.timestamp_format)?,
            clock: Clock::new(rules.zone.clone()),
            has_points: rules.has_points(),
        })
    }

    /// Take one more text into a summary.
    #[inline]
    pub fn take(&mut self, fit: &mut Fit, text: &str) {
        fit.any = true;
        let mut kinds = fit.kinds;
        if kinds & NUMBERS != 0 {
            kinds &= !NUMBERS | self.numbers(text, kinds, &mut fit.digits);
        }
        if kinds & (DATE | TIMESTAMP) != 0 {
            kinds &= !(DATE | TIMESTAMP) | self.times(text, kinds);
        }
        if kinds & BOOLEAN != 0 && boolean::parse(text).is_none() {
            kinds &= !BOOLEAN;
        }
        fit.kinds = kinds;
    }

    /// The types of numbers that a text fits, of those in `kinds` at least.
    #[inline]
    fn numbers(&self, text: &str, kinds: u8, digits: &mut usize) -> u8 {
        let bare = without_blanks(text);
        let unsigned = match bare.as_bytes() {
            [b'-' | b'+', rest @ ..] => rest,
            rest => rest,
        };
        if loses_digits(bare) || self.loses_point(bare) {
            return 0;
        }
        let has_blanks = bare.len() < text.len();
        if !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit) {
            *digits = (*digits).max(unsigned.len());
            return if unsigned.len() <= SHORT_DIGITS && !has_blanks {
                NUMBERS
            } else if unsigned.len() <= DOUBLE_DIGITS {
                DECIMAL | DOUBLE | whole(text)
            } else if unsigned.len() <= MOST_DIGITS {
                DECIMAL | whole(text)
            } else {
                0
            };
        }
        let mut found = match kinds & (INT | LONG) {
            0 => 0,
            _ => whole(text),
        };
        if kinds & DOUBLE != 0 {
            found |= self.double(text, unsigned);
        }
        found
    }

    /// Whether a text is a floating point number that holds it. What is too large for one is no infinity, unless it says
    /// so.
    fn double(&self, text: &str, unsigned: &[u8]) -> u8 {
        let is_number = float::parse::<f64>(text, &self.named).is_some_and(|value| {
            value.is_finite() || !matches!(unsigned, [b'0'..=b'9' | b'.', ..])
        }) && !outgrows_double(text);
        if is_number { DOUBLE } else { 0 }
    }

    /// The types of times that a text fits.
    #[inline]
    fn times(&mut self, text: &str, kinds: u8) -> u8 {
        let mut found = 0;
        if kinds & DATE != 0 && (self.date.is_some() || is_full_date(text)) && self.is_date(text) {
            found |= DATE;
        }
        let may_be_moment = self.time.is_some() || has_day(text) && !loses_nanoseconds(text);
        if kinds & TIMESTAMP != 0 && may_be_moment && self.is_moment(text) {
            found |= TIMESTAMP;
        }
        found
    }

    /// Whether a point in a number is not what stands before its fraction, so that a double would be another.
    #[inline]
    pub(crate) fn loses_point(&self, text: &str) -> bool {
        !self.has_points
            && text
                .as_bytes()
                .windows(2)
                .any(|pair| matches!(pair, [b'.', b'0'..=b'9'] | [b'0'..=b'9', b'.']))
    }

    /// Whether a text is a fraction, or a whole number.
    #[inline]
    pub(crate) fn is_double(&self, text: &str) -> bool {
        float::parse::<f64>(text, &self.named).is_some()
    }

    /// Whether a text is a date.
    #[inline]
    pub(crate) fn is_date(&mut self, text: &str) -> bool {
        match &mut self.date {
            Some(pattern) => pattern.day(text).is_some(),
            None => date::parse(text).is_some(),
        }
    }

    /// Whether a text is a moment.
    #[inline]
    pub(crate) fn is_moment(&mut self, text: &str) -> bool {
        let clock = Some(&mut self.clock);
        let moment = match &mut self.time {
            Some(pattern) => pattern.moment(text, clock),
            None => timestamp::parse(text, clock),
        };
        moment.is_some()
    }

    /// Whether dates are written by a pattern, and whether moments are.
    pub(crate) fn has_patterns(&self) -> (bool, bool) {
        (self.date.is_some(), self.time.is_some())
    }
}

/// The types of whole numbers that a text fits.
fn whole(text: &str) -> u8 {
    let mut found = 0;
    if int::parse::<i64>(text).is_some() {
        found |= LONG;
    }
    if int::parse::<i32>(text).is_some() {
        found |= INT;
    }
    found
}

/// Four digits, two and two, with hyphens between them: other dates Spark takes for timestamps.
fn is_full_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(index, byte)| match index {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Whether a text begins with a year of four digits or more, and a month and a day of two: anything else may be a number
/// of a part.
fn has_day(text: &str) -> bool {
    let dated = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let year = dated.bytes().take_while(u8::is_ascii_digit).count();
    year >= 4
        && matches!(
            dated.as_bytes().get(year..),
            Some([
                b'-',
                b'0'..=b'9',
                b'0'..=b'9',
                b'-',
                b'0'..=b'9',
                b'0'..=b'9',
                ..
            ])
        )
}

/// Whether a moment has digits that microseconds do not hold.
pub(crate) fn loses_nanoseconds(text: &str) -> bool {
    const MICROSECOND_DIGITS: usize = 6;
    text.rsplit_once('.').is_some_and(|(_, fraction)| {
        fraction
            .bytes()
            .take_while(u8::is_ascii_digit)
            .skip(MICROSECOND_DIGITS)
            .any(|digit| digit != b'0')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(texts: &[&str]) -> Fit {
        let mut fitter = Fitter::new(&Rules::default()).expect("no pattern");
        let mut found = Fit::default();
        for text in texts {
            fitter.take(&mut found, text);
        }
        found
    }

    #[test]
    fn a_column_fits_what_all_its_texts_fit() {
        assert_eq!(fit(&["1", "-20"]).kinds & NUMBERS, NUMBERS);
        assert_eq!(
            fit(&["1", "2147483648"]).kinds & NUMBERS,
            LONG | DECIMAL | DOUBLE
        );
        assert_eq!(fit(&["1", "1.5"]).kinds & NUMBERS, DOUBLE);
        assert_eq!(fit(&["2020-01-31"]).kinds, DATE | TIMESTAMP);
        assert_eq!(fit(&["2020-01-31 10:00:00.123456000"]).kinds, TIMESTAMP);
        assert_eq!(fit(&["true", "FALSE"]).kinds, BOOLEAN);
        assert_eq!(fit(&["true", "1"]).kinds, 0);
    }

    #[test]
    fn a_leading_zero_makes_a_column_one_of_texts() {
        for text in ["01", "-007", "00", "+01.5", " 01"] {
            assert_eq!(fit(&["1", text]).kinds & NUMBERS, 0, "{text}");
        }
        assert_eq!(fit(&["0", "0.5", "-0"]).kinds & NUMBERS, DOUBLE);
    }

    #[test]
    fn what_a_number_would_lose_makes_a_column_one_of_texts() {
        let long = "9".repeat(400);
        for text in [
            "12D",
            "14f",
            ".5d",
            "-3F",
            "1e400",
            "1e-400",
            "+4915112345678",
            "1234567890123456.5",
            &long,
        ] {
            assert_eq!(fit(&["1", text]).kinds & NUMBERS, 0, "{text}");
        }
        assert_eq!(fit(&["inf", "-Infinity", "NaN"]).kinds & NUMBERS, DOUBLE);
        for text in [
            "2024-01",
            "1234-5-6",
            "2020-1-31",
            "2020-01-31 10:00:00.1234567",
        ] {
            assert_eq!(fit(&[text]).kinds, 0, "{text}");
        }
        assert_eq!(fit(&["0.5", "1234567890123456"]).kinds & NUMBERS, 0);
        assert_eq!(fit(&["0.5", "123456789012345"]).kinds & NUMBERS, DOUBLE);
        assert_eq!(fit(&["+5", "+0.25"]).kinds & NUMBERS, DOUBLE);
        assert_eq!(fit(&["2024"]).kinds, NUMBERS);
    }

    #[test]
    fn digits_are_counted_up_to_those_of_a_decimal() {
        let longest = "9".repeat(38);
        assert_eq!(
            fit(&["1", &longest]),
            Fit {
                kinds: DECIMAL,
                digits: 38,
                any: true
            }
        );
        assert_eq!(fit(&[&format!("{longest}1")]).kinds & NUMBERS, 0);
    }
}
