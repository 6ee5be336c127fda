//! What decides where records begin and end: marks, and the state between them. The Python module of this name says what
//! they mean.

use std::borrow::Cow;

use crate::units::Symbols;

/// The name of the elements that are records, in the encoding of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTag {
    pub(crate) name: Vec<u8>, // in symbols
    symbols: Symbols,
}

impl RowTag {
    /// A tag whose code units have `width` bytes.
    ///
    /// # Errors
    /// If there is no name, or it has more units beyond ASCII than can be told apart.
    pub fn new(name: &[u8], width: usize, big_endian: bool) -> Result<RowTag, String> {
        if name.is_empty() {
            return Err("a row tag has a name".into());
        }
        let symbols = Symbols::of(&[name], width, big_endian)?;
        Ok(RowTag {
            name: symbols.read(name).into_owned(),
            symbols,
        })
    }

    /// Bytes of a code unit.
    pub(crate) fn width(&self) -> usize {
        self.symbols.width()
    }

    /// Units as bytes: ASCII as it is, and what else the tag has. A part of a unit at the end is left out.
    pub(crate) fn symbols<'a>(&self, data: &'a [u8]) -> Cow<'a, [u8]> {
        self.symbols.read(data)
    }

    /// Whether its closing tag, without white space, is at the front of `rest`.
    #[inline]
    pub(crate) fn closes(&self, rest: &[u8]) -> bool {
        let after = rest
            .strip_prefix(b"</")
            .and_then(|rest| rest.strip_prefix(self.name.as_slice()));
        after.is_some_and(|rest| rest.first() == Some(&b'>'))
    }
}

/// What a mark of its own ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// `<!-- -->`
    Comment,
    /// `<![CDATA[ ]]>`
    Cdata,
    /// `<? ?>`
    Instruction,
}

impl Inside {
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Inside::Comment => b"<!--",
            Inside::Cdata => b"<![CDATA[",
            Inside::Instruction => b"<?",
        }
    }

    pub(crate) fn end(self) -> &'static [u8] {
        match self {
            Inside::Comment => b"-->",
            Inside::Cdata => b"]]>",
            Inside::Instruction => b"?>",
        }
    }
}

/// A tag that is no closing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An opening row tag.
    Row,
    /// Any other.
    Tag,
    /// `<! >`
    Declaration,
}

/// What a position is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing.
    Text,
    /// A comment and the like.
    Inside(Inside),
    /// A closing row tag, after its name.
    Closing,
    /// A tag, and a value in these quotes.
    Tag(Kind, Option<u8>),
}

const QUOTES: [Option<u8>; 3] = [None, Some(b'"'), Some(b'\'')];

/// All places in the order of their numbers.
pub const PLACES: [Place; 14] = [
    Place::Text,
    Place::Inside(Inside::Comment),
    Place::Inside(Inside::Cdata),
    Place::Inside(Inside::Instruction),
    Place::Closing,
    Place::Tag(Kind::Row, QUOTES[0]),
    Place::Tag(Kind::Row, QUOTES[1]),
    Place::Tag(Kind::Row, QUOTES[2]),
    Place::Tag(Kind::Tag, QUOTES[0]),
    Place::Tag(Kind::Tag, QUOTES[1]),
    Place::Tag(Kind::Tag, QUOTES[2]),
    Place::Tag(Kind::Declaration, QUOTES[0]),
    Place::Tag(Kind::Declaration, QUOTES[1]),
    Place::Tag(Kind::Declaration, QUOTES[2]),
];

/// White space of XML.
#[inline]
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Whether a name may begin with this byte, as far as framing looks at it.
#[inline]
pub(crate) fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte >= 0x80 || matches!(byte, b'_' | b':')
}

/// Whether a name of a tag may end before this byte.
#[inline]
pub(crate) fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}
