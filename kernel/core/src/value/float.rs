//! Binary fractions, each the nearest one to what is written.

use super::{digits, without_blanks};
use crate::rules::Rules;

const MOST_DIGITS: usize = 19; // that fit into 64 bits

/// A type of fractions.
pub trait Float: Copy + Default + std::str::FromStr {
    /// Infinity.
    const INFINITY: Self;
    /// Minus infinity.
    const NEG_INFINITY: Self;
    /// No number, positive.
    const NAN: Self;
    /// No number, negative.
    const NEG_NAN: Self;

    /// `digits` times 10 to the power of `exponent`, if arithmetic gives it exactly rounded.
    fn exact(digits: u64, exponent: i64, is_negative: bool) -> Option<Self>;
}

impl Float for f32 {
    const INFINITY: f32 = f32::INFINITY;
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;
    const NAN: f32 = f32::from_bits(0x7fc0_0000);
    const NEG_NAN: f32 = f32::from_bits(0xffc0_0000);

    #[inline]
    fn exact(digits: u64, exponent: i64, is_negative: bool) -> Option<f32> {
        const POWERS: [f32; 11] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10];
        let power = *POWERS.get(usize::try_from(exponent.unsigned_abs()).ok()?)?;
        if digits > 1 << f32::MANTISSA_DIGITS {
            return None;
        }
        let digits = if is_negative {
            -(digits as f32)
        } else {
            digits as f32
        };
        Some(if exponent < 0 {
            digits / power
        } else {
            digits * power
        })
    }
}

impl Float for f64 {
    const INFINITY: f64 = f64::INFINITY;
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;
    const NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0000);
    const NEG_NAN: f64 = f64::from_bits(0xfff8_0000_0000_0000);

    #[inline]
    fn exact(digits: u64, exponent: i64, is_negative: bool) -> Option<f64> {
        const POWERS: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
        ];
        let power = *POWERS.get(usize::try_from(exponent.unsigned_abs()).ok()?)?;
        if digits > 1 << f64::MANTISSA_DIGITS {
            return None;
        }
        const WHOLE: f64 = (1u64 << 52) as f64; // from there on the last bit of a double is 1
        let digits = match digits >> 52 {
            0 => f64::from_bits(WHOLE.to_bits() | digits) - WHOLE, // to convert it, a processor may wait for the last one
            _ => digits as i64 as f64, // few: as a signed number that is one instruction
        };
        let digits = if is_negative { -digits } else { digits };
        Some(if exponent < 0 {
            digits / power
        } else {
            digits * power
        })
    }
}

/// Texts that are numbers without digits.
#[derive(Clone, Debug)]
pub struct Named {
    nan: String,
    positive: String,
    negative: String,
    has_digits: bool,
}

impl Named {
    /// The names of the rules.
    pub fn new(rules: &Rules) -> Named {
        let names = [&rules.nan_value, &rules.positive_inf, &rules.negative_inf];
        Named {
            nan: rules.nan_value.clone(),
            positive: rules.positive_inf.clone(),
            negative: rules.negative_inf.clone(),
            has_digits: names
                .iter()
                .any(|name| name.bytes().any(|byte| byte.is_ascii_digit())),
        }
    }

    fn find<T: Float>(&self, text: &str) -> Option<T> {
        match text {
            _ if text == self.negative => Some(T::NEG_INFINITY),
            _ if text == self.positive => Some(T::INFINITY),
            _ if text == self.nan => Some(T::NAN),
            "NaN" => Some(T::NAN),
            "Infinity" | "+Infinity" => Some(T::INFINITY),
            "-Infinity" => Some(T::NEG_INFINITY),
            _ => None,
        }
    }
}

/// A fraction with blanks around it, any sign and a suffix, or one that has a name, as CSV has it.
#[inline]
pub fn parse<T: Float>(text: &str, named: &Named) -> Option<T> {
    let text = without_blanks(text);
    if named.has_digits
        && let Some(value) = named.find(text)
    {
        return Some(value);
    }
    let bare = match text.as_bytes() {
        [.., b'f' | b'F' | b'd' | b'D'] => text.get(..text.len() - 1).unwrap_or(text),
        _ => text,
    };
    match decimal(bare) {
        Some(value) => Some(value),
        None => named.find(text).or_else(|| without_digits(text)),
    }
}

/// A number of JSON, or a string that is the name of one.
#[inline]
pub fn parse_json<T: Float>(written: &str, is_text: bool, allow_named: bool) -> Option<T> {
    if !is_text && let Some(value) = decimal(written) {
        return Some(value);
    }
    let is_named = matches!(
        written,
        "NaN" | "Infinity" | "+Infinity" | "-Infinity" | "+INF" | "-INF"
    );
    if is_text && !(allow_named && is_named) {
        return None;
    }
    if written.contains("NaN") {
        return Some(T::NAN);
    }
    if written.contains('I') {
        return Some(if written.starts_with('-') {
            T::NEG_INFINITY
        } else {
            T::INFINITY
        });
    }
    without_digits(written)
}

/// The same of `bytes[start..stop]`, if it is at most 16 characters: digits, a minus, a point.
#[inline(always)] // once a value
pub fn quick<T: Float>(bytes: &[u8], start: usize, stop: usize, named: &Named) -> Option<T> {
    if named.has_digits {
        return None;
    }
    let is_negative = *bytes.get(start)? == b'-';
    let (digits, places) =
        digits::with_point(bytes, start.wrapping_add(usize::from(is_negative)), stop)?;
    T::exact(digits, -i64::from(places), is_negative)
}

/// Digits with a point and an exponent; `None` if it is anything else.
#[inline]
fn decimal<T: Float>(text: &str) -> Option<T> {
    let (is_negative, unsigned) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut digits = 0;
    let mut rest = digits::take(unsigned, &mut digits);
    let mut count = unsigned.len() - rest.len();
    let mut exponent = 0;
    if let [b'.', fraction @ ..] = rest {
        rest = digits::take(fraction, &mut digits);
        let places = fraction.len() - rest.len();
        count += places;
        exponent -= i64::try_from(places).ok()?;
    }
    if count == 0 {
        return None;
    }
    if let [b'e' | b'E', power @ ..] = rest {
        exponent = exponent.saturating_add(whole_exponent(power)?);
        rest = b"";
    }
    if !rest.is_empty() {
        return None;
    }
    if count <= MOST_DIGITS
        && let Some(value) = T::exact(digits, exponent, is_negative)
    {
        return Some(value);
    }
    text.parse().ok()
}

/// A sign and digits; too many of them become some exponent that no number has.
#[inline]
fn whole_exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.len() > MOST_DIGITS - 1 {
        return digits.iter().all(u8::is_ascii_digit).then_some(i64::MAX);
    }
    let value = i64::try_from(digits::all(digits)?).ok()?;
    Some(if is_negative { -value } else { value })
}

/// Infinity and NaN as C writes them, in any case: `inf`, `infinity`, `nan`, `nan(anything)`.
#[cold]
fn without_digits<T: Float>(text: &str) -> Option<T> {
    let (is_negative, name) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if name.eq_ignore_ascii_case("inf") || name.eq_ignore_ascii_case("infinity") {
        return Some(if is_negative {
            T::NEG_INFINITY
        } else {
            T::INFINITY
        });
    }
    let (nan, rest) = name.split_at_checked(3)?;
    let is_payload = |payload: &str| {
        payload
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let is_nan = nan.eq_ignore_ascii_case("nan")
        && (rest.is_empty()
            || rest
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'))
                .is_some_and(is_payload));
    is_nan.then_some(if is_negative { T::NEG_NAN } else { T::NAN })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &str) -> Option<f64> {
        parse(text, &Named::new(&Rules::default()))
    }

    #[test]
    fn numbers_may_have_signs_blanks_and_suffixes() {
        for (text, expected) in [
            ("1", 1.0),
            (" -1.5\t", -1.5),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-2", 0.01),
            ("1.5f", 1.5),
            ("2D", 2.0),
            ("1e999999999999999999999", f64::INFINITY),
            ("-1e-999", -0.0),
            ("0e99999999999999999999", 0.0),
            ("Inf", f64::INFINITY),
            ("-iNFINITY", f64::NEG_INFINITY),
            ("9007199254740993", 9_007_199_254_740_992.0),
        ] {
            let Some(found) = number(text) else {
                panic!("{text}")
            };
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        for text in [
            "", ".", "-", "abc", "n/a", "1 2", "1,5", "0x10", "1e", "1e+", "1ff", "inff", "f",
            "nan(", "--1", "1\u{a0}", "nanf",
        ] {
            assert_eq!(number(text), None, "{text:?}");
        }
    }

    #[test]
    fn names_come_before_numbers() {
        let rules = Rules {
            nan_value: "-1".into(),
            positive_inf: "NaN".into(),
            ..Rules::default()
        };
        let named = Named::new(&rules);
        assert_eq!(parse("NaN", &named), Some(f64::INFINITY));
        assert!(matches!(parse::<f64>(" -1", &named), Some(value) if value.is_nan()));
        let Some(negative) = parse::<f32>("-nan(x_1)", &named) else {
            panic!("no number")
        };
        assert_eq!(negative.to_bits(), 0xffc0_0000);
    }

    #[test]
    fn strings_of_json_are_numbers_only_by_name() {
        assert_eq!(parse_json("1.5", false, false), Some(1.5f64));
        assert_eq!(parse_json::<f64>("1.5", true, true), None);
        assert_eq!(parse_json("-INF", true, true), Some(f64::NEG_INFINITY));
        assert_eq!(parse_json::<f64>("-INF", true, false), None);
    }

    proptest! {
        #[test]
        fn numbers_are_the_nearest(text in r"-?[0-9]{0,22}\.?[0-9]{1,24}([eE][+-]?[0-9]{1,3})?") {
            let Some(double) = number(&text) else { panic!("{text}") };
            prop_assert_eq!(double.to_bits(), text.parse::<f64>().unwrap().to_bits());
            let Some(single) = parse::<f32>(&text, &Named::new(&Rules::default())) else { panic!("{text}") };
            prop_assert_eq!(single.to_bits(), text.parse::<f32>().unwrap().to_bits());
        }
    }
}
