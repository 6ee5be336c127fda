//! Finds records by searching for marks.

use memchr::{memchr, memchr2, memmem};

use super::grammar::{Inside, Kind, Place, RowTag, begins_name, ends_name, is_space};

/// Goes through bytes.
pub(crate) struct Scanner<'a> {
    tag: &'a RowTag,
    data: &'a [u8],
    /// How many row tags are open.
    pub depth: usize,
    /// Of the records that begin.
    pub starts: Vec<i64>,
    /// After each record that ends.
    pub stops: Vec<i64>,
    /// The row tags that are open, of those that were met.
    pub open: Vec<i64>,
    /// The row tags whose elements are longer than `longest`.
    pub long: Vec<i64>,
    /// How many symbols are not long.
    pub longest: i64,
    /// Whether tags outside of records are given up: before a row tag they end, in a value too.
    pub skips: bool,
    /// What the end is in; nothing where only what follows tells.
    pub place: Option<Place>,
    /// Where the same place is known without what is before; a mark that is not decided begins there.
    pub tail: usize,
    /// Where the record that is not complete begins, or else what may be a mark; all before is dealt with.
    pub next_start: usize,
}

/// What begins with an angle bracket; a position is the one behind it.
enum Mark {
    Nothing,
    Undecided(Option<Place>),
    Inside(Inside, usize),
    Close(usize),
    Open(usize),
    Declaration(usize),
    Tag,
}

/// Where a value ends.
enum Ended {
    Quote(usize),
    RowTag(usize),
    Nowhere,
}

impl<'a> Scanner<'a> {
    /// For bytes in symbols, before which `depth` row tags are open.
    pub(crate) fn new(tag: &'a RowTag, data: &'a [u8], depth: usize) -> Scanner<'a> {
        Scanner {
            tag,
            data,
            depth,
            starts: Vec::new(),
            stops: Vec::new(),
            open: Vec::new(),
            long: Vec::new(),
            longest: i64::MAX,
            skips: false,
            place: Some(Place::Text),
            tail: 0,
            next_start: 0,
        }
    }

    /// Whether the end is outside of records and of marks.
    pub(crate) fn is_between(&self) -> bool {
        self.place == Some(Place::Text) && self.depth == 0
    }

    /// Go on from a position outside of all marks to the end.
    pub(crate) fn run(&mut self, from: usize) {
        self.run_until(from, |_| false);
    }

    /// The same up to the first position outside of records that `is_met`; answers it, or nothing at the end.
    pub(crate) fn run_until(
        &mut self,
        from: usize,
        is_met: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut at = from;
        while let Some(mark) = self.next_bracket(at) {
            match self.after(mark) {
                Some(after) if self.depth == 0 && is_met(after) => return Some(after),
                Some(after) => at = after,
                None => {
                    self.next_start = self.unfinished(mark);
                    return None;
                }
            }
        }
        (self.place, self.tail) = (Some(Place::Text), self.data.len());
        self.next_start = self.unfinished(self.data.len());
        None
    }

    /// The first row tag from `from` on; nothing if the end comes before.
    pub(crate) fn first(&mut self, from: usize) -> Option<usize> {
        let mut at = from;
        while let Some(mark) = self.next_bracket(at) {
            if matches!(self.mark(mark), Mark::Open(_) | Mark::Close(_)) {
                return Some(mark);
            }
            let Some(after) = self.after(mark) else {
                self.next_start = mark;
                return None;
            };
            at = after;
        }
        (self.place, self.tail) = (Some(Place::Text), self.data.len());
        self.next_start = self.data.len();
        None
    }

    /// Where the record ends that begins at `from`, before which nothing is open; nothing if that is not known.
    pub(crate) fn record(&mut self, from: usize) -> Option<usize> {
        self.starts.clear();
        self.stops.clear();
        self.open.clear();
        self.depth = 0;
        let mut at = from;
        while self.stops.is_empty() {
            at = self.next_bracket(at).and_then(|mark| self.after(mark))?;
        }
        Some(at)
    }

    /// Go to the end of what a position is in; answers the first position outside, or nothing if that is not here.
    ///
    /// `before` are bytes before it, all of the same comment, instruction, CDATA or tag.
    pub(crate) fn leave(&mut self, place: Place, at: usize, before: &[u8]) -> Option<usize> {
        match place {
            Place::Text => Some(at),
            Place::Inside(inside) => self.leave_inside(inside, at, before),
            Place::Closing => self.leave_closing(at, at),
            Place::Tag(kind, None) => self.leave_tag(kind, at, before),
            Place::Tag(kind, Some(quote)) => match self.value_end(quote, at) {
                Ended::Quote(end) => self.leave_tag(kind, end + 1, b""),
                Ended::RowTag(end) => Some(end),
                Ended::Nowhere => self.ends_in_value(place, at),
            },
        }
    }

    #[inline]
    fn next_bracket(&self, at: usize) -> Option<usize> {
        memchr(b'<', self.data.get(at..)?).map(|length| at + length)
    }

    fn unfinished(&self, otherwise: usize) -> usize {
        match self.starts.last() {
            Some(&start) if self.depth > 0 => start as usize, // a position in the data
            _ => otherwise,
        }
    }

    /// What the bracket at `at` begins.
    #[inline]
    fn mark(&self, at: usize) -> Mark {
        let name = self.tag.name.as_slice();
        let rest = self.data.get(at..).unwrap_or_default();
        let Some(&second) = rest.get(1) else {
            return Mark::Undecided(None);
        };
        match second {
            b'/' => self.closing_mark(at, rest),
            b'?' => Mark::Inside(Inside::Instruction, at + 2),
            b'!' => {
                let both = [Inside::Comment, Inside::Cdata];
                if let Some(inside) = both.iter().find(|each| rest.starts_with(each.mark())) {
                    return Mark::Inside(*inside, at + inside.mark().len());
                }
                match both.iter().any(|each| each.mark().starts_with(rest)) {
                    true => Mark::Undecided(None),
                    false => Mark::Declaration(at + 2),
                }
            }
            byte => {
                let written = rest.get(1..).unwrap_or_default();
                if let Some(after) = written.strip_prefix(name) {
                    match after.first() {
                        None => return Mark::Undecided(None),
                        Some(&byte) if ends_name(byte) => return Mark::Open(at + 1 + name.len()),
                        Some(_) => {}
                    }
                } else if name.starts_with(written) {
                    return Mark::Undecided(None);
                }
                match begins_name(byte) {
                    true => Mark::Tag,
                    false => Mark::Nothing,
                }
            }
        }
    }

    fn closing_mark(&self, at: usize, rest: &[u8]) -> Mark {
        let name = self.tag.name.as_slice();
        let written = rest.get(2..).unwrap_or_default();
        let Some(after) = written.strip_prefix(name) else {
            return match name.starts_with(written) {
                true => Mark::Undecided(None),
                false => Mark::Nothing,
            };
        };
        let blanks = after.iter().take_while(|byte| is_space(**byte)).count();
        match after.get(blanks) {
            Some(b'>') => Mark::Close(at + 2 + name.len() + blanks + 1),
            Some(_) => Mark::Nothing,
            None => Mark::Undecided((blanks > 0).then_some(Place::Closing)),
        }
    }

    /// Where what begins at `at` ends; nothing if that is not known.
    #[inline]
    fn after(&mut self, at: usize) -> Option<usize> {
        match self.mark(at) {
            Mark::Nothing => Some(at + 1),
            Mark::Undecided(place) => {
                let is_closing = place.is_some();
                let tail = if is_closing { self.data.len() } else { at };
                self.ends_in(place, tail)
            }
            Mark::Inside(inside, behind) => self.leave_inside(inside, behind, b""),
            Mark::Close(behind) => Some(self.close(at, behind)),
            Mark::Open(behind) => {
                self.begin(at);
                self.leave_tag(Kind::Row, behind, b"")
            }
            Mark::Declaration(behind) => self.leave_tag(Kind::Declaration, behind, b""),
            Mark::Tag => self.leave_tag(Kind::Tag, at + 1, b""),
        }
    }

    fn begin(&mut self, at: usize) {
        if self.depth == 0 {
            self.starts.push(at as i64);
        }
        self.open.push(at as i64);
        self.depth += 1;
    }

    fn close(&mut self, at: usize, behind: usize) -> usize {
        if self.depth == 0 {
            self.begin(at);
        }
        let begun = self.open.pop();
        self.long
            .extend(begun.filter(|start| behind as i64 - start > self.longest));
        self.depth -= 1;
        if self.depth == 0 {
            self.stops.push(behind as i64);
        }
        behind
    }

    fn ends_in(&mut self, place: Option<Place>, tail: usize) -> Option<usize> {
        (self.place, self.tail) = (place, tail);
        None
    }

    /// The value that `from` is in does not end here; the row tag that ends it may begin.
    fn ends_in_value(&mut self, place: Place, from: usize) -> Option<usize> {
        let end = self.data.len();
        let longest = Inside::Cdata.mark().len().max(self.tag.name.len() + 2);
        let from = from.max(end.saturating_sub(longest + 1));
        let mark = self.data.get(from..).and_then(|rest| memchr(b'<', rest));
        self.ends_in(Some(place), mark.map_or(end, |length| from + length))
    }

    fn leave_inside(&mut self, inside: Inside, at: usize, before: &[u8]) -> Option<usize> {
        let end = inside.end();
        let known = before.get((before.len() + 1).saturating_sub(end.len())..)?;
        let rest = self.data.get(at..).unwrap_or_default();
        if !known.is_empty() {
            let around = [known, rest.get(..end.len()).unwrap_or(rest)].concat();
            if let Some(found) = memmem::find(&around, end) {
                return Some(at + found + end.len() - known.len());
            }
        }
        match memmem::find(rest, end) {
            Some(found) => Some(at + found + end.len()),
            None => {
                let tail = at.max((self.data.len() + 1).saturating_sub(end.len()));
                self.ends_in(Some(Place::Inside(inside)), tail)
            }
        }
    }

    fn leave_closing(&mut self, at: usize, from: usize) -> Option<usize> {
        let rest = self.data.get(from..).unwrap_or_default();
        let end = from + rest.iter().take_while(|byte| is_space(**byte)).count();
        match self.data.get(end) {
            Some(b'>') => Some(self.close(at, end + 1)),
            Some(_) => Some(end),
            None => self.ends_in(Some(Place::Closing), end),
        }
    }

    #[inline]
    fn leave_tag(&mut self, kind: Kind, from: usize, before: &[u8]) -> Option<usize> {
        let mut at = from;
        loop {
            let rest = self.data.get(at..).unwrap_or_default();
            let ends = |byte: &u8| {
                matches!(byte, b'<' | b'>' | b'"' | b'\'')
                    || (*byte == b'[' && kind == Kind::Declaration)
            };
            let Some(length) = rest.iter().position(ends) else {
                let end = self.data.len();
                let slash = self.data.get(from..).is_some_and(|tag| tag.ends_with(b"/"));
                return self.ends_in(Some(Place::Tag(kind, None)), end - usize::from(slash));
            };
            at += length;
            match self.data.get(at) {
                Some(&quote @ (b'"' | b'\'')) => match self.value_end(quote, at + 1) {
                    Ended::Quote(end) => at = end + 1,
                    Ended::RowTag(end) => return Some(end),
                    Ended::Nowhere => {
                        return self.ends_in_value(Place::Tag(kind, Some(quote)), at + 1);
                    }
                },
                Some(b'<') => return Some(at),
                Some(b'>') if kind == Kind::Row => {
                    let tag = self.data.get(from..at).filter(|tag| !tag.is_empty());
                    return match tag.unwrap_or(before).last() {
                        Some(b'/') => Some(self.close(from, at + 1)),
                        _ => Some(at + 1),
                    };
                }
                _ => return Some(at + 1),
            }
        }
    }

    /// Where the value ends that `from` is in: inside of records before a closing row tag, too; where tags outside of
    /// records are given up, before an opening one.
    fn value_end(&self, quote: u8, from: usize) -> Ended {
        let mut at = from;
        loop {
            let rest = self.data.get(at..).unwrap_or_default();
            let found = match self.depth {
                0 if !self.skips => memchr(quote, rest),
                _ => memchr2(quote, b'<', rest),
            };
            let Some(length) = found else {
                return Ended::Nowhere;
            };
            at += length;
            if self.data.get(at) == Some(&quote) {
                return Ended::Quote(at);
            }
            let is_row_tag = match self.depth {
                0 => matches!(self.mark(at), Mark::Open(_)),
                _ => self.tag.closes(self.data.get(at..).unwrap_or_default()),
            };
            if is_row_tag {
                return Ended::RowTag(at);
            }
            at += 1;
        }
    }
}
