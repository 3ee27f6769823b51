//! The tree that follows the machine: one leader per group, any family among the members of each.

use std::ops::Range;
use std::sync::Arc;

use super::levels::MOST_LEVELS;
use super::{
    BinomialTo, Levels, Pattern, SinglePort, StarTo, Subtrees, Topology, TopologyError, TreeName,
    Triple,
};
use crate::Rank;

/// A tree to a root in which each group of a machine sends one message out: its members first send to their leader,
/// group by group, and then the leaders send, level by level, to those of larger groups.
///
/// ```text
/// 2 groups of 4 ranks, binomial, to 0    step 0   1▶0   3▶2   5▶4   7▶6
///                                        step 1   2────▶0     6────▶4
///                                        step 2   4────────────────▶0      the only message that crosses
/// ```
///
/// The leader of a group is the root if the group contains it, else its lowest rank. Any family serves among the
/// members of a group. Where groups are contiguous ranges of ranks, operands stay in rank order with a binomial or a
/// flat tree, and with root 0 also with every family that keeps it.
///
/// # Cost
///
/// The sum over all levels of the family's steps on the level's largest group. The number of messages that cross group
/// boundaries of a level is the number of its groups minus one, which is optimal.
///
/// # Examples
///
/// ```
/// use rankfold::check::{Goal, check};
/// use rankfold::schedule::FoldAlong;
/// use rankfold::topology::{Hierarchy, Levels, Pattern, TreeName};
///
/// let levels = Levels::runs(12, &[4]);
/// let tree = Hierarchy::new(levels, TreeName::BINOMIAL, 5);
/// let between: Vec<_> = tree.triples().filter(|t| t.from / 4 != t.to / 4).map(|t| t.to_string()).collect();
/// assert_eq!(between, ["<0,2,5>", "<8,3,5>"]);
/// check(&FoldAlong::new(tree, 7), &Goal::reduce(5, 7).in_rank_order()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    levels: Arc<Levels>,
    tree: TreeName,
    root: Rank,
    top: Top,
    /// The first step of each level, followed by the end of the last.
    starts: [usize; MOST_LEVELS + 1],
}

/// The role of the members of the outermost group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Top {
    /// They send to the root.
    Tree,
    /// The leaders of the only two members exchange.
    Meeting,
    /// They do not communicate.
    Apart,
}

impl Hierarchy {
    /// The tree over `levels` to `root`, with the family `tree` among the members of every group.
    ///
    /// # Panics
    ///
    /// If `root` is not one of the ranks, or the family has width 0.
    #[track_caller]
    pub fn new(levels: impl Into<Arc<Levels>>, tree: TreeName, root: Rank) -> Hierarchy {
        let levels = levels.into();
        let (ranks, depth) = (levels.ranks(), levels.depth());
        assert!(root < ranks, "root {root} of {ranks} ranks");
        let mut hierarchy = Hierarchy {
            levels,
            tree,
            root,
            top: Top::Tree,
            starts: [0; MOST_LEVELS + 1],
        };
        for level in 0..depth {
            hierarchy.starts[level + 1] = hierarchy.starts[level] + hierarchy.steps_of(level);
        }
        hierarchy
    }

    /// Splits an all-reduce into its two trees: the way up, along which operands are folded, and the way down, along
    /// which the result is sent backwards.
    ///
    /// Both are this tree, unless the outermost group has two members. Then their leaders exchange, which takes as many
    /// messages and one step less, and the way down starts inside the members.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::check::{Goal, check};
    /// use rankfold::schedule::{FoldAlong, Schedule};
    /// use rankfold::topology::{Hierarchy, Levels, Pattern, TreeName};
    ///
    /// let (up, down) = Hierarchy::new(Levels::runs(16, &[8]), TreeName::BINOMIAL, 0).there_and_back();
    /// assert_eq!((Pattern::steps(&up), Pattern::steps(&down)), (4, 3));
    /// let all_reduce = FoldAlong::new(up, 5).then(FoldAlong::new(down, 5).reversed());
    /// check(&all_reduce, &Goal::all_reduce(5).in_rank_order()).unwrap();
    /// ```
    pub fn there_and_back(self) -> (Hierarchy, Hierarchy) {
        let top = self.levels.depth() - 1;
        if self.levels.members(top, 0).len() != 2 {
            return (self.clone(), self);
        }
        let mut apart = self.clone();
        apart.top = Top::Apart;
        apart.starts[top + 1] = apart.starts[top];
        let meeting = Hierarchy {
            top: Top::Meeting,
            ..self
        };
        (meeting, apart)
    }

    /// The levels.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// The same as a standalone topology, for [`Comm::reduce_over`](crate::Comm::reduce_over) and for drawing.
    ///
    /// # Errors
    ///
    /// None are known: the triples form a tree. They are validated like any others.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        let triples: Vec<Triple> = self.triples().collect();
        Topology::from_triples(self.levels.ranks(), self.root, triples)
    }

    /// The steps in which members of a level's groups communicate.
    pub(crate) fn steps_in(&self, level: usize) -> Range<usize> {
        self.starts[level]..self.starts[level + 1]
    }

    /// The peers, to send to and to receive from, of a place among the members of a group in a step of the level, if
    /// the first place is the leader.
    pub(crate) fn among(
        &self,
        (level, group): (usize, usize),
        place: usize,
        step: usize,
    ) -> (Option<usize>, Option<usize>) {
        let members = self.levels.members(level, group).len();
        let inside = Inside::new(self.tree, members, 0);
        // Smaller groups finish before the largest.
        if step < inside.steps() {
            (inside.to(place, step), inside.from(place, step))
        } else {
            (None, None)
        }
    }

    /// The steps of a level: the larger of the widest group's and of the root's group's.
    fn steps_of(&self, level: usize) -> usize {
        let (group, place) = self.root_place(level);
        let members = self.levels.members(level, group).len();
        let widest = Inside::new(self.tree, self.levels.widest(level), 0);
        Inside::new(self.tree, members, place)
            .steps()
            .max(widest.steps())
    }

    /// The root's group in a level, and the place of the root's member in it.
    fn root_place(&self, level: usize) -> (usize, usize) {
        self.levels
            .place(level, self.levels.member(level, self.root))
    }

    /// The rank that represents a member.
    fn leader(&self, level: usize, member: usize) -> Rank {
        if self.levels.member(level, self.root) == member {
            self.root
        } else {
            self.levels.first(level, member)
        }
    }

    /// The level of a step.
    fn level(&self, step: usize) -> Option<usize> {
        let depth = self.levels.depth();
        (0..depth).find(|&level| step < self.starts[level + 1])
    }

    /// The tree of the rank's group in a level, if the rank leads its member: the tree, the group's members, and the
    /// rank's place among them.
    fn part(&self, p: Rank, level: usize) -> Option<(Inside, &[usize], usize)> {
        let member = self.levels.member(level, p);
        if self.leader(level, member) != p {
            return None;
        }
        let (group, place) = self.levels.place(level, member);
        let members = self.levels.members(level, group);
        Some((self.inside(level, group, members.len()), members, place))
    }

    /// The peer of the rank's message in a step, found through the pattern among its group's members.
    fn peer(
        &self,
        p: Rank,
        step: usize,
        end: impl Fn(&Inside, usize, usize) -> Option<usize>,
    ) -> Option<Rank> {
        let level = self.level(step)?;
        let (inside, members, place) = self.part(p, level)?;
        let step = step - self.starts[level];
        if self.top == Top::Meeting && level + 1 == self.levels.depth() {
            return Some(self.leader(level, members[1 - place]));
        }
        // Smaller groups finish before the largest.
        let other = (step < inside.steps()).then(|| end(&inside, place, step))??;
        Some(self.leader(level, members[other]))
    }

    fn inside(&self, level: usize, group: usize, members: usize) -> Inside {
        let (of_root, place) = self.root_place(level);
        Inside::new(self.tree, members, if group == of_root { place } else { 0 })
    }
}

impl Pattern for Hierarchy {
    fn ranks(&self) -> usize {
        self.levels.ranks()
    }
    fn steps(&self) -> usize {
        self.starts[self.levels.depth()]
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        self.peer(p, s, |inside, place, step| inside.to(place, step))
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        self.peer(q, s, |inside, place, step| inside.from(place, step))
    }
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Option<usize> {
        let least = super::least_after(after)?;
        let in_level = |level: usize| {
            let start = self.starts[level];
            let open = least < self.starts[level + 1];
            let (inside, _, place) = open.then(|| self.part(rank, level))??;
            if self.top == Top::Meeting && level + 1 == self.levels.depth() {
                return Some(start);
            }
            let after = least.saturating_sub(start).checked_sub(1);
            inside.next_active(place, after).map(|step| start + step)
        };
        (0..self.levels.depth()).find_map(in_level)
    }
}

/// Subtrees are contiguous ranges where groups are, and where the family has contiguous subtrees inside them.
impl Subtrees for Hierarchy {
    fn root(&self) -> Rank {
        self.root
    }
    fn behind(&self, from: Rank, step: usize) -> Range<Rank> {
        let level = self.level(step);
        level.map_or(from..from + 1, |level| self.behind_in(from, level))
    }
    fn subtree(&self, rank: Rank) -> Range<Rank> {
        if rank == self.root {
            return 0..self.levels.ranks();
        }
        // It represents ever larger groups until it sends.
        let leads = |level: &usize| self.leader(*level, self.levels.member(*level, rank)) == rank;
        let last = (0..self.levels.depth()).take_while(leads).last();
        self.behind_in(rank, last.unwrap_or(0))
    }
}

impl Hierarchy {
    /// The ranks that a leader represents among the members of its group in a level.
    fn behind_in(&self, rank: Rank, level: usize) -> Range<Rank> {
        let Some((inside, members, place)) = self.part(rank, level) else {
            return rank..rank + 1;
        };
        let places = inside.subtree(place);
        let run = |place: usize| self.levels.run_of_member(level, members[place]);
        run(places.start).start..run(places.end - 1).end
    }
}

/// The tree among the members of one group, to the place of its leader.
enum Inside {
    Binomial(BinomialTo),
    Star(StarTo),
    Family(SinglePort),
}

impl Inside {
    fn new(tree: TreeName, members: usize, leader: usize) -> Inside {
        match tree {
            TreeName::BINOMIAL => Inside::Binomial(BinomialTo::new(members, leader)),
            TreeName::Flat | TreeName::FlatSerial => Inside::Star(StarTo::new(members, leader)),
            tree => Inside::Family(tree.on(members).rooted(leader).single_port()),
        }
    }

    /// The places whose path to the leader leads through `place`.
    fn subtree(&self, place: usize) -> Range<usize> {
        match self {
            Inside::Binomial(tree) => tree.subtree(place),
            Inside::Star(tree) => tree.subtree(place),
            Inside::Family(tree) => {
                let next = |p: &usize| tree.topology().successor(*p).map(|(_, to)| to);
                let through = |&p: &usize| std::iter::successors(Some(p), next).any(|p| p == place);
                let behind = || (0..Pattern::ranks(tree)).filter(through);
                behind().min().unwrap_or(place)..behind().max().unwrap_or(place) + 1
            }
        }
    }
}

impl Pattern for Inside {
    fn ranks(&self) -> usize {
        match self {
            Inside::Binomial(tree) => tree.ranks(),
            Inside::Star(tree) => Pattern::ranks(tree),
            Inside::Family(tree) => tree.ranks(),
        }
    }
    fn steps(&self) -> usize {
        match self {
            Inside::Binomial(tree) => tree.steps(),
            Inside::Star(tree) => tree.steps(),
            Inside::Family(tree) => tree.steps(),
        }
    }
    fn to(&self, p: Rank, s: usize) -> Option<Rank> {
        match self {
            Inside::Binomial(tree) => tree.to(p, s),
            Inside::Star(tree) => tree.to(p, s),
            Inside::Family(tree) => tree.to(p, s),
        }
    }
    fn from(&self, q: Rank, s: usize) -> Option<Rank> {
        match self {
            Inside::Binomial(tree) => tree.from(q, s),
            Inside::Star(tree) => tree.from(q, s),
            Inside::Family(tree) => tree.from(q, s),
        }
    }
}
