//! Records of several kinds that belong together: a root, and the records that follow it up to the next root.

use std::collections::HashMap;

use super::layout::{CobolSpec, Leaf, Notation};
use super::parse::Base;
use super::records::Finder;

/// Which records are children of which; see the Python class `Hierarchy`.
#[derive(Clone, Debug)]
pub(super) struct Hierarchy {
    finder: Finder,
    leaf: Leaf,
    name: String,
    start: usize, // bytes of each record in front of its items
    kinds: HashMap<String, usize>,
    parents: Vec<usize>,
    below: Vec<Vec<usize>>, // of each kind: those that are its children, and theirs
}

impl Hierarchy {
    /// That of a scan, if it has one.
    ///
    /// # Errors
    /// If what Python says has no meaning.
    pub(super) fn new(spec: &CobolSpec) -> Result<Option<Hierarchy>, String> {
        let Some((own, leaf)) = spec.hierarchy.as_ref().zip(spec.segment.as_ref()) else {
            return Ok(None);
        };
        let parents: Vec<usize> = own.segments.iter().map(|&(_, parent)| parent).collect();
        let is_child = |&(number, &parent): &(usize, &usize)| number > 0 && parent >= number;
        if parents.iter().enumerate().any(|each| is_child(&each)) {
            return Err("a kind of records comes after its parent's".into());
        }
        let mut below = vec![Vec::new(); parents.len()];
        for (number, _) in parents.iter().enumerate().skip(1) {
            let mut above = number;
            while above > 0 {
                above = parents.get(above).copied().unwrap_or_default();
                if let Some(below) = below.get_mut(above) {
                    below.push(number);
                }
            }
        }
        let mut kinds = HashMap::new();
        for (number, (ids, _)) in own.segments.iter().enumerate() {
            for id in ids {
                kinds.entry(id.clone()).or_insert(number);
            }
        }
        Ok(Some(Hierarchy {
            finder: Finder::new(&spec.finding)?,
            leaf: leaf.clone(),
            name: own.name.clone(),
            start: spec.record_start,
            kinds,
            parents,
            below,
        }))
    }

    /// Name of the item that tells the kind of a record.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// No children of any kind.
    pub(super) fn none(&self) -> Vec<Vec<Base>> {
        vec![Vec::new(); self.parents.len()]
    }

    /// Add the children in a record that begins at a base. Those that are none are told of: their number, and the bytes
    /// of the item of their kind. Returns where the root ends.
    pub(super) fn grow(
        &self,
        whole: Base,
        record: &[u8],
        notation: &Notation,
        children: &mut [Vec<Base>],
        mut refuse: impl FnMut(usize, &[u8]),
    ) -> usize {
        let mut open: Vec<Option<usize>> = vec![None; self.parents.len()]; // the last one of each kind
        let (mut number, mut root_stop) = (0, whole.stop);
        self.finder.singles(record, |start, stop| {
            let this = number;
            number += 1;
            if this == 0 {
                root_stop = whole.at + stop;
                if let Some(open) = open.first_mut() {
                    *open = Some(whole.row);
                }
                return;
            }
            let first = (start + self.start + self.leaf.at).min(stop);
            let told = record.get(first..(first + self.leaf.size).min(stop));
            let told = told.unwrap_or_default();
            let key = notation.key(&self.leaf, told).unwrap_or_default();
            let kind = self.kinds.get(&key).copied().unwrap_or_default();
            let above = self.parents.get(kind).copied().unwrap_or_default();
            let parent = open.get(above).copied().flatten().filter(|_| kind > 0);
            let (Some(parent), Some(kin)) = (parent, children.get_mut(kind)) else {
                refuse(this, told);
                return;
            };
            let before = kin.last().filter(|last| last.parent == parent);
            let item = before.map_or(0, |last| last.item + 1);
            if let Some(open) = open.get_mut(kind) {
                *open = Some(kin.len());
            }
            kin.push(Base {
                at: whole.at + start + self.start,
                stop: whole.at + stop,
                row: whole.row,
                parent,
                item,
            });
            for &kind in self.below.get(kind).map_or(&[][..], Vec::as_slice) {
                if let Some(open) = open.get_mut(kind) {
                    *open = None;
                }
            }
        });
        root_stop
    }
}
