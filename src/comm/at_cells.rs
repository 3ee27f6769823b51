//! How a rank writes its cell inside a collective call and reads those of others: each read compared with
//! the call, each wait with a way out, each write followed by a look at who sleeps.

use std::cell::{OnceCell, RefCell};

use super::Comm;
use super::call::{From, InCall};
use crate::Rank;
use crate::error::Result;
use crate::execute::{AtCells, Readers};
use crate::op::Element;
use crate::transport::CommShared;
use crate::transport::cells::Desk;
use crate::transport::head::Info;
use crate::transport::knot::Needs;

/// A rank's end of the cells, from when it first needs them.
#[derive(Default)]
pub(super) struct LazyDesk(OnceCell<RefCell<Desk>>);

impl LazyDesk {
    #[inline]
    fn get(&self, shared: &CommShared, me: Rank) -> &RefCell<Desk> {
        self.0.get_or_init(|| RefCell::new(shared.desk(me)))
    }
}

impl Comm {
    #[inline]
    fn desk(&self) -> &RefCell<Desk> {
        self.desk.get(&self.shared, self.me)
    }
}

impl AtCells for InCall<'_> {
    #[inline]
    fn rank(&self) -> Rank {
        self.comm.rank()
    }

    #[inline]
    fn write<T: Element>(
        &self,
        data: &[T],
        readers: Readers,
        share: impl Fn(Rank) -> usize,
    ) -> Result<()> {
        let fabric = self.comm.fabric();
        self.comm.core.tick()?;
        if self.comm.desk().borrow_mut().lagging().is_some() {
            self.wait_for_room()?;
        }
        for reader in self.each(readers) {
            let bytes = share(reader) * size_of::<T>();
            self.note_sent(reader, bytes);
            self.comm.core.port.count(bytes);
        }
        // Asked before the post: after it a reader may read and end well.
        let gone = |reader: &Rank| !fabric.is_there(self.comm.world_rank(*reader));
        let gone = self.each(readers).find(gone);
        self.comm.desk().borrow_mut().post(self.stamp(), data);
        let readers = self.each(readers);
        fabric.rouse_each(readers.map(|reader| self.comm.world_rank(reader)));
        gone.map_or(Ok(()), |gone| Err(self.gone(gone)))
    }

    #[inline]
    fn wait_for_all(&self) -> Result<()> {
        let desk = self.comm.desk();
        let missing = || desk.borrow_mut().missing();
        if missing().is_none() {
            return Ok(());
        }
        let needs = || Needs::All(self.absent());
        self.wait(&needs, None, || missing().is_none().then_some(()))
    }

    #[inline]
    fn read<T: Element>(&self, from: Rank, count: usize, show: impl FnOnce(&[T])) -> Result<()> {
        self.wait_for_cell(from)?;
        let desk = self.comm.desk();
        let label = desk.borrow().label(from);
        let ours = label.stamp == self.stamp() && label.count == count;
        if !ours || !label.info.is(Info::of::<T>()) {
            return Err(self.strange_cell(from, label));
        }
        desk.borrow().open(from, show);
        desk.borrow_mut().learn(from);
        if from != self.rank() {
            self.comm.core.tick()?;
            self.note_received(from);
        }
        Ok(())
    }

    #[inline]
    fn leave(&self, written_for: Option<Readers>) -> Result<()> {
        self.comm.desk().borrow_mut().leave(self.stamp());
        let me = self.comm.core.port.me;
        self.comm.fabric().after_leaving(&self.comm.shared, me);
        match written_for.filter(|_| self.comm.core.synchronous) {
            Some(readers) => self.wait_until_read(readers),
            None => Ok(()),
        }
    }
}

impl InCall<'_> {
    /// The readers of a cell of this rank.
    #[inline]
    fn each(&self, readers: Readers) -> impl Iterator<Item = Rank> + use<> {
        let me = self.rank();
        let all = match readers {
            Readers::One(one) => one..one + 1,
            Readers::All => 0..self.size(),
        };
        all.filter(move |reader| *reader != me)
    }

    /// The ranks whose cells are not there, as the world numbers them.
    fn absent(&self) -> Vec<Rank> {
        let desk = self.comm.desk().borrow();
        let absent = self.each(Readers::All).filter(|&rank| !desk.is_here(rank));
        absent.map(|rank| self.comm.world_rank(rank)).collect()
    }

    #[inline]
    fn wait_for_cell(&self, from: Rank) -> Result<()> {
        let desk = self.comm.desk();
        let look = || desk.borrow().is_here(from).then_some(());
        if look().is_some() {
            return Ok(());
        }
        self.wait(&|| self.needs(&From::Rank(from)), None, look)
    }

    /// Waits until the readers of its cell have left the call that this rank has just left.
    #[cold]
    fn wait_until_read(&self, readers: Readers) -> Result<()> {
        let desk = self.comm.desk().borrow();
        let reading = || self.each(readers).filter(|&rank| !desk.has_left(rank));
        let cells = desk.cells();
        let _waiting = cells.wait_for_room();
        let world = |rank| self.comm.world_rank(rank);
        let needs = || Needs::All(reading().map(world).collect());
        self.wait(&needs, None, || reading().next().is_none().then_some(()))
    }

    /// Waits until all have left the call whose message lies where the next one will.
    #[cold]
    fn wait_for_room(&self) -> Result<()> {
        let desk = self.comm.desk();
        let cells = desk.borrow().cells();
        let _waiting = cells.wait_for_room();
        let lagging = || desk.borrow_mut().lagging();
        let world = |rank| self.comm.world_rank(rank);
        let needs = || Needs::All(lagging().map(world).into_iter().collect());
        self.wait(&needs, None, || lagging().is_none().then_some(()))
    }
}
