//! Records as variants: objects of their fields, and what each field says of itself.

use std::borrow::Cow;

use super::layout::Object;
use crate::rules::Rules;
use crate::value::clock::Clock;
use crate::value::pattern::Pattern;
use crate::value::{boolean, date, decimal, timestamp};
use crate::variant::Builder;

/// Writes one variant after the other.
pub(super) struct Objects {
    builder: Builder,
    types: Types,
    names: Vec<String>, // that are given, as far as they were needed
}

/// What a field may be that is no number.
struct Types {
    prefers_dates: bool,
    date: Option<Pattern>,
    time: Option<Pattern>,
    clock: Clock,
}

impl Objects {
    /// An error says what is wrong with a pattern.
    pub(super) fn new(object: &Object, rules: &Rules) -> Result<Objects, String> {
        let compile = |text: &String| Pattern::new(text, &rules.names);
        let pattern = |text: &Option<String>| text.as_ref().map(compile).transpose();
        Ok(Objects {
            builder: Builder::new(object.variants),
            types: Types {
                prefers_dates: object.prefers_dates,
                date: pattern(&rules.date_format)?,
                time: pattern(&rules.timestamp_format)?,
                clock: Clock::new(rules.zone.clone()),
            },
            names: Vec::new(),
        })
    }

    /// The variant of a record, from its fields; those that no name is for are left out.
    ///
    /// # Errors
    /// A sentence, if it is no variant.
    pub(super) fn encode<'a>(
        &mut self,
        object: &Object,
        fields: impl Iterator<Item = Option<Cow<'a, str>>>,
    ) -> Result<(&[u8], &[u8]), String> {
        let most = object.names.as_ref().map_or(object.most, Vec::len);
        self.builder.begin();
        self.builder.open(true)?;
        for (index, text) in fields.take(most).enumerate() {
            if object.names.is_none() && index == self.names.len() {
                self.names.push(format!("_c{index}"));
            }
            let names = object.names.as_ref().unwrap_or(&self.names);
            self.builder
                .name(names.get(index).map_or("", String::as_str));
            match text {
                Some(text) => self.types.write(&text, &mut self.builder),
                None => self.builder.null(),
            }
        }
        self.builder.close()?;
        self.builder.finish()
    }
}

impl Types {
    /// A field by itself: a whole number, a decimal, a date, a timestamp, true or false, or else a text.
    fn write(&mut self, text: &str, builder: &mut Builder) {
        if self.is_number(text, builder) {
            return;
        }
        if let Some(day) = self.day(text) {
            builder.date(day);
        } else if let Some(micros) = self.moment(text) {
            builder.timestamp(micros);
        } else if let Some(value) = boolean::parse(text) {
            builder.boolean(value);
        } else {
            builder.text(text);
        }
    }

    fn is_number(&self, text: &str, builder: &mut Builder) -> bool {
        if !matches!(text.as_bytes(), [b'0'..=b'9' | b'+' | b'-' | b'.', ..]) {
            return false;
        }
        if let Ok(whole) = text.parse() {
            builder.whole(whole);
            return true;
        }
        decimal::exact(text)
            .is_some_and(|(value, digits, scale)| builder.decimal(value, digits, scale))
    }

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
