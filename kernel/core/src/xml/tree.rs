//! An element that was read: where its parts are, or why there is none.

/// Why a record is no element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reason {
    /// It is not the whole of one: only the reference can tell.
    #[default]
    Unsure,
    Unclosed,
    Token,
    Entity,
    Number,
    Mismatch,
    Double,
    Declaration,
}

/// What is wrong, and where.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wrong {
    pub reason: Reason,
    pub at: usize,
}

impl Wrong {
    /// What is wrong with a record that begins at `start` of a text, as the reference's parser says it.
    pub(super) fn sentence(self, text: &str, start: usize) -> String {
        let reason = match self.reason {
            Reason::Unsure => "no element found",
            Reason::Unclosed => "unclosed token",
            Reason::Token => "not well-formed (invalid token)",
            Reason::Entity => "undefined entity",
            Reason::Number => "reference to invalid character number",
            Reason::Mismatch => "mismatched tag",
            Reason::Double => "duplicate attribute",
            Reason::Declaration => "XML or text declaration not at start of entity",
        };
        let before = text.get(start..self.at).unwrap_or_default();
        let (mut line, mut column, mut last) = (1, 0, ' ');
        for symbol in before.chars() {
            match (last, symbol) {
                ('\r', '\n') => {}
                (_, '\r' | '\n') => (line, column) = (line + 1, 0),
                _ => column += 1,
            }
            last = symbol;
        }
        format!("{reason} at line {line}, column {column}")
    }
}

/// What a part of an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Element,
    Attribute,
    Text,
    Cdata,
}

/// A part of a record; an element is followed by its attributes, and then by its texts and elements in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub kind: Kind,
    /// Of a value or a text: whether it is what is written.
    pub is_plain: bool,
    /// Of a text: whether it belongs to the text before.
    pub goes_on: bool,
    /// Of an element.
    pub has_children: bool,
    /// Of an element.
    pub has_attributes: bool,
    /// Start and stop of the name.
    pub name: (usize, usize),
    /// Start and stop of what is in it.
    pub value: (usize, usize),
    /// What follows it and all of its parts.
    pub next: usize,
    /// The next part of the same column.
    pub same: usize,
}
