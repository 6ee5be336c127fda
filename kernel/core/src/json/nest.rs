//! The containers that are open, one bit for each.

/// A stack of bits: whether an open container is an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nest {
    bits: u64,
    depth: usize,
    outer: Vec<u64>,
}

impl Nest {
    pub(crate) fn clear(&mut self) {
        (self.bits, self.depth) = (0, 0);
        self.outer.clear();
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.depth != 0
    }

    /// Whether the innermost container is an object.
    #[inline]
    pub(crate) fn is_object(&self) -> bool {
        self.bits & 1 == 1
    }

    #[inline]
    pub(crate) fn open(&mut self, is_object: bool) {
        if self.depth.is_multiple_of(64) && self.depth != 0 {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.depth += 1;
    }

    #[inline]
    pub(crate) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.bits >>= 1;
        if self.depth.is_multiple_of(64) {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_stack(steps in prop::collection::vec((any::<bool>(), 0..5u8), 0..900)) {
            let (mut nest, mut stack) = (Nest::default(), Vec::new());
            for (is_object, choice) in steps {
                if choice == 0 && !stack.is_empty() {
                    nest.close();
                    stack.pop();
                } else {
                    nest.open(is_object);
                    stack.push(is_object);
                }
                prop_assert_eq!((nest.is_open(), nest.is_open() && nest.is_object()), (!stack.is_empty(), stack.last() == Some(&true)));
            }
        }
    }
}
