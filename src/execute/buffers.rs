//! The buffers of one rank in one call: where the elements of a region are, and how to send some of them while others
//! are written.

use std::mem;
use std::ops::Range;

use super::view::{View, fold, not_there, nothing, run_of};
use crate::engine::call::InCall;
use crate::engine::combine::wrong;
use crate::engine::workspace::{Rooms, at_least};
use crate::error::Result;
use crate::op::{Element, Operator, append, fold_two};
use crate::schedule::{Buffer, Combine, LocalCopy, Region, Step, Transfer};
use crate::unwind;

/// Input, output and the rooms of one call.
pub(crate) struct Buffers<'a, T> {
    input: &'a [T],
    output: &'a mut [T],
    rooms: &'a mut Rooms<T>,
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
enum Room {
    Input,
    Output,
    Scratch,
    Spare,
}

impl<'a, T: Element> Buffers<'a, T> {
    /// The buffers of a call whose schedule needs `scratch` elements of scratch room.
    pub(crate) fn new(
        input: &'a [T],
        output: &'a mut [T],
        rooms: &'a mut Rooms<T>,
        scratch: usize,
    ) -> Self {
        let away = 0..0;
        Buffers {
            input,
            output,
            rooms,
            scratch,
            away,
        }
    }

    /// Runs one step of a rank.
    #[inline]
    pub(super) fn run(
        &mut self,
        link: &InCall<'_>,
        step: Step,
        op: &impl Operator<T>,
    ) -> Result<()> {
        if let Some(copy) = step.local {
            self.copy(copy, op)?;
        }
        if let Some(clash) = step.clash {
            return Err(wrong(format!("has two {clash} in one step")));
        }
        match (step.send, step.recv) {
            (None, None) => Ok(()),
            (None, Some(recv)) => self.receive(link, recv, step.combine, op),
            (Some(send), recv) => {
                let combine = step.combine;
                match (self.post(link, send)?, recv) {
                    (true, None) => Ok(()),
                    (true, Some(recv)) => self.receive(link, recv, combine, op),
                    (false, None) => self.lend(link, send),
                    (false, Some(recv)) => {
                        let both = Both {
                            send,
                            recv,
                            combine,
                        };
                        self.lend_and_receive(link, both, op)
                    }
                }
            }
        }
    }

    /// Posts a copy of the elements to send, if they are short.
    #[inline]
    fn post(&mut self, link: &InCall<'_>, send: Transfer) -> Result<bool> {
        if send.region.count != 1 {
            self.check_runs(send.region)?;
            self.pack(send.region)?;
            return link.post(send.peer, &self.rooms.stage);
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
        op: &impl Operator<T>,
    ) -> Result<()> {
        self.check_runs(recv.region)?;
        let count = recv.region.elements();
        link.receive(recv.peer, count, &mut |data: &[T]| {
            let Some(&some) = data.first() else {
                return Ok(());
            };
            self.furnish(recv.region, some)?;
            let room = self.room(recv.region);
            let view = View::whole(self.writable(room)?);
            fold(view, recv.region, combine, data, op)
        })
    }

    /// Lends a message that is too long for a packet, or for which there is no room, in a step that receives nothing.
    fn lend(&mut self, link: &InCall<'_>, send: Transfer) -> Result<()> {
        let data = match send.region.count {
            1 => self.read(send.region)?,
            _ => &self.rooms.stage, // packed by `post`
        };
        link.lend(send.peer, data, &mut || Ok(()))
    }

    /// Lends a message, and receives another meanwhile.
    fn lend_and_receive(
        &mut self,
        link: &InCall<'_>,
        both: Both,
        op: &impl Operator<T>,
    ) -> Result<()> {
        let Both { send, recv, .. } = both;
        self.check_runs(recv.region)?;
        let in_one_piece = send.region.count == 1 && !send.region.is_empty();
        if in_one_piece && !send.region.overlaps(&recv.region) {
            return self.lend_beside(link, both, op);
        }
        let folds = both.combine != Combine::Replace;
        if in_one_piece && send.region == recv.region && folds && is_output(send.region) {
            return self.fold_out_of_place(link, both, op);
        }
        if send.region.count == 1 {
            self.pack(send.region)?;
        }
        self.lend_stage(link, both, op)
    }

    /// Lends the packed elements, while anything else may be written.
    fn lend_stage(&mut self, link: &InCall<'_>, both: Both, op: &impl Operator<T>) -> Result<()> {
        let Both {
            send,
            recv,
            combine,
        } = both;
        let stage = mem::take(&mut self.rooms.stage);
        let done = link.lend(send.peer, &stage, &mut || {
            self.receive(link, recv, combine, op)
        });
        self.rooms.stage = stage;
        done
    }

    /// Lends one run while others are written.
    fn lend_beside(&mut self, link: &InCall<'_>, both: Both, op: &impl Operator<T>) -> Result<()> {
        let Both {
            send,
            recv,
            combine,
        } = both;
        let some = *self.read(send.region)?.first().ok_or_else(nothing)?;
        self.furnish(recv.region, some)?;
        // Both calls of `room` may bring elements home, so their place is known only after the second.
        self.room(send.region);
        let into = self.room(recv.region);
        let from = self.room(send.region);
        let (sent, mut view) = self.split(from, run_of(send.region), into)?;
        let count = recv.region.elements();
        link.lend(send.peer, sent, &mut || {
            link.receive(recv.peer, count, &mut |data: &[T]| {
                fold(view.reborrow(), recv.region, combine, data, op)
            })
        })
    }

    /// Lends a run of the output and folds into its place in the spare room, or the other way round.
    fn fold_out_of_place(
        &mut self,
        link: &InCall<'_>,
        both: Both,
        op: &impl Operator<T>,
    ) -> Result<()> {
        let Both { send, recv, .. } = both;
        let run = run_of(send.region);
        let some = *self.read(send.region)?.first().ok_or_else(nothing)?;
        if self.away != run {
            self.bring_home();
        }
        at_least(&mut self.rooms.spare, self.output.len(), some)?;
        let (output, spare) = (&mut *self.output, &mut self.rooms.spare[..]);
        let (held, into, away) = match self.away.is_empty() {
            true => (&output[run.clone()], &mut spare[run.clone()], run.clone()),
            false => (&spare[run.clone()], &mut output[run.clone()], 0..0),
        };
        link.lend(send.peer, held, &mut || {
            link.receive(recv.peer, run.len(), &mut |data: &[T]| {
                unwind::operator(|| match both.combine {
                    Combine::FoldLeft => fold_two(op, into, data, held),
                    _ => fold_two(op, into, held, data),
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
            self.output[away.clone()].copy_from_slice(&self.rooms.spare[away]);
        }
    }

    /// Makes the local copy or fold of a step.
    fn copy(&mut self, copy: LocalCopy, op: &impl Operator<T>) -> Result<()> {
        self.check_runs(copy.from)?;
        self.check_runs(copy.to)?;
        if copy.from.elements() != copy.to.elements() {
            return Err(wrong(format!("copies {} to {}", copy.from, copy.to)));
        }
        if copy.from.count != 1 || copy.from.overlaps(&copy.to) {
            return self.copy_packed(copy, op);
        }
        let Some(&some) = self.read(copy.from)?.first() else {
            return Ok(());
        };
        self.furnish(copy.to, some)?;
        self.room(copy.from);
        let into = self.room(copy.to);
        let from = self.room(copy.from);
        let (data, view) = self.split(from, run_of(copy.from), into)?;
        fold(view, copy.to, copy.combine, data, op)
    }

    fn copy_packed(&mut self, copy: LocalCopy, op: &impl Operator<T>) -> Result<()> {
        self.pack(copy.from)?;
        let Some(&some) = self.rooms.stage.first() else {
            return Ok(());
        };
        self.furnish(copy.to, some)?;
        let room = self.room(copy.to);
        let stage = mem::take(&mut self.rooms.stage);
        let view = self.writable(room).map(View::whole);
        let done = view.and_then(|view| fold(view, copy.to, copy.combine, &stage, op));
        self.rooms.stage = stage;
        done
    }

    /// Gathers the runs of a region in the stage.
    fn pack(&mut self, region: Region) -> Result<()> {
        let mut stage = mem::take(&mut self.rooms.stage);
        stage.clear();
        let room = self.room(region);
        let held = self.readable(room);
        let done = region.runs().try_for_each(|run| {
            append(&mut stage, held.get(run).ok_or_else(|| not_there(region))?);
            Ok(())
        });
        self.rooms.stage = stage;
        done
    }

    /// The elements of a region of one run.
    #[inline]
    fn read(&mut self, region: Region) -> Result<&[T]> {
        if region.is_empty() {
            return Ok(&[]);
        }
        let room = self.room(region);
        let held = self.readable(room);
        held.get(run_of(region)).ok_or_else(|| not_there(region))
    }

    /// Makes sure that a region of the scratch room has elements to write to.
    #[inline]
    fn furnish(&mut self, region: Region, some: T) -> Result<()> {
        if region.buffer != Buffer::Scratch {
            return Ok(());
        }
        at_least(&mut self.rooms.scratch, self.scratch, some)
    }

    /// Checks that the runs of a region, if there are several, are disjoint and inside their buffer: otherwise a few
    /// numbers could describe very many runs.
    #[inline]
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

    fn length(&self, buffer: Buffer) -> usize {
        match buffer {
            Buffer::Input => self.input.len(),
            Buffer::Output => self.output.len(),
            Buffer::Scratch => self.scratch,
        }
    }

    /// The room that holds the elements of a region. If they are in two rooms, brings those in the spare room home
    /// first, that is, back into the output.
    #[inline]
    fn room(&mut self, region: Region) -> Room {
        match region.buffer {
            Buffer::Input => Room::Input,
            Buffer::Scratch => Room::Scratch,
            Buffer::Output if self.away.is_empty() || region.is_empty() => Room::Output,
            Buffer::Output => self.room_of_output(region),
        }
    }

    fn room_of_output(&mut self, region: Region) -> Room {
        let run = region.start..region.end().unwrap_or(usize::MAX);
        if self.away.start <= run.start && run.end <= self.away.end {
            return Room::Spare;
        }
        if run.start < self.away.end && self.away.start < run.end {
            self.bring_home();
        }
        Room::Output
    }

    #[inline]
    fn readable(&self, room: Room) -> &[T] {
        match room {
            Room::Input => self.input,
            Room::Output => self.output,
            Room::Scratch => self.rooms.scratch.get(..self.scratch).unwrap_or(&[]),
            Room::Spare => &self.rooms.spare,
        }
    }

    #[inline]
    fn writable(&mut self, room: Room) -> Result<&mut [T]> {
        match room {
            Room::Input => Err(wrong("writes to the input".into())),
            Room::Output => Ok(self.output),
            Room::Scratch => Ok(self
                .rooms
                .scratch
                .get_mut(..self.scratch)
                .unwrap_or_default()),
            Room::Spare => Ok(&mut self.rooms.spare),
        }
    }

    /// One run to read, and what may be written meanwhile: another room, or the same room around the run.
    fn split(&mut self, from: Room, run: Range<usize>, into: Room) -> Result<(&[T], View<'_, T>)> {
        if from == into {
            return View::around(self.writable(into)?, run);
        }
        let Rooms { scratch, spare, .. } = &mut *self.rooms;
        let (mut output, mut scratch) = (Some(&mut *self.output), scratch.get_mut(..self.scratch));
        let mut spare = Some(&mut spare[..]);
        let mut take = |room| match room {
            Room::Input => None,
            Room::Output => output.take(),
            Room::Scratch => scratch.take(),
            Room::Spare => spare.take(),
        };
        let into = take(into).ok_or_else(|| wrong("writes to the input".into()))?;
        let held: &[T] = match from {
            Room::Input => self.input,
            other => take(other).ok_or_else(nothing)?,
        };
        let data = held.get(run).ok_or_else(nothing)?;
        Ok((data, View::whole(into)))
    }
}

fn is_output(region: Region) -> bool {
    region.buffer == Buffer::Output
}
