//! Records that do not end in what was read, or are too long: looked for once, however many of them are given up.

/// Where they begin, wherever in the buffer reading goes on.
///
/// Where one is given up, the next line may begin one that does not end either. Who looked for its end again would take
/// quadratic time for a file of quotes that never close.
#[derive(Debug, Default)]
pub(super) struct OpenRecords {
    starts: Vec<u64>, // in the file
    read_to: Option<u64>,
    hidden: usize, // how many were forgotten last
    position: u64, // and where reading was
}

impl OpenRecords {
    /// Of what was read from `position` to `read_to`.
    pub(super) fn new(starts: &[i64], position: u64, read_to: u64) -> OpenRecords {
        OpenRecords {
            starts: starts
                .iter()
                .map(|&start| position + start as u64)
                .collect(),
            read_to: Some(read_to),
            ..OpenRecords::default()
        }
    }

    /// Whether they are known of what was read up to there.
    pub(super) fn is_known(&self, read_to: u64) -> bool {
        self.read_to == Some(read_to)
    }

    /// How many bytes from `position` on, of those up to `read_to`, tell all records before the next of them.
    ///
    /// Its first code unit, of `unit` bytes, may end the record before it, too. 0 if it begins at `position`.
    pub(super) fn bytes_before(&self, position: u64, read_to: u64, unit: u64) -> usize {
        let next = self.starts.get(self.next(position));
        let left = read_to - position;
        let known = match next.filter(|_| self.is_known(read_to)) {
            Some(&start) if start == position => 0,
            Some(&start) => left.min(start - position + unit),
            None => left,
        };
        usize::try_from(known).unwrap_or(usize::MAX) // it is in memory
    }

    /// Bytes from `position` on hide the next of them: a record goes on there. Each time it does, twice as many.
    pub(super) fn forget(&mut self, position: u64) {
        self.hidden = if position == self.position {
            2 * self.hidden
        } else {
            0
        }
        .max(1);
        self.position = position;
        let kept = self.next(position).saturating_add(self.hidden);
        self.starts.drain(..kept.min(self.starts.len()));
    }

    fn next(&self, position: u64) -> usize {
        self.starts.partition_point(|&start| start < position)
    }
}
