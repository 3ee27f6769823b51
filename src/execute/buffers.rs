//! The buffers of one rank in one call: where the elements of a region are, and how to send some of them while others
//! are written.

use std::mem;
use std::ops::Range;

use super::view::{View, fold, not_there, nothing, run_of};
use crate::engine::call::InCall;
use crate::engine::combine::{combined_elements, wrong};
use crate::engine::workspace::{Rooms, at_least};
use crate::error::Result;
use crate::op::element_vec::ElementVec;
use crate::op::elements::{Elements, ElementsMut, Info};
use crate::op::folds::{Folds, Operands};
use crate::schedule::{Buffer, Combine, LocalCopy, Region, Step, Transfer};
use crate::unwind;

/// Input, output and the rooms of one call.
pub(crate) struct Buffers<'a, 'o> {
    operands: &'a mut Operands<'o>,
    rooms: &'a mut Rooms,
    scratch: usize,
    /// The run of the output whose elements are currently in the spare room, at the same indices.
    away: Range<usize>,
}

/// A message that is sent and one that is received in the same step.
#[derive(Clone, Copy)]
struct Both {
    send: Transfer,
    recv: Transfer,
    combine: Combine,
}

/// The memory that holds the elements of a region.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    Input,
    Output,
    Scratch,
    Spare,
}

impl<'a, 'o> Buffers<'a, 'o> {
    /// The buffers of a call whose schedule needs `scratch` elements of scratch room.
    pub(crate) fn new(
        operands: &'a mut Operands<'o>,
        rooms: &'a mut Rooms,
        scratch: usize,
    ) -> Self {
        let away = 0..0;
        Buffers {
            operands,
            rooms,
            scratch,
            away,
        }
    }

    /// The elements of a region in one run, for a copy of them: gathered in the stage if they are in several.
    #[inline]
    pub(super) fn outgoing(&mut self, region: Region) -> Result<Elements<'_>> {
        if region.count == 1 {
            return self.read(region);
        }
        self.check_runs(region)?;
        self.pack(region)?;
        Ok(self.rooms.stage.all())
    }

    /// Folds elements that have arrived into their region.
    #[inline]
    pub(super) fn fold_in(
        &mut self,
        region: Region,
        combine: Combine,
        data: Elements<'_>,
        folds: &dyn Folds,
    ) -> Result<()> {
        self.check_runs(region)?;
        if data.is_empty() {
            return Ok(());
        }
        self.furnish(region, data)?;
        let room = self.room(region);
        let mut held = self.writable(room)?;
        if region.count == 1 && region.length == data.len() {
            let held = held.reborrow().get(run_of(region));
            let held = held.ok_or_else(|| not_there(region))?;
            combined_elements(combine, held, data, folds);
            return Ok(());
        }
        fold(View::whole(held), region, combine, data, folds)
    }

    /// Folds elements that have arrived with those of a region of one run of the output, and stores the result in both
    /// places.
    pub(super) fn fold_both(
        &mut self,
        region: Region,
        combine: Combine,
        mut theirs: ElementsMut<'_>,
        folds: &dyn Folds,
    ) -> Result<()> {
        let room = self.room(region);
        let held = self.writable(room)?.get(run_of(region));
        let mut held = held.ok_or_else(|| not_there(region))?;
        unwind::operator(|| match combine {
            Combine::FoldLeft => folds.both(&mut theirs, &mut held),
            _ => folds.both(&mut held, &mut theirs),
        });
        Ok(())
    }

    /// Runs one step of a rank.
    #[inline]
    pub(super) fn run(&mut self, link: &InCall<'_>, step: Step, folds: &dyn Folds) -> Result<()> {
        if let Some(copy) = step.local {
            self.copy(copy, folds)?;
        }
        if let Some(clash) = step.clash {
            return Err(wrong(format!("has two {clash} in one step")));
        }
        match (step.send, step.recv) {
            (None, None) => Ok(()),
            (None, Some(recv)) => self.receive(link, recv, step.combine, folds),
            (Some(send), recv) => {
                let combine = step.combine;
                match (self.post(link, send)?, recv) {
                    (true, None) => Ok(()),
                    (true, Some(recv)) => self.receive(link, recv, combine, folds),
                    (false, None) => self.lend(link, send),
                    (false, Some(recv)) => {
                        let both = Both {
                            send,
                            recv,
                            combine,
                        };
                        self.lend_and_receive(link, both, folds)
                    }
                }
            }
        }
    }

    /// Posts a copy of the elements to send, if they are short.
    #[inline(always)]
    fn post(&mut self, link: &InCall<'_>, send: Transfer) -> Result<bool> {
        if send.region.count != 1 {
            self.check_runs(send.region)?;
            self.pack(send.region)?;
            return link.post(send.peer, self.rooms.stage.all());
        }
        link.post(send.peer, self.read(send.region)?)
    }

    /// Waits for a message, and folds it into its region.
    #[inline]
    fn receive(
        &mut self,
        link: &InCall<'_>,
        recv: Transfer,
        combine: Combine,
        folds: &dyn Folds,
    ) -> Result<()> {
        self.check_runs(recv.region)?;
        let count = recv.region.elements();
        link.receive(recv.peer, count, self.info(), |data| {
            self.fold_in(recv.region, combine, data, folds)
        })
    }

    /// Lends a message that is too long for a packet, or for which there is no room, in a step that receives nothing.
    #[inline]
    fn lend(&mut self, link: &InCall<'_>, send: Transfer) -> Result<()> {
        let data = match send.region.count {
            1 => self.read(send.region)?,
            _ => self.rooms.stage.all(), // packed by `post`
        };
        link.lend(send.peer, data, &mut || Ok(()))
    }

    /// Lends a message, and receives another meanwhile.
    fn lend_and_receive(&mut self, link: &InCall<'_>, both: Both, folds: &dyn Folds) -> Result<()> {
        let Both { send, recv, .. } = both;
        self.check_runs(recv.region)?;
        let in_one_piece = send.region.count == 1 && !send.region.is_empty();
        if in_one_piece && !send.region.overlaps(&recv.region) {
            return self.lend_beside(link, both, folds);
        }
        let combines = both.combine != Combine::Replace;
        if in_one_piece && send.region == recv.region && combines && is_output(send.region) {
            return self.fold_out_of_place(link, both, folds);
        }
        if send.region.count == 1 {
            self.pack(send.region)?;
        }
        self.lend_stage(link, both, folds)
    }

    /// Lends the packed elements, while anything else may be written.
    fn lend_stage(&mut self, link: &InCall<'_>, both: Both, folds: &dyn Folds) -> Result<()> {
        let Both {
            send,
            recv,
            combine,
        } = both;
        let stage = self.take_stage();
        let done = link.lend(send.peer, stage.all(), &mut || {
            self.receive(link, recv, combine, folds)
        });
        self.rooms.stage = stage;
        done
    }

    /// Lends one run while others are written.
    fn lend_beside(&mut self, link: &InCall<'_>, both: Both, folds: &dyn Folds) -> Result<()> {
        let Both {
            send,
            recv,
            combine,
        } = both;
        self.furnish_from(recv.region, send.region)?;
        // Both calls of `room` may bring elements home, so their place is known only after the second.
        self.room(send.region);
        let into = self.room(recv.region);
        let from = self.room(send.region);
        let (sent, mut view) = self.split(from, run_of(send.region), into)?;
        let (count, info) = (recv.region.elements(), sent.info());
        link.lend(send.peer, sent, &mut || {
            link.receive(recv.peer, count, info, |data| {
                fold(view.reborrow(), recv.region, combine, data, folds)
            })
        })
    }

    /// Lends a run of the output and folds into its place in the spare room, or the other way round.
    fn fold_out_of_place(
        &mut self,
        link: &InCall<'_>,
        both: Both,
        folds: &dyn Folds,
    ) -> Result<()> {
        let Both { send, recv, .. } = both;
        let run = run_of(send.region);
        self.read(send.region)?;
        if self.away != run {
            self.bring_home();
        }
        let Rooms { spare, .. } = &mut *self.rooms;
        at_least(
            spare,
            self.operands.output.len(),
            self.operands.output.shared(),
        )?;
        let (mut output, mut spare) = (self.operands.output.reborrow(), spare.all_mut());
        let away = match self.away.is_empty() {
            true => run.clone(),
            false => {
                mem::swap(&mut output, &mut spare);
                0..0
            }
        };
        let held = output.shared().get(run.clone()).ok_or_else(nothing)?;
        let mut into = spare.get(run.clone()).ok_or_else(nothing)?;
        link.lend(send.peer, held, &mut || {
            link.receive(recv.peer, run.len(), held.info(), |data| {
                unwind::operator(|| match both.combine {
                    Combine::FoldLeft => folds.two(&mut into, &data, &held),
                    _ => folds.two(&mut into, &held, &data),
                });
                Ok(())
            })
        })?;
        self.away = away;
        Ok(())
    }

    /// Copies the elements that are in the spare room back into the output.
    #[inline]
    pub(super) fn bring_home(&mut self) {
        let away = mem::take(&mut self.away);
        if !away.is_empty() {
            let spare = self.rooms.spare.all().get(away.clone());
            let output = self.operands.output.reborrow().get(away);
            let (mut output, spare) = output.zip(spare).expect("both have these elements");
            output.copy_from(spare);
        }
    }

    /// Makes the local copy or fold of a step.
    pub(super) fn copy(&mut self, copy: LocalCopy, folds: &dyn Folds) -> Result<()> {
        self.check_runs(copy.from)?;
        self.check_runs(copy.to)?;
        if copy.from.elements() != copy.to.elements() {
            return Err(wrong(format!("copies {} to {}", copy.from, copy.to)));
        }
        if copy.from.count != 1 || copy.from.overlaps(&copy.to) {
            return self.copy_packed(copy, folds);
        }
        if self.read(copy.from)?.is_empty() {
            return Ok(());
        }
        self.furnish_from(copy.to, copy.from)?;
        self.room(copy.from);
        let into = self.room(copy.to);
        let from = self.room(copy.from);
        let (data, view) = self.split(from, run_of(copy.from), into)?;
        fold(view, copy.to, copy.combine, data, folds)
    }

    fn copy_packed(&mut self, copy: LocalCopy, folds: &dyn Folds) -> Result<()> {
        self.pack(copy.from)?;
        if self.rooms.stage.len() == 0 {
            return Ok(());
        }
        let stage = self.take_stage();
        let done = self.furnish(copy.to, stage.all()).and_then(|()| {
            let room = self.room(copy.to);
            let view = View::whole(self.writable(room)?);
            fold(view, copy.to, copy.combine, stage.all(), folds)
        });
        self.rooms.stage = stage;
        done
    }

    /// Gathers the runs of a region in the stage.
    fn pack(&mut self, region: Region) -> Result<()> {
        let mut stage = self.take_stage();
        stage.clear();
        let room = self.room(region);
        let held = self.readable(room);
        let done = region.runs().try_for_each(|run| {
            stage.append(held.get(run).ok_or_else(|| not_there(region))?);
            Ok(())
        });
        self.rooms.stage = stage;
        done
    }

    /// The elements of a region of one run.
    #[inline(always)]
    fn read(&mut self, region: Region) -> Result<Elements<'_>> {
        if region.is_empty() {
            return Ok(Elements::none(self.info()));
        }
        let room = self.room(region);
        let held = self.readable(room);
        held.get(run_of(region)).ok_or_else(|| not_there(region))
    }

    /// The type of the elements.
    #[inline(always)]
    pub(super) fn info(&self) -> &'static Info {
        self.operands.input.info()
    }

    /// The packed elements, which the caller puts back.
    #[inline(always)]
    fn take_stage(&mut self) -> ElementVec {
        let empty = ElementVec::new(self.info());
        mem::replace(&mut self.rooms.stage, empty)
    }

    /// Makes sure that a region of the scratch room has elements to write to: copies of the first of `some`.
    #[inline(always)]
    fn furnish(&mut self, region: Region, some: Elements<'_>) -> Result<()> {
        if region.buffer != Buffer::Scratch {
            return Ok(());
        }
        at_least(&mut self.rooms.scratch, self.scratch, some)
    }

    /// The same with the first element of a region that is not empty, and is read elsewhere or in a scratch room that
    /// has its elements already.
    #[inline(always)]
    fn furnish_from(&mut self, region: Region, from: Region) -> Result<()> {
        if region.buffer != Buffer::Scratch || self.rooms.scratch.len() >= self.scratch {
            return Ok(());
        }
        let empty = ElementVec::new(self.info());
        let mut scratch = mem::replace(&mut self.rooms.scratch, empty);
        let length = self.scratch;
        let grown = self
            .read(from)
            .and_then(|some| at_least(&mut scratch, length, some));
        self.rooms.scratch = scratch;
        grown
    }

    /// Checks that the runs of a region, if there are several, are disjoint and inside their buffer: otherwise a few
    /// numbers could describe very many runs.
    #[inline(always)]
    fn check_runs(&self, region: Region) -> Result<()> {
        if region.count <= 1 {
            return Ok(());
        }
        let inside = region
            .end()
            .is_some_and(|end| end <= self.length(region.buffer));
        match inside && !region.overlaps_itself() {
            true => Ok(()),
            false => Err(not_there(region)),
        }
    }

    #[inline]
    fn length(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Input => self.operands.input.len(),
            Buffer::Output => self.operands.output.len(),
            Buffer::Scratch => self.scratch,
        }
    }

    /// The room that holds the elements of a region. If they are in two rooms, brings those in the spare room home
    /// first, that is, back into the output.
    #[inline(always)]
    fn room(&mut self, region: Region) -> Storage {
        match region.buffer {
            Buffer::Input => Storage::Input,
            Buffer::Scratch => Storage::Scratch,
            Buffer::Output if self.away.is_empty() || region.is_empty() => Storage::Output,
            Buffer::Output => self.room_of_output(region),
        }
    }

    fn room_of_output(&mut self, region: Region) -> Storage {
        let run = region.start..region.end().unwrap_or(usize::MAX);
        if self.away.start <= run.start && run.end <= self.away.end {
            return Storage::Spare;
        }
        if run.start < self.away.end && self.away.start < run.end {
            self.bring_home();
        }
        Storage::Output
    }

    #[inline(always)]
    fn readable(&self, room: Storage) -> Elements<'_> {
        match room {
            Storage::Input => self.operands.input,
            Storage::Output => self.operands.output.shared(),
            Storage::Scratch => {
                let scratch = self.rooms.scratch.all().get(0..self.scratch);
                scratch.unwrap_or(Elements::none(self.info()))
            }
            Storage::Spare => self.rooms.spare.all(),
        }
    }

    #[inline(always)]
    fn writable(&mut self, room: Storage) -> Result<ElementsMut<'_>> {
        let info = self.info();
        match room {
            Storage::Input => Err(wrong("writes to the input".into())),
            Storage::Output => Ok(self.operands.output.reborrow()),
            Storage::Scratch => {
                let scratch = self.rooms.scratch.all_mut().get(0..self.scratch);
                Ok(scratch.unwrap_or(ElementsMut::none(info)))
            }
            Storage::Spare => Ok(self.rooms.spare.all_mut()),
        }
    }

    /// One run to read, and what may be written meanwhile: another room, or the same room around the run.
    fn split(
        &mut self,
        from: Storage,
        run: Range<usize>,
        into: Storage,
    ) -> Result<(Elements<'_>, View<'_>)> {
        if from == into {
            return View::around(self.writable(into)?, run);
        }
        let Rooms { scratch, spare, .. } = &mut *self.rooms;
        let mut output = Some(self.operands.output.reborrow());
        let mut scratch = scratch.all_mut().get(0..self.scratch);
        let mut spare = Some(spare.all_mut());
        let mut take = |room| match room {
            Storage::Input => None,
            Storage::Output => output.take(),
            Storage::Scratch => scratch.take(),
            Storage::Spare => spare.take(),
        };
        let into = take(into).ok_or_else(|| wrong("writes to the input".into()))?;
        let held = match from {
            Storage::Input => self.operands.input,
            other => take(other).ok_or_else(nothing)?.into_shared(),
        };
        let data = held.get(run).ok_or_else(nothing)?;
        Ok((data, View::whole(into)))
    }
}

fn is_output(region: Region) -> bool {
    region.buffer == Buffer::Output
}
