//! How values are written: the options that values depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Names by the run of letters that stands for them in patterns: of months from January on, of days from Monday on, and of
/// half days.
pub type Names = BTreeMap<String, Vec<String>>;

/// Rules for the values of one column. Names and meaning as in the Python class `Rules`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Text of a number that is none.
    pub nan_value: String,
    /// Text of positive infinity.
    pub positive_inf: String,
    /// Text of negative infinity.
    pub negative_inf: String,
    /// Pattern of dates, as Java writes it.
    pub date_format: Option<String>,
    /// Pattern of times of day.
    pub time_format: Option<String>,
    /// Pattern of timestamps with a time zone.
    pub timestamp_format: Option<String>,
    /// Pattern of timestamps without one.
    pub timestamp_ntz_format: Option<String>,
    /// The time zone of timestamps that name none.
    pub zone: Arc<Zone>,
    /// Whether a number that would lose digits of its text is none; see [`loses_digits`](crate::value::loses_digits).
    pub exact_numbers: bool,
    /// Names in the locale of the patterns, as far as those have any.
    pub names: Arc<Names>,
    /// Symbols of decimals; `None` for a point, and commas between groups of digits.
    pub symbols: Option<NumberSymbols>,
}

/// How a locale writes decimals; the Python class of that name says more.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberSymbols {
    /// Stands before the fraction.
    pub decimal: char,
    /// Stands between groups of digits.
    pub grouping: char,
    /// Stands before negative numbers.
    pub minus: String,
    /// The first of ten digits.
    pub zero: char,
    /// Whether groups have two digits, all but the last one.
    pub pairs: bool,
}

impl Rules {
    /// Whether a point stands before the fraction of every number.
    pub(crate) fn has_points(&self) -> bool {
        self.symbols
            .as_ref()
            .is_none_or(|symbols| symbols.decimal == '.')
    }
}

/// Which values are variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variants {
    /// Whether of a key that comes twice in an object the last value counts; else it is wrong.
    pub allow_duplicate_keys: bool,
    /// Most bytes of a value, and of the names of its keys.
    pub max_bytes: usize,
}

impl Default for Variants {
    fn default() -> Self {
        Variants {
            allow_duplicate_keys: false,
            max_bytes: 16 << 20,
        }
    }
}

/// A time zone as offsets from UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Always the same offset, in seconds.
    Fixed(i64),
    /// Offsets by wall clock time.
    Table(Table),
}

/// Offsets from UTC by wall clock time, in microseconds since 1970 as the clock shows them. Of two moments with the same wall clock time the earlier is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Wall clock times, increasing; the first is not later than any that there is.
    pub starts_us: Vec<i64>,
    /// Offset from each of them on.
    pub offsets_us: Vec<i64>,
    /// From here on offsets are those of 400 years before, when the calendar was the same.
    pub repeats_from_us: i64,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            nan_value: "NaN".into(),
            positive_inf: "Inf".into(),
            negative_inf: "-Inf".into(),
            date_format: None,
            time_format: None,
            timestamp_format: None,
            timestamp_ntz_format: None,
            zone: Arc::new(Zone::Fixed(0)),
            exact_numbers: false,
            names: Arc::default(),
            symbols: None,
        }
    }
}
