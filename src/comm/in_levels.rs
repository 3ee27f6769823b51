//! Collectives of ranks in several processes, in levels: the ranks of each process over its memory, then ranks of
//! different processes by messages, then each process again.
//!
//! ```text
//! all_reduce, short     near: reduce to the leader ┃ leaders: all_reduce ┃ near: broadcast; two ranks lead in turn
//!             over cells, both near parts are one call, in the middle of which the leader exchanges
//!             long      near: reduce_scatter ┃ every column: all_reduce of its block ┃ near: all_gather
//!                       where the ranks of each process take turns on one CPU, as a short one, and the leader alone folds
//!                       near and copies
//! broadcast             near, with the root: broadcast ┃ leaders: broadcast ┃ near, elsewhere: broadcast
//! barrier               near: barrier ┃ leaders: barrier ┃ near: barrier
//! ```
//!
//! Near, a call takes the path that it takes in a world of one process: cells, the gate, the vectors where they are. Each
//! part is a call of its own [part](crate::transport::processes::Parts) of the communicator, named as the whole call; one
//! that fails breaks its part, and so does the whole call with all parts.

use std::rc::Rc;

use super::Comm;
use super::run_call::CellPath;
use crate::Rank;
use crate::collective::{Algorithm, Collective};
use crate::engine::at_cells::AtCellPort;
use crate::engine::combine::kind_of;
use crate::engine::kept::{Ask, CallPath, Kept, With};
use crate::engine::spread::OwnParts;
use crate::error::Result;
use crate::execute::over_cells;
use crate::op::elements::{Elements, Info};
use crate::op::{Element, First, Operator, OperatorKind};
use crate::span;
use crate::transport::memory::cells::CELL_BYTES;

/// The bytes of a vector from which each rank of a process has a block of its own to exchange with other processes.
const BY_COLUMNS: usize = 1 << 18;

/// A call in parts.
struct InParts<'c> {
    whole: Ask,
    parts: &'c OwnParts,
    /// Whether each process has as many ranks as any other.
    are_even: bool,
}

impl Comm {
    /// The parts of a communicator that spans processes, if a call without an algorithm of its own runs in levels.
    fn levels_of(&self, ask: &Ask) -> Option<&OwnParts> {
        if ask.algorithm.is_some() {
            return None;
        }
        let parts = self.fabric().parts(&self.shared);
        let in_order = ask.commutes || !ask.collective.folds() || parts.are_runs;
        (parts.are_wide && in_order).then(|| self.own_parts())
    }

    fn in_parts<'c>(&self, whole: Ask, parts: &'c OwnParts) -> InParts<'c> {
        InParts {
            whole,
            parts,
            are_even: self.fabric().parts(&self.shared).are_even,
        }
    }

    /// [`all_reduce`](Self::all_reduce) in place or from `input`, over processes; `None` if it does not run in levels.
    #[cold]
    #[inline(never)]
    pub(super) fn all_reduce_in_levels<T: Element, O: Operator<T>>(
        &self,
        ask: &Ask,
        input: &[T],
        output: &mut [T],
        op: &O,
    ) -> Option<Result<()>> {
        let parts = self.levels_of(ask).filter(|_| op.exact_of().is_none())?;
        Some(self.all_reduce_by_parts((*ask, parts), input, output, op))
    }

    #[inline(never)]
    fn all_reduce_by_parts<T: Element, O: Operator<T>>(
        &self,
        (whole, parts): (Ask, &OwnParts),
        input: &[T],
        output: &mut [T],
        op: &O,
    ) -> Result<()> {
        let kept = self.kept::<T>(&whole, kind_of(op), (input.len(), output.len()))?;
        self.again(
            &kept.described,
            || Ok(()),
            |inside| {
                inside.settle();
                let call = self.in_parts(whole, parts);
                let ends = (input, output);
                let by_columns = call.are_even && !self.fabric().settings.in_turns;
                match by_columns && size_of_val(ends.1) >= BY_COLUMNS {
                    true => call.all_reduce_by_columns(ends, op),
                    false => call.all_reduce_by_leaders(inside.number, ends, op),
                }
            },
        )
    }

    /// [`broadcast`](Self::broadcast) over processes; `None` if it does not run in levels.
    #[cold]
    #[inline(never)]
    pub(super) fn broadcast_in_levels<T: Element>(
        &self,
        ask: &Ask,
        buf: &mut [T],
    ) -> Option<Result<()>> {
        let parts = self.levels_of(ask).filter(|_| ask.root < self.size())?;
        Some(self.broadcast_by_parts((*ask, parts), buf))
    }

    #[inline(never)]
    fn broadcast_by_parts<T: Element>(
        &self,
        (whole, parts): (Ask, &OwnParts),
        buf: &mut [T],
    ) -> Result<()> {
        let kept = self.kept::<T>(&whole, OperatorKind::First, (0, buf.len()))?;
        let groups = &self.fabric().parts(&self.shared).groups;
        self.again(
            &kept.described,
            || Ok(()),
            |inside| {
                inside.settle();
                let place = |group: &Vec<Rank>| group.iter().position(|rank| *rank == whole.root);
                let mut places = groups.iter().enumerate();
                let found = places.find_map(|(process, group)| Some((process, place(group)?)));
                let (process, root) = found.expect("the root is a rank");
                let call = self.in_parts(whole, parts);
                let is_here = groups[process].contains(&self.rank());
                if is_here {
                    call.near_broadcast(root, buf)?;
                }
                if parts.near.rank() == 0 {
                    call.run(
                        &parts.column,
                        call.ask(Collective::Broadcast, buf.len()).to_root(process),
                        buf,
                    )?;
                }
                match is_here {
                    true => Ok(()),
                    false => call.near_broadcast(0, buf),
                }
            },
        )
    }

    /// [`barrier`](Self::barrier) over processes; `None` if it does not run in levels.
    #[cold]
    #[inline(never)]
    pub(super) fn barrier_in_levels(&self, ask: &Ask) -> Option<Result<()>> {
        let parts = self.levels_of(ask)?;
        Some(self.barrier_by_parts((*ask, parts)))
    }

    #[inline(never)]
    fn barrier_by_parts(&self, (whole, parts): (Ask, &OwnParts)) -> Result<()> {
        let kept = self.kept::<()>(&whole, OperatorKind::First, (0, 0))?;
        self.again(
            &kept.described,
            || Ok(()),
            |inside| {
                inside.settle();
                let call = self.in_parts(whole, parts);
                let meet = |comm: &Comm| {
                    let ask = call.ask(Collective::Barrier, 0);
                    call.part::<(), _>(comm, ask, (&[], &mut []), &First, over_cells::barrier)
                };
                meet(&parts.near)?;
                if parts.near.rank() == 0 {
                    meet(&parts.column)?;
                }
                meet(&parts.near)
            },
        )
    }
}

impl InParts<'_> {
    /// The call of a part.
    fn ask(&self, collective: Collective, length: usize) -> Ask {
        Ask {
            collective,
            length,
            root: 0,
            from_input: false,
            ..self.whole
        }
    }

    /// The description of the call of a part.
    #[inline]
    fn kept<T: Element>(
        &self,
        comm: &Comm,
        ask: Ask,
        op: OperatorKind,
        lengths: (usize, usize),
    ) -> Result<Rc<Kept>> {
        let with = With::new::<T>(comm, op, lengths);
        let with = with.part_of(self.whole.collective, self.whole.root);
        match comm.core.kept.find_part(&ask, &with) {
            Some(kept) => Ok(kept),
            None => comm.keep(ask, with),
        }
    }

    /// Runs the call of a part; one of a single rank has nothing to do.
    fn part<T: Element, O: Operator<T>>(
        &self,
        comm: &Comm,
        ask: Ask,
        (input, output): (&[T], &mut [T]),
        op: &O,
        cells: impl CellPath<T, O>,
    ) -> Result<()> {
        let kept = self.kept::<T>(comm, ask, kind_of(op), (input.len(), output.len()))?;
        comm.inside(&kept.described, |inside| {
            // As of a reduce at its root: only vectors that are read in place are separate.
            let mut input = input;
            if ask.from_input && !matches!(kept.plan.path, CallPath::Direct) {
                output.copy_from_slice(input);
                input = &[];
            }
            inside.go(&kept.plan, input, output, op, cells)
        })
    }

    fn run<T: Element>(&self, comm: &Comm, ask: Ask, buf: &mut [T]) -> Result<()> {
        match comm.size() {
            1 => Ok(()),
            _ => self.part(comm, ask, (&[], buf), &First, over_cells::broadcast),
        }
    }

    fn near_broadcast<T: Element>(&self, root: Rank, buf: &mut [T]) -> Result<()> {
        let ask = self.ask(Collective::Broadcast, buf.len()).to_root(root);
        self.run(&self.parts.near, ask, buf)
    }

    /// In call `number` of the communicator, in place or from an input, as the whole call.
    fn all_reduce_by_leaders<T: Element, O: Operator<T>>(
        &self,
        number: u32,
        (input, output): (&[T], &mut [T]),
        op: &O,
    ) -> Result<()> {
        let near = &self.parts.near;
        let leader = self.leader(number, size_of_val(output));
        if near.size() == 1 {
            if self.whole.from_input {
                output.copy_from_slice(input);
            }
            return self.exchange(output, op);
        }
        let (ask, lengths) = self.to_leader(leader, output.len());
        let kept = self.kept::<T>(near, ask, kind_of(op), lengths)?;
        match kept.plan.path {
            CallPath::Cells => self.all_reduce_in_one_meeting(&kept, (input, output), op),
            _ => self.all_reduce_in_two_meetings(leader, (input, output), op),
        }
    }

    /// The ranks of this process meet once: the leader exchanges with other processes meanwhile.
    fn all_reduce_in_one_meeting<T: Element, O: Operator<T>>(
        &self,
        kept: &Kept,
        (input, output): (&[T], &mut [T]),
        op: &O,
    ) -> Result<()> {
        let input = self.whole.from_input.then_some(input);
        self.parts.near.inside(&kept.described, |inside| {
            over_cells(&mut AtCellPort::new(inside), &kept.plan.shape, |table| {
                let exchange = |sum: &mut [T]| self.exchange(sum, op);
                over_cells::all_reduce_at_root(table, input, output, op, exchange)
            })
        })
    }

    /// They meet before and after it.
    fn all_reduce_in_two_meetings<T: Element, O: Operator<T>>(
        &self,
        leader: Rank,
        (input, output): (&[T], &mut [T]),
        op: &O,
    ) -> Result<()> {
        self.near_reduce(leader, (input, &mut *output), op)?;
        if self.parts.near.rank() == leader {
            self.exchange(output, op)?;
        }
        self.near_broadcast(leader, output)
    }

    /// All-reduces the vectors of the leaders of all processes.
    fn exchange<T: Element, O: Operator<T>>(&self, sum: &mut [T], op: &O) -> Result<()> {
        let ask = self.ask(Collective::AllReduce, sum.len());
        let ask = ask.by(self.in_halves(size_of_val(sum)));
        let ends: (&[T], &mut [T]) = (&[], sum);
        self.part(&self.parts.column, ask, ends, op, over_cells::all_reduce)
    }

    /// The reduce of the vectors of the ranks of this process into the output of one of them, and the lengths of its
    /// input and output at this rank.
    fn to_leader(&self, leader: Rank, length: usize) -> (Ask, (usize, usize)) {
        let is_leader = self.parts.near.rank() == leader;
        let from_input = self.whole.from_input && is_leader;
        let ask = self.ask(Collective::Reduce, length).to_root(leader);
        let lengths = match (is_leader, from_input) {
            (true, true) => (length, length),
            (true, false) => (0, length),
            (false, _) => (length, 0),
        };
        (Ask { from_input, ..ask }, lengths)
    }

    fn near_reduce<T: Element, O: Operator<T>>(
        &self,
        leader: Rank,
        (input, output): (&[T], &mut [T]),
        op: &O,
    ) -> Result<()> {
        let near = &self.parts.near;
        let (ask, _) = self.to_leader(leader, output.len());
        let ends: (&[T], &mut [T]) = match (near.rank() == leader, self.whole.from_input) {
            (true, _) => (input, output),
            (false, true) => (input, &mut []),
            (false, false) => (output, &mut []),
        };
        self.part(near, ask, ends, op, over_cells::reduce)
    }

    /// The place of the ranks that exchange with other processes in an all-reduce of so many bytes. Two ranks do so in turn:
    /// where they share a core, the one that comes last has all that it needs to go on and to begin the next call, and the
    /// core is handed over once a call instead of twice. Of more ranks, whoever folds may do so in an order of its own, and
    /// the same numbers would not have the same sum in every call. Longer vectors are read in place, where both wait for
    /// each other: of these they lead in turn only where no rank has a core of its own.
    fn leader(&self, number: u32, bytes: usize) -> Rank {
        let ranks = self.parts.near.size();
        let in_turns = self.parts.near.fabric().settings.in_turns;
        match self.are_even && ranks == 2 && (in_turns || bytes <= CELL_BYTES) {
            true => 1 - number as usize % 2,
            false => 0,
        }
    }

    /// The algorithm of two leaders for a vector of so many bytes, if it is not what two processes of one rank would take.
    /// Messages are copied where ranks take turns, and half a vector is copied and folded less.
    fn in_halves(&self, bytes: usize) -> Option<Algorithm> {
        let column = &self.parts.column;
        let is_long = column.fabric().settings.in_turns && bytes >= BY_COLUMNS;
        (is_long && column.size() == 2).then_some(Algorithm::Halving)
    }

    fn all_reduce_by_columns<T: Element, O: Operator<T>>(
        &self,
        (input, output): (&[T], &mut [T]),
        op: &O,
    ) -> Result<()> {
        let near = &self.parts.near;
        let own = span::block(output.len(), near.size(), near.rank());
        near.core.workspace.with(Info::of::<T>(), |rooms| {
            // Whatever is there is written over.
            if rooms.stage.len() != own.len() {
                rooms.stage.clear();
                rooms.stage.append(Elements::of(&output[own]));
            }
            let block = rooms.stage.all_mut().typed::<T>();
            let block = block.expect("a room of this type");
            self.all_reduce_by_blocks((input, output), block, op)
        })
    }

    /// The same with memory for this rank's block.
    fn all_reduce_by_blocks<T: Element, O: Operator<T>>(
        &self,
        (input, output): (&[T], &mut [T]),
        block: &mut [T],
        op: &O,
    ) -> Result<()> {
        let OwnParts { near, column } = self.parts;
        let ask = self.ask(Collective::ReduceScatter, output.len());
        let all = match self.whole.from_input {
            true => input,
            false => &*output,
        };
        self.part(
            near,
            ask,
            (all, &mut *block),
            op,
            over_cells::reduce_scatter,
        )?;
        let ask = self.ask(Collective::AllReduce, block.len());
        let ends: (&[T], &mut [T]) = (&[], &mut *block);
        self.part(column, ask, ends, op, over_cells::all_reduce)?;
        let ask = self.ask(Collective::AllGather, output.len());
        self.part(near, ask, (&*block, output), &First, over_cells::all_gather)
    }
}
