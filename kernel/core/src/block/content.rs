//! The content of a compressed file: member after member, verified, in bounded memory; readable at any offset, cheapest
//! in ascending order.
//!
//! What is given out has the next piece after it, or the verified end: `splitscan.content.codecs` defines all of it.

use serde::Deserialize;
use serde_json::Value;

use super::error::{BlockError, Kind};
use super::inflate::{Decoder, InsideGzip, decoder_of};
use super::source::{HostError, ReadAt};
use crate::quoting::quoted_bytes;

const FED_BYTES: usize = 128 * 1024; // at a time: what an error says of its place depends on it
const FIRST_READ_BYTES: usize = 256 * 1024; // doubled with every read, because a read may be a request
const LONGEST_READ_BYTES: usize = 4 << 20;
const PIECE_BYTES: usize = 1 << 20;
const HISTORY_BYTES: usize = 4 << 20; // how far back a read may go before decompressing begins again
const HARMLESS_BYTES: u64 = 256 << 20; // of content, whatever its ratio
const QUOTED_BYTES: usize = 16;

/// A place in a compressed file where decompressing can begin: bits before it, content before it, and inside of a
/// member what has to be known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SeekPoint(pub u64, pub u64, pub Option<String>);

/// A compressed file, read at offsets of what it holds.
pub struct Content {
    file: Box<dyn ReadAt>,
    stream: Stream,
    points: Vec<SeekPoint>, // in order, the beginning of the file first
    kept: Vec<u8>,          // as long as it ever was
    filled: usize,          // of it
    kept_from: u64,
    ready_to: u64, // of what is kept, what may be given out
    end: Option<u64>,
    failed: Option<BlockError>,
}

impl Content {
    /// The content of a file in a codec; `None` where that is none of those that are read here.
    ///
    /// `path` is the file in messages; decompressing may begin at its beginning, and at `points`; content of more than
    /// `max_ratio` times the length of the file is an error.
    pub fn open(
        file: Box<dyn ReadAt>,
        path: &str,
        codec: &str,
        points: &[SeekPoint],
        max_ratio: u64,
    ) -> Option<Content> {
        decoder_of(codec)?;
        let mut points = [&[SeekPoint::default()], points].concat();
        points.sort_by_key(|point| point.1);
        let stream = Stream {
            path: path.to_string(),
            codec: codec.to_string(),
            signatures: signatures_of(codec),
            max_ratio,
            ..Stream::default()
        };
        let entry = points.last().cloned().unwrap_or_default();
        let mut content = Content {
            file,
            stream,
            points,
            kept: Vec::new(),
            filled: 0,
            kept_from: 0,
            ready_to: 0,
            end: None,
            failed: None,
        };
        content.begin(entry);
        Some(content)
    }

    /// The same of the block of a document; `None` where its file is not compressed.
    ///
    /// # Errors
    /// If it is in a codec that is not read here.
    pub fn of_block(
        file: Box<dyn ReadAt>,
        path: &str,
        block: &Value,
        max_ratio: u64,
    ) -> Result<Box<dyn ReadAt>, BlockError> {
        let Some(codec) = block["file"][5][0].as_str() else {
            return Ok(file);
        };
        let entry: Option<SeekPoint> = serde_json::from_value(block["block"][4].clone())
            .map_err(|error| BlockError::bad_document("a place to begin at", error.to_string()))?;
        let points: Vec<_> = entry.into_iter().collect();
        match Content::open(file, path, codec, &points, max_ratio) {
            Some(content) => Ok(Box::new(content)),
            None => Err(BlockError::bad_document(
                "the kernel knows the codec",
                codec,
            )),
        }
    }

    fn begin(&mut self, point: SeekPoint) {
        (self.kept_from, self.ready_to) = (point.1, point.1);
        (self.filled, self.failed) = (0, None);
        self.stream.begin(point);
    }

    fn kept_to(&self) -> u64 {
        self.kept_from + self.filled as u64
    }

    /// Decompress one more piece, and drop what lies before `start` and is no near history.
    fn advance(&mut self, start: u64) -> Result<(), BlockError> {
        let oldest = start.min(self.kept_to().saturating_sub(HISTORY_BYTES as u64));
        let passed = usize::try_from(oldest.saturating_sub(self.kept_from)).unwrap_or_default();
        if passed >= HISTORY_BYTES {
            self.kept.copy_within(passed..self.filled, 0);
            self.kept_from += passed as u64;
            self.filled -= passed;
        }
        if self.kept.len() < self.filled + PIECE_BYTES {
            self.kept.resize(self.filled + PIECE_BYTES, 0);
        }
        let before = self.kept_to();
        let room = self.kept.get_mut(self.filled..).unwrap_or_default();
        let room = room.get_mut(..PIECE_BYTES).unwrap_or_default();
        let given = self.stream.decompress(self.file.as_mut(), room)?;
        self.filled += given;
        self.ready_to = before;
        if given == 0 {
            self.end = Some(before);
        }
        Ok(())
    }
}

impl ReadAt for Content {
    fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<usize, HostError> {
        let after = self.points.partition_point(|point| point.1 <= offset);
        let nearest = self.points.get(after.saturating_sub(1));
        let nearest = nearest.cloned().unwrap_or_default();
        if offset < self.kept_from || nearest.1 > self.kept_to() {
            self.begin(nearest);
        }
        let stop = offset + into.len() as u64;
        while self.ready_to < stop && self.end.is_none_or(|end| self.ready_to < end) {
            if self.failed.is_none() {
                self.failed = self.advance(offset).err();
            }
            if let Some(error) = &self.failed {
                return Err(HostError::Block(Box::new(error.clone())));
            }
        }
        let from = usize::try_from(offset - self.kept_from).unwrap_or(usize::MAX);
        let ready = usize::try_from(self.ready_to - self.kept_from).unwrap_or(usize::MAX);
        let kept = self.kept.get(from..ready).unwrap_or_default();
        let read = kept.len().min(into.len());
        into.iter_mut().zip(kept).for_each(|(to, byte)| *to = *byte);
        Ok(read)
    }

    fn content_end(&mut self) -> Option<u64> {
        self.end
    }
}

/// Decompresses a file from a place on, a piece at a time.
#[derive(Default)]
struct Stream {
    path: String,
    codec: String,
    signatures: Vec<Vec<u8>>,
    max_ratio: u64,
    decoder: Option<Box<dyn Decoder>>,
    point: SeekPoint,        // where it began
    entry: Option<String>,   // what that has to know, before its decoder is made
    data: Vec<u8>,           // of the file
    pending: (usize, usize), // of the data: what is fed next
    read_bytes: usize,       // of the next read
    fed_to: u64,             // of the file: the end of what is pending
    content_offset: u64,     // up to which it is decompressed
    has_more: bool,          // perhaps, before the decoder is fed
}

impl Stream {
    fn begin(&mut self, point: SeekPoint) {
        self.decoder = None;
        (self.fed_to, self.content_offset) = (point.0 / 8, point.1);
        (self.pending, self.read_bytes) = ((0, 0), FIRST_READ_BYTES);
        self.data.clear();
        self.entry = point.2.clone();
        self.point = point;
        self.has_more = false;
    }

    fn first_offset(&self) -> u64 {
        self.point.0 / 8
    }

    fn pending(&self) -> &[u8] {
        self.data
            .get(self.pending.0..self.pending.1)
            .unwrap_or_default()
    }

    /// Where what is pending begins in the file.
    fn position(&self) -> u64 {
        self.fed_to - self.pending().len() as u64
    }

    /// The next piece of the content; nothing at its end.
    fn decompress(&mut self, file: &mut dyn ReadAt, room: &mut [u8]) -> Result<usize, BlockError> {
        loop {
            if self.decoder.is_none() && !self.begin_member(file)? {
                return Ok(0);
            }
            let given = self.decode(file, room)?;
            if given > 0 {
                self.content_offset += given as u64;
                self.check_ratio()?;
                return Ok(given);
            }
        }
    }

    /// Make a decoder for the member that begins here; `false` at the end of the file.
    fn begin_member(&mut self, file: &mut dyn ReadAt) -> Result<bool, BlockError> {
        if let Some(state) = self.entry.take() {
            let inside = InsideGzip::resume((self.point.0 % 8) as u32, &state);
            let inside = inside.map_err(|said| self.error(DAMAGED, said))?;
            self.decoder = Some(Box::new(inside));
            return Ok(true);
        }
        if !self.holds_signature(file)? {
            return self.pass_padding(file).map(|()| false);
        }
        self.decoder = decoder_of(&self.codec);
        self.has_more = false;
        Ok(true)
    }

    fn holds_signature(&mut self, file: &mut dyn ReadAt) -> Result<bool, BlockError> {
        if self.signatures.is_empty() {
            return Ok(self.fed_to == self.first_offset());
        }
        let longest = self.signatures.iter().map(Vec::len).max();
        while Some(self.pending().len()) < longest && self.feed(file)? {}
        let pending = self.pending();
        Ok(self.signatures.iter().any(|each| pending.starts_with(each)))
    }

    /// Pass zeros up to the end of the file, which belong to nobody.
    fn pass_padding(&mut self, file: &mut dyn ReadAt) -> Result<(), BlockError> {
        let (start, pending) = (self.position(), self.pending());
        if !pending.is_empty() && self.signatures.iter().any(|each| each.starts_with(pending)) {
            return Err(self.breaks_off());
        }
        loop {
            let zeros = self.pending().iter().take_while(|&&byte| byte == 0).count();
            self.pending.0 += zeros;
            if !self.pending().is_empty() {
                break;
            }
            if !self.feed(file)? {
                return Ok(());
            }
        }
        let rule = if start == self.first_offset() {
            "a member begins where none can begin"
        } else {
            "something that is no member follows the last one"
        };
        Err(self.error(rule, quoted_bytes(self.pending(), QUOTED_BYTES)))
    }

    fn decode(&mut self, file: &mut dyn ReadAt, room: &mut [u8]) -> Result<usize, BlockError> {
        if !self.has_more && self.pending().is_empty() && !self.feed(file)? {
            return Err(self.breaks_off());
        }
        let data = self.data.get(self.pending.0..self.pending.1);
        let data = data.unwrap_or_default();
        let Some(decoder) = &mut self.decoder else {
            return Ok(0);
        };
        let passed = match decoder.decompress(data, room) {
            Ok(passed) => passed,
            Err(said) => {
                self.pending.0 = self.pending.1; // it was fed with all of it
                return Err(self.error(DAMAGED, said));
            }
        };
        self.pending.0 += passed.taken;
        self.has_more = passed.given == room.len();
        if passed.ended {
            self.decoder = None;
        }
        Ok(passed.given)
    }

    /// Append some bytes of the file to what is pending; whether there are any.
    fn feed(&mut self, file: &mut dyn ReadAt) -> Result<bool, BlockError> {
        if self.pending.1 == self.data.len() {
            self.data.drain(..self.pending.0);
            self.pending = (0, self.data.len());
            self.data.resize(self.pending.1 + self.read_bytes, 0);
            let room = self.data.get_mut(self.pending.1..).unwrap_or_default();
            let read = file
                .read_at(self.fed_to, room)
                .map_err(|error| error.at(self.fed_to))?;
            self.data.truncate(self.pending.1 + read);
            self.read_bytes = (2 * self.read_bytes).min(LONGEST_READ_BYTES);
        }
        let fed = FED_BYTES.min(self.data.len() - self.pending.1);
        self.pending.1 += fed;
        self.fed_to += fed as u64;
        Ok(fed > 0)
    }

    fn breaks_off(&self) -> BlockError {
        let seen = format!("the file ends at byte {}, inside a member", self.fed_to);
        let mut error = self.error("a compressed file breaks off", seen);
        error.code = "truncated-container";
        error
    }

    fn error(&self, rule: &str, seen: String) -> BlockError {
        let mut error = BlockError::new(Kind::Source, "corrupt-container", rule)
            .at(self.position())
            .seen(seen)
            .fix(
                "get the file again from where it came; what stands before the damage can be had with the codec's own \
                 tool",
            );
        error.place.path.clone_from(&self.path);
        error.place.notes = vec![
            ("codec", self.codec.clone()),
            ("content", format!("byte {}", self.content_offset)),
        ];
        error
    }

    /// Refuse content that is out of all proportion to the file.
    fn check_ratio(&self) -> Result<(), BlockError> {
        let content = self.content_offset - self.point.1;
        let taken = self.fed_to - self.first_offset();
        if content <= HARMLESS_BYTES || content <= taken.saturating_mul(self.max_ratio) {
            return Ok(());
        }
        let rule = format!(
            "a compressed file holds more than maxDecompressionRatio={} times its length",
            self.max_ratio
        );
        Err(BlockError::new(Kind::Usage, "decompression-bomb", rule)
            .at(self.fed_to)
            .seen(format!("{content} bytes of content from {taken}"))
            .fix("if the file is no decompression bomb, raise maxDecompressionRatio"))
    }
}

const DAMAGED: &str = "a compressed file is damaged";

/// What members of a codec begin with; nothing for one that has no signature, whose files are one member.
fn signatures_of(codec: &str) -> Vec<Vec<u8>> {
    match codec {
        "gzip" => vec![b"\x1f\x8b\x08".to_vec()],
        "zlib" => (0..=u16::MAX)
            .filter(|header| header & 0x8f20 == 0x0800 && header % 31 == 0) // no dictionary
            .map(|header| header.to_be_bytes().to_vec())
            .collect(),
        _ => Vec::new(),
    }
}
