//! Why a text is no JSON value, for people, with the option that accepts it: the table of the reference engine.

use super::dialect::Dialect;

/// Where a text is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Something follows the value.
    Follows,
    /// After a member comes neither a comma nor the end of the object.
    Object,
    /// After an item comes neither a comma nor the end of the array.
    Array,
    /// No name where a member begins.
    Name,
    /// No colon after a name.
    Colon,
    /// A string does not end, or holds what it may not.
    Text,
    /// No value where one begins.
    Value,
}

impl Reason {
    /// Its letter in the table, and what is said where no row fits.
    fn spelled(self) -> (char, &'static str) {
        match self {
            Reason::Follows => ('F', "something follows the value"),
            Reason::Object => ('O', "an object does not go on or end"),
            Reason::Array => ('A', "an array does not go on or end"),
            Reason::Name => ('N', "a name is expected"),
            Reason::Colon => ('C', "no colon follows the name"),
            Reason::Text => ('T', "a string has a control character"),
            Reason::Value => ('V', "no value is here"),
        }
    }
}

/// A row: letters of reasons; characters of which one is there, one follows, one stands before, empty for any; the
/// sentence; the option.
struct Cause(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Characters that no name without quotes has.
#[rustfmt::skip]
const NO_NAME: &str = "\
    \u{0}\u{1}\u{2}\u{3}\u{4}\u{5}\u{6}\u{7}\u{8}\u{9}\u{a}\u{b}\u{c}\u{d}\u{e}\u{f}\
    \u{10}\u{11}\u{12}\u{13}\u{14}\u{15}\u{16}\u{17}\u{18}\u{19}\u{1a}\u{1b}\u{1c}\u{1d}\u{1e}\u{1f}\u{20}\
    !\"#%&'(),./:;<=>?[\\]^`{|}~\u{7f}\u{85}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\
    \u{2007}\u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{fffd}";

#[rustfmt::skip]
const CAUSES: &[Cause] = &[
    Cause("NVOAFC", "/#", "", "", "a comment begins here", ""),
    Cause("NVOAFC", "\u{feff}", "", "", "a byte order mark is here", ""),
    Cause("NVOAFC", "\u{a0}", "", "", "a no-break space is here", ""),
    Cause("NV", "\u{201c}\u{201d}\u{2018}\u{2019}", "", "", "a typographic quote is here", ""),
    Cause("N", "'", "", "", "a name is in single quotes", "allowSingleQuotes"),
    Cause("V", "'", "", "", "a string is in single quotes", "allowSingleQuotes"),
    Cause("NV", "]}", "", ",", "a comma stands before the closing bracket", ""),
    Cause("NV", ",", "", "", "nothing stands before the comma", ""),
    Cause("N", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$@*+-", "", "", "a name has no quotes", "allowUnquotedFieldNames"),
    Cause("N", NO_NAME, "", "", "a name is expected", ""),
    Cause("N", "", "", "", "a name has no quotes", "allowUnquotedFieldNames"),
    Cause("V", "N", "a", "", "NaN is no number", "allowNonNumericNumbers"),
    Cause("V", "I", "n", "", "Infinity is no number", "allowNonNumericNumbers"),
    Cause("V", "+-", "NI", "", "a number is a word", "allowNonNumericNumbers"),
    Cause("V", "+", "", "", "a number begins with a plus sign", ""),
    Cause("V", ".", "", "", "a number begins with its point", ""),
    Cause("V", LETTERS, "", "", "a word is here that is none of true, false and null", ""),
    Cause("OAF", "0123456789", "", "0", "a number begins with zeros", "allowNumericLeadingZeros"),
    Cause("OAF", "xX", "", "0", "a number is hexadecimal", ""),
    Cause("OAF", ".", "", "0123456789", "no digit follows the point of a number", ""),
    Cause("OAF", ";", "", "", "a semicolon stands in place of a comma", ""),
    Cause("OA", "\"{[", "", "", "no comma stands here", ""),
    Cause("F", "{[", "", "", "another value follows the value", "multiLine"),
    Cause("F", ",", "", "", "a comma follows the value", "multiLine"),
    Cause("C", "=", "", "", "an equals sign stands in place of a colon", ""),
    Cause("T", "\\", "u", "", "four hexadecimal digits do not follow \\u", ""),
    Cause("T", "\\", "'", "", "a single quote is escaped", "allowSingleQuotes"),
    Cause("T", "\\", "", "", "a backslash escapes what needs none", "allowBackslashEscapingAnyCharacter"),
    Cause("T", "", "", "", "a string has a control character", "allowUnquotedControlChars"),
];

impl Cause {
    /// Whether the characters around a place are those of the row.
    fn fits(
        &self,
        letter: char,
        first: char,
        second: Option<char>,
        before: [Option<char>; 2],
    ) -> bool {
        let [touching, before] = before;
        let is_of =
            |set: &str, symbol: Option<char>| symbol.is_some_and(|symbol| set.contains(symbol));
        self.0.contains(letter)
            && (self.1.is_empty() || self.1.contains(first))
            && (self.2.is_empty() || is_of(self.2, second))
            && (self.3.is_empty()
                || (is_of(self.3, before) && (before == Some(',') || before == touching)))
    }
}

/// What is wrong with a text, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What.
    pub reason: Reason,
    /// Offset in the text, in bytes.
    pub at: usize,
}

impl Wrong {
    /// The sentence of the reference engine, which counts characters.
    pub fn sentence(&self, text: &str, dialect: Dialect) -> String {
        let (before, after) = text.split_at_checked(self.at).unwrap_or((text, ""));
        let (place, mut symbols) = (before.chars().count(), after.chars());
        let (letter, otherwise) = self.reason.spelled();
        let (first, second) = (symbols.next(), symbols.next());
        let first = first.filter(|&first| letter != 'T' || first != '\\' || second.is_some());
        let Some(first) = first else {
            let said = match self.reason {
                Reason::Text => "a string does not end",
                _ => "the record ends too early",
            };
            return format!("{said} (character {place})");
        };
        let last = |text: &str| text.chars().next_back();
        let around = [
            last(before),
            last(before.trim_end_matches([' ', '\t', '\r', '\n'])),
        ];
        let found = CAUSES
            .iter()
            .find(|cause| cause.fits(letter, first, second, around) && !dialect.has(cause.5));
        match found {
            None => format!("{otherwise} (character {place})"),
            Some(Cause(.., said, "")) => format!("{said} (character {place})"),
            Some(Cause(.., said, option)) => {
                format!("{said} (character {place}); {option}=true accepts it")
            }
        }
    }
}
