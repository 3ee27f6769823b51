//! Reduce-scatter group by group, and backwards the all-gather: over the bounds of every group goes no
//! element that need not.

use std::ops::Range;
use std::sync::Arc;

use crate::Rank;
use crate::schedule::{Combine, Lengths, Region, Schedule, Step, Transfer};
use crate::span::Blocks;
use crate::topology::{Hierarchy, Levels, Pattern, TreeName};

/// Reduce-scatter over the levels of a machine. Reversed, it is the all-gather.
///
/// ```text
/// out     level by level from the inside, each group folds what is not its own (all blocks of ranks that
///         are not in it) to its leader: first what is before its run, then what is after it
/// back    level by level from the outside, the leaders of a group's members pass the members' runs round
///         a ring, each the runs of the others
/// ```
///
/// Groups must be runs of ranks, or their blocks would not lie in one piece; and the operator must commute:
/// what comes from outside is folded before all of the inside is there. (For others
/// [`Algorithm::Hierarchical`](super::Algorithm::Hierarchical) reduces in rank order to rank 0 and scatters, both
/// along the [`Hierarchy`]: less than twice as much then crosses.)
///
/// # Cost
///
/// `(D - 1) N` elements cross the bounds of the `D` groups of every level; each group needs, or gives, all
/// that is not its own, so it cannot be less. The leader of a group of `m` folds `⌈log₂ m⌉` times what is not
/// its group's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchicalReduceScatter {
    levels: Arc<Levels>,
    blocks: Blocks,
    /// The tree to the lowest rank of every group.
    tree: Hierarchy,
}

impl HierarchicalReduceScatter {
    /// Over these levels, to one block a rank, with a family among the members of every group.
    ///
    /// # Panics
    ///
    /// If there is not one block for each rank, or groups are not runs of ranks.
    #[track_caller]
    pub fn to_blocks(levels: Arc<Levels>, blocks: Blocks, tree: TreeName) -> Self {
        let (parts, ranks) = (blocks.parts(), levels.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        assert!(levels.are_runs(), "groups that are not runs of ranks");
        HierarchicalReduceScatter {
            tree: Hierarchy::new(levels.clone(), tree, 0),
            levels,
            blocks,
        }
    }

    /// What a step is of the whole.
    fn stage(&self, step: usize) -> Option<Stage> {
        let mut left = step;
        let top = self.levels.depth() - 1;
        for level in 0..top {
            let steps = self.tree.steps_in(level).len();
            for part in [Part::Before, Part::After] {
                if left < steps {
                    return Some(Stage::Out {
                        level,
                        part,
                        step: left,
                    });
                }
                left -= steps;
            }
        }
        for level in (0..=top).rev() {
            let steps = self.levels.widest(level) - 1;
            if left < steps {
                return Some(Stage::Back { level, step: left });
            }
            left -= steps;
        }
        None
    }

    /// A fold of what is not the group's.
    fn out(&self, rank: Rank, level: usize, part: Part, step: usize) -> Step {
        let (group, _) = self.levels.place(level, self.levels.member(level, rank));
        let own = self.blocks.run(self.levels.run(level, group));
        let run = match part {
            Part::Before => 0..own.start,
            Part::After => own.end..self.blocks.length(),
        };
        if run.is_empty() {
            return Step::IDLE;
        }
        let step = self.tree.steps_in(level).start + step;
        let transfer = |peer| Transfer {
            peer,
            region: Region::output(run.clone()),
        };
        let from = self.tree.from(rank, step);
        Step {
            send: self.tree.to(rank, step).map(transfer),
            recv: from.map(transfer),
            combine: from.map_or(Combine::Replace, |peer| Combine::by_rank(rank, peer)),
            ..Step::IDLE
        }
    }

    /// A turn of the ring of a group's members.
    fn back(&self, rank: Rank, level: usize, step: usize) -> Step {
        let member = self.levels.member(level, rank);
        let (group, place) = self.levels.place(level, member);
        let members = self.levels.members(level, group);
        let m = members.len();
        if self.levels.first(level, member) != rank || step + 1 >= m {
            return Step::IDLE;
        }
        let run = |place: usize| -> Range<usize> {
            self.blocks
                .run(self.levels.run_of_member(level, members[place % m]))
        };
        let leader = |place: usize| self.levels.first(level, members[place % m]);
        Step {
            send: Some(Transfer {
                peer: leader(place + 1),
                region: Region::output(run(place + m - 1 - step)),
            }),
            recv: Some(Transfer {
                peer: leader(place + m - 1),
                region: Region::output(run(place + 2 * m - 2 - step)),
            }),
            combine: Combine::FoldLeft,
            ..Step::IDLE
        }
    }
}

/// Which part of what is not a group's.
#[derive(Clone, Copy, Debug)]
enum Part {
    Before,
    After,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Out {
        level: usize,
        part: Part,
        step: usize,
    },
    Back {
        level: usize,
        step: usize,
    },
}

impl Schedule for HierarchicalReduceScatter {
    fn ranks(&self) -> usize {
        self.levels.ranks()
    }

    fn steps(&self) -> usize {
        let top = self.levels.depth() - 1;
        let out: usize = (0..top)
            .map(|level| 2 * self.tree.steps_in(level).len())
            .sum();
        let back: usize = (0..=top).map(|level| self.levels.widest(level) - 1).sum();
        out + back
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        match self.stage(step) {
            Some(Stage::Out { level, part, step }) => self.out(rank, level, part, step),
            Some(Stage::Back { level, step }) => self.back(rank, level, step),
            None => Step::IDLE,
        }
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.blocks.length())
    }

    fn may_copy(&self) -> bool {
        false
    }
}
