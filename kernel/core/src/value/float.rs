//! Binary fractions.

use super::{Cell, without_blanks};
use crate::rules::Rules;

/// A type of fractions.
pub trait Float: Copy + Default + std::str::FromStr {
    /// Infinity.
    const INFINITY: Self;
    /// Minus infinity.
    const NEG_INFINITY: Self;
    /// No number, positive.
    const NAN: Self;
}

impl Float for f32 {
    const INFINITY: f32 = f32::INFINITY;
    const NEG_INFINITY: f32 = f32::NEG_INFINITY;
    const NAN: f32 = f32::from_bits(0x7fc0_0000);
}

impl Float for f64 {
    const INFINITY: f64 = f64::INFINITY;
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;
    const NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0000);
}

/// Texts that are numbers without digits.
#[derive(Clone, Debug)]
pub struct Named {
    nan: String,
    positive: String,
    negative: String,
}

impl Named {
    /// The names of the rules.
    pub fn new(rules: &Rules) -> Named {
        Named {
            nan: rules.nan_value.clone(),
            positive: rules.positive_inf.clone(),
            negative: rules.negative_inf.clone(),
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
pub fn parse<T: Float>(text: &str, named: &Named) -> Cell<T> {
    let text = without_blanks(text);
    if let Some(value) = named.find(text) {
        return Cell::Value(value);
    }
    let bare = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    if !is_decimal(bare) {
        return Cell::Undecided;
    }
    bare.parse().map_or(Cell::Bad, Cell::Value)
}

/// A fraction of JSON, or a string that is a name of one.
pub fn parse_json<T: Float>(written: &str, is_text: bool, allow_named: bool) -> Cell<T> {
    let is_named = matches!(
        written,
        "NaN" | "Infinity" | "+Infinity" | "-Infinity" | "+INF" | "-INF"
    );
    if is_text && !(allow_named && is_named) {
        return Cell::Bad;
    }
    if written.contains("NaN") {
        return Cell::Value(T::NAN);
    }
    if written.contains('I') {
        return Cell::Value(if written.starts_with('-') {
            T::NEG_INFINITY
        } else {
            T::INFINITY
        });
    }
    written.parse().map_or(Cell::Undecided, Cell::Value)
}

/// Whether a text is digits with a point and an exponent.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !exponent.is_empty() && (!whole.is_empty() || !part.is_empty());
    has_digits && is_digits(whole) && is_digits(part) && is_digits(exponent)
}
