//! Reports and what they are made of, as bytes: deadlocks, mismatches, the [local states](super::local_state) of
//! processes, and what they say of their [silence](super::silence).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::local_state::{Calls, LocalState, SleepingRank};
use super::notes::{Reader, Writer};
use super::silence::{Count, Say};
use crate::Rank;
use crate::error::{Called, Deadlock, Mismatch, SourceLine, Stuck};
use crate::transport::communicator::call_log::LastNumbers;
use crate::transport::communicator::members::Members;
use crate::transport::deadlock::record::{CallRecord, CommRecord};
use crate::transport::deadlock::wait_for_graph::Needs;

/// How deep needs are nested at most: those of several requests have those of each of them within.
const DEPTH: usize = 4;

impl Writer {
    fn found(&mut self, found: Option<&Mismatch>) {
        self.number(found.is_some().into());
        if let Some(found) = found {
            self.mismatch(found);
        }
    }

    fn count(&mut self, count: &Count) {
        for number in [count.sent, count.received, count.left] {
            self.number(number as usize);
        }
    }

    fn line(&mut self, line: SourceLine) -> &mut Writer {
        self.text(&line.to_string())
    }

    fn ranks(&mut self, ranks: &[Rank]) -> &mut Writer {
        self.list(ranks, |this, rank| _ = this.number(*rank))
    }

    pub(super) fn deadlock(&mut self, deadlock: &Deadlock) -> &mut Writer {
        self.list(&deadlock.stuck, |this, stuck| {
            this.number(stuck.rank).text(&stuck.call).line(stuck.site);
            this.maybe(stuck.comm.as_deref())
                .maybe(stuck.note.as_deref());
            this.number(stuck.needs_buffer.into());
        });
        self.ranks(&deadlock.cycle).number(deadlock.others);
        self.maybe(deadlock.unreceived.as_deref())
    }

    pub(super) fn mismatch(&mut self, mismatch: &Mismatch) -> &mut Writer {
        self.list(&mismatch.calls, |this, called| {
            let line = called.site.map(|line| line.to_string());
            this.number(called.rank).text(&called.call);
            this.maybe(line.as_deref());
        });
        self.ranks(&mismatch.odd).maybe(mismatch.comm.as_deref())
    }

    fn members(&mut self, members: &Members) -> &mut Writer {
        match members {
            Members::All(size) => self.number(0).number(*size),
            some => self.number(1).ranks(&some.iter().collect::<Vec<_>>()),
        }
    }

    fn call(&mut self, call: (u32, u32, u32)) -> &mut Writer {
        let (context, number, print) = call;
        self.number(context as usize)
            .number(number as usize)
            .number(print as usize)
    }

    fn needs(&mut self, needs: &Needs) -> &mut Writer {
        match needs {
            Needs::One(rank) => self.number(0).number(*rank),
            Needs::Any(of) => self.number(1).members(of),
            Needs::All(ranks) => self.number(2).ranks(ranks),
            Needs::Gate(call, of) => self.number(3).call(*call).members(of),
            Needs::Shrink(call, of) => self.number(4).call(*call).members(of),
            Needs::Every(arms) => self.number(5).list(arms, |this, arm| _ = this.needs(arm)),
            Needs::Either(arms) => self.number(6).list(arms, |this, arm| _ = this.needs(arm)),
            Needs::Started((context, number)) => self.number(7).call((*context, *number, 0)),
        }
    }

    fn row(&mut self, row: &SleepingRank) {
        self.number(row.rank).text(&row.call).line(row.site);
        self.maybe(row.comm.as_deref()).needs(&row.needs);
        self.number(row.needs_buffer.into())
            .number(row.may_move.into());
        self.list(&row.contexts, |this, context| {
            _ = this.number(*context as usize)
        });
        self.list(&row.awaiting, |this, ((context, number), ranks)| {
            this.call((*context, *number, 0)).ranks(ranks);
        });
    }

    fn calls(&mut self, calls: &Calls) {
        let CommRecord {
            context,
            members,
            name,
        } = &calls.group;
        self.number(*context as usize).members(members);
        self.maybe(name.as_deref()).number(calls.broken.into());
        self.list(&calls.records, |this, (number, rank, record)| {
            this.number(*number as usize).number(*rank);
            this.number(record.print as usize).text(&record.call);
            this.text(&record.unlike).number(record.tolerant.into());
            this.line(record.site);
        });
    }

    fn local_state(&mut self, local_state: &LocalState) -> &mut Writer {
        self.ranks(&local_state.ended)
            .list(&local_state.rows, Writer::row)
            .list(&local_state.calls, Writer::calls)
            .list(&local_state.numbers, Writer::numbers)
    }

    fn numbers(&mut self, (rank, numbers): &(Rank, LastNumbers)) {
        self.number(*rank).number(numbers.complete_from as usize);
        self.list(&numbers.last, |this, (context, number)| {
            this.number(*context as usize).number(*number as usize);
        });
    }

    pub(super) fn say(mut self, say: &Say) -> Writer {
        match say {
            Say::Rest {
                round,
                question,
                count,
            } => {
                self.number(0).call((*round, *question, 0)).count(count);
            }
            Say::Ask { round, question } => _ = self.number(1).call((*round, *question, 0)),
            Say::Stuck { round } => _ = self.number(2).number(*round as usize),
            Say::LocalState { round, local_state } => {
                self.number(3).number(*round as usize);
                match local_state {
                    Some(local_state) => self.number(1).local_state(local_state),
                    None => self.number(0),
                };
            }
            Say::Look(question) => _ = self.number(4).number(*question as usize),
            Say::Seen {
                question,
                local_state,
            } => {
                _ = self
                    .number(5)
                    .number(*question as usize)
                    .local_state(local_state);
            }
            Say::Told { round } => _ = self.number(7).number(*round as usize),
            Say::Found(found) => self.number(6).found(found.as_deref()),
        }
        self
    }
}

impl Reader<'_> {
    fn line(&mut self) -> Option<SourceLine> {
        SourceLine::elsewhere(&self.text()?)
    }

    fn short(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn ranks(&mut self) -> Option<Vec<Rank>> {
        self.list(Reader::rank)
    }

    pub(super) fn deadlock(&mut self) -> Option<Deadlock> {
        let stuck = |this: &mut Self| {
            Some(Stuck {
                rank: this.rank()?,
                call: this.text()?.to_string(),
                site: this.line()?,
                comm: this.maybe()?,
                note: this.maybe()?.map(|note| note.to_string()),
                needs_buffer: this.flag()?,
            })
        };
        Some(Deadlock {
            stuck: self.list(stuck)?,
            cycle: self.ranks()?,
            others: self.size()?,
            unreceived: self.maybe()?.map(|text| text.to_string()),
        })
    }

    pub(super) fn mismatch(&mut self) -> Option<Mismatch> {
        let called = |this: &mut Self| {
            Some(Called {
                rank: this.rank()?,
                call: this.text()?.to_string(),
                site: match this.maybe()? {
                    Some(line) => Some(SourceLine::elsewhere(&line)?),
                    None => None,
                },
            })
        };
        Some(Mismatch {
            calls: self.list(called)?,
            odd: self.ranks()?,
            comm: self.maybe()?,
        })
    }

    fn members(&mut self) -> Option<Members> {
        Some(match self.number()? {
            0 => Members::All(self.size()?),
            1 => {
                let ranks = self.ranks()?;
                let mut known = BTreeSet::new();
                let none_twice = ranks.iter().all(|rank| known.insert(*rank));
                none_twice.then(|| Members::of(ranks))?
            }
            _ => return None,
        })
    }

    fn call(&mut self) -> Option<(u32, u32, u32)> {
        Some((self.short()?, self.short()?, self.short()?))
    }

    fn key(&mut self) -> Option<(u32, u32)> {
        let (context, number, _) = self.call()?;
        Some((context, number))
    }

    /// Needs within `depth` others.
    fn needs(&mut self, depth: usize) -> Option<Needs> {
        let arms = |this: &mut Self| match depth < DEPTH {
            true => this.list(|this| this.needs(depth + 1)),
            false => None,
        };
        Some(match self.number()? {
            0 => Needs::One(self.rank()?),
            1 => Needs::Any(self.members()?),
            2 => Needs::All(self.ranks()?),
            3 => Needs::Gate(self.call()?, self.members()?),
            4 => Needs::Shrink(self.call()?, self.members()?),
            5 => Needs::Every(arms(self)?),
            6 => Needs::Either(arms(self)?),
            7 => Needs::Started(self.key()?),
            _ => return None,
        })
    }

    fn row(&mut self) -> Option<SleepingRank> {
        Some(SleepingRank {
            rank: self.rank()?,
            call: self.text()?.to_string(),
            site: self.line()?,
            comm: self.maybe()?,
            needs: self.needs(0)?,
            needs_buffer: self.flag()?,
            may_move: self.flag()?,
            contexts: self.list(Reader::short)?,
            awaiting: self.list(|this| Some((this.key()?, this.ranks()?)))?,
            since: None,
        })
    }

    fn record(&mut self) -> Option<(u32, Rank, CallRecord)> {
        let (number, rank) = (self.short()?, self.rank()?);
        let record = CallRecord {
            print: self.short()?,
            call: self.text()?,
            unlike: self.text()?,
            tolerant: self.flag()?,
            site: self.line()?,
        };
        Some((number, rank, record))
    }

    fn calls(&mut self) -> Option<Calls> {
        let mut calls = Calls {
            group: CommRecord {
                context: self.short()?,
                members: self.members()?,
                name: self.maybe()?,
            },
            broken: self.flag()?,
            records: self.list(Reader::record)?,
        };
        // One record for each call of a rank.
        let mut told = BTreeSet::new();
        let Calls { group, records, .. } = &mut calls;
        records.retain(|(number, rank, _)| told.insert((*number, *rank)));
        let are_members = records
            .iter()
            .all(|(_, rank, _)| group.members.contains(*rank));
        are_members.then_some(calls)
    }

    fn local_state(&mut self) -> Option<LocalState> {
        Some(LocalState {
            ended: self.ranks()?,
            rows: self.list(Reader::row)?,
            calls: self.list(Reader::calls)?,
            numbers: self.list(Reader::numbers)?,
        })
    }

    fn numbers(&mut self) -> Option<(Rank, LastNumbers)> {
        let (rank, complete_from) = (self.rank()?, self.number()? as u64);
        let last = self.list(|this| Some((this.short()?, this.short()?)))?;
        let numbers = LastNumbers {
            last,
            complete_from,
        };
        Some((rank, numbers))
    }

    fn count(&mut self) -> Option<Count> {
        Some(Count {
            sent: self.number()? as u64,
            received: self.number()? as u64,
            left: self.number()? as u64,
        })
    }

    pub(super) fn say(mut self) -> Option<Say> {
        Some(match self.number()? {
            0 => {
                let ((round, question), count) = (self.key()?, self.count()?);
                Say::Rest {
                    round,
                    question,
                    count,
                }
            }
            1 => {
                let (round, question) = self.key()?;
                Say::Ask { round, question }
            }
            2 => Say::Stuck {
                round: self.short()?,
            },
            3 => Say::LocalState {
                round: self.short()?,
                local_state: match self.flag()? {
                    true => Some(self.local_state()?),
                    false => None,
                },
            },
            4 => Say::Look(self.short()?),
            5 => Say::Seen {
                question: self.short()?,
                local_state: self.local_state()?,
            },
            7 => Say::Told {
                round: self.short()?,
            },
            6 => Say::Found(match self.flag()? {
                true => Some(Arc::new(self.mismatch()?)),
                false => None,
            }),
            _ => return None,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
