//! The documents that say what to read: of a scan, and of a block. Python writes them, this reads them.
//!
//! Columns are spelled as `{"name", "type", "nullable"}`, a type by its name in Spark's DDL: a name that people know,
//! that any host can write, and that no other format than JSON is needed for.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::error::BlockError;
use crate::charsets::Charset;
use crate::cobol::CobolSpec;
use crate::codes::{CodeTables, Codes};
use crate::csv::Typing;
use crate::json::Dialect;
use crate::rules::{Names, NumberSymbols, Rules, Variants};
use crate::value::zone;
use crate::xml::Naming;

/// Version of both documents; others are refused.
pub const VERSION: u32 = 1;

/// The end of content whose length only reading it tells.
pub const UNKNOWN_END: u64 = 1 << 62;

/// What becomes of records that break a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Mode {
    /// They are rows, with nulls where a value is broken.
    Permissive,
    /// They are no rows.
    DropMalformed,
    /// The first one ends the scan.
    FailFast,
}

/// What every block of a scan is read by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanSpec {
    /// [`VERSION`].
    pub version: u32,
    /// How records are found, and what they hold.
    pub format: Format,
    /// Whether a block says what the head of its file says: the format, or the encoding, depends on it.
    #[serde(default)]
    pub needs_head: bool,
    /// Tables of the encoding that the scan names, if some of its characters have several bytes.
    #[serde(default)]
    pub codes: Option<CodeTables>,
    /// Whether records are handed over that have what no column takes.
    #[serde(default)]
    pub notices: bool,
    /// Whether records are texts, whose bytes are looked at.
    #[serde(default)]
    pub are_texts: bool,
    /// The columns that are decoded, in order; each is a field of the records.
    pub fields: Vec<FieldSpec>,
    /// The columns of a batch, in order.
    pub columns: Vec<ColumnSpec>,
    /// What becomes of broken records.
    pub mode: Mode,
    /// Whether a record that is given up is a row.
    pub keeps_given_up: bool,
    /// Longest content of a record, in bytes.
    pub max_record_bytes: usize,
    /// Bytes of one read.
    pub read_bytes: usize,
    /// Most rows of a batch.
    pub batch_rows: usize,
    /// Most bytes of a batch of several rows.
    pub batch_bytes: usize,
}

/// A format, with its options. Files are in UTF-8.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Format {
    /// Rows of fields.
    Csv(Box<CsvSpec>),
    /// Lines, each of which is one text.
    Text(TextSpec),
    /// Records of a fixed length, each of which is one value.
    Fixed(FixedSpec),
    /// Columns at fixed places.
    FixedWidth(FixedWidthSpec),
    /// JSON values.
    Json(JsonSpec),
    /// Elements of one name.
    Xml(Box<XmlSpec>),
    /// Records of a log.
    Log(LogSpec),
    /// Records by a copybook.
    Cobol(Box<CobolSpec>),
}

/// Text: what ends a record; nothing stands for every line terminator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextSpec {
    /// The delimiter.
    pub line_sep: Option<String>,
    /// Hides a delimiter, after an odd run of it.
    #[serde(default)]
    pub escape: Option<String>,
}

/// Records of a fixed length.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedSpec {
    /// Bytes in each.
    pub record_length: NonZero<usize>,
    /// Whether a shorter one at the end of a file is broken.
    pub short_is_broken: bool,
}

/// Columns at fixed places: of lines, or of records of a fixed length.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedWidthSpec {
    /// Ends lines; nothing stands for every line terminator.
    pub line_sep: Option<String>,
    /// Bytes in each record; then places are bytes.
    pub record_length: Option<NonZero<usize>>,
    /// The first place of each of the scan's `fields`, from 0 on, and the one after its last.
    pub places: Vec<(usize, usize)>,
    /// The column that begins last, and its first place, from 1 on: a record that ends before it is broken.
    pub last: (String, usize),
    /// Text of a null, beside blank ones.
    pub null_value: String,
    /// Whether white space before values is dropped.
    pub trim_leading: bool,
    /// Whether white space after values is dropped.
    pub trim_trailing: bool,
    /// Where given, what does not fit is kept; whether the text is asked for.
    pub rescue: Option<bool>,
}

/// Records of a log: which lines begin them, and their columns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogSpec {
    /// What the first line of a record begins with; nothing stands for every line.
    pub start: Option<String>,
    /// Whether it is what all other lines begin with.
    pub continues: bool,
    /// What a record matches; without one, a record is one text.
    pub pattern: Option<String>,
    /// The named group of the pattern that each of the scan's `fields` is.
    pub groups: Vec<String>,
    /// Text of a null, beside blank ones.
    pub null_value: String,
    /// Where given, what does not fit is kept; whether the text is asked for.
    pub rescue: Option<bool>,
}

/// JSON: how records are found, and what is no JSON but is read.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonSpec {
    /// Whether records are values wherever they end, of the shape that the head of a file says; else they are lines.
    pub multi_line: bool,
    /// Ends lines; nothing stands for every line terminator.
    pub line_sep: Option<String>,
    /// Leniencies.
    pub dialect: Dialect,
    /// Which values are variants.
    pub variants: Variants,
    /// Whether a record is one variant.
    pub is_whole: bool,
    /// Where given, what does not fit is kept; whether the text is asked for.
    pub rescue: Option<bool>,
    /// The steps to the arrays whose elements are the records, of a file that has some there.
    pub record_path: Option<Vec<Option<String>>>,
}

/// XML: which elements are records, and what their parts are called.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XmlSpec {
    /// Name of the records.
    pub row_tag: String,
    /// How their parts become columns.
    pub naming: Naming,
    /// Which values are variants.
    #[serde(default)]
    pub variants: Variants,
    /// Whether a record is one variant.
    #[serde(default)]
    pub is_whole: bool,
    /// Where given, what does not fit is kept; whether the text is asked for.
    pub rescue: Option<bool>,
}

/// CSV: the grammar, and which fields there are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvSpec {
    /// Separates fields.
    pub sep: String,
    /// Encloses fields.
    pub quote: Option<char>,
    /// Hides the character after it in quotes.
    pub escape: Option<char>,
    /// Makes an escape after it data.
    pub escape_escape: Option<char>,
    /// Whether quotes in quotes are doubled.
    pub doubled: bool,
    /// Whether a quoted field with text after its closing quote is nothing.
    #[serde(default)]
    pub skips_values: bool,
    /// First character of lines to skip.
    pub comment: Option<char>,
    /// Ends records; nothing stands for every line terminator.
    pub line_sep: Option<String>,
    /// Whether quoted fields may hold terminators.
    pub multi_line: bool,
    /// Whether white space before values is dropped.
    pub trim_leading: bool,
    /// Whether white space after values is dropped.
    pub trim_trailing: bool,
    /// Whether the first record names the fields.
    pub header: bool,
    /// Whether those names must be those of `columns`, whatever their case.
    pub checks_header: bool,
    /// Whether they say which column each field is, in whatever order.
    pub by_name: bool,
    /// Lines to skip before that.
    pub skip_lines: usize,
    /// Which options were found in samples of the files, and given by nobody.
    #[serde(default)]
    pub found: Vec<FoundOption>,
    /// Text of a null.
    pub null_value: String,
    /// What a quoted empty field becomes.
    pub empty_value: String,
    /// Most characters of a field.
    pub max_field_chars: Option<usize>,
    /// Most fields of a record with names.
    pub max_columns: usize,
    /// The columns that records may have, in order; `None` where any number of fields will do, and none is a column.
    pub columns: Option<Vec<CsvColumn>>,
    /// Where given, all fields of a record are one array.
    pub items: Option<ItemsSpec>,
    /// Where given, fields are variants, or all of them are one: where there are no `columns`.
    pub variant: Option<Typing>,
    /// Where given, what does not fit is kept.
    pub rescue: Option<RescueSpec>,
}

/// Options that samples of files showed, and that decide which lines of all files are records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FoundOption {
    /// The first character of lines to skip.
    Comment,
    /// Whether the first record of a file names its columns.
    Header,
    /// How many lines to skip.
    SkipRows,
}

/// A column that records of CSV may have.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CsvColumn {
    /// Its name.
    pub name: String,
    /// Whether records that end before it are whole: it has a default.
    #[serde(default)]
    pub is_optional: bool,
    /// Where given, what stands for blanks: a text, or null.
    #[serde(default)]
    pub blank: Option<(Option<String>,)>,
}

/// All fields of a record as one array.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ItemsSpec {
    /// The items that are wanted; nothing stands for all.
    pub elements: Option<Vec<usize>>,
}

/// How data that does not fit is kept.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RescueSpec {
    /// Whether the text is asked for.
    pub wanted: bool,
}

/// A column that is decoded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How its values are written.
    pub rules: RulesSpec,
    /// What a reason adds of how values are written.
    pub written: String,
    /// Whether a record without a value is broken in modes that drop or refuse records.
    #[serde(default)]
    pub is_required: bool,
    /// The text of its default: what records have that lack the column.
    #[serde(default)]
    pub default: Option<String>,
    /// Whether that stands for nulls that records have, too.
    #[serde(default)]
    pub fills_nulls: bool,
}

/// How values are written; see [`Rules`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "those of Rules")]
pub struct RulesSpec {
    pub nan_value: String,
    pub positive_inf: String,
    pub negative_inf: String,
    pub date_format: Option<String>,
    pub time_format: Option<String>,
    pub timestamp_format: Option<String>,
    pub timestamp_ntz_format: Option<String>,
    pub time_zone: String,
    pub exact_numbers: bool,
    pub names: Names,
    pub symbols: Option<NumberSymbols>,
}

/// A column of a batch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it may hold nulls.
    pub nullable: bool,
    /// Where it, or something inside of it, must not be null.
    #[serde(default)]
    pub required: Option<Required>,
    /// What it holds.
    pub source: Source,
}

/// Where there must be no null.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Required {
    /// Whether the value itself must not be one.
    pub not_null: bool,
    /// The members of a struct, the item of a list, the value of a map.
    pub parts: Vec<Option<Required>>,
}

/// What a column of a batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Values of the scan's field of this number.
    Field(usize),
    /// The same value in all rows of a block, which the block says.
    Constant,
    /// The text of broken records.
    Corrupt,
    /// Code and reason of broken records.
    Reason,
    /// What does not fit.
    Rescued,
    /// Offset of the record.
    RecordOffset,
    /// Length of its content.
    RecordLength,
}

/// One block, and what is wanted of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockSpec {
    /// [`VERSION`].
    pub version: u32,
    /// The file as `splitscan.blocks.plain_file` spells it.
    pub file: Vec<Value>,
    /// The block as `plain_block` does: start, stop, index, first record start, place to decompress from.
    pub block: (u64, u64, u64, Option<u64>, Value),
    /// Values of the constant columns.
    #[serde(default)]
    pub constants: HashMap<String, Value>,
    /// What the head of the file says, where the host knows it already.
    #[serde(default)]
    pub head: Option<Head>,
    /// Whether broken records are told. If not, nothing is decoded where no column is of the records.
    pub validate: bool,
    /// Whether the report has a digest.
    pub with_digest: bool,
    /// Most rows.
    #[serde(default)]
    pub limit: Option<u64>,
}

/// What the head of a file says.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// Where records begin.
    pub data_start: u64,
    /// Names of the fields, where the first record has them.
    #[serde(default)]
    pub header: Option<Vec<String>>,
    /// That record, as it is written.
    #[serde(default)]
    pub header_record: Option<Vec<u8>>,
    /// How texts are encoded; nothing stands for UTF-8.
    #[serde(default)]
    pub charset: Option<CharsetSpec>,
    /// How values are written, where those are records.
    #[serde(default)]
    pub values: Option<Values>,
}

impl Head {
    /// How the texts of a file are encoded.
    pub(super) fn charset(
        head: Option<&Head>,
        codes: Option<&CodeTables>,
    ) -> Result<Charset, BlockError> {
        let said = head.and_then(|head| head.charset.as_ref());
        let charset = said.map_or(Ok(Charset::Utf8), |said| said.charset(codes));
        charset.map_err(|rule| BlockError::bad_document(rule, "another"))
    }
}

/// How the texts of a file are encoded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CharsetSpec {
    /// Code units of so many bytes, of which the first is the highest or not: UTF-16, UTF-32.
    Units(usize, bool),
    /// A character for each byte.
    Table(String),
    /// Several bytes for some characters; without tables, those of the scan.
    Codes {
        /// What each sequence of bytes is.
        tables: Option<CodeTables>,
        /// Marks beyond ASCII as the file has them.
        written: HashMap<String, Vec<u8>>,
    },
}

impl CharsetSpec {
    pub(super) fn charset(&self, codes: Option<&CodeTables>) -> Result<Charset, String> {
        match self {
            CharsetSpec::Units(2, big_endian) => Ok(Charset::Utf16(*big_endian)),
            CharsetSpec::Units(4, big_endian) => Ok(Charset::Utf32(*big_endian)),
            CharsetSpec::Units(..) => Err("code units of 2 or 4 bytes".into()),
            CharsetSpec::Table(characters) => Charset::table(characters),
            CharsetSpec::Codes { tables, written } => {
                let tables = tables.as_ref().or(codes);
                let tables = tables.ok_or("tables of the scan or of the file")?;
                Ok(Charset::Codes(Codes::new(tables, written.clone())?.into()))
            }
        }
    }
}

/// Where the JSON values of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValuesShape {
    /// One after the other.
    #[default]
    Values,
    /// In one array.
    Array,
    /// In arrays below a path.
    Below,
    /// Nowhere: nothing is at the path.
    Nowhere,
}

/// How the JSON values of a file are written.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Values {
    /// Where they are.
    pub shape: ValuesShape,
    /// White space before the first one in its line; nothing where it shares the line with the bracket of the array.
    pub indent: Option<String>,
}

impl ScanSpec {
    pub(super) fn read(written: &str) -> Result<ScanSpec, BlockError> {
        let spec: ScanSpec = serde_json::from_str(written)
            .map_err(|error| BlockError::bad_document("a scan is a document", error.to_string()))?;
        refuse_other_version(spec.version)?;
        let counts = [
            spec.read_bytes,
            spec.batch_rows,
            spec.batch_bytes,
            spec.max_record_bytes,
        ];
        if counts.contains(&0) {
            return Err(BlockError::bad_document("bounds are greater than 0", "0"));
        }
        Ok(spec)
    }
}

impl BlockSpec {
    pub(super) fn read(written: &str) -> Result<BlockSpec, BlockError> {
        let spec: BlockSpec = serde_json::from_str(written).map_err(|error| {
            BlockError::bad_document("a block is a document", error.to_string())
        })?;
        refuse_other_version(spec.version)?;
        let (start, stop, ..) = spec.block;
        if start > stop || spec.path().is_empty() {
            return Err(BlockError::bad_document(
                "a block is a range of a file",
                format!("[{start}, {stop})"),
            ));
        }
        Ok(spec)
    }

    /// Path of the file.
    pub fn path(&self) -> &str {
        self.text(0)
    }

    /// Identity of its version.
    pub fn fingerprint(&self) -> &str {
        self.text(3)
    }

    fn text(&self, index: usize) -> &str {
        self.file
            .get(index)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Whether offsets are those of what the file holds decompressed.
    pub fn is_compressed(&self) -> bool {
        self.file
            .get(5)
            .is_some_and(|compression| !compression.is_null())
    }

    /// Length of what is read.
    pub fn content_bytes(&self) -> u64 {
        let packed = self.file.get(5).and_then(|compression| compression.get(1));
        packed
            .or(self.file.get(1))
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }

    /// Whether the file was planned up to a record boundary, while it grew.
    pub fn is_aligned(&self) -> bool {
        self.fingerprint().starts_with("prefix-")
    }
}

pub(super) fn refuse_other_version(version: u32) -> Result<(), BlockError> {
    if version == VERSION {
        return Ok(());
    }
    let rule = format!("documents of a scan have version {VERSION}");
    Err(BlockError::bad_document(rule, version.to_string()))
}

impl RulesSpec {
    pub(super) fn rules(&self) -> Result<Rules, BlockError> {
        let zone = zone::named(&self.time_zone).ok_or_else(|| {
            BlockError::bad_document("a time zone has a name that is known", &self.time_zone)
        })?;
        Ok(Rules {
            nan_value: self.nan_value.clone(),
            positive_inf: self.positive_inf.clone(),
            negative_inf: self.negative_inf.clone(),
            date_format: self.date_format.clone(),
            time_format: self.time_format.clone(),
            timestamp_format: self.timestamp_format.clone(),
            timestamp_ntz_format: self.timestamp_ntz_format.clone(),
            zone,
            exact_numbers: self.exact_numbers,
            names: Arc::new(self.names.clone()),
            symbols: self.symbols.clone(),
        })
    }
}
