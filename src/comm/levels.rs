//! Who is near to whom among the ranks of a communicator: worked out when a collective first asks.

use std::sync::Arc;

use super::Comm;
use crate::machine::Near;
use crate::topology::Levels;

impl Comm {
    /// The groups that the ranks here are in, as the machine has them: by packages, NUMA nodes and caches of
    /// the third level, or by what [`World::levels`](crate::World::levels) says.
    ///
    /// Collectives follow them: they are what [`hierarchical`](crate::collective::Algorithm::Hierarchical) is
    /// hierarchical about, and the automatic choice looks at them. They are the same on every rank. `None` where
    /// nothing tells the ranks apart: they are not pinned, or all in one part of the machine.
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

    /// The same, to be put into a call.
    #[inline]
    pub(super) fn own_levels(&self) -> Option<&Arc<Levels>> {
        self.levels.get_or_init(|| self.find_levels()).as_ref()
    }

    /// The table is shared by all ranks here, the count of its users is this rank's own: nobody else writes
    /// to that line when a call begins or ends.
    #[cold]
    fn find_levels(&self) -> Option<Arc<Levels>> {
        let levels = || -> Box<dyn std::any::Any + Send + Sync> { Box::new(self.make_levels()) };
        let shared = self.shared.levels.get_or_init(levels);
        let levels = shared.downcast_ref::<Option<Levels>>()?.clone();
        levels.map(Arc::new)
    }

    fn make_levels(&self) -> Option<Levels> {
        let Near::Ways { kinds, of_rank } = &*self.fabric().settings.near else {
            return None;
        };
        let way = |rank| of_rank[self.world_rank(rank)].clone();
        let ways: Vec<Vec<usize>> = (0..self.size()).map(way).collect();
        Some(Levels::named(&ways, kinds)).filter(|levels| levels.depth() > 1)
    }

    /// Why nothing tells the ranks apart.
    pub(super) fn why_alike(&self) -> &str {
        match &*self.fabric().settings.near {
            Near::Alike(why) => why,
            Near::Ways { .. } => "the ranks here are all together, or each by itself",
        }
    }
}
