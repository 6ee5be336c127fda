//! How values are written: the options that values depend on.

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
    /// Pattern of timestamps with a time zone.
    pub timestamp_format: Option<String>,
    /// Pattern of timestamps without one.
    pub timestamp_ntz_format: Option<String>,
    /// The time zone of timestamps that name none.
    pub zone: Zone,
}

/// A time zone as offsets from UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Always the same offset, in seconds.
    Fixed(i64),
    /// Offsets by wall clock time: for local times (microseconds since 1970) from `starts[i]` on, subtract
    /// `offsets_us[i]`. Made by Python from its time zone database.
    Table {
        /// Local times, increasing; the first is the least possible one.
        starts_us: Vec<i64>,
        /// Offset from each of them on, in microseconds.
        offsets_us: Vec<i64>,
    },
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            nan_value: "NaN".into(),
            positive_inf: "Inf".into(),
            negative_inf: "-Inf".into(),
            date_format: None,
            timestamp_format: None,
            timestamp_ntz_format: None,
            zone: Zone::Fixed(0),
        }
    }
}
