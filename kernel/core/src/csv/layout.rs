//! What a parser must know of the fields of a file.

use crate::rules::Variants;

/// The columns of a file, and how fields become texts.
#[derive(Clone, Debug)]
pub struct Layout {
    /// What becomes of the fields.
    pub shape: Shape,
    /// How a field becomes a text.
    pub meaning: Meaning,
    /// Longest field in characters; `None` for no bound.
    pub max_field_chars: Option<usize>,
}

/// What becomes of the fields of a record.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Each has a name; some are columns.
    Columns(Named),
    /// All of them are the items of one column, a list of texts.
    Items {
        /// Most fields in a record; one with more is broken, and its list is cut.
        most: usize,
        /// Which items are wanted (`None`: all): the list ends after the last of them, others are empty texts.
        elements: Option<Vec<usize>>,
    },
    /// All of them are the members of one column, a variant.
    Object(Object),
    /// Nothing; any number of fields will do.
    Nothing,
}

/// Fields as the members of a variant.
#[derive(Clone, Debug)]
pub struct Object {
    /// Their names, which every record should have values of; `None` where they are `_c0`, `_c1` ...
    pub names: Option<Vec<String>>,
    /// Most fields of a record without names.
    pub most: usize,
    /// What they are.
    pub typing: Typing,
}

/// What fields are that are variants, or parts of one.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typing {
    /// Whether dates are tried before timestamps.
    pub prefers_dates: bool,
    /// Which values are variants.
    pub rules: Variants,
}

/// Fields with names.
#[derive(Clone, Debug)]
pub struct Named {
    /// Names of the file's fields, in file order; every record should have as many.
    pub names: Vec<String>,
    /// The field of each column.
    pub wanted: Vec<usize>,
    /// Least number of fields that a record may have.
    pub least: usize,
    /// By field, what stands for blanks (only spaces and tabs, or nothing): a text, or null.
    pub blanks: Vec<(usize, Option<String>)>,
    /// Where given, what does not fit is kept, and is no fault.
    pub rescue: Option<Rescue>,
    /// Where given, what fields are that are variants.
    pub typing: Option<Typing>,
}

/// How data that does not fit is kept.
#[derive(Clone, Debug)]
pub struct Rescue {
    /// Fields that no column is of.
    pub unmatched: Vec<usize>,
    /// Most fields in a record; one with more is broken all the same.
    pub max_fields: usize,
    /// What ends each text: the member that names the file, and the closing bracket.
    pub tail: String,
    /// Whether the text is asked for; if not, what does not fit is no fault either.
    pub wanted: bool,
}

/// What the text of a field means.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// Text of a null.
    pub null_value: String,
    /// What a quoted empty field becomes.
    pub empty_value: String,
    /// Whether white space before values that are not quoted is dropped.
    pub trim_leading: bool,
    /// Whether white space after values that are not quoted is dropped.
    pub trim_trailing: bool,
}

impl Meaning {
    /// Whether every text is its value, and nothing is null, in quotes too.
    pub(super) fn is_plain(&self) -> bool {
        self.null_value.is_empty() && self.empty_value.is_empty()
    }
}
