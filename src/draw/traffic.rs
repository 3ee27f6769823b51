//! The traffic of a schedule: every message once, with both of its ends, and the local copies.

use std::ops::Range;

use super::limit::{self, TooLarge};
use crate::Rank;
use crate::schedule::{Clash, Combine, LocalCopy, Region, Schedule, Step, Transfer};

/// Everything that happens in some steps of a schedule.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    pub title: String,
    pub ranks: usize,
    pub steps: Range<usize>,
    /// The actions of each rank, by step and then by rank.
    moves: Vec<Step>,
}

/// A message with its two ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawnMessage {
    pub step: usize,
    pub from: Rank,
    pub to: Rank,
    /// The region that is sent; `None` if no rank sends what is received.
    pub sent: Option<Region>,
    /// The region that it is received into, and how; `None` if no rank receives it.
    pub landed: Option<(Region, Combine)>,
}

/// The end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Folds,
    Replaces,
    /// One end is missing: no rank sends it, or no rank receives it.
    Lone,
}

impl DrawnMessage {
    /// Returns how it ends.
    pub fn outcome(&self) -> Outcome {
        match (self.sent, self.landed) {
            (Some(_), Some((_, Combine::Replace))) => Outcome::Replaces,
            (Some(_), Some(_)) => Outcome::Folds,
            _ => Outcome::Lone,
        }
    }

    /// Returns whether one of its ends is missing.
    pub fn is_lone(&self) -> bool {
        self.outcome() == Outcome::Lone
    }

    /// Returns the number of its elements.
    pub fn elements(&self) -> usize {
        let region = self.sent.or(self.landed.map(|(region, _)| region));
        region.map_or(0, |region| region.elements())
    }
}

impl Traffic {
    /// Reads some steps of a schedule.
    pub fn read(
        title: &str,
        schedule: &dyn Schedule,
        steps: Range<usize>,
    ) -> Result<Traffic, TooLarge> {
        let end = steps.end.min(schedule.steps());
        let steps = steps.start.min(end)..end;
        limit::diagram(schedule, steps.len())?;
        let ranks = schedule.ranks();
        let of_step = |step| (0..ranks).map(move |rank| schedule.step(rank, step));
        Ok(Traffic {
            title: title.replace(char::is_control, " "),
            ranks,
            moves: steps.clone().flat_map(of_step).collect(),
            steps,
        })
    }

    /// Returns what a rank does in a step.
    pub fn step(&self, rank: Rank, step: usize) -> &Step {
        &self.moves[(step - self.steps.start) * self.ranks + rank]
    }

    /// Returns every rank in every step, by step and then by rank.
    fn places(&self) -> impl Iterator<Item = (usize, Rank)> + '_ {
        (self.steps.clone()).flat_map(|step| (0..self.ranks).map(move |rank| (step, rank)))
    }

    /// Returns whether any rank sends or receives in a step.
    pub fn has_messages(&self, step: usize) -> bool {
        let busy = |step: &Step| step.send.is_some() || step.recv.is_some();
        (0..self.ranks).any(|rank| busy(self.step(rank, step)))
    }

    /// Returns all messages, each once.
    pub fn messages(&self) -> Vec<DrawnMessage> {
        let mut messages = Vec::new();
        for (step, rank) in self.places() {
            let sent = self.step(rank, step).send;
            let lone = (self.step(rank, step).recv).filter(|recv| !self.sends(recv, rank, step));
            messages.extend(sent.map(|send| self.sent(rank, send, step)));
            messages.extend(lone.map(|recv| self.unsent(rank, recv, step)));
        }
        messages
    }

    /// Returns whether the peer of a receive sends to the rank that receives.
    pub fn sends(&self, recv: &Transfer, rank: Rank, step: usize) -> bool {
        recv.peer < self.ranks
            && (self.step(recv.peer, step).send).is_some_and(|send| send.peer == rank)
    }

    /// Returns what the peer of a send receives from the rank that sends.
    pub fn received(&self, send: &Transfer, rank: Rank, step: usize) -> Option<(Region, Combine)> {
        let peer = (send.peer < self.ranks).then(|| self.step(send.peer, step))?;
        let recv = peer.recv.filter(|recv| recv.peer == rank)?;
        Some((recv.region, peer.combine))
    }

    fn sent(&self, from: Rank, send: Transfer, step: usize) -> DrawnMessage {
        DrawnMessage {
            step,
            from,
            to: send.peer,
            sent: Some(send.region),
            landed: self.received(&send, from, step),
        }
    }

    fn unsent(&self, to: Rank, recv: Transfer, step: usize) -> DrawnMessage {
        DrawnMessage {
            step,
            from: recv.peer,
            to,
            sent: None,
            landed: Some((recv.region, self.step(to, step).combine)),
        }
    }

    /// Returns all local copies, by step and then by rank.
    pub fn copies(&self) -> impl Iterator<Item = (usize, Rank, LocalCopy)> + '_ {
        self.places()
            .filter_map(|(step, rank)| Some((step, rank, self.step(rank, step).local?)))
    }

    /// Returns all clashes: steps with two sends, two receives or two local copies.
    pub fn clashes(&self) -> impl Iterator<Item = (usize, Rank, Clash)> + '_ {
        self.places()
            .filter_map(|(step, rank)| Some((step, rank, self.step(rank, step).clash?)))
    }

    /// Returns all regions that occur.
    pub fn regions(&self) -> Vec<Region> {
        let mut regions = Vec::new();
        for step in &self.moves {
            if let Some(copy) = step.local {
                regions.extend([copy.from, copy.to]);
            }
            let ends = [step.send, step.recv].into_iter().flatten();
            ends.for_each(|transfer| regions.push(transfer.region));
        }
        regions
    }

    /// Returns the title, and the numbers of ranks, steps and messages.
    pub fn heading(&self) -> String {
        let Traffic { title, ranks, .. } = self;
        let steps = if self.steps.start == 0 {
            count(self.steps.len(), "step")
        } else {
            format!("steps {}..{}", self.steps.start, self.steps.end)
        };
        let messages = count(self.messages().len(), "message");
        format!("{title}: {}, {steps}, {messages}", count(*ranks, "rank"))
    }
}

/// Formats a count and its noun: `1 step`, `2 steps`.
pub(super) fn count(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}
