//! Record boundaries that can be told from a few bytes, whatever comes before them.

use memchr::{memchr, memmem, memrchr};

use super::grammar::{CR, Grammar, LF};
use super::machine::{Machine, SPANNING, with_machine};
use super::steps::{Entry, Place, Step, Tail};

/// The last position in `data` that is a record boundary whatever comes before `data`, and whatever follows.
///
/// Right after a line feed a reader is at a record boundary or inside quotes. So a line that ends outside quotes, be
/// it entered at a boundary or inside quotes, ends at a boundary. It takes a line with a quote to tell.
pub fn last_split_point(data: &[u8], grammar: &Grammar) -> Option<usize> {
    let dialect = grammar.dialect();
    let feeds = dialect
        .line_sep
        .as_deref()
        .is_none_or(|line_sep| line_sep == [LF]);
    if dialect.comment.is_some() || (dialect.sep.len() > 1 && !grammar.is_runs()) || !feeds {
        return None;
    }
    let quote = dialect.quote?;
    let mut stop = memrchr(LF, data).map_or(0, |at| at + 1);
    while let Some(last_quote) = memmem::rfind(data.get(..stop)?, quote.bytes()) {
        let start = memrchr(LF, data.get(..last_quote)?)? + 1; // before the first line feed may be the rest of a line
        let end = last_quote + memchr(LF, data.get(last_quote..)?)?;
        if ends_outside(data.get(start..end)?, grammar) {
            return Some(end + 1);
        }
        stop = start;
    }
    None
}

/// Whether a line without its line feed ends outside quotes, whether it begins inside of them or at a boundary.
fn ends_outside(line: &[u8], grammar: &Grammar) -> bool {
    let mut line = line;
    if grammar.dialect().line_sep.is_none() {
        line = line.strip_suffix(&[CR]).unwrap_or(line);
        if memchr(CR, line).is_some() {
            return false; // it is two lines, or more
        }
    }
    with_machine!(
        grammar,
        OUTSIDE,
        INSIDE,
        ends_outside_from_both::<OUTSIDE, { SPANNING + INSIDE % 2 }>(line, grammar)
    )
}

fn ends_outside_from_both<const OUTSIDE: usize, const INSIDE: usize>(
    line: &[u8],
    grammar: &Grammar,
) -> bool {
    [Entry::Field, Entry::Quoted].into_iter().all(|entry| {
        let mut machine = Machine::<OUTSIDE, INSIDE>::new(line, grammar, Tail::Open);
        machine.line(0, entry, &mut ()) == Step::Open(Place::Outside)
    })
}
