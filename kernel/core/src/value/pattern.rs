//! Dates and times by a pattern in the letters of Java's `DateTimeFormatter`.

mod compile;
mod letters;
mod said;

use super::calendar::{DAY_US, SECOND_US};
use super::clock::{Clock, within_years};
use super::zone;
use crate::rules::Names;
use letters::Form;
use said::{Said, Spoken};

/// A compiled pattern. What it matches, and what that says, is as in the Python class `Pattern`.
#[derive(Clone, Debug)]
pub struct Pattern {
    nodes: Vec<Node>,
    pieces: Vec<Piece>,
    spans: Vec<Option<(usize, usize)>>, // of the text that is read at the moment
    last: Option<(String, Option<i64>)>, // the last text and its moment: logs repeat theirs, and one column has one clock
}

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment<'t> {
    /// Day since 1970-01-01.
    pub day: i32,
    /// Microseconds since 1970 as the clock shows them.
    pub shown_us: i64,
    /// The zone of the clock; `None` where the text names none.
    pub zone: Option<SaidZone<'t>>,
}

/// A zone as a text says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidZone<'t> {
    /// Seconds that its clocks are ahead of UTC.
    Offset(i64),
    /// A region, if there is one of that name.
    Region(&'t str),
}

/// A step of a pattern.
#[derive(Clone, Debug)]
enum Node {
    /// These bytes, letters in any case.
    Literal(Vec<u8>),
    /// The piece of that number.
    Piece(usize),
    /// Steps that may be missing; what they took is never given back.
    Optional(Vec<Node>),
}

/// A run of letters.
#[derive(Clone, Debug)]
struct Piece {
    said: Said,
    form: Form,
}

impl Pattern {
    /// Compile a pattern with the names of a locale; an error says where it has no meaning.
    pub fn new(text: &str, names: &Names) -> Result<Pattern, String> {
        let (nodes, pieces) = compile::compile(text, names)?;
        let spans = vec![None; pieces.len()];
        Ok(Pattern {
            nodes,
            pieces,
            spans,
            last: None,
        })
    }

    /// The day that a text says; its time, and its zone, do not matter, if there are such.
    pub fn day(&mut self, text: &str) -> Option<i32> {
        let Moment { day, zone, .. } = self.parse(text)?;
        match zone {
            Some(SaidZone::Region(name)) => zone::named(name).map(|_| day),
            _ => Some(day),
        }
    }

    /// The time of day that a text says, in microseconds; its day, and its zone, do not matter, if there are such.
    pub fn time(&mut self, text: &str) -> Option<i64> {
        let Moment {
            day,
            shown_us,
            zone,
        } = self.parse(text)?;
        let time = shown_us - i64::from(day) * DAY_US;
        match zone {
            Some(SaidZone::Region(name)) => zone::named(name).map(|_| time),
            _ => Some(time),
        }
    }

    /// The moment that a text says; without a clock, texts may name no zone. A pattern is always used with one clock.
    pub fn moment(&mut self, text: &str, clock: Option<&mut Clock>) -> Option<i64> {
        if let Some((last, moment)) = &self.last
            && last == text
        {
            return *moment;
        }
        let moment = self.read_moment(text, clock);
        let (last, known) = self.last.get_or_insert_default();
        last.clear();
        last.push_str(text);
        *known = moment;
        moment
    }

    fn read_moment(&mut self, text: &str, clock: Option<&mut Clock>) -> Option<i64> {
        let Moment { shown_us, zone, .. } = self.parse(text)?;
        match (zone, clock) {
            (None, Some(clock)) => clock.moment(shown_us),
            (None, None) => within_years(shown_us),
            (Some(SaidZone::Offset(offset)), Some(_)) => {
                within_years(shown_us - offset * SECOND_US)
            }
            (Some(SaidZone::Region(name)), Some(clock)) => clock.moment_in(name, shown_us),
            (Some(_), None) => None,
        }
    }

    /// What a text says, if it matches as a whole. That there is a region of the name is not known yet.
    fn parse<'t>(&mut self, text: &'t str) -> Option<Moment<'t>> {
        let text = text.as_bytes();
        self.spans.fill(None);
        let mut matching = Matching {
            pieces: &self.pieces,
            spans: &mut self.spans,
            text,
        };
        matching.run(&self.nodes, 0, true)?;
        let mut spoken = Spoken::default();
        for (piece, span) in self.pieces.iter().zip(&self.spans) {
            let Some((start, stop)) = *span else { continue };
            let said = text.get(start..stop).and_then(|part| piece.form.read(part));
            if !said.is_some_and(|value| spoken.hear(piece.said, value)) {
                return None;
            }
        }
        spoken.moment()
    }
}

struct Matching<'a> {
    pieces: &'a [Piece],
    spans: &'a mut [Option<(usize, usize)>],
    text: &'a [u8],
}

impl Matching<'_> {
    /// Match steps from a position on; answers where the match ends, which is the end of the text if it must be.
    fn run(&mut self, nodes: &[Node], mut at: usize, whole: bool) -> Option<usize> {
        for (index, node) in nodes.iter().enumerate() {
            match node {
                Node::Literal(bytes) => {
                    let stop = at + bytes.len();
                    if !self.text.get(at..stop)?.eq_ignore_ascii_case(bytes) {
                        return None;
                    }
                    at = stop;
                }
                Node::Optional(inner) => match self.run(inner, at, false) {
                    Some(stop) => at = stop,
                    None => self.forget(inner),
                },
                Node::Piece(number) => {
                    let rest = self.text.get(at..)?;
                    let pieces = self.pieces;
                    let form = &pieces.get(*number)?.form;
                    let mut length = form.longest(rest)?;
                    if form.is_final() {
                        self.keep(*number, at, at + length);
                        at += length;
                        continue;
                    }
                    let nodes = nodes.get(index + 1..)?;
                    loop {
                        self.keep(*number, at, at + length);
                        if let Some(stop) = self.run(nodes, at + length, whole) {
                            return Some(stop);
                        }
                        length = form.shorter(rest, length)?;
                    }
                }
            }
        }
        (!whole || at == self.text.len()).then_some(at)
    }

    fn keep(&mut self, number: usize, start: usize, stop: usize) {
        if let Some(span) = self.spans.get_mut(number) {
            *span = Some((start, stop));
        }
    }

    fn forget(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Literal(_) => {}
                Node::Piece(number) => {
                    if let Some(span) = self.spans.get_mut(*number) {
                        *span = None;
                    }
                }
                Node::Optional(inner) => self.forget(inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english() -> Names {
        let of = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect();
        Names::from([
            ("MMM".into(), of(&["Jan", "Feb"])),
            ("MMMM".into(), of(&["January", "February"])),
            (
                "EEEE".into(),
                of(&["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]),
            ),
            ("a".into(), of(&["AM", "PM"])),
        ])
    }

    fn read<'t>(pattern: &str, text: &'t str) -> Option<Moment<'t>> {
        Pattern::new(pattern, &english())
            .expect("a pattern")
            .parse(text)
    }

    fn shown(pattern: &str, text: &str) -> Option<i64> {
        read(pattern, text).map(|moment| moment.shown_us)
    }

    #[test]
    fn texts_match_as_a_whole() {
        assert_eq!(
            shown("dd/MM/yyyy[ HH:mm]", "02/01/1970"),
            Some(86_400_000_000)
        );
        assert_eq!(
            shown("dd/MM/yyyy[ HH:mm]", "02/01/1970 00:01"),
            Some(86_460_000_000)
        );
        for text in [
            "2/01/1970",
            "02/01/1970 ",
            "02/01/1970 00",
            "31/02/1970",
            "n/a",
            "",
            "02-01-1970",
        ] {
            assert_eq!(read("dd/MM/yyyy[ HH:mm]", text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_leave_digits_to_numbers_of_fixed_length() {
        assert_eq!(shown("yMMdd", "19700102"), Some(86_400_000_000));
        assert_eq!(shown("HHmmssSSS", "000001500"), Some(1_500_000));
        assert_eq!(read("ydd'x'", "197002"), None);
    }

    #[test]
    fn names_match_in_any_case() {
        assert_eq!(
            shown("d MMM yyyy 'AT' h a", "2 jAn 1970 at 12 AM"),
            Some(86_400_000_000)
        );
        assert_eq!(
            shown("EEEE, d MMMM y", "FRIDAY, 2 january 1970"),
            Some(86_400_000_000)
        );
        assert_eq!(read("EEEE, d MMMM y", "Monday, 2 January 1970"), None);
        assert_eq!(shown("d 'o''clock' yyyy", "1 o'clock 1970"), Some(0));
        assert_eq!(shown("d '' yyyy", "1 ' 1970"), Some(0));
    }

    #[test]
    fn names_are_those_of_a_locale_and_the_longest_one_counts() {
        let named = |run: &str, names: &[&str], text: &str| {
            let names = names.iter().map(|name| String::from(*name)).collect();
            let names = Names::from([(run.into(), names)]);
            Pattern::new(run, &names).expect("a pattern").day(text)
        };
        let months = ["tháng 1", "Şubat", "mayıs", "tháng 1x"];
        for (text, day) in [
            ("THÁNG 1", Some(0)),
            ("şubat", Some(31)),
            ("MAYIS", Some(59)),
            ("mayis", Some(59)),
            ("tháng 1X", Some(90)),
            ("thang 1", None),
        ] {
            assert_eq!(named("MMMM", &months, text), day, "{text}");
        }
    }

    #[test]
    fn zones_are_offsets_or_regions() {
        for (pattern, text, offset) in [
            ("yyyy XXX", "1970 +01:30", 5400),
            ("yyyy X", "1970 z", 0),
            ("yyyyxHH", "1970-010203", -3720),
            ("y VV", "1970 UTC", 0),
            ("y z", "1970 ut", 0),
        ] {
            let said = read(pattern, text).and_then(|moment| moment.zone);
            assert_eq!(said, Some(SaidZone::Offset(offset)), "{pattern} {text}");
        }
        let moment = |pattern: &str, text| {
            let new = || Pattern::new(pattern, &english()).expect("a pattern");
            let utc = &mut Clock::utc();
            (
                new().day(text),
                new().moment(text, Some(utc)),
                new().moment(text, None),
            )
        };
        assert_eq!(
            moment("y VV", "1970 Europe/Berlin"),
            (Some(0), Some(-3_600_000_000), None)
        );
        assert_eq!(
            moment("y z", "1970 pst"),
            (Some(0), Some(28_800_000_000), None)
        );
        assert_eq!(moment("y VV", "1970 Europe/Nowhere"), (None, None, None));
        assert_eq!(
            moment("y VV z", "1970 Europe/Berlin Europe/Rome"),
            (None, None, None)
        );
        assert_eq!(read("MM VV", "13 Europe/Berlin"), None);
        assert_eq!(read("y VV", "1970 1"), None);
    }

    #[test]
    fn parts_agree() {
        assert_eq!(shown("yyyy D", "1970 2"), Some(86_400_000_000));
        assert_eq!(
            shown("yyyy-MM-dd DDD", "1970-01-02 003"),
            None,
            "the month must be that of the day of the year"
        );
        for (pattern, text) in [
            ("yyyy yyyy", "1970 1971"),
            ("HH h a", "13 2 pm"),
            ("HH a", "13 am"),
            ("hh", "13"),
            ("kk", "00"),
            ("yyyy D", "1970 366"),
        ] {
            assert_eq!(read(pattern, text), None, "{pattern} {text}");
        }
        assert_eq!(shown("kk", "24"), Some(0));
        assert_eq!(shown("a", "pm"), Some(43_200_000_000));
    }

    #[test]
    fn patterns_without_meaning_are_refused() {
        for pattern in [
            "Q", "yyyyy", "[yyyy", "yyyy]", "yyyy'", "y{", "y#", "ZZZZ", "'a''yyyy",
        ] {
            assert!(Pattern::new(pattern, &english()).is_err(), "{pattern}");
        }
    }
}
