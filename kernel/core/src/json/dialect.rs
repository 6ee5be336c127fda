//! Leniencies, and what is wrong with a text that is no JSON value.

/// Leniencies; names as in the Python class `JsonDialect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dialect {
    /// Strings in single quotes, and `\'` in any string.
    pub allow_single_quotes: bool,
    /// Names without quotes.
    pub allow_unquoted_field_names: bool,
    /// Zeros in front of whole numbers.
    pub allow_numeric_leading_zeros: bool,
    /// `NaN`, `Infinity` and the like.
    pub allow_non_numeric_numbers: bool,
    /// A backslash before any character.
    pub allow_backslash_escaping_any_character: bool,
    /// Control characters in strings, line feeds among them.
    pub allow_unquoted_control_chars: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Dialect {
            allow_single_quotes: true,
            allow_unquoted_field_names: false,
            allow_numeric_leading_zeros: false,
            allow_non_numeric_numbers: true,
            allow_backslash_escaping_any_character: false,
            allow_unquoted_control_chars: false,
        }
    }
}

/// Why a text is no JSON value.
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
    pub fn sentence(&self, text: &str) -> String {
        let what = match self.reason {
            Reason::Follows => "something follows the value",
            Reason::Object => "an object does not go on or end",
            Reason::Array => "an array does not go on or end",
            Reason::Name => "a name is expected",
            Reason::Colon => "no colon follows the name",
            Reason::Text => {
                "a string does not end, or has a character or an escape that is not allowed"
            }
            Reason::Value => "no value is here",
        };
        let before = text.as_bytes().get(..self.at).unwrap_or_default();
        let characters = before.iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
        format!("{what} (character {characters})")
    }
}
