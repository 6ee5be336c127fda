//! Copybooks as Python spells them: items, their places, and how they are written.

use std::num::NonZero;

use serde::Deserialize;

use super::records::FindingSpec;

/// Records by a copybook.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CobolSpec {
    /// Where records are.
    pub finding: FindingSpec,
    /// Bytes in front of the first one.
    pub file_start: u64,
    /// Bytes in each record in front of the copybook's.
    pub record_start: usize,
    /// How values are written.
    pub notation: NotationSpec,
    /// The item that says which groups a record has, where one does.
    pub segment: Option<Leaf>,
    /// The item that each of the scan's `fields` is.
    pub nodes: Vec<Node>,
    /// Where lists have only the items that there are: what a record is made of.
    pub pieces: Option<Vec<Piece>>,
    /// Where a record has others that follow it as its children: which.
    pub hierarchy: Option<HierarchySpec>,
    /// Where given, what does not fit is kept; whether the text is asked for.
    pub rescue: Option<bool>,
}

/// How values are written; see the Python class `Notation`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotationSpec {
    pub characters: String,
    pub digits: Vec<u8>,
    pub signs_inside: bool,
    pub trim_left: bool,
    pub trim_right: bool,
    pub zeros_are_null: bool,
    pub signs_anywhere: bool,
}

/// An item.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Node {
    /// One value.
    Leaf(Leaf),
    /// Members with names.
    Group(Group),
    /// Several of one item.
    Table(Box<Table>),
    /// A group of each of some records that follow.
    Children(Box<Children>),
}

/// Groups of records that follow; see the Python class `Children`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Children {
    pub number: usize,
    pub item: Node,
}

/// Kinds of records, and of which other kind each is a child; see the Python class `Hierarchy`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HierarchySpec {
    pub name: String,
    pub segments: Vec<(Vec<String>, usize)>,
}

/// Members with names; see the Python class `Group`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub members: Vec<(String, Node)>,
    pub segments: Option<Vec<String>>,
}

/// How the bytes of an item are read, as the Python class `Leaf` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    Text,
    National,
    Bytes,
    Zoned,
    Packed,
    Binary,
    Float,
    Hex,
}

/// One value; see the Python class `Leaf`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaf {
    pub at: usize,
    pub size: usize,
    pub coding: Coding,
    pub digits: u32,
    pub scale: u32,
    pub raised: u32,
    pub signed: bool,
    pub option: bool,
}

/// Several of one item; see the Python class `Table`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub at: usize,
    pub stride: NonZero<usize>,
    pub least: usize,
    pub most: usize,
    pub level: usize,
    pub counter: Option<Leaf>,
    pub counts: Option<Vec<(String, usize)>>,
    pub item: Node,
}

/// What a record is made of, where lists have only the items that there are; see the Python class `Counted`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Piece {
    /// So many bytes.
    Bytes(usize),
    /// A list.
    Counted(Box<Counted>),
}

/// Such a list.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    pub pieces: Vec<Piece>,
    pub stride: usize,
    pub least: usize,
    pub most: usize,
    pub level: usize,
    pub counter: Option<Leaf>,
    pub counts: Option<Vec<(String, usize)>>,
}

/// How values are written, as tables.
#[derive(Clone, Debug)]
pub struct Notation {
    /// The character of each byte.
    pub(super) characters: Box<[char; 256]>,
    /// The same of those that are ASCII; 0xFF for others.
    pub(super) ascii: Box<[u8; 256]>,
    /// What each byte is in a number.
    pub(super) digits: Box<[u8; 256]>,
    pub(super) signs_inside: bool,
    pub(super) trim_left: bool,
    pub(super) trim_right: bool,
    pub(super) zeros_are_null: bool,
    pub(super) signs_anywhere: bool,
}

impl Notation {
    /// Of what Python says.
    ///
    /// # Errors
    /// If a table has not 256 entries.
    pub fn new(spec: &NotationSpec) -> Result<Notation, String> {
        let table = |_| "a table has 256 entries".to_string();
        let characters: Vec<char> = spec.characters.chars().collect();
        let ascii: Vec<u8> = characters
            .iter()
            .map(|&symbol| {
                if symbol.is_ascii() {
                    symbol as u8
                } else {
                    0xFF
                }
            })
            .collect();
        Ok(Notation {
            ascii: ascii.try_into().map_err(|_| table(()))?,
            characters: characters.try_into().map_err(|_| table(()))?,
            digits: spec.digits.clone().try_into().map_err(|_| table(()))?,
            signs_inside: spec.signs_inside,
            trim_left: spec.trim_left,
            trim_right: spec.trim_right,
            zeros_are_null: spec.zeros_are_null,
            signs_anywhere: spec.signs_anywhere,
        })
    }
}
