//! What a piece of a file does to the framer, whatever precedes it.

use super::frame::is_misplaced;
use super::masks::{BLOCK, Marker, block_at};
use super::{Shape, is_space, precedes_brace};
use crate::frames::Run;

/// Start depths that a summary answers for; a deeper one is resolved by reading.
const KNOWN_DEPTHS: i64 = 32;

/// One run for each start state `2 * depth + in_string`; nothing where only reading can tell.
///
/// # Arguments
/// * `data` - the piece; no backslash stands before it.
/// * `before` - what precedes it.
/// * `mark` - the position, relative to the piece, from which on the first record start is noted.
pub fn summarise(data: &[u8], before: &[u8], mark: i64, shape: &Shape) -> Vec<Option<Run>> {
    let mut runs = vec![None; 2 * KNOWN_DEPTHS as usize];
    if data.is_empty() {
        return runs;
    }
    let ends_well = before
        .iter()
        .rev()
        .find(|&&byte| !is_space(byte))
        .is_some_and(|&byte| precedes_brace(byte));
    let mut tracks = [false, true].map(|in_string| Track::new(in_string, ends_well));
    let (mut marker, mut spare) = (Marker::default(), [0; BLOCK]);
    for base in (0..data.len()).step_by(BLOCK) {
        let marks = marker.next(block_at(data, base, &mut spare));
        for track in tracks.iter_mut().filter(|track| !track.is_broken) {
            let inside = if track.in_string {
                !marks.inside
            } else {
                marks.inside
            };
            track.is_broken = marks.feeds & inside != 0;
            track.take(
                data,
                base,
                marks.openers & !inside,
                marks.closers & !inside,
                mark,
                shape,
            );
        }
        if tracks.iter().all(|track| track.is_broken) {
            return runs;
        }
    }
    for (offset, track) in tracks
        .iter()
        .enumerate()
        .filter(|(_, track)| !track.is_broken)
    {
        for depth in 0..KNOWN_DEPTHS {
            runs[2 * depth as usize + offset] =
                track.run(depth, marker.in_string() != track.in_string);
        }
    }
    runs
}

/// The piece under one assumption about its start. Depths are relative to it.
struct Track {
    in_string: bool,
    is_broken: bool,
    may_end_well: bool, // before the first misplaced brace: whether what precedes the piece may excuse it
    depth: i64,
    low: i64,
    top: Option<i64>, // the highest depth at which a brace is misplaced
    edge: usize,      // at the lowest depth: up to where the gap is known
    has_garbage: bool,
    first: Option<usize>,
    last: Option<usize>,
    marked: Option<usize>,
    records: usize,
}

impl Track {
    fn new(in_string: bool, ends_well: bool) -> Track {
        Track {
            in_string,
            is_broken: false,
            may_end_well: ends_well,
            depth: 0,
            low: 0,
            top: None,
            edge: 0,
            has_garbage: false,
            first: None,
            last: None,
            marked: None,
            records: 0,
        }
    }

    #[inline]
    fn take(
        &mut self,
        data: &[u8],
        base: usize,
        openers: u64,
        closers: u64,
        mark: i64,
        shape: &Shape,
    ) {
        if self.depth - i64::from(closers.count_ones()) > self.low {
            self.look_at_braces(data, base, openers, closers);
            self.depth += i64::from(openers.count_ones()) - i64::from(closers.count_ones());
            return;
        }
        let mut brackets = openers | closers;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            let at = base + brackets.trailing_zeros() as usize;
            brackets ^= bit;
            if openers & bit != 0 {
                self.look_at(data, at, self.depth);
                if self.depth == self.low {
                    self.pass_gap(data, at, shape);
                    self.begin(at, mark);
                }
                self.depth += 1;
            } else {
                self.depth -= 1;
                if self.depth < self.low {
                    self.come_down();
                }
                if self.depth == self.low {
                    self.edge = at + 1;
                }
            }
        }
        if self.depth == self.low {
            let end = data.len().min(base + BLOCK);
            self.pass_gap(data, end, shape);
        }
    }

    /// A lower depth than all before: only what follows is between records.
    fn come_down(&mut self) {
        self.low = self.depth;
        (self.has_garbage, self.records) = (false, 0);
        (self.first, self.last, self.marked) = (None, None, None);
    }

    fn begin(&mut self, at: usize, mark: i64) {
        self.first = self.first.or(Some(at));
        self.last = Some(at);
        if self.marked.is_none() && i64::try_from(at).is_ok_and(|at| at >= mark) {
            self.marked = Some(at);
        }
        self.records += 1;
    }

    fn pass_gap(&mut self, data: &[u8], to: usize, shape: &Shape) {
        let gap = data.get(self.edge..to).unwrap_or_default();
        self.has_garbage = self.has_garbage || !gap.iter().all(|&byte| shape.separates(byte));
        self.edge = to;
    }

    fn look_at_braces(&mut self, data: &[u8], base: usize, openers: u64, closers: u64) {
        let mut left = openers;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            let below = bit - 1;
            let depth = self.depth + i64::from((openers & below).count_ones())
                - i64::from((closers & below).count_ones());
            self.look_at(data, base + left.trailing_zeros() as usize, depth);
            left ^= bit;
        }
    }

    #[inline]
    fn look_at(&mut self, data: &[u8], at: usize, depth: i64) {
        if is_misplaced(data, at) {
            let is_first = std::mem::take(&mut self.may_end_well)
                && data.iter().take(at).all(|&byte| is_space(byte));
            if !is_first {
                self.top = self.top.max(Some(depth));
            }
        }
    }

    /// What it does to the framer at this depth.
    fn run(&self, depth: i64, ends_in_string: bool) -> Option<Run> {
        if depth < -self.low || self.top.is_some_and(|top| depth + top > 0) {
            return None;
        }
        let state = 2 * (depth + self.depth) + i64::from(ends_in_string);
        if depth > -self.low {
            return Some(Run {
                state,
                first: None,
                last: None,
                marked: None,
                records: Some(0),
            });
        }
        let is_real = self.low < 0 || !self.in_string; // at depth 0 only loose records have strings
        let Track {
            first,
            last,
            marked,
            records,
            ..
        } = *self;
        (is_real && !self.has_garbage).then_some(Run {
            state,
            first,
            last,
            marked,
            records: Some(records),
        })
    }
}
