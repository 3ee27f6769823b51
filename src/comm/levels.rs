//! Which ranks of a communicator are near each other, computed when a collective first asks.

use std::sync::Arc;

use super::Comm;
use crate::machine::Near;
use crate::topology::Levels;

/// # Introspection: levels of the machine
///
/// Which ranks are near each other.
impl Comm {
    /// Returns the groups of these ranks on the machine: by packages, NUMA nodes and third-level caches, or as
    /// [`World::levels`](crate::World::levels) sets them; by processes, if the ranks are in several.
    ///
    /// Collectives follow these groups: the [`hierarchical`](crate::collective::Algorithm::Hierarchical) algorithm is
    /// built on them, and the automatic choice takes them into account. They are the same on every rank. `None` where
    /// nothing distinguishes the ranks: they are not pinned, or all in one part of the machine.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::machine::Machine;
    ///
    /// let two_packages = Machine::from_text("package:2 core:4")?;
    /// let levels = World::new(8).machine(two_packages).run(|comm| {
    ///     let half = comm.split((comm.rank() / 4) as u32, 0)?;
    ///     assert!(half.levels().is_none());
    ///     Ok(comm.levels().map(|levels| levels.to_string()))
    /// })?;
    /// assert_eq!(levels[0].as_deref(), Some("8 ranks in 2 packages in one"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn levels(&self) -> Option<&Levels> {
        self.own_levels().map(|levels| &**levels)
    }

    /// The same, in the form that a call stores.
    #[inline]
    pub(super) fn own_levels(&self) -> Option<&Arc<Levels>> {
        self.levels.get_or_init(|| self.find_levels()).as_ref()
    }

    /// All ranks share the table, but the reference count is this rank's own: no other rank writes to that cache line
    /// when a call begins or ends.
    #[cold]
    fn find_levels(&self) -> Option<Arc<Levels>> {
        let levels = || -> Box<dyn std::any::Any + Send + Sync> { Box::new(self.make_levels()) };
        let shared = self.shared.levels.get_or_init(levels);
        let levels = shared.downcast_ref::<Option<Levels>>()?.clone();
        levels.map(Arc::new)
    }

    fn make_levels(&self) -> Option<Levels> {
        if self.shared.spans() {
            let way = |rank| vec![self.fabric().process_of(self.to_world(rank))];
            let ways: Vec<Vec<usize>> = (0..self.size()).map(way).collect();
            return Some(Levels::from_groups(&ways)).filter(|levels| levels.depth() > 1);
        }
        let Near::Ways { kinds, of_rank } = &*self.fabric().settings.near else {
            return None;
        };
        let first = self.fabric().near().start;
        let way = |rank| of_rank[self.to_world(rank) - first].clone();
        let ways: Vec<Vec<usize>> = (0..self.size()).map(way).collect();
        Some(Levels::named(&ways, kinds)).filter(|levels| levels.depth() > 1)
    }

    /// Why nothing distinguishes the ranks.
    pub(super) fn why_alike(&self) -> &str {
        match &*self.fabric().settings.near {
            _ if self.shared.spans() => "each rank is in a process of its own",
            Near::Alike(why) => why,
            Near::Ways { .. } => "the ranks here are all together, or each by itself",
        }
    }
}
