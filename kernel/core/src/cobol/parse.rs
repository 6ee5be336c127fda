//! Records to rows.

use std::fmt::Write;

use arrow_schema::{DataType, SchemaRef};

use super::expand::expand;
use super::hierarchy::Hierarchy;
use super::layout::{CobolSpec, Coding, Leaf, Node, Notation, Piece, Table};
use super::records::{Header, Way};
use super::value::{Digits, NoValue, Read, binary, float};
use crate::columns::{Column, Shape};
use crate::fault::{Code, Fault, shown};
use crate::filling::{Filling, Outcome, Rescue};
use crate::frames::Frames;
use crate::kinds::kind_name;
use crate::parsed::{Parsed, Stopped};
use crate::quoting::write_string;
use crate::rules::Rules;

const TILE_ROWS: usize = 1024;
const TILE_BYTES: usize = 1 << 17; // stays in the second cache with its columns
const SMALL_DIGITS: usize = 18; // fit into 64 bits
const NOWHERE: usize = usize::MAX / 2; // where no record has a byte

/// Reads records of one copybook.
#[derive(Clone, Debug)]
pub struct Parser {
    schema: SchemaRef,
    rules: Vec<Rules>,
    nodes: Vec<Planned>,
    notation: Notation,
    record_start: usize,
    segment: Option<Leaf>,
    spans: Option<Header>, // where records may have several segments: how these are told
    pieces: Option<Vec<Piece>>,
    hierarchy: Option<Hierarchy>,
    rescue: Option<Rescue>,
    name_bytes: usize, // of all values of a record, as they are rescued
}

/// An item, and the type that it is read to.
#[derive(Clone, Debug)]
struct Planned {
    name: String,
    kind: String,
    number: usize, // in the order of all of them
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Leaf(Leaf, Range),
    Group(Vec<Planned>, Option<Vec<String>>),
    Table(Box<Table>, Range, Box<Planned>),
    Children(usize, Box<Planned>),
}

/// Which numbers an item may have, before zeros are added to them.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: i128,
    high: i128,
    factor: i128,
}

/// Where the places of items are counted from: a record, or one item of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub at: usize,
    pub stop: usize, // of the record
    pub row: usize,
    pub parent: usize, // among the bases of the level above
    pub item: usize,
}

/// Bytes that are no value of their item.
struct Refused {
    row: usize,
    number: usize,
    base: usize,
    path: String,
    seen: String,
    kind: String,
}

/// The records that are filled in together.
struct Tile<'a> {
    data: std::borrow::Cow<'a, [u8]>,
    levels: Vec<Vec<Base>>,
    children: Vec<Vec<Base>>,  // of each kind of records that follow others
    keys: Vec<Option<String>>, // of records: which groups they have
    path: Vec<String>,
    refused: Vec<Refused>,
}

impl Parser {
    /// A parser for the columns of `schema`. `tail` ends the texts of what does not fit.
    ///
    /// # Errors
    /// If an item cannot be read to its column.
    pub fn new(
        spec: &CobolSpec,
        schema: SchemaRef,
        rules: Vec<Rules>,
        tail: &str,
    ) -> Result<Parser, String> {
        let rescue = spec.rescue.map(|wanted| Rescue {
            tail: tail.to_string(),
            wanted,
            is_fault: false,
        });
        Filling::new(&schema, &rules, rescue.as_ref())?;
        if spec.nodes.len() != schema.fields().len() || rules.len() != spec.nodes.len() {
            return Err("each column has an item and rules".into());
        }
        let mut count = 1; // what is wrong with a hierarchy comes first
        let both = spec.nodes.iter().zip(schema.fields());
        let nodes: Vec<Planned> = both
            .map(|(node, field)| Planned::new(field.name(), node, field.data_type(), &mut count))
            .collect::<Result<_, _>>()?;
        Ok(Parser {
            notation: Notation::new(&spec.notation)?,
            name_bytes: nodes.iter().map(|node| node.name_bytes(0, 1)).sum(),
            record_start: spec.record_start,
            segment: spec.segment.clone(),
            spans: match &spec.finding.records {
                Way::Spanned(header) => Some(*header),
                _ => None,
            },
            pieces: spec.pieces.clone(),
            hierarchy: Hierarchy::new(spec)?,
            schema,
            rules,
            nodes,
            rescue,
        })
    }

    /// Fill in records that were found; those that have no room in the columns are left out. `codes` say what is wrong
    /// with those that are malformed: where nothing tells how long one is, nothing of it is read. `missing` bytes of a
    /// block are not there.
    ///
    /// # Errors
    /// If a record is not in the data.
    pub fn fill(
        &self,
        data: &[u8],
        mut frames: Frames,
        mut stopped: Stopped,
        (codes, missing): (&[Code], usize),
    ) -> Result<Parsed, String> {
        let mut filling = Filling::new(&self.schema, &self.rules, self.rescue.as_ref())?;
        let rows = frames.starts.len();
        let end = frames.stops.last().map_or(0, |&stop| stop as usize);
        let malformed = frames.malformed.clone();
        let numbers = malformed.iter().map(|&record| record as usize);
        let mut broken = numbers.zip(codes.iter().copied()).peekable();
        let mut from = 0;
        while from < rows {
            let (to, bytes) = self.tile(&frames, from, &filling);
            if to == from {
                frames.next_start = frames.starts.get(from).map_or(0, |&start| start as usize);
                stopped = Stopped::Bytes;
                break;
            }
            let is_lost = |row: usize| {
                let found = malformed.binary_search(&(row as u32)).ok();
                let code = found.and_then(|place| codes.get(place));
                matches!(
                    code,
                    Some(Code::BadRecordHeader | Code::NotBegun | Code::MissingSegment)
                )
            };
            let bases = (from..to).filter_map(|row| {
                let (start, stop) = span(&frames, row)?;
                Some(Base {
                    at: if is_lost(row) {
                        stop
                    } else {
                        start + self.record_start
                    },
                    stop,
                    row: row - from,
                    parent: 0,
                    item: 0,
                })
            });
            let bases: Vec<Base> = bases.collect();
            let last = bases.last().map_or(end, |base| base.stop);
            if bases.iter().any(|base| base.stop > data.len()) {
                return Err("a record is not in the data".into());
            }
            let mut tile = Tile {
                data: data.into(),
                levels: vec![bases],
                children: Vec::new(),
                keys: Vec::new(),
                path: Vec::new(),
                refused: Vec::new(),
            };
            if let Some(header) = self.spans {
                tile.join(header, self.record_start);
            }
            if let Some(hierarchy) = &self.hierarchy {
                tile.grow(hierarchy, &self.notation, self.record_start);
            }
            if let Some(pieces) = &self.pieces {
                tile.expand(pieces, &self.notation);
            }
            if let Some(leaf) = &self.segment {
                let bases = tile.bases().iter();
                let keys = bases.map(|base| self.notation.key(leaf, tile.part(base, leaf)?));
                tile.keys = keys.collect();
            }
            for (column, node) in filling.columns.iter_mut().zip(&self.nodes) {
                self.fill_column(column, node, &mut tile);
            }
            if tile.refused.is_empty() && broken.peek().is_none_or(|&(record, _)| record >= to) {
                filling.end_rows(to - from, 3 * bytes);
            } else {
                self.end_rows(tile, from, &frames, (&mut broken, missing), &mut filling);
            }
            filling.expect(end.saturating_sub(last), rows - to);
            from = to;
        }
        frames.starts.truncate(from);
        frames.stops.truncate(from);
        frames.malformed.retain(|&record| (record as usize) < from);
        Ok(Parsed {
            frames,
            stopped,
            ..filling.finish()
        })
    }

    /// Where the records from one on end that are filled in together, and how many bytes they have.
    fn tile(&self, frames: &Frames, from: usize, filling: &Filling<'_>) -> (usize, usize) {
        let most_rows = if from == 0 {
            Filling::SAMPLE
        } else {
            TILE_ROWS
        };
        let (mut to, mut bytes) = (from, 0usize);
        while let Some((start, stop)) = span(frames, to)
            && to - from < most_rows
            && bytes <= TILE_BYTES
        {
            let more = bytes + (stop - start);
            if to > 0
                && stop > start
                && !filling.has_room(more.saturating_add(self.names(to + 1 - from, more)))
            {
                break;
            }
            (to, bytes) = (to + 1, more);
        }
        (to, bytes)
    }

    /// Bytes of names beside the values of so many records, as they are rescued.
    fn names(&self, rows: usize, bytes: usize) -> usize {
        let singles = match &self.hierarchy {
            Some(_) => rows + bytes / self.record_start.max(1),
            None => rows,
        };
        match &self.rescue {
            Some(rescue) if rescue.wanted => self.name_bytes.saturating_mul(singles),
            _ => 0,
        }
    }

    /// End the rows of a tile, in some of which something is wrong.
    fn end_rows(
        &self,
        mut tile: Tile<'_>,
        from: usize,
        frames: &Frames,
        (broken, missing): (
            &mut std::iter::Peekable<impl Iterator<Item = (usize, Code)>>,
            usize,
        ),
        filling: &mut Filling<'_>,
    ) {
        tile.refused
            .sort_by_key(|each| (each.row, each.number, each.base));
        let mut left = tile.refused.into_iter().peekable();
        for row in 0..tile.levels.first().map_or(0, Vec::len) {
            let (start, stop) = span(frames, from + row).unwrap_or_default();
            let found = broken.next_if(|&(record, _)| record == from + row);
            let mut fault = found.map(|(_, code)| Fault {
                record: 0,
                code,
                column: "".into(),
                seen: match code {
                    Code::MissingBytes => missing.to_string(),
                    _ => String::new(),
                },
                kind: "".into(),
            });
            let mut kept = String::new();
            while let Some(each) = left.next_if(|each| each.row == row) {
                if filling.tail().is_some() {
                    kept.push(if kept.is_empty() { '{' } else { ',' });
                    write_string(&each.path, &mut kept);
                    kept.push(':');
                    write_string(&each.seen, &mut kept);
                }
                fault.get_or_insert_with(|| Fault {
                    record: 0,
                    code: Code::BadValue,
                    column: each.path.into(),
                    seen: shown(&each.seen),
                    kind: each.kind.into(),
                });
            }
            kept.push_str(
                filling
                    .tail()
                    .filter(|_| !kept.is_empty())
                    .unwrap_or_default(),
            );
            let kept = (!kept.is_empty()).then_some(kept.as_str());
            filling.end_row(3 * (stop - start), Outcome::of(fault), kept);
        }
    }

    /// Append the values of an item, one for each of the last bases.
    fn fill_column(&self, column: &mut Column, node: &Planned, tile: &mut Tile<'_>) {
        tile.path.push(node.name.clone());
        match &node.what {
            What::Leaf(leaf, range) => self.fill_leaf(column, node, leaf, *range, tile),
            What::Group(members, segments) => {
                let all = segments.as_ref().map(|segments| tile.without(segments));
                if let Shape::Struct(columns) = column.shape() {
                    for (column, member) in columns.iter_mut().zip(members) {
                        self.fill_column(column, member, tile);
                    }
                }
                let is_there =
                    |row: usize| tile.bases().get(row).is_some_and(|base| base.at != NOWHERE);
                column.extend_structs(tile.bases().len(), |row| {
                    segments.is_none() || is_there(row)
                });
                if let Some((all, bases)) = all.zip(tile.levels.first_mut()) {
                    *bases = all;
                }
            }
            What::Table(table, range, item) => {
                let lengths = self.lengths(node, table, *range, tile);
                let mut bases = Vec::new();
                for (parent, (base, length)) in tile.bases().iter().zip(&lengths).enumerate() {
                    bases.extend((0..length.unwrap_or(0)).map(|item| Base {
                        at: base.at + table.at + item * table.stride.get(),
                        stop: base.stop,
                        row: base.row,
                        parent,
                        item,
                    }));
                }
                tile.levels.push(bases);
                if let Shape::List(items) = column.shape() {
                    self.fill_column(items, item, tile);
                }
                tile.levels.pop();
                column.extend_lists(lengths.into_iter());
            }
            What::Children(number, item) => {
                let mut lengths = vec![Some(0); tile.bases().len()];
                let bases = tile.children.get_mut(*number).map(std::mem::take);
                let bases = bases.unwrap_or_default();
                for base in &bases {
                    if let Some(Some(length)) = lengths.get_mut(base.parent) {
                        *length += 1;
                    }
                }
                tile.levels.push(bases);
                if let Shape::List(items) = column.shape() {
                    self.fill_column(items, item, tile);
                }
                tile.levels.pop();
                column.extend_lists(lengths.into_iter());
            }
        }
        tile.path.pop();
    }

    /// How many items the list of each of the last bases has.
    fn lengths(
        &self,
        node: &Planned,
        table: &Table,
        range: Range,
        tile: &mut Tile<'_>,
    ) -> Vec<Option<usize>> {
        let level = tile.levels.len() - 1;
        let mut refused = Vec::new();
        let count = |base: usize| {
            let here = tile.bases().get(base)?;
            let room = here
                .stop
                .saturating_sub(here.at + table.at)
                .div_ceil(table.stride.get());
            let Some(counter) = &table.counter else {
                return Some(table.most.min(room)).filter(|&items| items > 0);
            };
            let mut from = base;
            for each in tile
                .levels
                .get(table.level + 1..)
                .unwrap_or_default()
                .iter()
                .rev()
            {
                from = each.get(from)?.parent;
            }
            let counted = tile.levels.get(table.level)?.get(from)?;
            let data = tile.part(counted, counter)?;
            let number = match &table.counts {
                Some(counts) => self.notation.items(counter, Some(counts), data),
                None if data.len() == counter.size => {
                    let number = self.number::<i128>(counter, data, range).ok().flatten();
                    number.and_then(|number| usize::try_from(number).ok())
                }
                None => None,
            };
            let is_right =
                |&number: &usize| number >= table.least && number <= table.most.min(room);
            number.filter(is_right).or_else(|| {
                refused.push((base, hex(data)));
                None
            })
        };
        let lengths = (0..tile.bases().len()).map(count).collect();
        for (base, seen) in refused {
            tile.refuse(node, level, base, seen);
        }
        lengths
    }

    fn fill_leaf(
        &self,
        column: &mut Column,
        node: &Planned,
        leaf: &Leaf,
        range: Range,
        tile: &mut Tile<'_>,
    ) {
        let mut refused = Vec::new();
        let bases = tile.bases();
        let rows = bases.len();
        let part = |row: usize| tile.part(bases.get(row)?, leaf);
        let is_small = !leaf.option
            && match leaf.coding {
                Coding::Zoned => leaf.size <= SMALL_DIGITS,
                Coding::Packed => 2 * leaf.size <= SMALL_DIGITS,
                _ => false,
            };
        match leaf.coding {
            Coding::Text => column.extend_texts(rows, |row, to| {
                part(row).is_some_and(|data| self.notation.text(data, to))
            }),
            Coding::National => column.extend_texts(rows, |row, to| {
                part(row).is_some_and(|data| self.notation.national(data, to))
            }),
            Coding::Hex => column.extend_texts(rows, |row, to| {
                part(row)
                    .inspect(|data| {
                        to.extend_from_slice(hex(data).get(2..).unwrap_or("").as_bytes())
                    })
                    .is_some()
            }),
            Coding::Bytes => column.extend_texts(rows, |row, to| {
                part(row)
                    .inspect(|data| to.extend_from_slice(data))
                    .is_some()
            }),
            Coding::Float => column.extend_floats(rows, |row| {
                let data = part(row)?;
                let value = if data.len() == leaf.size {
                    float(leaf, data)
                } else {
                    None
                };
                value.or_else(|| {
                    refused.push((row, hex(data)));
                    None
                })
            }),
            _ if is_small => column.extend_numbers(rows, |row| {
                self.read::<i64>(leaf, part(row)?, range)
                    .unwrap_or_else(|_| refuse(&mut refused, row, part(row)))
            }),
            _ => column.extend_numbers(rows, |row| {
                self.read::<i128>(leaf, part(row)?, range)
                    .unwrap_or_else(|_| refuse(&mut refused, row, part(row)))
            }),
        }
        let level = tile.levels.len() - 1;
        for (base, seen) in refused {
            tile.refuse(node, level, base, seen);
        }
    }

    /// The number of an item of which all bytes should be there.
    #[inline(always)] // once for each type
    fn read<T: Digits + Number>(&self, leaf: &Leaf, data: &[u8], range: Range) -> Read<T> {
        match data.len() == leaf.size {
            true => self.number(leaf, data, range),
            false => Err(NoValue),
        }
    }

    #[inline(always)]
    fn number<T: Digits + Number>(&self, leaf: &Leaf, data: &[u8], range: Range) -> Read<T> {
        let value = match leaf.coding {
            Coding::Zoned => self.notation.zoned::<T>(leaf, data)?,
            Coding::Packed => Notation::packed::<T>(leaf, data)?,
            _ => Some(T::of(binary(leaf, data).ok_or(NoValue)?).ok_or(NoValue)?),
        };
        match value {
            Some(value) => value.within(range).map(Some).ok_or(NoValue),
            None => Ok(None),
        }
    }
}

/// Whole numbers that are compared with what a column holds.
trait Number: Sized {
    fn of(value: i128) -> Option<Self>;
    fn within(self, range: Range) -> Option<Self>;
}

impl Number for i64 {
    fn of(value: i128) -> Option<i64> {
        value.try_into().ok()
    }

    #[inline(always)]
    fn within(self, range: Range) -> Option<i64> {
        let (low, high) = (range.low as i64, range.high as i64); // of at most 18 digits, or of an `i64`
        let is_within = low <= self && self <= high;
        is_within.then(|| self.wrapping_mul(range.factor as i64))
    }
}

impl Number for i128 {
    fn of(value: i128) -> Option<i128> {
        Some(value)
    }

    #[inline(always)]
    fn within(self, range: Range) -> Option<i128> {
        let is_within = range.low <= self && self <= range.high;
        is_within.then(|| self.wrapping_mul(range.factor))
    }
}

impl Range {
    /// Of an item that is read to a type.
    fn new(leaf: &Leaf, kind: &DataType) -> Range {
        let ten = |power: u32| 10i128.pow(power.min(38));
        let (low, high) = match kind {
            DataType::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
            DataType::Int64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
            DataType::Decimal128(precision, _) => (
                1 - ten(u32::from(*precision)),
                ten(u32::from(*precision)) - 1,
            ),
            _ => (1 - ten(38), ten(38) - 1),
        };
        let most = if leaf.digits == 0 {
            i128::MAX
        } else {
            ten(leaf.digits) - 1
        };
        let factor = ten(leaf.raised);
        Range {
            low: (low / factor).max(-most),
            high: (high / factor).min(most),
            factor,
        }
    }
}

impl Planned {
    fn new(name: &str, node: &Node, kind: &DataType, count: &mut usize) -> Result<Planned, String> {
        let number = *count;
        *count += 1;
        let wrong = || format!("item {name} as {}", kind_name(kind));
        let mut said = kind_name(kind);
        let what = match (node, kind) {
            (Node::Leaf(leaf), _) => {
                let is_right = match (leaf.coding, kind) {
                    (Coding::Text | Coding::National | Coding::Hex, DataType::Utf8) => true,
                    (Coding::Bytes, DataType::Binary) => true,
                    (Coding::Float, DataType::Float32) => leaf.size == 4,
                    (Coding::Float, DataType::Float64) => leaf.size == 8,
                    (Coding::Zoned | Coding::Packed | Coding::Binary, _) => matches!(
                        kind,
                        DataType::Int32 | DataType::Int64 | DataType::Decimal128(..)
                    ),
                    _ => false,
                };
                if !is_right {
                    return Err(wrong());
                }
                What::Leaf(leaf.clone(), Range::new(leaf, kind))
            }
            (Node::Group(group), DataType::Struct(parts)) => {
                let known: std::collections::HashMap<&str, &Node> = group
                    .members
                    .iter()
                    .map(|(name, node)| (name.as_str(), node))
                    .collect();
                let member = |part: &std::sync::Arc<arrow_schema::Field>| {
                    let node = known.get(part.name().as_str()).ok_or_else(wrong)?;
                    Planned::new(part.name(), node, part.data_type(), count)
                };
                let members = parts.iter().map(member).collect::<Result<_, _>>()?;
                What::Group(members, group.segments.clone())
            }
            (Node::Table(table), DataType::List(item)) => {
                said = format!("number of items from {} to {}", table.least, table.most);
                let inner = Planned::new("", &table.item, item.data_type(), count)?;
                let range = table
                    .counter
                    .as_ref()
                    .map(|leaf| Range::new(leaf, &DataType::Int64));
                let range = range.unwrap_or(Range {
                    low: 0,
                    high: 0,
                    factor: 1,
                });
                What::Table(table.clone(), range, Box::new(inner))
            }
            (Node::Children(children), DataType::List(item)) => {
                let inner = Planned::new("", &children.item, item.data_type(), count)?;
                What::Children(children.number, Box::new(inner))
            }
            _ => return Err(wrong()),
        };
        Ok(Planned {
            name: name.into(),
            kind: said,
            number,
            what,
        })
    }

    /// Bytes of the names of all values in it, as they are rescued.
    fn name_bytes(&self, before: usize, times: usize) -> usize {
        let own = before + self.name.len() + 1;
        match &self.what {
            What::Leaf(..) => times.saturating_mul(own + 16),
            What::Group(members, _) => members
                .iter()
                .map(|member| member.name_bytes(own, times))
                .fold(0, usize::saturating_add),
            What::Table(table, _, item) => item
                .name_bytes(own + 12, times.saturating_mul(table.most))
                .saturating_add(own),
            What::Children(_, item) => item.name_bytes(own + 12, times).saturating_add(own),
        }
    }
}

impl Tile<'_> {
    fn bases(&self) -> &[Base] {
        self.levels.last().map_or(&[], Vec::as_slice)
    }

    /// Put in the place of records of several segments those of one.
    fn join(&mut self, header: Header, record_start: usize) {
        let record = |base: &Base| {
            let start = base.at.checked_sub(record_start)?;
            self.data
                .get(start..base.stop)
                .filter(|_| base.at < base.stop)
        };
        if !self
            .bases()
            .iter()
            .filter_map(record)
            .any(Header::has_segments)
        {
            return;
        }
        let (mut joined, mut bases) = (Vec::new(), self.bases().to_vec());
        for base in &mut bases {
            let start = joined.len();
            joined.extend_from_slice(&header.joined(record(base).unwrap_or_default()));
            (base.at, base.stop) = (start + record_start, joined.len());
        }
        (self.data, self.levels) = (joined.into(), vec![bases]);
    }

    /// Put in the place of the records those that have room for all items of lists.
    fn expand(&mut self, pieces: &[Piece], notation: &Notation) {
        let mut expanded = Vec::new();
        let bases = self.levels.iter_mut().flatten();
        for base in bases {
            let record = self.data.get(base.at..base.stop).unwrap_or_default();
            base.at = expanded.len();
            _ = expand(pieces, notation, record, &mut expanded); // what is missing is null
            base.stop = expanded.len();
        }
        self.data = expanded.into();
    }

    /// Find the children of the records, each of which is a root with all that follow it.
    fn grow(&mut self, hierarchy: &Hierarchy, notation: &Notation, record_start: usize) {
        self.children = hierarchy.none();
        for root in self.levels.iter_mut().flatten() {
            if root.at == root.stop {
                continue; // nothing of it is read
            }
            let start = root.at - record_start;
            let record = self.data.get(start..root.stop).unwrap_or_default();
            let base = Base { at: start, ..*root };
            root.stop = hierarchy.grow(
                base,
                record,
                notation,
                &mut self.children,
                |number, told| {
                    self.refused.push(Refused {
                        row: base.row,
                        number: 0,
                        base: number,
                        path: format!("{}[{number}]", hierarchy.name()),
                        seen: hex(told),
                        kind: "child of a segment before it".into(),
                    });
                },
            );
        }
    }

    /// Leave out the records that have none of some kinds, for what is inside a group; all are returned.
    fn without(&mut self, segments: &[String]) -> Vec<Base> {
        let all = self.levels.first().cloned().unwrap_or_default();
        let keys = &self.keys;
        let has = |row: usize| {
            let key = keys.get(row).and_then(Option::as_ref);
            key.is_some_and(|key| segments.contains(key))
        };
        for base in self
            .levels
            .iter_mut()
            .flatten()
            .filter(|base| !has(base.row))
        {
            base.at = NOWHERE;
        }
        all
    }

    /// The bytes of an item; fewer where the record ends in it, `None` where it ends before.
    #[inline(always)] // once a value
    fn part(&self, base: &Base, leaf: &Leaf) -> Option<&[u8]> {
        let start = base.at.wrapping_add(leaf.at); // both are lengths of what is in memory, or bounded
        let stop = start.wrapping_add(leaf.size).min(base.stop);
        self.data.get(start..stop).filter(|data| !data.is_empty())
    }

    #[cold]
    fn refuse(&mut self, node: &Planned, level: usize, base: usize, seen: String) {
        let mut items = Vec::new();
        let mut place = base;
        let mut row = 0;
        for bases in self.levels.get(..=level).unwrap_or_default().iter().rev() {
            let Some(each) = bases.get(place) else { return };
            items.push(each.item);
            (place, row) = (each.parent, each.row);
        }
        items.pop(); // of the record
        let mut path = String::new();
        for name in &self.path {
            match name.as_str() {
                "" => _ = write!(path, "[{}]", items.pop().unwrap_or_default()),
                name if path.is_empty() => path.push_str(name),
                name => _ = write!(path, ".{name}"),
            }
        }
        self.refused.push(Refused {
            row,
            number: node.number,
            base,
            path,
            seen,
            kind: node.kind.clone(),
        });
    }
}

#[cold]
fn refuse<T>(refused: &mut Vec<(usize, String)>, row: usize, data: Option<&[u8]>) -> Option<T> {
    refused.push((row, hex(data.unwrap_or_default())));
    None
}

fn hex(data: &[u8]) -> String {
    let mut text = String::from("0x");
    for byte in data {
        _ = write!(text, "{byte:02X}");
    }
    text
}

#[inline]
fn span(frames: &Frames, row: usize) -> Option<(usize, usize)> {
    let (&start, &stop) = (frames.starts.get(row)?, frames.stops.get(row)?);
    Some((start as usize, stop as usize))
}
