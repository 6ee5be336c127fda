//! Patterns that a table matches: each byte of a text has at most one place in them, so the text can be divided among
//! their groups in one way only.

use memchr::{memchr, memchr2, memchr3};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Capture, Class, Hir, HirKind};

const DEAD: u8 = 0;
const BEGIN: u8 = 1;
/// Places of bytes in a pattern: each has a row of its own in the table.
const MOST_PLACES: usize = 250;
const BYTES: usize = 256;

/// A table that matches whole texts in ASCII.
#[derive(Clone, Debug)]
pub(super) struct Table {
    rows: Vec<Row>, // of states: none matches, nothing was read yet, and one for each place of the last byte
    groups: Vec<(usize, usize)>, // first part of each column's group, and the part after its last one
    parts: usize,
}

#[derive(Clone, Debug)]
struct Row {
    next: [u8; BYTES],
    part: usize,
    is_end: bool,
    leaving: Leaving,
}

/// Which bytes lead to another state.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
    Many,
}

/// What is known of a part of a pattern.
struct Piece {
    may_be_empty: bool,
    first: Vec<usize>,
    last: Vec<usize>,
}

/// Reads a pattern: places of bytes in the order in which they are written, and which may follow which.
struct Reader<'c> {
    columns: &'c [usize],
    sets: Vec<[bool; BYTES]>,
    parts: Vec<usize>,
    follow: Vec<Vec<usize>>,
    part: usize,
    groups: Vec<(usize, usize)>,
}

impl Table {
    /// Of a pattern that means the same for bytes, and the numbers of the groups of its columns; `None` where a byte has
    /// several places in it, or it is too large.
    pub(super) fn new(pattern: &str, columns: &[usize]) -> Option<Table> {
        let mut parser = ParserBuilder::new().unicode(false).utf8(false).build();
        let hir = parser.parse(pattern).ok()?;
        let mut reader = Reader {
            columns,
            sets: Vec::new(),
            parts: Vec::new(),
            follow: Vec::new(),
            part: 0,
            groups: vec![(0, 0); columns.len()],
        };
        let whole = reader.read(&hir, false)?;
        let mut rows = vec![Row::new(0, false); 2];
        for place in 0..reader.sets.len() {
            rows.push(Row::new(
                *reader.parts.get(place)?,
                whole.last.contains(&place),
            ));
        }
        rows.get_mut(usize::from(BEGIN))?.is_end = whole.may_be_empty;
        reader.connect(rows.get_mut(usize::from(BEGIN))?, &whole.first)?;
        for (row, places) in rows.iter_mut().skip(2).zip(&reader.follow) {
            reader.connect(row, places)?;
        }
        for (state, row) in rows.iter_mut().enumerate() {
            row.leaving = Leaving::of(row, state as u8);
        }
        Some(Table {
            rows,
            groups: reader.groups,
            parts: reader.part + 1,
        })
    }

    /// Places in which the parts of one text begin, to be handed to [`Table::read`].
    pub(super) fn starts(&self) -> Vec<usize> {
        vec![0; self.parts + 1]
    }

    /// Whether a text in ASCII matches; then `starts` are where its parts begin.
    #[inline]
    pub(super) fn read(&self, text: &[u8], starts: &mut [usize]) -> bool {
        let (mut at, mut part, mut state) = (0, 0, BEGIN);
        while let Some(row) = self.rows.get(usize::from(state)) {
            let rest = text.get(at..).unwrap_or_default();
            let same = match row.leaving {
                Leaving::One(byte) => memchr(byte, rest),
                Leaving::Two(one, two) => memchr2(one, two, rest),
                Leaving::Three(one, two, three) => memchr3(one, two, three, rest),
                Leaving::Many => rest
                    .iter()
                    .position(|&byte| row.next[usize::from(byte)] != state),
            };
            let byte = same.and_then(|same| rest.get(same));
            at += same.unwrap_or(rest.len());
            let Some(&byte) = byte else {
                if let Some(rest) = starts.get_mut(part + 1..) {
                    rest.fill(text.len());
                }
                return row.is_end;
            };
            state = row.next[usize::from(byte)];
            if state == DEAD {
                return false;
            }
            let entered = self.rows.get(usize::from(state)).map_or(0, |row| row.part);
            if entered != part {
                if let Some(passed) = starts.get_mut(part + 1..=entered) {
                    passed.fill(at);
                }
                part = entered;
            }
            at += 1;
        }
        false
    }

    /// Where the group of each column is in a text whose parts begin at `starts`.
    #[inline]
    pub(super) fn groups(&self, starts: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        let place = |part: usize| starts.get(part).copied().unwrap_or_default();
        self.groups
            .iter()
            .map(move |&(first, after)| (place(first), place(after)))
    }
}

impl Row {
    fn new(part: usize, is_end: bool) -> Row {
        Row {
            next: [DEAD; BYTES],
            part,
            is_end,
            leaving: Leaving::Many,
        }
    }
}

impl Leaving {
    fn of(row: &Row, state: u8) -> Leaving {
        let in_ascii = row.next.iter().take(BYTES / 2);
        let other = in_ascii.enumerate().filter(|&(_, &next)| next != state);
        let bytes: Vec<u8> = other.map(|(byte, _)| byte as u8).collect();
        match *bytes {
            [one] => Leaving::One(one),
            [one, two] => Leaving::Two(one, two),
            [one, two, three] => Leaving::Three(one, two, three),
            _ => Leaving::Many,
        }
    }
}

impl Reader<'_> {
    /// Read a part of a pattern, which may come several times or not; `None` where no table can match it.
    fn read(&mut self, hir: &Hir, comes_again: bool) -> Option<Piece> {
        match hir.kind() {
            HirKind::Empty => Some(Piece::empty()),
            HirKind::Literal(literal) => {
                let mut whole = Piece::empty();
                for &byte in &literal.0 {
                    let mut set = [false; BYTES];
                    *set.get_mut(usize::from(byte))? = byte.is_ascii();
                    let next = self.place(set)?;
                    whole = self.joined(whole, next);
                }
                Some(whole)
            }
            HirKind::Class(class) => self.place(ascii(class)),
            HirKind::Look(_) => None,
            HirKind::Capture(capture) => self.group(capture, comes_again),
            HirKind::Concat(parts) => {
                let mut whole = Piece::empty();
                for part in parts {
                    let next = self.read(part, comes_again)?;
                    whole = self.joined(whole, next);
                }
                Some(whole)
            }
            HirKind::Alternation(ways) => {
                let mut any = Piece {
                    may_be_empty: false,
                    ..Piece::empty()
                };
                for way in ways {
                    let next = self.read(way, comes_again)?;
                    any.may_be_empty |= next.may_be_empty;
                    any.first.extend(next.first);
                    any.last.extend(next.last);
                }
                Some(any)
            }
            HirKind::Repetition(again) => {
                let most = again.max.unwrap_or(again.min.max(1));
                let comes_again = comes_again || again.max != Some(1);
                let mut copies = Vec::new();
                for _ in 0..most {
                    copies.push(self.read(&again.sub, comes_again)?);
                }
                if let (None, Some(last)) = (again.max, copies.last()) {
                    self.follow(&last.last, &last.first);
                }
                let mut whole = Piece::empty();
                for (number, copy) in copies.into_iter().enumerate().rev() {
                    whole = self.joined(copy, whole);
                    whole.may_be_empty |= number >= again.min as usize;
                }
                Some(whole)
            }
        }
    }

    fn group(&mut self, capture: &Capture, comes_again: bool) -> Option<Piece> {
        let number = capture.index as usize;
        let column = self.columns.iter().position(|&group| group == number);
        let (Some(column), false) = (column, comes_again) else {
            return match column {
                Some(_) => None, // its last text counts
                None => self.read(&capture.sub, comes_again),
            };
        };
        self.part += 1;
        let first = self.part;
        let inside = self.read(&capture.sub, comes_again)?;
        self.part += 1;
        *self.groups.get_mut(column)? = (first, self.part);
        Some(inside)
    }

    /// A place of one byte.
    fn place(&mut self, set: [bool; BYTES]) -> Option<Piece> {
        let number = self.sets.len();
        if number == MOST_PLACES {
            return None;
        }
        self.sets.push(set);
        self.parts.push(self.part);
        self.follow.push(Vec::new());
        Some(Piece {
            may_be_empty: false,
            first: vec![number],
            last: vec![number],
        })
    }

    fn follow(&mut self, last: &[usize], first: &[usize]) {
        for &place in last {
            if let Some(follow) = self.follow.get_mut(place) {
                let new = first.iter().filter(|next| !follow.contains(next));
                let new: Vec<usize> = new.copied().collect();
                follow.extend(new);
            }
        }
    }

    fn joined(&mut self, mut left: Piece, right: Piece) -> Piece {
        self.follow(&left.last, &right.first);
        if left.may_be_empty {
            left.first.extend(&right.first);
        }
        if right.may_be_empty {
            left.last.extend(&right.last);
        } else {
            left.last = right.last;
        }
        left.may_be_empty &= right.may_be_empty;
        left
    }

    /// Let a row lead to places; `None` where a byte leads to two of them.
    fn connect(&self, row: &mut Row, places: &[usize]) -> Option<()> {
        for &place in places {
            let set = self.sets.get(place)?;
            for (next, _) in row.next.iter_mut().zip(set).filter(|(_, has)| **has) {
                if *next != DEAD {
                    return None;
                }
                *next = u8::try_from(place + 2).ok()?;
            }
        }
        Some(())
    }
}

impl Piece {
    fn empty() -> Piece {
        Piece {
            may_be_empty: true,
            first: Vec::new(),
            last: Vec::new(),
        }
    }
}

/// The bytes of ASCII in a class.
fn ascii(class: &Class) -> [bool; BYTES] {
    let mut set = [false; BYTES];
    for (byte, has) in set.iter_mut().enumerate().take(BYTES / 2) {
        let byte = byte as u8;
        *has = match class {
            Class::Bytes(bytes) => bytes
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&byte)),
            Class::Unicode(symbols) => symbols
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&char::from(byte))),
        };
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::bytes::RegexBuilder;

    fn pattern() -> impl Strategy<Value = String> {
        let leaf = proptest::sample::select(
            [
                "a", "b", "[^a]", "[^ab]", "ab", "[a-c]", ".", " ", r"\s", r"\S", "",
            ]
            .as_slice(),
        );
        let again = || {
            proptest::sample::select(["", "", "?", "*", "+", "{2}", "{1,2}", "{0,2}?"].as_slice())
        };
        leaf.prop_map(str::to_string)
            .prop_recursive(4, 12, 4, move |inner| {
                prop_oneof![
                    proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                    (inner.clone(), inner.clone())
                        .prop_map(|(one, other)| format!("(?:{one}|{other})")),
                    (inner.clone(), again()).prop_map(|(part, again)| format!("(?:{part}){again}")),
                    (inner, again()).prop_map(|(part, again)| format!("({part}){again}")),
                ]
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn texts_are_divided_as_by_the_engine_of_patterns(
            pattern in pattern(), texts in proptest::collection::vec("[abc \n]{0,8}", 8)
        ) {
            let mut built = RegexBuilder::new(&format!(r"\A(?:{pattern})\z"));
            let whole = built.unicode(false).build().expect("a pattern");
            let numbers: Vec<usize> = (1..whole.captures_len()).collect();
            if let Some(table) = Table::new(&pattern, &numbers) {
                let mut starts = table.starts();
                for text in &texts {
                    let found = whole.captures(text.as_bytes());
                    prop_assert_eq!(table.read(text.as_bytes(), &mut starts), found.is_some());
                    let Some(found) = found else { continue };
                    let shown: Vec<&str> = table.groups(&starts).map(|(start, stop)| &text[start..stop]).collect();
                    let wanted: Vec<&[u8]> = numbers.iter().map(|&group| found.get(group).map_or(&b""[..], |each| each.as_bytes())).collect();
                    let wanted: Vec<&str> = wanted.into_iter().map(|each| std::str::from_utf8(each).unwrap()).collect();
                    prop_assert_eq!(shown, wanted);
                }
            }
        }
    }

    #[test]
    fn patterns_of_logs_have_a_table_and_those_with_two_meanings_have_none() {
        let has_table = |pattern: &str| Table::new(pattern, &[1]).is_some();
        assert!(has_table(
            r#"(?P<a>\S+) \[(?P<b>[^\]]+)\](?: "(?P<c>(?:[^"\\]|\\.)*)" ([0-9]{3}) (?:[0-9]+|-))?"#
        ));
        for pattern in [
            "(a*)ab",
            "(?:(a)|b)+",
            "(a|ab)",
            "(a{300})",
            "(a$)",
            r"(.*) (.*)",
        ] {
            assert!(!has_table(pattern), "{pattern}");
        }
    }
}
