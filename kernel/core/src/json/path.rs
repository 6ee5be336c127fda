//! Arrays below a path, and what lies around them: strings, brackets and names, one byte at a time.
//!
//! Reading can begin again at three kinds of bytes, wherever in a file they are: at an element or what separates two of
//! them, at the bracket that ends an array, and at a colon, which no element begins with: the value after it is at the
//! path, and either is no array or an array before which the file is damaged.

use std::sync::Arc;

use memchr::memchr3;

use super::exact::{Loose, Value, Walk};
use super::unescape::unescape;
use super::{Shape, is_space, precedes_brace};
use crate::fault::Code;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// To the members of an object that have this name.
    Name(String),
    /// To the elements of an array.
    Each,
}

/// The way from the documents of a file to the arrays whose elements are the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    steps: Arc<[Step]>,
}

impl Path {
    /// A path of names, and of nothing for the elements of an array.
    ///
    /// # Errors
    /// If it does not end with a name and the elements below it.
    pub fn new(steps: Vec<Option<String>>) -> Result<Path, String> {
        let is_good = matches!(steps.as_slice(), [.., Some(_), None])
            && !steps.windows(2).any(|two| matches!(two, [None, None]));
        if !is_good {
            return Err("a path ends with a name and the elements below it".into());
        }
        let steps = steps
            .into_iter()
            .map(|step| step.map_or(Step::Each, Step::Name));
        Ok(Path {
            steps: steps.collect(),
        })
    }

    /// The last container around the arrays.
    fn deepest(&self) -> u32 {
        self.steps.len() as u32 - 1
    }

    /// The step that the members or elements of the container number `level` are reached by.
    fn step_in(&self, level: u32) -> Option<&Step> {
        self.steps.get((level as usize).checked_sub(1)?)
    }

    fn name_in(&self, level: u32) -> Option<&str> {
        match self.step_in(level) {
            Some(Step::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Whether the container number `level`, if it is on the path, opens with this bracket.
    fn opens(&self, level: u32, bracket: u8) -> bool {
        match self.step_in(level) {
            Some(Step::Name(_)) => bracket == b'{',
            Some(Step::Each) => bracket == b'[',
            None => false,
        }
    }
}

/// Whether the text between the quotes of `written` means `name`.
fn means(written: &[u8], name: &str) -> bool {
    if !written.contains(&b'\\') {
        return written == name.as_bytes();
    }
    let mut meant = String::new();
    std::str::from_utf8(written).is_ok_and(|text| {
        unescape(text, &mut meant);
        meant == name
    })
}

/// The state between two bytes outside of the arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    matched: u32,   // containers of the path that are open
    unmatched: u32, // others inside of those
    in_string: bool,
    is_escaped: bool,
    has_value: bool, // of the innermost container of the path: a colon was met, and no comma since
    is_named: bool,  // the string before the next colon is the name of the path
    is_next: bool,   // the next value is the member of that name
    may_open: bool,  // a brace may stand here
    is_damaged: bool, // since the last array
    /// Whether there was a null where arrays are.
    pub has_null: bool,
}

impl Place {
    fn after_array(path: &Path) -> Place {
        Place {
            matched: path.deepest(),
            has_value: true,
            ..Place::default()
        }
    }

    /// Before a value at the path that is no array.
    fn in_value(path: &Path) -> Place {
        Place {
            may_open: true,
            ..Place::after_array(path)
        }
    }

    /// Whether a file may end here.
    fn is_outside(&self) -> bool {
        self.matched == 0 && self.unmatched == 0 && !self.in_string
    }

    /// Leave the member or element that was read.
    fn end_value(&mut self) {
        (self.is_named, self.is_next) = (false, false);
    }
}

/// Where reading begins again, or how far it went without finding that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Inside an array: after its bracket, or at the colon before it if the file is damaged before that. Or at the colon
    /// of a value that should be an array.
    Ends(usize),
    /// Nowhere. The bytes before this one are done with; this is the state there.
    Open(usize, Place),
}

/// Where reading begins in a file that begins like this, and whether there is a null where arrays are.
pub fn first_array(data: &[u8], path: &Path) -> (Option<usize>, bool) {
    match outside(data, 0, Place::default(), path) {
        Outside::Ends(boundary) => (Some(boundary), false),
        Outside::Open(_, place) => (None, place.has_null),
    }
}

/// Go on at `from`, outside of the arrays.
pub fn outside(data: &[u8], from: usize, place: Place, path: &Path) -> Outside {
    let mut run = Run {
        data,
        path,
        place,
        kept: None,
    };
    let mut at = from;
    loop {
        if run.kept.is_none() {
            at = skim(data, at, &mut run.place);
        }
        let Some(&byte) = data.get(at) else { break };
        match run.take(at, byte) {
            Taken::On => at += 1,
            Taken::Ends(boundary) => return Outside::Ends(boundary),
            Taken::Cut => break,
        }
    }
    let (at, place) = run.kept.unwrap_or((data.len(), run.place));
    Outside::Open(at, place)
}

/// Go through strings, and through containers that are not on the path, as far as no brace is misplaced.
fn skim(data: &[u8], from: usize, place: &mut Place) -> usize {
    let mut at = from;
    loop {
        let rest = data.get(at..).unwrap_or_default();
        if place.in_string && !place.is_escaped {
            at += memchr3(b'"', b'\\', b'\n', rest).unwrap_or(rest.len());
        }
        let Some(&byte) = data.get(at) else { return at };
        if place.unmatched == 0 {
            return at;
        }
        let is_escaped = place.is_escaped;
        place.is_escaped = byte == b'\\' && !is_escaped;
        if place.in_string {
            if byte == b'\n' {
                (place.in_string, place.is_damaged) = (false, true);
            } else if byte == b'"' {
                place.in_string = is_escaped;
            }
            at += 1;
            continue;
        }
        match byte {
            b'{' if !place.may_open => {
                place.is_escaped = is_escaped;
                return at;
            }
            b'{' | b'[' => place.unmatched += 1,
            b'}' | b']' => place.unmatched -= 1,
            b'"' => place.in_string = !is_escaped,
            _ => {}
        }
        if !is_space(byte) {
            place.may_open = precedes_brace(byte);
        }
        at += 1;
    }
}

enum Taken {
    On,
    Ends(usize),
    Cut,
}

struct Run<'a> {
    data: &'a [u8],
    path: &'a Path,
    place: Place,
    kept: Option<(usize, Place)>, // where a name begins that may be that of the path, or the colon after it is
}

impl Run<'_> {
    fn take(&mut self, at: usize, byte: u8) -> Taken {
        let before = self.place;
        self.place.is_escaped = byte == b'\\' && !before.is_escaped;
        let is_quote = byte == b'"' && !before.is_escaped;
        if before.in_string {
            self.take_in_string(at, byte, is_quote);
            return Taken::On;
        }
        if is_space(byte) {
            return Taken::On;
        }
        self.place.may_open = precedes_brace(byte);
        if byte == b'{' && !before.may_open && before.matched + before.unmatched > 0 {
            self.place = Place {
                is_damaged: true,
                has_null: before.has_null,
                ..Place::default()
            };
            self.kept = None; // it begins another document
        } else if before.unmatched > 0 {
            match byte {
                b'{' | b'[' => self.place.unmatched += 1,
                b'}' | b']' => self.place.unmatched -= 1,
                _ => self.place.in_string = is_quote,
            }
            return Taken::On;
        }
        match byte {
            b'{' | b'[' => self.open(at, byte),
            b'}' | b']' => self.close(byte),
            b',' => {
                self.place.has_value = false;
                self.leave()
            }
            b':' if !before.has_value && self.path.name_in(before.matched).is_some() => {
                self.place.has_value = true;
                self.place.is_next = std::mem::take(&mut self.place.is_named);
                if self.place.is_next && before.matched == self.path.deepest() {
                    self.kept = Some((at, before));
                }
                Taken::On
            }
            _ => self.take_text(at, byte, is_quote, before),
        }
    }

    fn take_in_string(&mut self, at: usize, byte: u8, is_quote: bool) {
        let name = self.path.name_in(self.place.matched).unwrap_or_default();
        if byte == b'\n' {
            (self.place.in_string, self.place.is_damaged) = (false, true);
            self.kept = None;
        } else if is_quote {
            self.place.in_string = false;
            if let Some((start, _)) = self.kept.take() {
                let written = self.data.get(start + 1..at).unwrap_or_default();
                self.place.is_named = means(written, name);
            }
        } else if self
            .kept
            .is_some_and(|(start, _)| at - start > LONGEST_ESCAPE * name.len())
        {
            self.kept = None;
        }
    }

    /// A byte of a scalar, of a string, or of nothing that belongs here.
    fn take_text(&mut self, at: usize, byte: u8, is_quote: bool, before: Place) -> Taken {
        if let (true, Some((colon, _))) = (before.is_next, self.kept) {
            let rest = self.data.get(at..).unwrap_or_default();
            let after = rest.strip_prefix(b"null");
            if b"null".starts_with(rest) || after == Some(b"") {
                return Taken::Cut;
            }
            if !after.is_some_and(|after| after.first().is_some_and(|&byte| ends_scalar(byte))) {
                return Taken::Ends(colon);
            }
            self.place.has_null = true;
            return self.leave();
        }
        self.place.end_value();
        self.place.in_string = is_quote;
        self.place.is_damaged |= before.matched == 0 && byte != 0x1e;
        if is_quote && !before.has_value && self.path.name_in(before.matched).is_some() {
            self.kept = Some((at, before));
        }
        Taken::On
    }

    fn open(&mut self, at: usize, bracket: u8) -> Taken {
        let place = self.place;
        let is_each = place.matched == 0 || self.path.name_in(place.matched).is_none();
        if !is_each && !place.is_next {
            self.place.unmatched = 1;
            return self.leave();
        }
        let is_good = self.path.opens(place.matched + 1, bracket);
        if let (true, Some((colon, _))) = (place.matched == self.path.deepest(), self.kept) {
            let is_clean = is_good && !place.is_damaged;
            return Taken::Ends(if is_clean { at + 1 } else { colon });
        }
        if is_good {
            self.place.matched += 1;
            self.place.has_value = false;
        } else {
            self.place.unmatched = 1;
        }
        self.leave()
    }

    fn close(&mut self, bracket: u8) -> Taken {
        let level = self.place.matched;
        let opener = if bracket == b'}' { b'{' } else { b'[' };
        self.place.is_damaged |= !self.path.opens(level, opener) || self.place.is_next;
        self.place.matched = level.saturating_sub(1);
        self.place.has_value = true;
        self.leave()
    }

    fn leave(&mut self) -> Taken {
        self.place.end_value();
        self.kept = None;
        Taken::On
    }
}

/// Bytes that a character of UTF-8 may be written with, for each that it has: `\u0061`.
const LONGEST_ESCAPE: usize = 6;

fn ends_scalar(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b',' | b'{' | b'[' | b'}' | b']' | b':' | b'"')
}

/// What begins at `start` with the bracket that ends an array, or with a colon.
pub(crate) fn between(data: &[u8], start: usize, path: &Path) -> Walk {
    let (from, is_colon) = (start + 1, data.get(start) == Some(&b':'));
    if is_colon {
        return wrong_value(data, start, path);
    }
    match outside(data, from, Place::after_array(path), path) {
        Outside::Ends(next) => Walk::Gap { next },
        Outside::Open(_, place) => {
            let content = data.iter().rposition(|&byte| !is_space(byte));
            let stop = content.map_or(from, |at| at + 1);
            match place.is_outside() {
                true if place.is_damaged => Walk::Loose { stop },
                true => Walk::Blank,
                false => Walk::Open { stop },
            }
        }
    }
}

/// The value after the colon at `start`, which is no array, or is damaged before it.
fn wrong_value(data: &[u8], start: usize, path: &Path) -> Walk {
    let rest = data.get(start + 1..).unwrap_or_default();
    let Some(blank) = rest.iter().position(|&byte| !is_space(byte)) else {
        return Walk::Loose { stop: start + 1 };
    };
    let value = start + 1 + blank;
    let stop = value + 1;
    if data.get(value) == Some(&b'[') {
        return Walk::Ends { stop, next: stop };
    }
    match outside(data, value, Place::in_value(path), path) {
        Outside::Ends(next) => Walk::Ends { stop, next },
        Outside::Open(..) => Walk::Loose { stop },
    }
}

/// What is wrong with a record that shows what lies around the arrays, and what was seen.
pub(super) fn fault(record: &str, shape: &Shape) -> Option<(Code, &'static str)> {
    let value = match (shape, record.as_bytes()) {
        (Shape::Nowhere, _) => return Some((Code::PathNotFound, "")),
        (Shape::Below(_), [b']', ..]) => return Some((Code::BadJson, "damage follows the array")),
        (Shape::Below(_), [b':', .., b'[']) => {
            return Some((Code::BadJson, "damage precedes the array"));
        }
        (Shape::Below(_), [b':', value @ ..]) => value,
        _ => return None,
    };
    let kind = match value.last() {
        Some(b'{') => "an object",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "no value",
    };
    Some((Code::NotAnArray, kind))
}

/// Goes past what begins at the front of some bytes, of any length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Past {
    /// Nothing was dropped.
    #[default]
    Nothing,
    /// Outside of the arrays.
    Outside(Place),
    /// In a value of an array.
    Value(Value),
    /// In a scalar or garbage in an array.
    Loose(Loose),
}

/// How far something was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Where reading goes on.
    pub resume: Option<usize>,
    /// How many bytes are done with.
    pub dropped: usize,
    /// What is passed after those.
    pub past: Past,
}

impl Past {
    /// Go past what `data` begins with, or goes on with.
    pub fn pass(self, data: &[u8], path: &Path) -> Passed {
        let ended = |resume| Passed {
            resume: Some(resume),
            dropped: resume,
            past: self,
        };
        let open = |past| Passed {
            resume: None,
            dropped: data.len(),
            past,
        };
        match self {
            Past::Nothing => self.begin(data, path),
            Past::Outside(place) => pass_outside(data, 0, place, path),
            Past::Value(mut value) => match value.end(data, 0) {
                Some((_, next)) => ended(next),
                None => open(Past::Value(value)),
            },
            Past::Loose(mut loose) => match loose.end(data, 0, false, &Shape::Array) {
                Some(next) => ended(next),
                None => open(Past::Loose(loose)),
            },
        }
    }

    fn begin(self, data: &[u8], path: &Path) -> Passed {
        match data.first() {
            None => Passed {
                resume: None,
                dropped: 0,
                past: self,
            },
            Some(b'{' | b'[') => Past::Value(Value::default()).pass(data, path),
            Some(b']') => pass_outside(data, 1, Place::after_array(path), path),
            Some(b':') => {
                let rest = data.get(1..).unwrap_or_default();
                let blank = rest.iter().position(|&byte| !is_space(byte));
                let Some(value) = blank.map(|blank| 1 + blank) else {
                    return Passed {
                        resume: None,
                        dropped: 0, // what follows tells whether an array begins
                        past: self,
                    };
                };
                if data.get(value) == Some(&b'[') {
                    return Passed {
                        resume: Some(value + 1),
                        dropped: value + 1,
                        past: self,
                    };
                }
                pass_outside(data, value, Place::in_value(path), path)
            }
            Some(_) => {
                let mut loose = Loose::default();
                let resume = loose.end(data, 0, true, &Shape::Array);
                Passed {
                    resume,
                    dropped: resume.unwrap_or(data.len()),
                    past: Past::Loose(loose),
                }
            }
        }
    }

    /// Whether the file is cut off, or damaged, if it ends here.
    pub fn is_open(self) -> bool {
        match self {
            Past::Outside(place) => !place.is_outside() || place.is_damaged,
            _ => true,
        }
    }
}

fn pass_outside(data: &[u8], from: usize, place: Place, path: &Path) -> Passed {
    match outside(data, from, place, path) {
        Outside::Ends(resume) => Passed {
            resume: Some(resume),
            dropped: resume,
            past: Past::Outside(place),
        },
        Outside::Open(dropped, place) => Passed {
            resume: None,
            dropped,
            past: Past::Outside(place),
        },
    }
}
