//! All ranks, step by step: first all sends are captured, then all messages arrive.

use std::ops::Range;

use super::goal::{Cut, Want};
use super::legal::RankStep;
use super::memory::{Piece, SymbolicBuffer};
use super::symbols::{Orders, Spoil, Symbol, ascending};
use super::{Certificate, CheckError, Goal, Traffic};
use crate::Rank;
use crate::schedule::{Buffer, Combine, Lengths, Region, Schedule, Step, Transfer};

/// The state of one rank.
struct Player {
    lengths: Lengths,
    buffers: [SymbolicBuffer; 3],
    /// The next active step, as returned by [`Schedule::next_active`].
    upcoming: Option<usize>,
    /// For a barrier: the ranks heard from, one bit each.
    heard: Vec<u64>,
    traffic: Traffic,
}

/// The contents of a rank's send in a step.
#[derive(Default)]
struct SentData {
    pieces: Vec<Piece>,
    heard: Vec<u64>,
}

/// The state between two steps.
pub(super) struct SymbolicRun<'a> {
    schedule: &'a dyn Schedule,
    cut: Cut,
    players: Vec<Player>,
    orders: Orders,
    /// The fault behind each [`Symbol::Spoiled`].
    spoils: Vec<CheckError>,
    message_steps: usize,
    exchanges_in_place: bool,
}

impl<'a> SymbolicRun<'a> {
    pub(super) fn new(
        schedule: &'a dyn Schedule,
        goal: &Goal,
        cut: Cut,
    ) -> Result<SymbolicRun<'a>, CheckError> {
        let ranks = schedule.ranks();
        if ranks == 0 {
            return Err(CheckError::NoRanks);
        }
        if let Some(root) = goal.root().filter(|&root| root >= ranks) {
            return Err(CheckError::NoSuchRoot { root, ranks });
        }
        let (parts, length) = (cut.blocks.parts(), cut.blocks.length());
        if parts != ranks || length != goal.length() {
            let goal = goal.length();
            return Err(CheckError::OtherBlocks {
                parts,
                ranks,
                length,
                goal,
            });
        }
        let mut run = SymbolicRun {
            schedule,
            cut,
            players: Vec::with_capacity(ranks),
            orders: Orders::default(),
            spoils: Vec::new(),
            message_steps: 0,
            exchanges_in_place: false,
        };
        for rank in 0..ranks {
            let player = run.player(rank, goal)?;
            run.players.push(player);
        }
        Ok(run)
    }

    fn player(&mut self, rank: Rank, goal: &Goal) -> Result<Player, CheckError> {
        let ranks = self.schedule.ranks();
        let mut player = Player {
            lengths: self.schedule.lengths(rank),
            buffers: Default::default(),
            upcoming: self.next_active(rank, None)?,
            heard: Vec::new(),
            traffic: Traffic::default(),
        };
        if goal.is_barrier() {
            player.heard = vec![0; ranks.div_ceil(64)];
            player.heard[rank / 64] |= 1 << (rank % 64);
        }
        if let Some(source) = goal.source(&self.cut, rank) {
            player.holds(rank, source.region)?;
            let symbol = Symbol::Fold {
                order: self.orders.single(source.contributor),
                shift: source.shift,
            };
            player.fill(source.region, symbol);
        }
        for want in goal.wants(&self.cut, rank) {
            player.holds(rank, Region::output(want.run))?;
        }
        Ok(player)
    }

    /// The rank's next step according to the schedule, which must be later and not beyond the end.
    fn next_active(&self, rank: Rank, after: Option<usize>) -> Result<Option<usize>, CheckError> {
        let next = self.schedule.next_active(rank, after);
        let lies = |&next: &usize| next >= self.schedule.steps() || Some(next) <= after;
        match next.filter(lies) {
            Some(next) => Err(CheckError::WrongNext { rank, after, next }),
            None => Ok(next),
        }
    }

    /// Runs one step of all ranks.
    pub(super) fn step(&mut self, number: usize) -> Result<(), CheckError> {
        let ranks = self.players.len();
        let steps: Vec<Step> = (0..ranks)
            .map(|rank| self.schedule.step(rank, number))
            .collect();
        for (rank, step) in steps.iter().enumerate() {
            self.watch(rank, number, step)?;
            self.place(rank, number).allows(step)?;
        }
        for (rank, step) in steps.iter().enumerate() {
            self.copy(rank, number, step)?;
        }
        let mut messages = Vec::with_capacity(ranks);
        for rank in 0..ranks {
            self.matched(&steps, rank, number)?;
            messages.push(self.take(rank, number, &steps[rank])?);
        }
        for (rank, step) in steps.iter().enumerate() {
            if let Some(recv) = step.recv {
                let message = &messages[recv.peer];
                self.deliver(rank, number, recv, step.combine, message)?;
            }
        }
        self.message_steps += usize::from(steps.iter().any(|step| step.send.is_some()));
        Ok(())
    }

    fn place(&self, rank: Rank, step: usize) -> RankStep {
        RankStep {
            ranks: self.players.len(),
            rank,
            step,
            lengths: self.players[rank].lengths,
        }
    }

    /// Checks that the schedule announced this step for the rank, if the rank is active in it.
    fn watch(&mut self, rank: Rank, number: usize, step: &Step) -> Result<(), CheckError> {
        let promised = self.players[rank].upcoming == Some(number);
        if promised {
            self.players[rank].upcoming = self.next_active(rank, Some(number))?;
        } else if !step.is_idle() {
            return Err(CheckError::Overlooked { rank, step: number });
        }
        Ok(())
    }

    fn copy(&mut self, rank: Rank, number: usize, step: &Step) -> Result<(), CheckError> {
        let Some(copy) = step.local else {
            return Ok(());
        };
        let pieces = self.read(rank, number, copy.from)?;
        if copy.combine != Combine::Replace {
            let folded = &mut self.players[rank].traffic.folded;
            *folded = folded.saturating_add(copy.to.elements());
        }
        self.write(rank, number, rank, (copy.to, copy.combine), &pieces)
    }

    fn read(&self, rank: Rank, step: usize, region: Region) -> Result<Vec<Piece>, CheckError> {
        let buffer = region.buffer;
        let pieces = self.players[rank].buffers[buffer as usize].read(region);
        pieces.map_err(|element| CheckError::ReadsNothing {
            rank,
            step,
            buffer,
            element,
        })
    }

    /// Checks that the peers of the rank's messages take part in them, and agree on their extent.
    fn matched(&self, steps: &[Step], rank: Rank, step: usize) -> Result<(), CheckError> {
        if let Some(recv) = steps[rank].recv {
            let sender = steps[recv.peer].send;
            sender
                .filter(|send| send.peer == rank)
                .ok_or(CheckError::NoSend {
                    rank,
                    step,
                    peer: recv.peer,
                })?;
        }
        let Some(send) = steps[rank].send else {
            return Ok(());
        };
        let receiver = steps[send.peer].recv.filter(|recv| recv.peer == rank);
        let recv = receiver.ok_or(CheckError::NoReceive {
            rank,
            step,
            peer: send.peer,
        })?;
        let (sent, expected) = (send.region.elements(), recv.region.elements());
        if sent != expected {
            return Err(CheckError::UnequalExtents {
                rank,
                step,
                peer: send.peer,
                sent,
                expected,
            });
        }
        Ok(())
    }

    /// The contents of the rank's send, as of now.
    fn take(&mut self, rank: Rank, number: usize, step: &Step) -> Result<SentData, CheckError> {
        let Some(send) = step.send else {
            return Ok(SentData::default());
        };
        let overlaps = |recv: Transfer| recv.region.overlaps(&send.region);
        self.exchanges_in_place |= step.recv.is_some_and(overlaps);
        let traffic = &mut self.players[rank].traffic;
        traffic.messages_out += 1;
        traffic.elements_out = traffic.elements_out.saturating_add(send.region.elements());
        Ok(SentData {
            pieces: self.read(rank, number, send.region)?,
            heard: self.players[rank].heard.clone(),
        })
    }

    fn deliver(
        &mut self,
        rank: Rank,
        number: usize,
        recv: Transfer,
        combine: Combine,
        message: &SentData,
    ) -> Result<(), CheckError> {
        self.write(
            rank,
            number,
            recv.peer,
            (recv.region, combine),
            &message.pieces,
        )?;
        self.players[rank].received(recv.region.elements(), combine, &message.heard);
        Ok(())
    }

    /// Combines the pieces that come from `peer`, or from the rank itself, with those of a region.
    fn write(
        &mut self,
        rank: Rank,
        step: usize,
        peer: Rank,
        (region, combine): (Region, Combine),
        pieces: &[Piece],
    ) -> Result<(), CheckError> {
        if combine == Combine::Replace {
            self.players[rank].write(region, pieces);
            return Ok(());
        }
        let held = self.read(rank, step, region)?;
        let folds = Folds {
            rank,
            step,
            peer,
            combine,
            orders: &mut self.orders,
            spoils: &mut self.spoils,
        };
        let pieces = folds.all(&held, pieces);
        self.players[rank].write(region, &pieces);
        Ok(())
    }

    /// Compares the results of every rank with the goal.
    pub(super) fn finish(self, goal: &Goal) -> Result<Certificate, CheckError> {
        let ranks = self.players.len();
        let mut ordered = true;
        for rank in 0..ranks {
            for want in goal.wants(&self.cut, rank) {
                ordered &= self.holds(rank, &want, goal.wants_order())?;
            }
            if goal.is_barrier() {
                self.players[rank].heard_all(rank, ranks)?;
            }
        }
        Ok(Certificate {
            steps: self.schedule.steps(),
            message_steps: self.message_steps,
            ordered,
            exchanges_in_place: self.exchanges_in_place,
            traffic: self.players.iter().map(|player| player.traffic).collect(),
        })
    }

    /// Checks that a result is present; returns whether it is in rank order.
    fn holds(&self, rank: Rank, want: &Want, must_be_ordered: bool) -> Result<bool, CheckError> {
        let output = &self.players[rank].buffers[Buffer::Output as usize];
        let pieces = output.read(Region::output(want.run.clone()));
        let pieces = pieces.map_err(|element| CheckError::Nothing { rank, element })?;
        let mut ordered = true;
        for piece in pieces {
            let element = want.run.start + piece.run.start;
            let in_order = self.is(rank, element, piece.symbol.moved(0, want.run.start), want)?;
            if must_be_ordered && !in_order {
                return Err(CheckError::OutOfOrder { rank, element });
            }
            ordered &= in_order;
        }
        Ok(ordered)
    }

    /// Checks that the element is the required one; returns whether its operands are in order.
    fn is(
        &self,
        rank: Rank,
        element: usize,
        symbol: Symbol,
        want: &Want,
    ) -> Result<bool, CheckError> {
        let (order, shift) = match symbol {
            Symbol::Spoiled(number) => return Err(self.spoils[number].clone()),
            Symbol::Fold { order, shift } => (order, shift),
        };
        if shift != want.shift {
            let index = element.wrapping_add_signed(shift);
            return Err(CheckError::Misplaced {
                rank,
                element,
                index,
            });
        }
        let runs = self.orders.runs(order);
        match misfit(&ascending(runs), &want.contributors) {
            None => Ok(runs.len() == 1),
            Some(Misfit::Foreign(contributor)) => Err(CheckError::Foreign {
                rank,
                element,
                contributor,
            }),
            Some(Misfit::Lacking(contributor)) => Err(CheckError::Lacks {
                rank,
                element,
                contributor,
            }),
        }
    }
}

/// A contributor that is superfluous, or one that is missing.
enum Misfit {
    Foreign(Rank),
    Lacking(Rank),
}

/// The first difference between the ascending runs of contributors and the required ones.
fn misfit(runs: &[Range<Rank>], wanted: &Range<Rank>) -> Option<Misfit> {
    let mut next = wanted.start;
    for run in runs {
        if run.start < wanted.start {
            return Some(Misfit::Foreign(run.start));
        }
        if run.end > wanted.end {
            return Some(Misfit::Foreign(run.start.max(wanted.end)));
        }
        if run.start > next {
            break;
        }
        next = run.end;
    }
    (next < wanted.end).then_some(Misfit::Lacking(next))
}

impl Player {
    fn holds(&self, rank: Rank, region: Region) -> Result<(), CheckError> {
        let (buffer, length) = (region.buffer, self.lengths.of(region.buffer));
        match region.end() {
            Some(needed) if needed > length => Err(CheckError::TooShort {
                rank,
                buffer,
                length,
                needed,
            }),
            _ => Ok(()),
        }
    }

    /// Assigns a run its initial symbols.
    fn fill(&mut self, region: Region, symbol: Symbol) {
        let run = 0..region.elements();
        let symbol = symbol.moved(region.start, 0);
        self.write(region, &[Piece { run, symbol }]);
    }

    fn write(&mut self, region: Region, pieces: &[Piece]) {
        self.buffers[region.buffer as usize].write(region, pieces);
    }

    fn received(&mut self, elements: usize, combine: Combine, heard: &[u64]) {
        self.traffic.messages_in += 1;
        let Traffic {
            elements_in,
            folded,
            ..
        } = &mut self.traffic;
        *elements_in = elements_in.saturating_add(elements);
        if combine != Combine::Replace {
            *folded = folded.saturating_add(elements);
        }
        for (mine, theirs) in self.heard.iter_mut().zip(heard) {
            *mine |= theirs;
        }
    }

    fn heard_all(&self, rank: Rank, ranks: usize) -> Result<(), CheckError> {
        let unheard = |&other: &Rank| self.heard[other / 64] >> (other % 64) & 1 == 0;
        match (0..ranks).find(unheard) {
            Some(of) => Err(CheckError::Unheard { rank, of }),
            None => Ok(()),
        }
    }
}

/// The folds of one message.
struct Folds<'a> {
    rank: Rank,
    step: usize,
    peer: Rank,
    combine: Combine,
    orders: &'a mut Orders,
    spoils: &'a mut Vec<CheckError>,
}

impl Folds<'_> {
    /// Folds pieces that cover the same elements but may be cut at different positions.
    fn all(mut self, held: &[Piece], received: &[Piece]) -> Vec<Piece> {
        let (mut folded, mut at) = (Vec::with_capacity(held.len()), 0);
        let (mut held, mut received) = (held.iter().peekable(), received.iter().peekable());
        while let (Some(one), Some(other)) = (held.peek(), received.peek()) {
            let end = one.run.end.min(other.run.end);
            let symbol = self.one(at, one.symbol, other.symbol);
            folded.push(Piece {
                run: at..end,
                symbol,
            });
            at = end;
            held.next_if(|piece| piece.run.end == end);
            received.next_if(|piece| piece.run.end == end);
        }
        folded
    }

    fn one(&mut self, at: usize, held: Symbol, received: Symbol) -> Symbol {
        let spoil = match self.orders.combine(held, received, self.combine) {
            Ok(symbol) => return symbol,
            Err(spoil) => spoil,
        };
        let (rank, step, peer) = (self.rank, self.step, self.peer);
        self.spoils.push(match spoil {
            Spoil::Twice { contributor } => CheckError::CountedTwice {
                rank,
                step,
                peer,
                contributor,
            },
            Spoil::Mixed { held, received } => CheckError::Mixes {
                rank,
                step,
                peer,
                held: at.wrapping_add_signed(held),
                received: at.wrapping_add_signed(received),
            },
        });
        Symbol::Spoiled(self.spoils.len() - 1)
    }
}
