//! Reduce-scatter group by group; reversed, the all-gather. Only elements that must cross a group's boundary cross it.

use std::ops::Range;
use std::sync::Arc;

use crate::Rank;
use crate::schedule::{Combine, Lengths, Region, Schedule, Step, Transfer};
use crate::span::Blocks;
use crate::topology::{Hierarchy, Levels, TreeName};

/// Reduce-scatter over the levels of a machine. Reversed, it is the all-gather.
///
/// ```text
/// out     level by level from the inside, each group folds the blocks of all ranks outside it to its
///         leader: first the blocks before its own range, then those after it
/// back    level by level from the outside, the leaders of a group's members pass the members' ranges
///         around a ring, each the ranges of the others
/// ```
///
/// Data that arrives at a group around the ring is folded starting with the group after it, not with rank 0, so the
/// operator must commute. [In rank order](Self::in_rank_order) the folds of lower ranks and of higher ranks take two
/// separate paths that meet only at the block's owner:
///
/// ```text
/// up      out: the blocks after the group's range, to its first rank; back: the first ranks of the members
///         pass them up a line, so that each member receives the fold of all members before it
/// down    the same for the blocks before the range, by the last ranks, down the line
/// ```
///
/// Groups must be contiguous ranges of ranks; otherwise their blocks would not be contiguous.
///
/// # Cost
///
/// `(D - 1) N` elements cross the boundaries of the `D` groups of every level, also in rank order. This is optimal:
/// each group needs, or contributes to, all blocks that are not its own. The leader of a group of `m` folds the
/// elements outside its group `⌈log₂ m⌉` times. A ring of `m` takes `m - 1` steps of a member's range, the two lines
/// twice as many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HierarchicalReduceScatter {
    levels: Arc<Levels>,
    blocks: Blocks,
    /// The tree to the lowest rank of every group.
    tree: Hierarchy,
    in_order: bool,
}

impl HierarchicalReduceScatter {
    /// The reduce-scatter over `levels`, to one block per rank, with a family among the members of every group.
    ///
    /// # Panics
    ///
    /// If there is not exactly one block per rank, or groups are not contiguous ranges of ranks.
    #[track_caller]
    pub fn to_blocks(levels: Arc<Levels>, blocks: Blocks, tree: TreeName) -> Self {
        let (parts, ranks) = (blocks.parts(), levels.ranks());
        assert!(parts == ranks, "{parts} blocks of {ranks} ranks");
        assert!(levels.are_runs(), "groups that are not runs of ranks");
        HierarchicalReduceScatter {
            tree: Hierarchy::new(levels.clone(), tree, 0),
            levels,
            blocks,
            in_order: false,
        }
    }

    /// The same with operands in rank order, if the family preserves it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::{Goal, check};
    /// use rankfold::collective::{Collective, HierarchicalReduceScatter};
    /// use rankfold::schedule::Copied;
    /// use rankfold::span::Blocks;
    /// use rankfold::topology::{Levels, TreeName};
    ///
    /// let (levels, blocks) = (Levels::runs(6, &[3]).into(), Blocks::even(6, 6));
    /// let in_place = HierarchicalReduceScatter::to_blocks(levels, blocks.clone(), TreeName::BINOMIAL);
    /// let schedule = Copied::new(in_place.in_rank_order(), blocks);
    /// let goal = Goal::of(Collective::ReduceScatter, 0, 6).in_rank_order();
    /// check(&schedule, &goal).unwrap();
    /// ```
    pub fn in_rank_order(self) -> Self {
        HierarchicalReduceScatter {
            in_order: true,
            ..self
        }
    }

    /// The stages of the schedule, each with its number of steps.
    fn stages(&self) -> impl Iterator<Item = (Stage, usize)> {
        let top = self.levels.depth() - 1;
        let out = move |level, part, led| {
            let steps = self.tree.steps_in(level).len();
            (Stage::Out { level, part, led }, steps)
        };
        let back = move |stage, level| (stage, self.levels.widest(level) - 1);
        let any = (0..top)
            .flat_map(move |level| {
                [Outside::Before, Outside::After].map(|part| out(level, part, End::First))
            })
            .chain(
                (0..=top)
                    .rev()
                    .map(move |level| back(Stage::Ring { level }, level)),
            );
        let lines = [Outside::After, Outside::Before]
            .into_iter()
            .flat_map(move |part| {
                let led = part.led_from();
                let lines = (0..=top).rev();
                (0..top)
                    .map(move |level| out(level, part, led))
                    .chain(lines.map(move |level| back(Stage::Line { level, led }, level)))
            });
        let in_order = self.in_order;
        any.filter(move |_| !in_order)
            .chain(lines.filter(move |_| in_order))
    }

    /// The stage of a step, and the step's number within it.
    fn stage(&self, step: usize) -> Option<(Stage, usize)> {
        let mut left = step;
        self.stages().find_map(|(stage, steps)| {
            let found = (left < steps).then_some((stage, left));
            left = left.saturating_sub(steps);
            found
        })
    }

    /// The role of a rank in a level, if it leads a member there.
    fn seat(&self, rank: Rank, level: usize, led: End) -> Option<Leader<'_>> {
        let member = self.levels.member(level, rank);
        let (group, place) = self.levels.place(level, member);
        let seat = Leader {
            whole: self,
            level,
            group,
            led,
            members: self.levels.members(level, group),
            rank,
        };
        let place = seat.turn(place);
        (seat.leader(place) == rank).then_some(seat)
    }

    /// A fold of blocks outside the group.
    fn out(&self, seat: &Leader<'_>, part: Outside, step: usize) -> Step {
        let own = self.blocks.run(self.levels.run(seat.level, seat.group));
        let run = match part {
            Outside::Before => 0..own.start,
            Outside::After => own.end..self.blocks.length(),
        };
        if run.is_empty() {
            return Step::IDLE;
        }
        let (to, from) = self
            .tree
            .among((seat.level, seat.group), seat.place(), step);
        seat.step(to.map(|to| (to, run.clone())), from.map(|from| (from, run)))
    }

    /// A step of the ring of a group's members.
    fn ring(&self, seat: &Leader<'_>, step: usize) -> Step {
        let (place, m) = (seat.place(), seat.members.len());
        if step + 1 >= m {
            return Step::IDLE;
        }
        let run = |place: usize| seat.run(place % m);
        let send = ((place + 1) % m, run(place + m - 1 - step));
        let recv = ((place + m - 1) % m, run(place + 2 * m - 2 - step));
        Step {
            combine: Combine::FoldLeft,
            ..seat.step(Some(send), Some(recv))
        }
    }

    /// A step of the line of a group's members: the data with the farthest destination goes first, and each member
    /// forwards it at once.
    fn line(&self, seat: &Leader<'_>, step: usize) -> Step {
        let (place, last) = (seat.place(), seat.members.len() - 1);
        let sends = |place: usize| {
            let goes = place <= step && step < last;
            goes.then(|| seat.run(last - step + place))
        };
        let send = sends(place).map(|run| (place + 1, run));
        let before = place.checked_sub(1);
        let recv = before.and_then(|before| Some((before, sends(before)?)));
        seat.step(send, recv)
    }
}

/// A rank that leads a member of a group. Places are counted from the end where the leaders are.
struct Leader<'a> {
    whole: &'a HierarchicalReduceScatter,
    level: usize,
    group: usize,
    led: End,
    members: &'a [usize],
    rank: Rank,
}

impl Leader<'_> {
    /// Converts a place between counting from the first member and counting from the leaders' end.
    fn turn(&self, place: usize) -> usize {
        match self.led {
            End::First => place,
            End::Last => self.members.len() - 1 - place,
        }
    }

    fn place(&self) -> usize {
        let levels = &self.whole.levels;
        let (_, place) = levels.place(self.level, levels.member(self.level, self.rank));
        self.turn(place)
    }

    fn ranks(&self, place: usize) -> Range<Rank> {
        let member = self.members[self.turn(place)];
        self.whole.levels.run_of_member(self.level, member)
    }

    fn leader(&self, place: usize) -> Rank {
        match self.led {
            End::First => self.ranks(place).start,
            End::Last => self.ranks(place).end - 1,
        }
    }

    /// The range of elements of a member's ranks.
    fn run(&self, place: usize) -> Range<usize> {
        self.whole.blocks.run(self.ranks(place))
    }

    /// A step that sends elements to the leader at one place, and receives elements from another.
    fn step(
        &self,
        send: Option<(usize, Range<usize>)>,
        recv: Option<(usize, Range<usize>)>,
    ) -> Step {
        let transfer = |(place, run)| Transfer {
            peer: self.leader(place),
            region: Region::output(run),
        };
        let (send, recv) = (send.map(transfer), recv.map(transfer));
        let by_rank = |from: &Transfer| Combine::by_rank(self.rank, from.peer);
        Step {
            combine: recv.as_ref().map_or(Combine::Replace, by_rank),
            send,
            recv,
            ..Step::IDLE
        }
    }
}

/// One of the two parts of the vector outside a group.
#[derive(Clone, Copy, Debug)]
enum Outside {
    Before,
    After,
}

impl Outside {
    /// The leaders where operands stay in rank order: the part after a group goes up, from first rank to first rank.
    fn led_from(self) -> End {
        match self {
            Outside::Before => End::Last,
            Outside::After => End::First,
        }
    }
}

/// The rank that represents a member.
#[derive(Clone, Copy, Debug)]
enum End {
    First,
    Last,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Out {
        level: usize,
        part: Outside,
        led: End,
    },
    Ring {
        level: usize,
    },
    Line {
        level: usize,
        led: End,
    },
}

impl Schedule for HierarchicalReduceScatter {
    fn ranks(&self) -> usize {
        self.levels.ranks()
    }

    fn steps(&self) -> usize {
        self.stages().map(|(_, steps)| steps).sum()
    }

    fn step(&self, rank: Rank, step: usize) -> Step {
        let Some((stage, step)) = self.stage(step) else {
            return Step::IDLE;
        };
        let done = match stage {
            Stage::Out { level, part, led } => self
                .seat(rank, level, led)
                .map(|seat| self.out(&seat, part, step)),
            Stage::Ring { level } => self
                .seat(rank, level, End::First)
                .map(|seat| self.ring(&seat, step)),
            Stage::Line { level, led } => self
                .seat(rank, level, led)
                .map(|seat| self.line(&seat, step)),
        };
        done.unwrap_or(Step::IDLE)
    }

    fn lengths(&self, _: Rank) -> Lengths {
        Lengths::in_place(self.blocks.length())
    }

    fn may_copy(&self) -> bool {
        false
    }
}
