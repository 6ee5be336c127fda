//! From texts to the values of a column.

use std::cell::RefCell;

use arrow_schema::{DataType, TimeUnit};

use super::cells::{Cells, fill, fill_texts};
use super::nulls::Nulls;
use super::{Column, Data, Pushed};
use crate::rules::{NumberSymbols, Rules};
use crate::value::clock::{Clock, within_years};
use crate::value::float::{Float, Named};
use crate::value::pattern::Pattern;
use crate::value::{
    DOUBLE_DIGITS, base64, boolean, date, decimal, float, int, loses_digits, outgrows_double, time,
    timestamp, without_blanks,
};

/// What reading the texts of a column needs, besides the type of its values.
#[derive(Debug)]
pub(super) enum Reading {
    /// Nothing.
    Plain,
    /// Numbers that have names.
    Float(Named),
    /// Digits, and how many of them are decimals; symbols of a locale that writes them otherwise than in English.
    Decimal(u8, i8, Option<NumberSymbols>),
    /// A pattern, or none.
    Date(Option<Pattern>),
    /// A pattern, or none.
    Time(Option<Pattern>),
    /// A pattern, or none; the clock of times that name no zone, or none where no time may name one.
    Timestamp(Option<Pattern>, Option<Clock>),
}

impl Reading {
    /// For columns of a type; an error says what is wrong with a pattern.
    pub(super) fn new(kind: &DataType, rules: &Rules) -> Result<Reading, String> {
        let compile = |text: &String| Pattern::new(text, &rules.names);
        let pattern = |text: &Option<String>| text.as_ref().map(compile).transpose();
        Ok(match kind {
            DataType::Float32 | DataType::Float64 => Reading::Float(Named::new(rules)),
            DataType::Decimal128(precision, scale) => {
                Reading::Decimal(*precision, *scale, rules.symbols.clone())
            }
            DataType::Date32 => Reading::Date(pattern(&rules.date_format)?),
            DataType::Time64(_) => Reading::Time(pattern(&rules.time_format)?),
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                Reading::Timestamp(pattern(&rules.timestamp_ntz_format)?, None)
            }
            DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => Reading::Timestamp(
                pattern(&rules.timestamp_format)?,
                Some(Clock::new(rules.zone.clone())),
            ),
            DataType::Timestamp(..) => {
                return Err(format!("columns of type {kind} are not supported"));
            }
            _ => Reading::Plain,
        })
    }
}

impl Column {
    /// Append the values that texts are, as CSV has them.
    #[inline(always)] // twice: for many, and for one
    pub(super) fn read_texts<C: Cells>(&mut self, cells: &C, refuse: &mut impl FnMut(usize)) {
        if self.is_exact {
            self.read::<true, C>(cells, refuse);
        } else {
            self.read::<false, C>(cells, refuse);
        }
    }

    /// The same; `EXACT` where a number that would lose digits of its text is none.
    #[inline(always)] // for each of them
    fn read<const EXACT: bool, C: Cells>(&mut self, cells: &C, refuse: &mut impl FnMut(usize)) {
        let nulls = &mut self.nulls;
        match (&mut self.data, &mut self.reading) {
            (Data::Text(texts) | Data::Binary(texts), _) => fill_texts(texts, nulls, cells),
            (Data::Int8(values), _) => fill_whole::<EXACT, _, C>(values, nulls, cells, refuse),
            (Data::Int16(values), _) => fill_whole::<EXACT, _, C>(values, nulls, cells, refuse),
            (Data::Int32(values), _) => fill_whole::<EXACT, _, C>(values, nulls, cells, refuse),
            (Data::Int64(values), _) => fill_whole::<EXACT, _, C>(values, nulls, cells, refuse),
            (Data::Float32(values), Reading::Float(named)) => {
                fill_floats::<EXACT, _, C>(values, nulls, cells, refuse, named)
            }
            (Data::Float64(values), Reading::Float(named)) => {
                fill_floats::<EXACT, _, C>(values, nulls, cells, refuse, named)
            }
            (Data::Decimal(values), Reading::Decimal(precision, scale, Some(symbols))) => {
                let loses = |text: &str| {
                    EXACT
                        && (loses_digits(text)
                            || decimal::is_written_otherwise(text.as_bytes(), *scale))
                };
                let read = |text: &str| {
                    let plain = decimal::in_english(text, symbols).filter(|text| !loses(text))?;
                    decimal::parse(&plain, *precision, *scale)
                };
                fill(values, nulls, cells, refuse, never, read)
            }
            (Data::Decimal(values), Reading::Decimal(precision, scale, None)) => {
                let (precision, scale) = (*precision, *scale);
                let is_other = |text: &[u8]| EXACT && decimal::is_written_otherwise(text, scale);
                let quick = |bytes: &[u8], start, stop| match bytes.get(start..stop) {
                    Some(text) if is_other(text) => None,
                    _ => decimal::quick(bytes, start, stop, precision, scale),
                };
                let read = |text: &str| match is_other(without_blanks(text).as_bytes()) {
                    true => None,
                    false => decimal::parse(text, precision, scale),
                };
                fill_numbers::<EXACT, _, C>(values, nulls, cells, refuse, quick, read)
            }
            (Data::Date(values), Reading::Date(None)) => {
                let quick = |bytes: &[u8], start, stop| date::quick(bytes, start, stop);
                fill(values, nulls, cells, refuse, quick, date::parse)
            }
            (Data::Date(values), Reading::Date(Some(pattern))) => {
                let read = |text: &str| pattern.day(text);
                fill(values, nulls, cells, refuse, never, read)
            }
            (Data::Time(values), Reading::Time(None)) => {
                let quick = |bytes: &[u8], start, stop| time::quick(bytes, start, stop);
                fill(values, nulls, cells, refuse, quick, time::parse)
            }
            (Data::Time(values), Reading::Time(Some(pattern))) => {
                let read = |text: &str| pattern.time(text);
                fill(values, nulls, cells, refuse, never, read)
            }
            (Data::Timestamp(values), Reading::Timestamp(None, clock)) => {
                let clock = RefCell::new(clock.as_mut()); // each reads on its own
                let quick = |bytes: &[u8], start, stop| {
                    let shown_us = timestamp::quick(bytes, start, stop)?;
                    match clock.borrow_mut().as_deref_mut() {
                        Some(clock) => clock.moment(shown_us),
                        None => within_years(shown_us),
                    }
                };
                let read = |text: &str| timestamp::parse(text, clock.borrow_mut().as_deref_mut());
                fill(values, nulls, cells, refuse, quick, read)
            }
            (Data::Timestamp(values), Reading::Timestamp(Some(pattern), clock)) => {
                let read = |text: &str| pattern.moment(text, clock.as_mut());
                fill(values, nulls, cells, refuse, never, read)
            }
            _ => self.read_others(cells, refuse),
        }
    }

    /// The same for truth values, and for types that no text is a value of.
    fn read_others<C: Cells>(&mut self, cells: &C, refuse: &mut impl FnMut(usize)) {
        for row in 0..cells.rows() {
            let pushed = match (&mut self.data, cells.text(row)) {
                (_, None) => {
                    self.push_null();
                    Pushed::Stored
                }
                (Data::Boolean(_), Some(text)) => match boolean::parse(&text) {
                    Some(value) => self.push_bool(value),
                    _ => self.push_bad(),
                },
                _ => self.push_bad(),
            };
            if pushed != Pushed::Stored {
                refuse(row);
            }
        }
    }

    /// Append a number or a string of JSON. A string in a column of texts is the value itself, and so is the number as
    /// it is written.
    ///
    /// # Arguments
    /// * `written`: the number as it is written, or the string.
    /// * `is_text`: whether it is a string.
    /// * `allow_named`: whether strings such as `"NaN"` are numbers.
    #[inline]
    pub fn push_json(&mut self, written: &str, is_text: bool, allow_named: bool) -> Pushed {
        if let Reading::Decimal(_, _, symbols @ Some(_)) = &mut self.reading
            && !is_text
        {
            let kept = symbols.take(); // numbers of JSON have a point in every locale
            let pushed = self.push_text(written);
            if let Reading::Decimal(_, _, symbols) = &mut self.reading {
                *symbols = kept;
            }
            return pushed;
        }
        let nulls = &mut self.nulls;
        match (&mut self.data, is_text) {
            (Data::Text(_), _) => self.push_text(written),
            (Data::Int8(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int16(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int32(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Int64(values), false) => store(values, nulls, int::parse_json(written)),
            (Data::Float32(values), _) => store(
                values,
                nulls,
                float::parse_json(written, is_text, allow_named),
            ),
            (Data::Float64(values), _) => store(
                values,
                nulls,
                float::parse_json(written, is_text, allow_named),
            ),
            (Data::Timestamp(values), false) => match self.reading {
                Reading::Timestamp(_, Some(_)) => {
                    store(values, nulls, timestamp::parse_seconds(written))
                }
                _ => self.push_bad(),
            },
            (Data::Binary(texts), true) => {
                match texts.push_with(|bytes| base64::decode(written, bytes)) {
                    Some(()) => {
                        nulls.push_valid();
                        Pushed::Stored
                    }
                    None => self.push_bad(),
                }
            }
            (Data::Decimal(_), _) | (Data::Date(_) | Data::Time(_) | Data::Timestamp(_), true) => {
                self.push_text(written)
            }
            _ => self.push_bad(),
        }
    }

    /// Append a number of JSON by its digits, the last `places` of which are after the point; there are at most 19.
    /// `None` if only the text tells: then nothing is appended.
    #[inline]
    pub fn push_digits(&mut self, digits: u64, places: usize, is_negative: bool) -> Option<Pushed> {
        let nulls = &mut self.nulls;
        let whole = || {
            let value = i64::try_from(digits).ok().filter(|_| places == 0)?;
            Some(if is_negative { -value } else { value })
        };
        let exponent = || i64::try_from(places).map_or(i64::MIN, |places| -places);
        Some(match &mut self.data {
            Data::Int8(values) => store(values, nulls, Some(whole()?.try_into().ok()?)),
            Data::Int16(values) => store(values, nulls, Some(whole()?.try_into().ok()?)),
            Data::Int32(values) => store(values, nulls, Some(whole()?.try_into().ok()?)),
            Data::Int64(values) => store(values, nulls, Some(whole()?)),
            Data::Float32(values) => store(
                values,
                nulls,
                Some(f32::exact(digits, exponent(), is_negative)?),
            ),
            Data::Float64(values) => store(
                values,
                nulls,
                Some(f64::exact(digits, exponent(), is_negative)?),
            ),
            _ => return None,
        })
    }

    /// Append a null for a value of which only the reference engine can tell what is wrong with it.
    pub fn push_undecided(&mut self) -> Pushed {
        self.push_null();
        Pushed::Undecided
    }

    /// Append a null for a value that is not of the column's type.
    pub fn push_bad(&mut self) -> Pushed {
        self.push_null();
        Pushed::Bad
    }
}

/// Append a whole number of any size for each row; with `EXACT` none for a text of which digits would be lost. What
/// reads them is a closure, not the name of a function: that would be a call for each value.
#[inline(always)] // once for each type
fn fill_whole<const EXACT: bool, T: Copy + Default + TryFrom<i64>, C: Cells>(
    values: &mut Vec<T>,
    nulls: &mut Nulls,
    cells: &C,
    refuse: &mut impl FnMut(usize),
) {
    let quick = |bytes: &[u8], start, stop| int::quick(bytes, start, stop);
    fill_numbers::<EXACT, _, C>(values, nulls, cells, refuse, quick, int::parse);
}

/// Append a number of either precision for each row; with `EXACT` none that a double cannot hold.
#[inline(always)] // once for each type
fn fill_floats<const EXACT: bool, T: Float, C: Cells>(
    values: &mut Vec<T>,
    nulls: &mut Nulls,
    cells: &C,
    refuse: &mut impl FnMut(usize),
    named: &Named,
) {
    let quick = |bytes: &[u8], start: usize, stop: usize| {
        let may_outgrow = EXACT && stop.wrapping_sub(start) > DOUBLE_DIGITS;
        match may_outgrow {
            true => None,
            false => float::quick(bytes, start, stop, named),
        }
    };
    let read = |text: &str| match EXACT && outgrows_double(text) {
        true => None,
        false => float::parse(text, named),
    };
    fill_numbers::<EXACT, _, C>(values, nulls, cells, refuse, quick, read);
}

/// Append a number for each row; with `EXACT` none for a text of which digits would be lost.
#[inline(always)] // once for each type
fn fill_numbers<const EXACT: bool, T: Copy + Default, C: Cells>(
    values: &mut Vec<T>,
    nulls: &mut Nulls,
    cells: &C,
    refuse: &mut impl FnMut(usize),
    quick: impl Fn(&[u8], usize, usize) -> Option<T>,
    read: impl Fn(&str) -> Option<T>,
) {
    let quick = |bytes: &[u8], start: usize, stop: usize| {
        let may_lose = EXACT && bytes.get(start..stop).is_some_and(may_lose_digits);
        if may_lose {
            None
        } else {
            quick(bytes, start, stop)
        }
    };
    let read = |text: &str| {
        if EXACT && loses_digits(text) {
            None
        } else {
            read(text)
        }
    };
    fill(values, nulls, cells, refuse, quick, read);
}

/// Whether a text has to be looked at by [`loses_digits`]: a look of little cost, which also takes others.
#[inline]
fn may_lose_digits(text: &[u8]) -> bool {
    matches!(
        text,
        [b'0', _, ..] | [b'-', b'0', _, ..] | [b'+' | b' ' | b'\t', ..] | [.., b'A'..=b'z']
    )
}

/// Nothing is read quickly.
fn never<T>(_bytes: &[u8], _start: usize, _stop: usize) -> Option<T> {
    None
}

#[inline]
fn store<T: Default>(values: &mut Vec<T>, nulls: &mut Nulls, cell: Option<T>) -> Pushed {
    if let Some(value) = cell {
        values.push(value);
        nulls.push_valid();
        return Pushed::Stored;
    }
    values.push(T::default());
    nulls.push_null();
    Pushed::Bad
}
