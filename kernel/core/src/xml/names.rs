//! Names of columns, looked up in the order in which records have them.

/// Names with their columns.
#[derive(Debug, Default)]
pub(super) struct Names {
    sorted: Vec<(Box<str>, usize)>,
    guesses: Vec<usize>, // of each name, in the order of `sorted`: which one came after it last time
    last: usize,
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = (&'a str, usize)>) -> Names {
        let mut sorted: Vec<(Box<str>, usize)> =
            names.map(|(name, slot)| (name.into(), slot)).collect();
        sorted.sort_unstable();
        Names {
            guesses: (0..sorted.len()).collect(),
            sorted,
            last: 0,
        }
    }

    /// The column of a name. Names that follow each other as they did before are found by one look.
    #[inline]
    pub(super) fn slot(&mut self, name: &str) -> Option<usize> {
        let guess = *self.guesses.get(self.last)?;
        if let Some((each, slot)) = self.sorted.get(guess)
            && each.as_ref() == name
        {
            self.last = guess;
            return Some(*slot);
        }
        let place = self
            .sorted
            .binary_search_by(|(each, _)| each.as_ref().cmp(name))
            .ok()?;
        self.guesses[self.last] = place;
        self.last = place;
        Some(self.sorted[place].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order() {
        let mut names = Names::new([("b", 0), ("a", 1), ("c", 2)].into_iter());
        let mut look = |order: &str| -> Vec<Option<usize>> {
            order
                .chars()
                .map(|name| names.slot(&name.to_string()))
                .collect()
        };
        let found = |slots: [usize; 3]| slots.map(Some).to_vec();
        for _ in 0..2 {
            assert_eq!(look("bac"), found([0, 1, 2]));
            assert_eq!(look("cab"), found([2, 1, 0]));
            assert_eq!(look("xbb"), [None, Some(0), Some(0)]);
        }
        assert_eq!(Names::default().slot("a"), None);
    }
}
