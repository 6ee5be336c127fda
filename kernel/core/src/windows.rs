//! Bytes as text, a window at a time.

use crate::frames::Frames;
use crate::parsed::Stopped;

/// Bytes that are checked to be UTF-8 at once.
const WINDOW: usize = 1 << 18;

/// Takes records that are texts.
pub(crate) trait Sink {
    /// From now on records are of another text.
    fn enter(&mut self);

    /// Read a record whose bounds in a text are known.
    fn push(&mut self, text: &str, start: usize, stop: usize);
}

/// Bytes as text; records that are no UTF-8 by themselves, with replacements.
pub(crate) struct Windows<'a> {
    data: &'a [u8],
    base: usize,
    text: &'a str,
}

impl<'a> Windows<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Windows<'a> {
        Windows {
            data,
            base: 0,
            text: "",
        }
    }

    /// A text with the byte at `start`, and where it begins.
    #[inline]
    pub(crate) fn window(&mut self, start: usize, sink: &mut impl Sink) -> (&'a str, usize) {
        if start < self.base || start >= self.base + self.text.len() {
            self.read(start, 0, sink);
        }
        (self.text, self.base)
    }

    /// Append the record `[start, stop)`.
    #[inline]
    pub(crate) fn push(&mut self, sink: &mut impl Sink, start: usize, stop: usize) {
        if start < self.base || stop > self.base + self.text.len() {
            self.read(start, stop - start, sink);
        }
        let (from, to) = (start - self.base, stop - self.base);
        if self.text.get(from..to).is_some() {
            return sink.push(self.text, from, to);
        }
        let text = String::from_utf8_lossy(self.data.get(start..stop).unwrap_or_default());
        sink.enter();
        sink.push(&text, 0, text.len());
        sink.enter();
    }

    fn read(&mut self, start: usize, least: usize, sink: &mut impl Sink) {
        let stop = self
            .data
            .len()
            .min(start.saturating_add(WINDOW.max(least.saturating_mul(2))));
        let bytes = self.data.get(start..stop).unwrap_or_default();
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => bytes
                .get(..error.valid_up_to())
                .and_then(|valid| std::str::from_utf8(valid).ok())
                .unwrap_or_default(),
        };
        (self.base, self.text) = (start, text);
        sink.enter();
    }
}

/// Append records whose contents are known, as long as there is room for them.
///
/// # Errors
/// If a record is not in the data.
pub(crate) fn push_framed<S: Sink>(
    sink: &mut S,
    data: &[u8],
    starts: &[i64],
    stops: &[i64],
    has_room: impl Fn(&S, usize) -> bool,
) -> Result<(Frames, Stopped), String> {
    let (mut windows, mut frames) = (Windows::new(data), Frames::default());
    for (&start, &stop) in starts.iter().zip(stops) {
        let range = usize::try_from(start).ok().zip(usize::try_from(stop).ok());
        let Some((from, to)) = range.filter(|&(from, to)| data.get(from..to).is_some()) else {
            return Err("a record is not in the data".into());
        };
        if !has_room(sink, to - from) {
            return Ok((frames, Stopped::Bytes));
        }
        windows.push(sink, from, to);
        frames.starts.push(start);
        frames.stops.push(stop);
        frames.next_start = to;
    }
    Ok((frames, Stopped::End))
}
