//! Records of text as a column.

use arrow_schema::{DataType, Field};

use super::grammar::Grammar;
use super::reading::{Bounds, Taking, add_bytes, add_texts};
use super::records::Records;
use crate::charsets::Charset;
use crate::frames::Frames;
use crate::parsed::{Parsed, Stopped};

/// Reads records of text into one column of texts or bytes, or into none.
#[derive(Clone, Debug)]
pub struct Parser {
    grammar: Grammar,
    charset: Charset,
    wanted: Wanted,
}

#[derive(Clone, Copy, Debug)]
enum Wanted {
    Nothing,
    Text,
    Bytes,
}

impl Parser {
    /// A parser for files in one encoding.
    ///
    /// # Errors
    /// If the column is of another type, or the code units of grammar and encoding differ.
    pub fn new(
        grammar: Grammar,
        charset: Charset,
        field: Option<&Field>,
    ) -> Result<Parser, String> {
        let (width, big_endian) = charset.unit();
        if width != grammar.width() || (width > 1 && big_endian != grammar.is_big_endian()) {
            return Err("a delimiter in another encoding than the text".into());
        }
        let wanted = match field.map(Field::data_type) {
            None => Wanted::Nothing,
            Some(DataType::Utf8) => Wanted::Text,
            Some(DataType::Binary) => Wanted::Bytes,
            Some(other) => return Err(format!("records that are one value of type {other}")),
        };
        Ok(Parser {
            grammar,
            charset,
            wanted,
        })
    }

    /// The records at the front of `data`, which begins with one.
    pub fn parse(&self, data: &[u8], bounds: Bounds) -> Parsed {
        let units = self.grammar.units(data);
        let records = Records::new(&self.grammar, &units, data.len(), bounds.at_end);
        let mut taking = Taking::new(bounds);
        records.each(0, |start, stop, next| taking.take(start, stop, next));
        let mut parsed = taking.finish(data.len());
        self.fill(data, &self.charset, &units, &mut parsed);
        parsed
    }

    /// Records that were found before, in UTF-8, whatever the encoding of the file is.
    pub fn parse_framed(&self, data: &[u8], frames: Frames) -> Parsed {
        let mut parsed = Parsed {
            rows: frames.starts.len(),
            frames,
            stopped: Stopped::End,
            ..Parsed::default()
        };
        self.fill(data, &Charset::Utf8, data, &mut parsed);
        parsed
    }

    fn fill(&self, data: &[u8], charset: &Charset, units: &[u8], parsed: &mut Parsed) {
        match self.wanted {
            Wanted::Nothing => {}
            Wanted::Text => add_texts(data, charset, units, parsed),
            Wanted::Bytes => add_bytes(data, parsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    fn parser(delimiter: Option<&[u8]>, charset: Charset) -> Parser {
        let (width, big_endian) = charset.unit();
        let grammar = Grammar::new(delimiter, None, width, big_endian).expect("a delimiter");
        let field = Field::new("value", DataType::Utf8, false);
        Parser::new(grammar, charset, Some(&field)).expect("texts")
    }

    fn texts(parser: &Parser, data: &[u8]) -> Vec<String> {
        let bounds = Bounds {
            stop: data.len(),
            at_end: true,
            rows: usize::MAX,
            record_bytes: usize::MAX,
        };
        let parsed = parser.parse(data, bounds);
        assert_eq!(parsed.stopped, Stopped::End);
        let column = parsed.columns[0].as_string::<i32>();
        column.iter().flatten().map(str::to_string).collect()
    }

    #[test]
    fn records_are_texts_whatever_their_bytes_are() {
        let utf8 = parser(None, Charset::Utf8);
        assert_eq!(texts(&utf8, "\u{e9}\nb\n".as_bytes()), ["\u{e9}", "b"]);
        assert_eq!(
            texts(&utf8, b"\xc3\n\xa9\na"),
            ["\u{fffd}", "\u{fffd}", "a"]
        );
        // a delimiter that cuts a character leaves no text
        let halves = parser(Some(b"\xc3"), Charset::Utf8);
        assert_eq!(texts(&halves, "a\u{e9}".as_bytes()), ["a", "\u{fffd}"]);
        let wide = parser(None, Charset::Utf16(true));
        assert_eq!(
            texts(&wide, b"\0a\0\n\xd8\0\0\n\0b\0"),
            ["a", "\u{fffd}", "b\u{fffd}"]
        );
    }

    #[test]
    fn columns_that_hold_no_records_are_refused() {
        let grammar = Grammar::new(None, None, 1, false).expect("lines");
        let new = |charset, kind| {
            Parser::new(
                grammar.clone(),
                charset,
                Some(&Field::new("value", kind, false)),
            )
        };
        assert!(new(Charset::Utf8, DataType::Int64).is_err());
        assert!(new(Charset::Utf16(false), DataType::Utf8).is_err());
        assert!(new(Charset::Utf8, DataType::Binary).is_ok());
    }
}
