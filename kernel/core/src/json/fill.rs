//! Values into columns, along the schema: nothing recurses over the data.

use std::sync::Arc;

use arrow_schema::DataType;

use super::names::Names;
use super::scan::{Kind, Scanner, Span};
use super::unescape::{inner, meant};
use super::variant::encode;
use crate::columns::{Column, Pushed, Shape};
use crate::fault::{Code, Fault, shown};
use crate::kinds::{is_variant, kind_name};
use crate::variant::Builder;

/// What is known of a column's type besides the column.
#[derive(Debug)]
pub(crate) struct Part {
    kind: Arc<str>, // as faults name it
    inside: Inside,
}

#[derive(Debug)]
pub(crate) enum Inside {
    Scalar,
    Struct(Members),
    List(Box<Part>),
    Map(Box<Part>),
    Variant,
}

/// The members of a struct, or the columns of records.
#[derive(Debug)]
pub(crate) struct Members {
    pub names: Names,
    pub parts: Vec<(String, Part)>,
}

impl Part {
    pub(crate) fn new(kind: &DataType) -> Part {
        let inside = match kind {
            kind if is_variant(kind) => Inside::Variant,
            DataType::Struct(members) => Inside::Struct(Members::new(
                members
                    .iter()
                    .map(|member| (member.name().as_str(), member.data_type())),
            )),
            DataType::List(item) => Inside::List(Box::new(Part::new(item.data_type()))),
            DataType::Map(entries, _) => match entries.data_type() {
                DataType::Struct(both) if both.len() == 2 => {
                    Inside::Map(Box::new(Part::new(both[1].data_type())))
                }
                _ => Inside::Scalar,
            },
            _ => Inside::Scalar,
        };
        Part {
            kind: kind_name(kind).into(),
            inside,
        }
    }

    /// The value at `at`, which is checked; of an object its wanted members are found, too.
    #[inline(always)] // as `Scanner::value`
    pub(crate) fn scan(
        &mut self,
        scanner: &mut Scanner,
        text: &str,
        limit: usize,
        at: usize,
        epoch: u64,
    ) -> Option<Span> {
        let bytes = text.as_bytes().get(..limit)?;
        if let (Some(b'{'), Inside::Struct(Members { names, parts })) =
            (bytes.get(at), &mut self.inside)
        {
            let (stop, _) = names.read(parts, scanner, text, limit, at, epoch)?;
            return Some(Span::new(Kind::Object, at, stop));
        }
        scanner.value(bytes, at)
    }

    pub(crate) fn inside(&mut self) -> &mut Inside {
        &mut self.inside
    }
}

impl Members {
    pub(crate) fn new<'a>(
        members: impl Iterator<Item = (&'a str, &'a DataType)> + Clone,
    ) -> Members {
        let names = Names::new(members.clone().map(|(name, _)| name));
        Members {
            names,
            parts: members
                .map(|(name, kind)| (name.to_string(), Part::new(kind)))
                .collect(),
        }
    }
}

/// A text that was checked, and what reading its values has shown so far.
pub(crate) struct Reading<'a> {
    pub text: &'a str,
    /// Another one for each text.
    pub epoch: u64,
    pub scanner: &'a mut Scanner,
    pub scratch: &'a mut String,
    pub builder: &'a mut Builder,
    /// The first value that does not fit.
    pub problem: Option<Fault>,
    /// Whether only the reference engine can read a value.
    pub is_undecided: bool,
    /// Whether there may be something to rescue.
    pub has_unfit: bool,
    unfit: Option<(Span, Arc<str>)>, // the value that keeps what holds it from being read
}

impl<'a> Reading<'a> {
    pub(crate) fn new(
        text: &'a str,
        epoch: u64,
        scanner: &'a mut Scanner,
        scratch: &'a mut String,
        builder: &'a mut Builder,
    ) -> Reading<'a> {
        let (problem, unfit) = (None, None);
        Reading {
            text,
            epoch,
            scanner,
            scratch,
            builder,
            problem,
            is_undecided: false,
            has_unfit: false,
            unfit,
        }
    }

    /// The members of an object that was checked, each to its column; one that does not fit is null, and a problem.
    #[inline]
    pub(crate) fn members(&mut self, members: &mut Members, columns: &mut [Column]) {
        let Members { names, parts } = members;
        for ((column, (name, part)), span) in columns.iter_mut().zip(parts).zip(names.values()) {
            if !self.plainly(column, span) && !self.value(part, column, span) {
                self.note(name);
            }
        }
    }

    /// A value that was checked, whatever it is, to each column.
    pub(crate) fn whole(&mut self, members: &mut Members, columns: &mut [Column], value: Span) {
        for (column, (name, part)) in columns.iter_mut().zip(&mut members.parts) {
            if !self.value(part, column, &value) {
                self.note(name);
            }
        }
    }

    /// Append a value of a kind that most are: a text without escapes, or a number of few digits. Answers whether it is.
    #[inline(always)] // in the loop over members
    fn plainly(&self, column: &mut Column, span: &Span) -> bool {
        let bytes = self.text.as_bytes();
        if span.kind == Kind::Plain && column.is_text() {
            let inner = bytes.get(span.start.wrapping_add(1)..span.stop.wrapping_sub(1)); // values have quotes
            column.push_bytes(inner.unwrap_or_default());
            return true;
        }
        let is_negative = bytes.get(span.start) == Some(&b'-');
        span.kind == Kind::Number
            && span.is_plain
            && column.push_digits(span.digits, span.places, is_negative) == Some(Pushed::Stored)
    }

    #[cold]
    fn note(&mut self, name: &str) {
        self.has_unfit = true;
        let unfit = self.unfit.take();
        if let (None, Some((span, kind))) = (&self.problem, unfit) {
            let (column, seen) = (
                name.into(),
                shown(self.text.get(span.start..span.stop).unwrap_or_default()),
            );
            self.problem = Some(Fault {
                record: 0,
                code: Code::BadValue,
                column,
                seen,
                kind,
            });
        }
    }

    /// Append a value; if it does not fit, a null. Answers whether it fits.
    #[inline(never)]
    pub(crate) fn value(&mut self, part: &mut Part, column: &mut Column, span: &Span) -> bool {
        let pushed = match (span.kind, &mut part.inside) {
            (kind, Inside::Variant) if kind != Kind::Absent => return self.variant(column, *span),
            (Kind::Absent | Kind::Null, _) => {
                column.push_null();
                return true;
            }
            (_, Inside::Scalar) => self.scalar(column, span),
            (Kind::Object, Inside::Struct(members)) => self.object(members, column, *span),
            (Kind::Array, Inside::List(items)) => self.list(items, column, *span),
            (Kind::Object, Inside::Map(values)) => self.map(values, column, *span),
            _ => column.push_bad(),
        };
        match pushed {
            Pushed::Stored => return true,
            Pushed::Undecided => {
                self.is_undecided = true;
                return true;
            }
            Pushed::Bad => {}
        }
        if self.unfit.is_none() {
            self.unfit = Some((*span, part.kind.clone()));
        }
        false
    }

    #[inline]
    fn scalar(&mut self, column: &mut Column, span: &Span) -> Pushed {
        let allow_named = self.scanner.dialect.allow_non_numeric_numbers;
        let written = self.text.get(span.start..span.stop).unwrap_or_default();
        match span.kind {
            Kind::Number => column.push_json(written, false, allow_named),
            Kind::Plain => column.push_json(inner(self.text, *span), true, allow_named),
            Kind::Escaped => {
                column.push_json(meant(self.text, *span, self.scratch), true, allow_named)
            }
            _ if column.is_text() => column.push_text(written),
            Kind::True => column.push_bool(true),
            Kind::False => column.push_bool(false),
            _ => column.push_bad(),
        }
    }

    /// Append a variant; if the value is none, a null. Answers whether it is one.
    fn variant(&mut self, column: &mut Column, span: Span) -> bool {
        let written = encode(self.builder, self.scanner, self.text, span, self.scratch);
        match written.and_then(|()| self.builder.finish()) {
            Ok((value, metadata)) => column.push_variant(value, metadata),
            Err(reason) => {
                column.push_null();
                self.unfit
                    .get_or_insert_with(|| (span, format!("variant: {reason}").into()));
                return false;
            }
        }
        true
    }

    fn object(&mut self, members: &mut Members, column: &mut Column, span: Span) -> Pushed {
        let (text, limit) = (self.text, span.stop);
        let Members { names, parts } = members;
        let known = names.others_of(span.start, self.epoch); // else it is of a column with the name of another one
        let read = |(_, has_others)| has_others;
        let Some(has_others) = known.or_else(|| {
            let found = names.read(parts, self.scanner, text, limit, span.start, self.epoch);
            found.map(read)
        }) else {
            return column.push_undecided(); // it was checked before
        };
        self.has_unfit |= has_others;
        if let Shape::Struct(columns) = column.shape() {
            self.members(members, columns);
        }
        column.push_struct();
        Pushed::Stored
    }

    fn list(&mut self, items: &mut Part, column: &mut Column, span: Span) -> Pushed {
        let mut fits = true;
        if let Shape::List(child) = column.shape() {
            let (text, epoch, mut after) = (self.text, self.epoch, None);
            while let Some(start) = next_item(self.scanner, text, span, after)
                && let Some(item) = items.scan(self.scanner, text, span.stop, start, epoch)
            {
                fits = self.plainly(child, &item) || self.value(items, child, &item);
                if !fits {
                    break;
                }
                after = Some(item.stop);
            }
        }
        ended(column, fits)
    }

    fn map(&mut self, values: &mut Part, column: &mut Column, span: Span) -> Pushed {
        let mut fits = true;
        let pairs = pairs(self.scanner, self.text, span);
        self.has_unfit |= pairs.has_doubles;
        if let Shape::Map(names, items) = column.shape() {
            for (name, value) in pairs.last {
                names.push_utf8(meant(self.text, name, self.scratch));
                fits = self.plainly(items, &value) || self.value(values, items, &value);
                if !fits {
                    break;
                }
            }
        }
        ended(column, fits)
    }
}

fn ended(column: &mut Column, fits: bool) -> Pushed {
    if fits {
        column.push_list();
        return Pushed::Stored;
    }
    column.undo();
    column.push_bad()
}

/// Where the next item begins of an array that was checked: what stops at `after`, if anything, is the one before.
pub(crate) fn next_item(
    scanner: &mut Scanner,
    text: &str,
    array: Span,
    after: Option<usize>,
) -> Option<usize> {
    let bytes = text.as_bytes().get(..array.stop)?;
    let at = scanner.skip_space(bytes, after.unwrap_or(array.start + 1));
    match (after, bytes.get(at)) {
        (_, Some(b']')) => None,
        (None, _) => Some(at),
        (Some(_), Some(b',')) => Some(scanner.skip_space(bytes, at + 1)),
        (Some(_), _) => None,
    }
}

/// The members of an object.
pub(crate) struct Pairs {
    /// Name and value of each; of a name that comes twice, where it came first, with the last value.
    pub last: Vec<(Span, Span)>,
    /// Whether a name comes twice.
    pub has_doubles: bool,
}

/// The members of an object that was checked.
pub(crate) fn pairs(scanner: &mut Scanner, text: &str, object: Span) -> Pairs {
    let all = all_pairs(scanner, text, object).unwrap_or_default();
    let mut known = Known::default();
    let mut last: Vec<(Span, Span)> = Vec::with_capacity(all.len());
    let mut has_doubles = false;
    for (name, value) in all {
        match known.place(text, name, &last) {
            Some(place) => {
                has_doubles = true;
                last[place].1 = value;
            }
            None => last.push((name, value)),
        }
    }
    Pairs { last, has_doubles }
}

pub(crate) fn all_pairs(
    scanner: &mut Scanner,
    text: &str,
    object: Span,
) -> Option<Vec<(Span, Span)>> {
    let bytes = text.as_bytes().get(..object.stop)?;
    let mut pairs = Vec::new();
    let mut at = scanner.skip_space(bytes, object.start + 1);
    while bytes.get(at) != Some(&b'}') {
        let name = scanner.name(bytes, at)?;
        let start = scanner.colon(bytes, name.stop)?;
        let value = scanner.value(bytes, start)?;
        pairs.push((name, value));
        at = scanner.skip_space(bytes, value.stop);
        if bytes.get(at) == Some(&b',') {
            at = scanner.skip_space(bytes, at + 1);
        }
    }
    Some(pairs)
}

/// Names seen so far: a table as soon as there are many.
#[derive(Default)]
struct Known {
    places: std::collections::HashMap<String, usize>,
    scratch: [String; 2],
}

impl Known {
    const FEW: usize = 8;

    /// Where in `last` the name is, which is otherwise about to be added.
    fn place(&mut self, text: &str, name: Span, last: &[(Span, Span)]) -> Option<usize> {
        let [first, second] = &mut self.scratch;
        let wanted = meant(text, name, first);
        if last.len() < Known::FEW {
            return last
                .iter()
                .position(|(each, _)| meant(text, *each, second) == wanted);
        }
        if self.places.is_empty() {
            let seen = last.iter().enumerate();
            self.places.extend(
                seen.map(|(place, (each, _))| (meant(text, *each, second).to_string(), place)),
            );
        }
        let place = self.places.get(wanted).copied();
        if place.is_none() {
            self.places.insert(wanted.to_string(), last.len());
        }
        place
    }
}
