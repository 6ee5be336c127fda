//! Texts as parts of variants: what each says of itself.

use super::Builder;
use crate::rules::{NumberSymbols, Rules};
use crate::value::clock::Clock;
use crate::value::pattern::Pattern;
use crate::value::{boolean, date, decimal, timestamp};

/// Types of values that are written as texts.
#[derive(Debug, Default)]
pub(crate) struct Scalars {
    symbols: Option<NumberSymbols>,
    moments: Option<Moments>,
}

/// How dates and timestamps are written.
#[derive(Debug)]
struct Moments {
    prefers_dates: bool,
    date: Option<Pattern>,
    time: Option<Pattern>,
    clock: Clock,
}

impl Scalars {
    /// Numbers, booleans and texts.
    pub(crate) fn new(rules: &Rules) -> Scalars {
        Scalars {
            symbols: rules.symbols.clone(),
            moments: None,
        }
    }

    /// Dates and timestamps too. An error says what is wrong with a pattern.
    pub(crate) fn with_moments(rules: &Rules, prefers_dates: bool) -> Result<Scalars, String> {
        let compile = |text: &String| Pattern::new(text, &rules.names);
        let pattern = |text: &Option<String>| text.as_ref().map(compile).transpose();
        let moments = Moments {
            prefers_dates,
            date: pattern(&rules.date_format)?,
            time: pattern(&rules.timestamp_format)?,
            clock: Clock::new(rules.zone.clone()),
        };
        Ok(Scalars {
            moments: Some(moments),
            ..Scalars::new(rules)
        })
    }

    /// A text by itself: a whole number, a decimal, a date, a timestamp, true or false, or else a text.
    pub(crate) fn write(&mut self, text: &str, builder: &mut Builder) {
        if self.is_number(text, builder) {
            return;
        }
        let moments = &mut self.moments;
        if let Some(day) = moments.as_mut().and_then(|moments| moments.day(text)) {
            builder.date(day);
        } else if let Some(micros) = moments.as_mut().and_then(|moments| moments.moment(text)) {
            builder.timestamp(micros);
        } else if let Some(value) = boolean::parse(text) {
            builder.boolean(value);
        } else {
            builder.text(text);
        }
    }

    fn is_number(&self, text: &str, builder: &mut Builder) -> bool {
        let begins = matches!(text.as_bytes(), [b'0'..=b'9' | b'+' | b'-' | b'.', ..]);
        if begins && let Ok(whole) = text.parse() {
            builder.whole(whole);
            return true;
        }
        let found = match &self.symbols {
            None => begins.then(|| decimal::exact(text)).flatten(),
            Some(_) if text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']) => None,
            Some(symbols) => {
                decimal::in_english(text, symbols).and_then(|plain| decimal::exact(&plain))
            }
        };
        found.is_some_and(|(value, digits, scale)| builder.decimal(value, digits, scale))
    }
}

impl Moments {
    fn day(&mut self, text: &str) -> Option<i32> {
        match &mut self.date {
            _ if !self.prefers_dates => None,
            Some(pattern) => pattern.day(text),
            None => date::quick(text.as_bytes(), 0, text.len()),
        }
    }

    fn moment(&mut self, text: &str) -> Option<i64> {
        match &mut self.time {
            Some(pattern) => pattern.moment(text, Some(&mut self.clock)),
            None => timestamp::parse(text, Some(&mut self.clock)),
        }
    }
}
