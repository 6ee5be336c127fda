//! The pattern of a whole record, whose named groups are columns.

use regex::{Regex, RegexBuilder, bytes};

use super::starts::MOST_PATTERN_BYTES;
use super::table::Table;

/// What a whole record must match.
#[derive(Clone, Debug)]
pub struct RecordPattern {
    whole: Regex,
    ascii: Option<bytes::Regex>, // means the same for texts in ASCII, and is small enough to be matched in one pass
    table: Option<Table>,        // the same, where a table can match it
    groups: Vec<usize>,          // of each column
}

impl RecordPattern {
    /// A pattern, and the named groups of the columns in order. An error says what is wrong with it.
    pub fn new(pattern: &str, columns: &[String]) -> Result<RecordPattern, String> {
        let written = format!(r"\A(?:{pattern})\z");
        let whole = RegexBuilder::new(&written)
            .size_limit(MOST_PATTERN_BYTES)
            .build();
        let whole = whole.map_err(|error| error.to_string())?;
        let ascii = bytes::RegexBuilder::new(&written).unicode(false).build();
        let number = |name: &String| {
            let found = whole
                .capture_names()
                .position(|group| group == Some(name.as_str()));
            found.ok_or_else(|| format!("the pattern has no group {name}"))
        };
        let groups: Vec<usize> = columns.iter().map(number).collect::<Result<_, _>>()?;
        let ascii = ascii
            .ok()
            .filter(|_| pattern.is_ascii() && !pattern.contains(r"\x"));
        let table = ascii.as_ref().and_then(|_| Table::new(pattern, &groups));
        Ok(RecordPattern {
            ascii,
            table,
            whole,
            groups,
        })
    }

    /// What takes the groups out of one record after the other.
    pub(crate) fn captures(&self) -> Captures<'_> {
        Captures {
            pattern: self,
            found: self.whole.capture_locations(),
            found_in_ascii: self.ascii.as_ref().map(bytes::Regex::capture_locations),
            starts: self.table.as_ref().map(Table::starts).unwrap_or_default(),
        }
    }
}

/// Takes groups out of records.
pub(crate) struct Captures<'a> {
    pattern: &'a RecordPattern,
    found: regex::CaptureLocations,
    found_in_ascii: Option<bytes::CaptureLocations>,
    starts: Vec<usize>, // of parts of a table
}

impl Captures<'_> {
    /// Whether a record matches; `add` is told where the text of each column is, which is empty where its group took
    /// no part.
    #[inline]
    pub(crate) fn read(&mut self, record: &str, mut add: impl FnMut(usize, usize)) -> bool {
        let groups = &self.pattern.groups;
        if let Some(table) = &self.pattern.table
            && record.is_ascii()
        {
            let is_match = table.read(record.as_bytes(), &mut self.starts);
            for (start, stop) in table.groups(&self.starts) {
                let (start, stop) = if is_match { (start, stop) } else { (0, 0) };
                add(start, stop);
            }
            return is_match;
        }
        let mut tell = |is_match: bool, get: &dyn Fn(usize) -> Option<(usize, usize)>| {
            for &group in groups {
                let (start, stop) = get(group).filter(|_| is_match).unwrap_or_default();
                add(start, stop);
            }
            is_match
        };
        if let (Some(ascii), Some(found)) = (&self.pattern.ascii, &mut self.found_in_ascii)
            && record.is_ascii()
        {
            let is_match = ascii.captures_read(found, record.as_bytes()).is_some();
            return tell(is_match, &|group| found.get(group));
        }
        let found = &mut self.found;
        let is_match = self.pattern.whole.captures_read(found, record).is_some();
        tell(is_match, &|group| found.get(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(pattern: &str, columns: &[&str], record: &str) -> Option<Vec<String>> {
        let columns: Vec<String> = columns.iter().map(|name| name.to_string()).collect();
        let pattern = RecordPattern::new(pattern, &columns).expect("a pattern");
        let mut found = Vec::new();
        let is_match = pattern.captures().read(record, |start, stop| {
            found.push(record[start..stop].to_string());
        });
        is_match.then_some(found)
    }

    #[test]
    fn groups_are_columns_in_the_order_that_is_asked_for() {
        let pattern = "(?P<a>[a-z]+)(?: (?P<b>[0-9]+))?";
        assert_eq!(
            groups(pattern, &["b", "a"], "ab 12"),
            Some(vec!["12".into(), "ab".into()])
        );
        assert_eq!(
            groups(pattern, &["b", "a"], "ab"),
            Some(vec!["".into(), "ab".into()])
        );
        assert_eq!(groups(pattern, &["a"], "ab 12 "), None);
        assert_eq!(groups("a|ab(?P<x>)", &["x"], "ab"), Some(vec!["".into()]));
    }

    #[test]
    fn patterns_without_a_meaning_are_refused() {
        for pattern in ["(?=x)", r"(a)\1", "a{1000}{1000}", "("] {
            assert!(RecordPattern::new(pattern, &[]).is_err(), "{pattern}");
        }
        assert!(RecordPattern::new("(?P<a>x)", &["b".to_string()]).is_err());
    }
}
