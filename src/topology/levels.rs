//! Nested groups of ranks that mirror the machine: which ranks are near each other.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::Rank;
use crate::machine::{Machine, ObjectKind, Placement, ways};

/// The maximum number of nested levels; no known machine has this many.
pub(super) const MOST_LEVELS: usize = 12;

/// Ranks partitioned into groups, these into larger groups, and so on up to one group of all ranks. Level 0 has the
/// smallest groups, and its members are ranks; the members of a higher level are the groups below it.
///
/// Members of a group are ordered by their lowest ranks. A level in which every group has one member carries no
/// information and is left out, so ranks that share one domain have one level.
///
/// # Examples
///
/// ```
/// use rankfold::machine::{Bind, Machine};
/// use rankfold::topology::Levels;
///
/// let machine = Machine::from_text("package:2 numa:2 core:4")?;
/// let levels = Levels::of(&machine, &machine.place(16, &Bind::Compact, true)?);
/// assert_eq!(levels.to_string(), "16 ranks in 4 NUMA nodes in 2 packages in one");
/// assert!(levels.are_runs());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A communicator [has its own](crate::Comm::levels), and its collectives follow them automatically.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Levels {
    ranks: usize,
    /// Shared, so that each rank of a communicator has its own levels without its own table.
    levels: Arc<[Level]>,
    are_runs: bool,
    have_groups: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Level {
    /// The machine part that its groups stand for, if known.
    kind: Option<ObjectKind>,
    /// For each member, its group and its index within that group.
    of: Vec<(usize, usize)>,
    /// The members of each group.
    members: Vec<Vec<usize>>,
    /// The size of the largest group.
    widest: usize,
    /// The group of each rank.
    of_rank: Vec<usize>,
    /// The lowest rank of each group.
    first: Vec<Rank>,
}

impl Levels {
    /// The default kinds: packages, NUMA nodes and L3 caches.
    pub const DEFAULT: [ObjectKind; 3] = [ObjectKind::Package, ObjectKind::Node, ObjectKind::L3];

    /// All ranks in one group.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0.
    #[track_caller]
    pub fn flat(ranks: usize) -> Levels {
        Levels::from_groups(&vec![Vec::new(); ranks])
    }

    /// Groups of `widths[0]` neighbouring ranks, `widths[1]` of these to a larger group, and so on; the last group of
    /// each level may be smaller.
    ///
    /// # Panics
    ///
    /// If `ranks` is 0 or a width is 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Levels;
    ///
    /// let levels = Levels::runs(20, &[4, 2]);
    /// assert_eq!(levels.to_string(), "20 ranks in 5 groups in 3 groups in one");
    /// ```
    #[track_caller]
    pub fn runs(ranks: usize, widths: &[usize]) -> Levels {
        assert!(!widths.contains(&0), "groups of 0");
        let mut width = 1usize;
        let widths: Vec<usize> = widths
            .iter()
            .map(|&more| {
                width = width.saturating_mul(more);
                width
            })
            .collect();
        let way = |rank: Rank| widths.iter().rev().map(|width| rank / width).collect();
        Levels::from_groups(&(0..ranks).map(way).collect::<Vec<_>>())
    }

    /// Groups the ranks of `placement` by the [default kinds](Self::DEFAULT).
    ///
    /// Ranks that are not pinned form one group.
    ///
    /// # Panics
    ///
    /// If `placement` has no ranks.
    #[track_caller]
    pub fn of(machine: &Machine, placement: &Placement) -> Levels {
        Levels::by(machine, placement, &Levels::DEFAULT)
    }

    /// Groups the ranks by `kinds`, ordered from the outside to the inside. To leave a level out, leave out its kind.
    ///
    /// # Panics
    ///
    /// If `placement` has no ranks.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::machine::{Bind, ObjectKind, Machine};
    /// use rankfold::topology::Levels;
    ///
    /// let machine = Machine::from_text("package:2 numa:2 core:4")?;
    /// let levels = Levels::by(&machine, &machine.place(16, &Bind::Compact, true)?, &[ObjectKind::Package]);
    /// assert_eq!(levels.to_string(), "16 ranks in 2 packages in one");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn by(machine: &Machine, placement: &Placement, kinds: &[ObjectKind]) -> Levels {
        match ways(machine, placement, kinds) {
            Some(ways) => Levels::named(&ways, kinds),
            None => Levels::flat(placement.cpu.len()),
        }
    }

    /// Builds the levels from the path to each rank: its group in the outermost level, its group within that, and so
    /// on. All paths have equal length; a group number is significant only among paths with the same prefix.
    ///
    /// # Panics
    ///
    /// If there are no ranks, paths differ in length, or more than 12 levels remain.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Levels;
    ///
    /// let even_and_odd = Levels::from_groups(&[vec![0], vec![1], vec![0], vec![1]]);
    /// assert!(!even_and_odd.are_runs());
    /// assert_eq!(even_and_odd.crossings(&[(0, 1), (0, 2)], 0), 1);
    /// ```
    #[track_caller]
    pub fn from_groups(ways: &[Vec<usize>]) -> Levels {
        Levels::named(ways, &[])
    }

    /// The same for paths whose numbers denote parts of these kinds.
    #[track_caller]
    pub(crate) fn named(ways: &[Vec<usize>], kinds: &[ObjectKind]) -> Levels {
        assert!(!ways.is_empty(), "levels of 0 ranks");
        let depth = ways[0].len();
        assert!(
            ways.iter().all(|way| way.len() == depth),
            "ways of different lengths"
        );
        let (mut levels, mut of_rank): (Vec<Level>, Vec<usize>) =
            (Vec::new(), (0..ways.len()).collect());
        for length in (0..=depth).rev() {
            let kind = length.checked_sub(1).and_then(|i| kinds.get(i).copied());
            let level = Level::new(kind, &of_rank, |rank| &ways[rank][..length]);
            if level.members.iter().any(|members| members.len() > 1) {
                of_rank.clone_from(&level.of_rank);
                levels.push(level);
            } else if let (Some(same), Some(_)) = (levels.last_mut(), kind) {
                // The larger kind has the same groups, so they take its name.
                same.kind = kind;
            }
        }
        if levels.is_empty() {
            levels.push(Level::new(None, &of_rank, |_| &[]));
        }
        assert!(levels.len() <= MOST_LEVELS, "{} levels", levels.len());
        let several = |level: &Level| level.members.iter().filter(|m| m.len() > 1).count() > 1;
        Levels {
            ranks: ways.len(),
            are_runs: levels.iter().all(|level| level.of_rank.is_sorted()),
            have_groups: levels[..levels.len() - 1].iter().any(several),
            levels: levels.into(),
        }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of levels, at least 1.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The ranks of each group of a level, the groups in the order of their lowest ranks.
    ///
    /// # Panics
    ///
    /// If `level` is out of range.
    #[track_caller]
    pub fn groups(&self, level: usize) -> Vec<Vec<Rank>> {
        let level = self.level(level);
        let mut groups = vec![Vec::new(); level.members.len()];
        for (rank, &group) in level.of_rank.iter().enumerate() {
            groups[group].push(rank);
        }
        groups
    }

    /// Whether every group is a contiguous range of ranks, so that a reduction group by group can keep operands in rank
    /// order.
    pub fn are_runs(&self) -> bool {
        self.are_runs
    }

    /// Whether more than one group has more than one rank; otherwise there is no hierarchy to follow.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::topology::Levels;
    ///
    /// let have = |widths: &[usize], ranks| Levels::runs(ranks, widths).have_groups();
    /// assert_eq!([have(&[4], 8), have(&[4], 5), have(&[8], 8), have(&[1], 8)], [true, false, false, false]);
    /// ```
    pub fn have_groups(&self) -> bool {
        self.have_groups
    }

    /// The number of `messages`, given as pairs of ranks, that cross from one group of `level` to another.
    ///
    /// # Panics
    ///
    /// If `level` or a rank is out of range.
    #[track_caller]
    pub fn crossings(&self, messages: &[(Rank, Rank)], level: usize) -> usize {
        let of = &self.level(level).of_rank;
        let ranks = self.ranks;
        let last = messages.iter().map(|(from, to)| from.max(to)).max();
        if let Some(last) = last {
            assert!(*last < ranks, "a message of rank {last} of {ranks}");
        }
        let crosses = |(from, to): &&(Rank, Rank)| of[*from] != of[*to];
        messages.iter().filter(crosses).count()
    }

    #[track_caller]
    fn level(&self, level: usize) -> &Level {
        let depth = self.depth();
        assert!(level < depth, "level {level} of {depth}");
        &self.levels[level]
    }

    /// The member that contains a rank.
    pub(crate) fn member(&self, level: usize, rank: Rank) -> usize {
        match level.checked_sub(1) {
            None => rank,
            Some(below) => self.levels[below].of_rank[rank],
        }
    }

    /// The lowest rank of a member.
    pub(crate) fn first(&self, level: usize, member: usize) -> Rank {
        match level.checked_sub(1) {
            None => member,
            Some(below) => self.levels[below].first[member],
        }
    }

    /// The group of a member, and the member's index in that group.
    pub(crate) fn place(&self, level: usize, member: usize) -> (usize, usize) {
        self.levels[level].of[member]
    }

    /// The members of a group.
    pub(crate) fn members(&self, level: usize, group: usize) -> &[usize] {
        &self.levels[level].members[group]
    }

    /// The size of the largest group of a level.
    pub(crate) fn widest(&self, level: usize) -> usize {
        self.levels[level].widest
    }

    /// The contiguous ranks of a group of a level; requires that groups [are runs](Self::are_runs).
    pub(crate) fn run(&self, level: usize, group: usize) -> Range<Rank> {
        let first = &self.levels[level].first;
        first[group]..first.get(group + 1).copied().unwrap_or(self.ranks)
    }

    /// The contiguous ranks of a member; requires that groups [are runs](Self::are_runs).
    pub(crate) fn run_of_member(&self, level: usize, member: usize) -> Range<Rank> {
        match level.checked_sub(1) {
            None => member..member + 1,
            Some(below) => self.run(below, member),
        }
    }
}

impl Level {
    /// `of_rank` is the member of each rank; members with the same path form a group.
    fn new<'a>(
        kind: Option<ObjectKind>,
        of_rank: &[usize],
        way: impl Fn(Rank) -> &'a [usize],
    ) -> Level {
        let mut level = Level {
            kind,
            of: Vec::new(),
            members: Vec::new(),
            widest: 1,
            of_rank: Vec::new(),
            first: Vec::new(),
        };
        let mut groups: HashMap<&[usize], usize> = HashMap::new();
        // A member first appears with its lowest rank, so members and groups are in that order.
        for (rank, &member) in of_rank.iter().enumerate() {
            let group = *groups.entry(way(rank)).or_insert_with(|| {
                level.first.push(rank);
                level.members.push(Vec::new());
                level.members.len() - 1
            });
            level.of_rank.push(group);
            if member == level.of.len() {
                level.of.push((group, level.members[group].len()));
                level.members[group].push(member);
            }
        }
        level.widest = level.members.iter().map(Vec::len).max().unwrap_or(1);
        level
    }
}

impl std::fmt::Display for Levels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ranks", self.ranks)?;
        for level in &self.levels[..self.depth() - 1] {
            let (groups, noun) = (
                level.members.len(),
                level.kind.map_or("group", ObjectKind::noun),
            );
            let plural = if groups == 1 { "" } else { "s" };
            write!(f, " in {groups} {noun}{plural}")?;
        }
        f.write_str(" in one")
    }
}
