//! Deflate, in the containers of gzip and zlib or in none, and gzip members entered inside.

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::value::base64;

const GZIP: u8 = 16 + 15;
const WINDOW: u8 = 15; // of 32 KiB
const TRAILER_BYTES: usize = 8; // of a gzip member: checksum and length of all of it

/// Blocks of deflate that hold nothing, lowest bit first: one with codes of its own, whose length is odd, and one with
/// fixed codes. `splitscan.content.codecs.gzip` makes them.
const ODD_BLOCK: (u128, u32) = (0x46af_f810_0000_0000_0081_e104, 95);
const EVEN_BLOCK: (u128, u32) = (0b10, 10);

/// How far one call came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Bytes that were taken.
    pub taken: usize,
    /// Bytes that were given.
    pub given: usize,
    /// Whether the member ends here, and was verified.
    pub ended: bool,
}

/// Decompresses one member.
pub(super) trait Decoder: Send {
    /// Take bytes, and fill some room: one of both to its end, or up to the end of the member.
    fn decompress(&mut self, data: &[u8], room: &mut [u8]) -> Result<Passed, String>;
}

/// A decoder of one member of a codec; `None` for codecs that are not decompressed here.
pub(super) fn decoder_of(codec: &str) -> Option<Box<dyn Decoder>> {
    Some(Box::new(match codec {
        "gzip" => Inflate::new(true, GZIP),
        "zlib" => Inflate::new(true, WINDOW),
        "raw-deflate" => Inflate::new(false, WINDOW),
        _ => return None,
    }))
}

impl Decoder for Inflate {
    fn decompress(&mut self, data: &[u8], room: &mut [u8]) -> Result<Passed, String> {
        let (taken, given) = (self.total_in(), self.total_out());
        let status = Inflate::decompress(self, data, room, InflateFlush::NoFlush);
        let status = status.map_err(|error| {
            let said = self.error_message();
            said.unwrap_or_else(|| error.as_str()).to_string()
        })?;
        Ok(Passed {
            taken: (self.total_in() - taken) as usize,
            given: (self.total_out() - given) as usize,
            ended: status == Status::StreamEnd,
        })
    }
}

/// Decompresses the rest of a gzip member; passes its trailer, which only who began at the beginning can verify.
pub(super) struct InsideGzip {
    inflate: Inflate,
    bit: u32, // of the first byte; what is before it belongs to others
    has_ended: bool,
    left: usize, // of the trailer
}

impl InsideGzip {
    /// From a bit of the first byte on. `state` is the content before it, deflated, in Base64; empty for none.
    pub(super) fn resume(bit: u32, state: &str) -> Result<InsideGzip, String> {
        let mut packed = Vec::new();
        base64::decode(state, &mut packed).ok_or("the state of a seek point is Base64")?;
        let mut window = vec![0; 1 << WINDOW];
        let mut length = 0;
        if !packed.is_empty() {
            let mut inflate = Inflate::new(true, WINDOW);
            length = Decoder::decompress(&mut inflate, &packed, &mut window)?.given;
        }
        let mut inflate = Inflate::new(false, WINDOW);
        let history = window.get(..length).unwrap_or_default();
        if !history.is_empty() {
            let set = inflate.set_dictionary(history);
            set.map_err(|error| error.as_str().to_string())?;
        }
        Ok(InsideGzip {
            inflate,
            bit,
            has_ended: false,
            left: TRAILER_BYTES,
        })
    }

    fn inflate(&mut self, data: &[u8], room: &mut [u8]) -> Result<Passed, String> {
        let passed = Decoder::decompress(&mut self.inflate, data, room)?;
        self.has_ended |= passed.ended;
        Ok(passed)
    }
}

impl Decoder for InsideGzip {
    fn decompress(&mut self, data: &[u8], room: &mut [u8]) -> Result<Passed, String> {
        let mut passed = Passed::default();
        if let (1.., Some(&first)) = (self.bit, data.first()) {
            let (built, bits) = padding(self.bit);
            let built = built | u128::from(first >> self.bit) << bits;
            let length = (bits + u8::BITS - self.bit) / u8::BITS;
            let built = built.to_le_bytes();
            self.bit = 0;
            let built = built.get(..length as usize).unwrap_or_default();
            passed.given = self.inflate(built, room)?.given;
            passed.taken = 1;
        }
        let rest = data.get(passed.taken..).unwrap_or_default();
        if !self.has_ended {
            let room = room.get_mut(passed.given..).unwrap_or_default();
            let more = self.inflate(rest, room)?;
            passed.taken += more.taken;
            passed.given += more.given;
        }
        if self.has_ended {
            let rest = data.len() - passed.taken;
            let skipped = rest.min(self.left);
            self.left -= skipped;
            passed.taken += skipped;
            passed.ended = self.left == 0;
        }
        Ok(passed)
    }
}

/// Blocks that hold nothing, of a number of bits that is `bits` modulo 8.
fn padding(bits: u32) -> (u128, u32) {
    let (mut value, mut count) = if bits % 2 == 1 { ODD_BLOCK } else { (0, 0) };
    while count % u8::BITS != bits {
        value |= EVEN_BLOCK.0 << count;
        count += EVEN_BLOCK.1;
    }
    (value, count)
}
