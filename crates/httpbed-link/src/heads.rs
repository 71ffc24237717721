//! Which of many directions is due first.
//!
//! A tournament tree: every direction is a leaf with its due time, every inner node has the earlier of its two
//! children, and the root has the earliest of all. Setting a time costs one comparison per level. Nothing is
//! allocated, and no stale entry remains, as it would in a heap.

use link_model::Nanos;

/// Due times of directions.
pub struct Heads {
    /// The root is at 1, the children of `n` are at `2 n` and `2 n + 1`, the leaves are the upper half.
    nodes: Vec<Head>,
}

/// Ordered by time, then by direction.
type Head = (Nanos, usize);

const NEVER: Nanos = Nanos::MAX;

impl Heads {
    /// All `directions`, none with a due time.
    pub fn new(directions: usize) -> Self {
        let leaves = directions.next_power_of_two();
        Self { nodes: (0..2 * leaves).map(|node| (NEVER, node.saturating_sub(leaves))).collect() }
    }

    /// Sets when a direction is due.
    pub fn set(&mut self, direction: usize, due: Option<Nanos>) {
        let mut node = self.nodes.len() / 2 + direction;
        let due = due.unwrap_or(NEVER);
        self.nodes[node].0 = due;
        while node > 1 {
            let first = self.nodes[node].min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = first;
        }
    }

    /// The direction that is due first, and when.
    pub fn first(&self) -> Option<Head> {
        Some(self.nodes[1]).filter(|(due, _)| *due != NEVER)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::Heads;

    proptest! {
        #[test]
        fn the_first_is_the_least(
            directions in 1..40_usize,
            changes in vec((any::<prop::sample::Index>(), prop::option::of(0..100_u64)), 0..200),
        ) {
            let mut heads = Heads::new(directions);
            let mut plain = vec![None; directions];
            prop_assert_eq!(heads.first(), None);
            for (direction, due) in changes {
                let direction = direction.index(directions);
                heads.set(direction, due);
                plain[direction] = due;
                let least = (0..directions).filter_map(|n| plain[n].map(|due| (due, n))).min();
                prop_assert_eq!(heads.first(), least);
            }
        }
    }
}
