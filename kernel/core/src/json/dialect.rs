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

impl Dialect {
    /// Whether an option is set.
    pub(super) fn has(self, option: &str) -> bool {
        match option {
            "allowSingleQuotes" => self.allow_single_quotes,
            "allowUnquotedFieldNames" => self.allow_unquoted_field_names,
            "allowNumericLeadingZeros" => self.allow_numeric_leading_zeros,
            "allowNonNumericNumbers" => self.allow_non_numeric_numbers,
            "allowBackslashEscapingAnyCharacter" => self.allow_backslash_escaping_any_character,
            "allowUnquotedControlChars" => self.allow_unquoted_control_chars,
            _ => false,
        }
    }
}
