//! Gets past what is given up: a record, or a mark outside of records, of any length, in bounded memory.

use super::grammar::{Inside, Kind, Place, RowTag, begins_name, ends_name};
use super::scan::Scanner;

const FIRST_LOOK_BYTES: usize = 4096; // each look is four times as long as the one before

/// What goes on after the bytes that were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Skipping {
    place: Option<Place>, // of the first byte; nothing where a record or a mark begins there
    in_record: bool,
}

/// How far a look has come.
struct Gone {
    end: Option<usize>,
    tail: usize,
    place: Option<Place>,
    in_record: bool,
}

impl Skipping {
    /// Where reading goes on: after the record or the mark, or where another row tag breaks it off.
    ///
    /// A look goes no further than a few times what is before that.
    pub fn end(&self, data: &[u8], tag: &RowTag) -> Option<usize> {
        let mut shown = FIRST_LOOK_BYTES;
        loop {
            let part = data.get(..shown).unwrap_or(data);
            let end = self.go(&tag.symbols(part), tag).and_then(|gone| gone.end);
            if end.is_some() || part.len() == data.len() {
                return end.map(|end| end * tag.width());
            }
            shown = shown.saturating_mul(4);
        }
    }

    /// How many bytes say no more of the end than is remembered of them: all but the beginning of what may be it.
    pub fn drop_bytes(&mut self, data: &[u8], tag: &RowTag) -> usize {
        let gone = self.go(&tag.symbols(data), tag);
        let Some(gone) = gone.filter(|gone| gone.tail > 0) else {
            return 0;
        };
        self.place = Some(gone.place.unwrap_or(Place::Text));
        self.in_record = gone.in_record;
        gone.tail * tag.width()
    }

    /// Nothing where the data is too short to begin.
    fn go(&self, data: &[u8], tag: &RowTag) -> Option<Gone> {
        let (place, at, in_record) = match self.place {
            Some(place) => (place, 0, self.in_record),
            None => begin(data, tag)?,
        };
        let mut scanner = Scanner::new(tag, data, usize::from(in_record));
        scanner.skips = true;
        let mut end = scanner.leave(place, at, b"");
        if in_record && scanner.stops.is_empty() {
            end = end.and_then(|left| scanner.first(left));
            if let Some(row) = end
                && let Some(rest) = data.get(row..).filter(|rest| rest.starts_with(b"</"))
            {
                let close = memchr::memchr(b'>', rest);
                end = close.map(|length| row + length + 1);
            }
        }
        Some(Gone {
            end,
            tail: scanner.tail,
            place: scanner.place,
            in_record,
        })
    }
}

/// What begins with the first byte, where that begins, and whether it is a record; nothing if that is open.
fn begin(data: &[u8], tag: &RowTag) -> Option<(Place, usize, bool)> {
    let name = tag.name.as_slice();
    let (first, rest) = data.split_first()?;
    if *first != b'<' {
        return Some((Place::Text, 1, false));
    }
    for inside in [Inside::Comment, Inside::Cdata, Inside::Instruction] {
        if data.starts_with(inside.mark()) {
            return Some((Place::Inside(inside), inside.mark().len(), false));
        }
        if inside.mark().starts_with(data) {
            return None;
        }
    }
    let after = rest.strip_prefix(b"/").unwrap_or(rest);
    let is_closing = after.len() < rest.len();
    if let Some(behind) = after.strip_prefix(name) {
        let at = data.len() - behind.len();
        match behind.first() {
            _ if is_closing => return Some((Place::Closing, at, true)),
            None => return None,
            Some(&byte) if ends_name(byte) => return Some((Place::Tag(Kind::Row, None), at, true)),
            Some(_) => {}
        }
    } else if name.starts_with(after) {
        return None;
    }
    Some(match rest.first() {
        Some(b'!') => (Place::Tag(Kind::Declaration, None), 2, false),
        Some(&byte) if begins_name(byte) => (Place::Tag(Kind::Tag, None), 1, false),
        _ => (Place::Text, 1, false),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where reading goes on, from every cut and in pieces of any length.
    fn resumes(written: &str) -> usize {
        let tag = RowTag::new(b"r", 1, false).expect("a name");
        let data = written.as_bytes();
        let whole = Skipping::default().end(data, &tag).unwrap_or(data.len());
        for step in 1..=data.len() {
            let (mut skipping, mut start, mut stop) = (Skipping::default(), 0, step);
            let found = loop {
                let shown = &data[start..stop.min(data.len())];
                match skipping.end(shown, &tag) {
                    Some(end) => break start + end,
                    None if stop >= data.len() => break data.len(),
                    None => start += skipping.drop_bytes(shown, &tag),
                }
                stop += step;
            };
            assert_eq!(found, whole, "{written} by {step}");
        }
        whole
    }

    #[test]
    fn what_is_given_up_ends_where_the_next_row_tag_or_its_own_end_is() {
        for (written, end) in [
            ("<r><a>x</a></r><r>", 15),
            ("<r><a>x</a><r>1</r></r>", 11),
            ("<r a='x</r><r>", 11),
            ("<r a='<r>'/><r>", 12),
            ("<r/><r>", 4),
            ("<r><!-- <r> </r> --> <r>", 21),
            ("<!-- <r> --><r>", 12),
            ("<![CDATA[<r>]]]><r>", 16),
            ("<? <r> ?? ?><r>", 12),
            ("<b a='x <r> 1", 8),
            ("<b a='x <ra> 1'>", 16),
            ("<!D 'x <r >", 7),
            ("</r ><r>", 5),
            ("</r x><r>", 6),
            ("<r>", 3),
            ("<", 1),
            ("<1 <r>", 1),
        ] {
            assert_eq!(resumes(written), end, "{written}");
        }
    }
}
