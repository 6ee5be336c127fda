//! Where the fields of some records are, record after record: what the masks and the machine find, and columns read.

use super::steps::{Sink, Written};
use crate::bits::{BLOCK, Vectors};

/// Bytes of records after which columns are filled: enough for a pass over each column to cost little, and few enough
/// to be read from the cache again.
pub(super) const FULL_BYTES: usize = 1 << 15;

const ESCAPED: u32 = 1 << 31; // of a position where a field stops: there is something to resolve
const QUOTED: u32 = 1 << 30; // of a walked field: it is in quotes
const POSITION: u32 = QUOTED - 1;

/// Where one field is, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub stop: usize,
    pub written: Written,
}

/// Complete records. Positions are relative to `base`, and below 2^30: a record that is longer fits into no column.
pub(super) struct Tape {
    full_bytes: usize,
    base: usize,
    /// Of a proven field the edge that ends it; of a walked one its first byte, and the first after it.
    words: Vec<u32>,
    used: usize,
    first: usize, // word of the record that is open
    records: Vec<Record>,
    is_escaped: bool, // the field whose edge comes next
}

const WALKED: u32 = 1 << 31; // of the position where a record stops: the machine has told of its fields
const MALFORMED: u32 = 1 << 30;

/// A record, and which words are those of its fields: 16 bytes, as one is written for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub start: u32,
    stop: u32, // with WALKED and MALFORMED
    first: u32,
    end: u32,
}

impl Record {
    /// How many fields it has.
    #[inline(always)] // once a record
    pub(super) fn fields(&self) -> usize {
        let words = self.end.wrapping_sub(self.first); // first is not after end
        (words >> u32::from(self.is_walked())) as usize
    }

    /// The first byte after it.
    #[inline(always)] // once a record
    pub(super) fn stop(&self) -> usize {
        (self.stop & POSITION) as usize
    }

    /// Whether it ends inside quotes.
    #[inline(always)] // once a record
    pub(super) fn is_malformed(&self) -> bool {
        self.stop & MALFORMED != 0
    }

    #[inline(always)] // once a value
    fn is_walked(&self) -> bool {
        self.stop & WALKED != 0
    }
}

impl Tape {
    /// No records; columns should be filled with those of so many bytes.
    pub(super) fn new(full_bytes: usize) -> Tape {
        Tape {
            full_bytes,
            base: 0,
            words: Vec::new(),
            used: 0,
            first: 0,
            records: Vec::new(),
            is_escaped: false,
        }
    }

    /// Drop all records; the next one begins at `base`, or after it.
    pub(super) fn restart(&mut self, base: usize) {
        self.records.clear();
        self.base = base;
        self.first = 0;
        self.rewind();
    }

    /// Whether there is no record.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether a record that begins there can be told of; if not, columns should be filled.
    #[inline(always)] // once a block
    pub(super) fn reaches(&self, start: usize) -> bool {
        self.place(start) < self.full_bytes
    }

    /// How many words there are.
    #[inline(always)] // once a block
    pub(super) fn words(&self) -> usize {
        self.used
    }

    /// The records.
    #[inline]
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Where a record starts in the data.
    #[inline]
    pub(super) fn start_of(&self, record: &Record) -> usize {
        self.base.wrapping_add(record.start as usize)
    }

    /// Where it stops.
    #[inline]
    pub(super) fn stop_of(&self, record: &Record) -> usize {
        self.base.wrapping_add(record.stop())
    }

    /// Drop all but the first records.
    pub(super) fn keep(&mut self, records: usize) {
        self.records.truncate(records);
        self.first = self.records.last().map_or(0, |record| record.end as usize);
        self.rewind();
    }

    /// Drop the fields that are of no record yet.
    #[inline]
    pub(super) fn rewind(&mut self) {
        self.used = self.first;
        self.is_escaped = false;
    }

    /// Drop the fields up to a word: they are of no record.
    #[inline(always)] // once a blank line
    pub(super) fn skip(&mut self, end: usize) {
        self.first = end;
    }

    /// Fields of a block end at these edges; those whose content has one of the `halves`, which are doubled quotes, are
    /// escaped.
    #[inline(always)] // once a block
    pub(super) fn push_edges<V: Vectors>(&mut self, block: usize, edges: u64, halves: u64) {
        let from = self.used;
        V::places(edges, block as u32, self.room());
        self.used = from.wrapping_add(edges.count_ones() as usize); // within the words
        if halves != 0 || self.is_escaped {
            self.mark_escaped(from, edges, halves);
        }
    }

    /// The position in the tape of one in the data.
    #[inline(always)]
    pub(super) fn place(&self, position: usize) -> usize {
        position.wrapping_sub(self.base)
    }

    #[inline(always)]
    fn room(&mut self) -> &mut [u32] {
        if self.words.len() < self.used.wrapping_add(BLOCK) {
            self.grow();
        }
        self.words
            .get_mut(self.used..self.used.wrapping_add(BLOCK))
            .unwrap_or_default()
    }

    #[cold]
    fn grow(&mut self) {
        self.words.resize(2 * self.used + 16 * BLOCK, 0);
    }

    #[inline(never)]
    fn mark_escaped(&mut self, from: usize, edges: u64, mut halves: u64) {
        if self.is_escaped && edges != 0 {
            self.escape(from);
            self.is_escaped = false;
        }
        while halves != 0 {
            let before = edges & (halves & halves.wrapping_neg()).wrapping_sub(1);
            let number = from + before.count_ones() as usize;
            if number < self.used {
                self.escape(number);
            } else {
                self.is_escaped = true;
            }
            halves &= halves - 1;
        }
    }

    fn escape(&mut self, number: usize) {
        if let Some(word) = self.words.get_mut(number) {
            *word |= ESCAPED;
        }
    }

    /// End a record, whose edges go up to a word.
    #[inline(always)] // once a record
    pub(super) fn push_proven(&mut self, start: usize, stop: usize, end: usize) {
        self.push(start, stop, end, 0);
    }

    /// End a record, of whose fields the machine has told.
    #[inline]
    pub(super) fn push_walked(&mut self, start: usize, stop: usize, is_malformed: bool) {
        let malformed = if is_malformed { MALFORMED } else { 0 };
        self.push(start, stop, self.used, WALKED | malformed);
    }

    #[inline(always)]
    fn push(&mut self, start: usize, stop: usize, end: usize, flags: u32) {
        self.records.push(Record {
            start: self.place(start) as u32, // all below 2^30
            stop: self.place(stop) as u32 & POSITION | flags,
            first: self.first as u32,
            end: end as u32,
        });
        self.first = end;
    }

    /// The records and their fields, whose bytes are in `data`.
    pub(super) fn fields<'a>(&'a self, data: &'a [u8], quote: Option<u8>) -> Fields<'a> {
        Fields {
            bytes: data.get(self.base..).unwrap_or_default(),
            quote: quote.map_or(NO_QUOTE, u16::from),
            words: self.words.get(..self.used).unwrap_or_default(),
            records: &self.records,
        }
    }
}

impl Sink for Tape {
    #[inline(always)] // part of the hot loop
    fn field(&mut self, start: usize, stop: usize, written: Written) {
        let flags = match written {
            Written::Plain => 0,
            Written::Quoted => QUOTED,
            Written::Escaped => QUOTED | ESCAPED,
        };
        let words = [
            self.place(start) as u32 & POSITION,
            self.place(stop) as u32 & POSITION | flags,
        ];
        if let Some(room) = self.room().first_chunk_mut() {
            *room = words;
        }
        self.used = self.used.wrapping_add(2); // within the words
    }
}

const NO_QUOTE: u16 = 1 << 8;

/// Some records of a tape.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    /// What positions are relative to.
    pub bytes: &'a [u8],
    quote: u16, // or NO_QUOTE
    words: &'a [u32],
    /// The records.
    pub records: &'a [Record],
}

impl<'a> Fields<'a> {
    /// Some of the records.
    pub(super) fn part(&self, from: usize, to: usize) -> Fields<'a> {
        let records = self.records.get(from..to).unwrap_or_default();
        Fields { records, ..*self }
    }

    /// The field with that number of a record, if it has so many.
    #[inline(always)] // once a value
    pub(super) fn get(&self, record: &Record, field: usize) -> Option<Span> {
        if record.is_walked() {
            return self.walked(record, field);
        }
        let at = (record.first as usize).wrapping_add(field); // no more than the words
        if at >= record.end as usize {
            return None;
        }
        let edge = *self.words.get(at)?;
        let start = match field {
            0 => record.start as usize,
            _ => (*self.words.get(at.wrapping_sub(1))? & POSITION) as usize + 1,
        };
        let stop = (edge & POSITION) as usize;
        if u16::from(*self.bytes.get(start)?) != self.quote {
            return Some(Span {
                start,
                stop,
                written: Written::Plain,
            });
        }
        Some(Span {
            start: start + 1,
            stop: stop.wrapping_sub(1), // the quote that closes the field
            written: if edge & ESCAPED == 0 {
                Written::Quoted
            } else {
                Written::Escaped
            },
        })
    }

    fn walked(&self, record: &Record, field: usize) -> Option<Span> {
        let at = record.first as usize + 2 * field;
        if at >= record.end as usize {
            return None;
        }
        let (start, stop) = (*self.words.get(at)?, *self.words.get(at + 1)?);
        Some(Span {
            start: start as usize,
            stop: (stop & POSITION) as usize,
            written: match (stop & QUOTED, stop & ESCAPED) {
                (0, _) => Written::Plain,
                (_, 0) => Written::Quoted,
                _ => Written::Escaped,
            },
        })
    }

    /// All fields of a record, with their numbers.
    pub(super) fn of(&self, record: &'a Record) -> impl Iterator<Item = (usize, Span)> {
        (0..record.fields()).filter_map(move |field| Some((field, self.get(record, field)?)))
    }
}
