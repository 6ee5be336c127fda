//! What can go wrong with a block, in the words of splitscan: a rule, a place, what was seen, how to mend it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::rejects::Reject;
use crate::quoting::quoted;

/// Who can act; names of the exceptions of the Python package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A document asks for something that has no meaning, or that this reader cannot do.
    Usage,
    /// The storage failed.
    Source,
    /// The file is not the one that was planned.
    SourceChanged,
    /// A record breaks a rule of its format.
    Record,
    /// A header does not fit the schema.
    Schema,
    /// A law of splitscan was broken.
    Invariant,
}

impl Kind {
    /// The name that crosses to hosts.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Usage => "usage",
            Kind::Source => "source",
            Kind::SourceChanged => "source-changed",
            Kind::Record => "record",
            Kind::Schema => "schema",
            Kind::Invariant => "invariant",
        }
    }
}

/// A place in the input, as much as is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Where {
    /// The file, as the block spells it.
    pub path: String,
    /// Byte offset in the content of the file.
    pub offset: Option<u64>,
    /// The block: first byte, and first byte after it.
    pub block: Option<(u64, u64)>,
    /// The column.
    pub column: Option<String>,
    /// Number of the row among those that were read of the block.
    pub row: Option<u64>,
    /// What else is known of it, by name; of damage of a compressed file, which is at no place of the block.
    pub notes: Vec<(&'static str, String)>,
}

/// Why a block cannot be read on. Hosts raise their own typed errors from it.
#[derive(Clone, Debug)]
pub struct BlockError {
    /// Who can act.
    pub kind: Kind,
    /// Which rule broke.
    pub rule: String,
    /// Where.
    pub place: Box<Where>,
    /// What was found instead; may be empty.
    pub seen: String,
    /// What the user can do; may be empty.
    pub fix: String,
    /// Stable identifier, a heading of `docs/errors.md`.
    pub code: &'static str,
    /// In mode FAILFAST, the record that ends the scan: the rule is its reason, and hosts say what can be done.
    pub reject: Option<Box<Reject>>,
    /// What a callback of the host raised, for the host to raise it again.
    pub raised: Option<Arc<dyn Any + Send + Sync>>,
}

impl BlockError {
    /// An error of a kind, with its code and the rule that was broken.
    #[must_use]
    pub fn new(kind: Kind, code: &'static str, rule: impl Into<String>) -> BlockError {
        BlockError {
            kind,
            rule: rule.into(),
            place: Box::default(),
            seen: String::new(),
            fix: String::new(),
            code,
            reject: None,
            raised: None,
        }
    }

    /// What was found instead.
    #[must_use]
    pub fn seen(mut self, seen: impl Into<String>) -> BlockError {
        self.seen = seen.into();
        self
    }

    /// What its user can do.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> BlockError {
        self.fix = fix.into();
        self
    }

    pub(super) fn at(mut self, offset: u64) -> BlockError {
        self.place.offset = Some(offset);
        self
    }

    /// Complete the place with what is known of the block.
    pub(super) fn of(mut self, path: &str, block: (u64, u64)) -> BlockError {
        if self.place.path.is_empty() {
            self.place.path = path.to_string();
        }
        if self.place.notes.is_empty() {
            self.place.block.get_or_insert(block);
        }
        self
    }

    pub(super) fn bad_document(rule: impl Into<String>, seen: impl Into<String>) -> BlockError {
        BlockError::new(Kind::Usage, "bad-document", rule)
            .seen(seen)
            .fix("use the same version of splitscan and its kernel everywhere")
    }

    pub(super) fn invariant(rule: impl Into<String>) -> BlockError {
        BlockError::new(Kind::Invariant, "invariant", rule)
    }
}

impl fmt::Display for Where {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = Some(self.path.clone()).filter(|path| !path.is_empty());
        let column = self.column.as_deref().map(quoted);
        let parts = [
            path,
            self.offset.map(|offset| format!("byte {offset}")),
            self.row.map(|row| format!("row {row}")),
            column.map(|column| format!("column {column}")),
            self.block
                .map(|(start, stop)| format!("in block [{start}, {stop})")),
        ];
        let notes = self.notes.iter();
        let notes = notes.map(|(name, value)| format!("{name}={value}"));
        let parts: Vec<String> = parts.into_iter().flatten().chain(notes).collect();
        to.write_str(&parts.join(", "))
    }
}

/// In the layout that errors of the Python package have.
impl fmt::Display for BlockError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} [{}]", self.rule, self.code)?;
        let place = self.place.to_string();
        for (name, text) in [
            ("where: ", &place),
            ("seen:  ", &self.seen),
            ("fix:   ", &self.fix),
        ] {
            if !text.is_empty() {
                write!(to, "\n  {name}{text}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for BlockError {}
