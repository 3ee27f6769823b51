//! Foster's hypercube template: every rank exchanges its state with its neighbour across each dimension.

use std::panic::Location;

use super::Comm;
use super::reduce_loop::taken;
use super::values::cloned;
use crate::engine::call::{From, InCall};
use crate::error::{Error, Result};
use crate::op::OperatorKind;
use crate::op::elements::Info;
use crate::transport::communicator::call::{Call, Verb};
use crate::unwind;

/// The side of one's own state on which another state belongs, where order matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The other state comes from a lower rank and belongs on the left.
    Left,
    /// The other state comes from a higher rank and belongs on the right.
    Right,
}

/// Runs the hypercube template: for each dimension `i`, every rank exchanges its state with the rank whose number
/// differs in bit `i`, and computes its next state from both.
///
/// `op(mine, theirs, side)` gets the side on which `theirs` belongs. The result depends on `op`:
///
/// ```text
/// fold                      an all-reduce
/// nothing to carry          a barrier
/// concatenate               an all-gather
/// (prefix, total)           a scan
/// ```
///
/// # Cost
///
/// log₂ P steps of one state each; the state is cloned in each step.
///
/// # Errors
///
/// [`Usage`](crate::ErrorKind::Usage) if the number of ranks is not a power of two; otherwise as
/// [`broadcast`](Comm::broadcast).
///
/// # Examples
///
/// A scan: the prefix grows only by states from lower ranks, the total by all states.
///
/// ```
/// use rankfold::{Side, World, hypercube};
///
/// let prefixes = World::new(4).run(|comm| {
///     let name = ["a", "b", "c", "d"][comm.rank()].to_string();
///     let (prefix, _) = hypercube(comm, (name.clone(), name), |mine, theirs, side| match side {
///         Side::Left => (theirs.1.clone() + &mine.0, theirs.1 + &mine.1),
///         Side::Right => (mine.0, mine.1 + &theirs.1),
///     })?;
///     Ok(prefix)
/// })?;
/// assert_eq!(prefixes, ["a", "ab", "abc", "abcd"]);
/// # Ok::<(), rankfold::WorldError>(())
/// ```
///
/// # Source
///
/// Foster, *Designing and Building Parallel Programs*, 11.1.
#[track_caller]
pub fn hypercube<V: Clone + Send + 'static>(
    comm: &Comm,
    state: V,
    mut op: impl FnMut(V, V, Side) -> V,
) -> Result<V> {
    let call = Call {
        op: OperatorKind::Closure,
        info: Some(Info::of_value::<V>()),
        ..comm.call(Verb::Hypercube, Location::caller())
    };
    let cube = comm.size().is_power_of_two().then_some(());
    let cube = cube.ok_or_else(|| {
        let ranks = comm.size();
        Error::usage(format!(
            "a hypercube has a power of two of ranks, and there are {ranks}"
        ))
    });
    let mut held = Some(state);
    let body = |inside: &InCall<'_>| inside.across_all(&mut held, &mut op);
    comm.collective(call, || cube, body).map(|()| taken(held))
}

impl InCall<'_> {
    fn across_all<V: Clone + Send + 'static>(
        &self,
        held: &mut Option<V>,
        op: &mut impl FnMut(V, V, Side) -> V,
    ) -> Result<()> {
        for dimension in 0..self.size().ilog2() {
            let peer = self.rank() ^ 1 << dimension;
            self.hand_on(peer, cloned(held))?;
            let (_, theirs) = self.expect_value(&From::Rank(peer))?;
            let side = if peer < self.rank() {
                Side::Left
            } else {
                Side::Right
            };
            let state = taken(held.take());
            *held = Some(unwind::operator(|| op(state, theirs, side)));
        }
        Ok(())
    }
}
