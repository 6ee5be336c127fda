//! Records whose lists have only the items that there are, as records in which lists have room for all.

use super::layout::{Counted, Leaf, Notation, Piece};

/// Why no more of a record was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The bytes ended.
    Short,
    /// Nothing says how many items a list has.
    Uncounted,
}

/// Goes through a record.
pub(super) struct Expanding<'a> {
    notation: &'a Notation,
    data: &'a [u8],
    used: usize,
    to: &'a mut Vec<u8>,
    bases: Vec<usize>, // in `to`: of the record, and of one item of each list that is open
}

/// Append a record to `to`, as far as there is one in `data`; how many bytes it has, or why it is not whole.
pub(super) fn expand(
    pieces: &[Piece],
    notation: &Notation,
    data: &[u8],
    to: &mut Vec<u8>,
) -> Result<usize, Ended> {
    let mut expanding = Expanding {
        notation,
        data,
        used: 0,
        bases: vec![to.len()],
        to,
    };
    expanding.take(pieces)?;
    Ok(expanding.used)
}

impl Expanding<'_> {
    fn take(&mut self, pieces: &[Piece]) -> Result<(), Ended> {
        for piece in pieces {
            match piece {
                Piece::Bytes(size) => {
                    let rest = self.data.get(self.used..).unwrap_or_default();
                    let part = rest.get(..*size).unwrap_or(rest);
                    self.to.extend_from_slice(part);
                    self.used += part.len();
                    if part.len() < *size {
                        return Err(Ended::Short);
                    }
                }
                Piece::Counted(list) => {
                    let items = self.count(list).ok_or(Ended::Uncounted)?;
                    let end = self.to.len() + list.most * list.stride; // bounded, as a record is
                    for _ in 0..items {
                        self.bases.push(self.to.len());
                        let found = self.take(&list.pieces);
                        self.bases.pop();
                        found?;
                    }
                    self.to.resize(end, 0);
                }
            }
        }
        Ok(())
    }

    /// How many items a list has.
    fn count(&self, list: &Counted) -> Option<usize> {
        let Some(leaf) = &list.counter else {
            return Some(list.most);
        };
        let start = self.bases.get(list.level)? + leaf.at;
        let data = self.to.get(start..start + leaf.size)?;
        let number = self.notation.items(leaf, list.counts.as_deref(), data)?;
        (list.least..=list.most).contains(&number).then_some(number)
    }
}

impl Notation {
    /// The number of items that an item says, as it is or by its text.
    pub(super) fn items(
        &self,
        leaf: &Leaf,
        counts: Option<&[(String, usize)]>,
        data: &[u8],
    ) -> Option<usize> {
        let key = self.key(leaf, data)?;
        match counts {
            Some(counts) => counts
                .iter()
                .find(|(text, _)| *text == key)
                .map(|&(_, items)| items),
            None => key.parse().ok(),
        }
    }
}
