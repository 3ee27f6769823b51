//! The notation of messages, copies and regions, the same in pictures and in text.

use super::traffic::{DrawnMessage, Traffic};
use crate::Rank;
use crate::schedule::{Buffer, Clash, Combine, LocalCopy, Region, Transfer};

/// Formats the name of a buffer: `in `, `tmp `, or nothing for the output.
pub(super) fn buffer(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::Input => "in ",
        Buffer::Output => "",
        Buffer::Scratch => "tmp ",
    }
}

/// Formats a region: `0..4`, `tmp 0..4`, `3..4 ×3 by 2`, or a dash for no elements.
fn region(region: &Region) -> String {
    if region.is_empty() {
        return "–".to_owned();
    }
    let buffer = buffer(region.buffer);
    let Region { start, count, .. } = *region;
    let end = start.saturating_add(region.length);
    let more = match count {
        1 => String::new(),
        n => format!(" ×{n} by {}", region.stride),
    };
    format!("{buffer}{start}..{end}{more}")
}

fn doubt(lone: bool) -> &'static str {
    if lone { "?" } else { "" }
}

/// Formats a send: `→3 0..4`.
pub(super) fn send(send: &Transfer, lone: bool) -> String {
    format!("→{}{} {}", send.peer, doubt(lone), region(&send.region))
}

/// Formats a receive: `⊕3 0..4`, `3⊕ 0..4` or `←3 0..4`.
pub(super) fn recv(peer: Rank, into: &Region, combine: Combine, lone: bool) -> String {
    let (doubt, into) = (doubt(lone), region(into));
    match combine {
        Combine::FoldRight => format!("⊕{peer}{doubt} {into}"),
        Combine::FoldLeft => format!("{peer}{doubt}⊕ {into}"),
        Combine::Replace => format!("←{peer}{doubt} {into}"),
    }
}

/// Formats a local copy: `tmp 0..4⇒0..4`; a local fold: `tmp 0..4⇒⊕0..4` or `tmp 0..4⊕⇒0..4`.
pub(super) fn copy(copy: &LocalCopy) -> String {
    let sign = match copy.combine {
        Combine::Replace => "⇒",
        Combine::FoldRight => "⇒⊕",
        Combine::FoldLeft => "⊕⇒",
    };
    format!("{}{sign}{}", region(&copy.from), region(&copy.to))
}

/// Formats a clash: `two sends!`.
pub(super) fn clash(clash: Clash) -> String {
    format!("two {clash}!")
}

/// A sign of the notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Send,
    FoldRight,
    FoldLeft,
    Replace,
    Copy,
    LocalFold,
    Lone,
    Clash,
    Empty,
    Buffers,
    Runs,
}

const SIGNS: [Sign; 11] = [
    Sign::Send,
    Sign::FoldRight,
    Sign::FoldLeft,
    Sign::Replace,
    Sign::Copy,
    Sign::LocalFold,
    Sign::Lone,
    Sign::Clash,
    Sign::Empty,
    Sign::Buffers,
    Sign::Runs,
];

impl Sign {
    /// Returns how it is written, and what it means.
    pub fn meaning(self) -> [&'static str; 2] {
        match self {
            Sign::Send => ["→q a..b", "elements a..b are sent to rank q"],
            Sign::FoldRight => ["⊕q a..b", "folded: held ⊕ received from q"],
            Sign::FoldLeft => ["q⊕ a..b", "folded: received from q ⊕ held"],
            Sign::Replace => ["←q a..b", "replaced by what comes from q"],
            Sign::Copy => ["a..b⇒c..d", "copied inside the rank, before it sends"],
            Sign::LocalFold => [
                "⇒⊕, ⊕⇒",
                "folded inside the rank: held ⊕ copied, copied ⊕ held",
            ],
            Sign::Lone => ["q?", "q does not take part: the message has one end only"],
            Sign::Clash => [
                "two …!",
                "more is asked of the rank than fits into the step",
            ],
            Sign::Empty => ["–", "no elements"],
            Sign::Buffers => [
                "in, tmp",
                "elements of the input, of the scratch room; else of the output",
            ],
            Sign::Runs => ["a..b ×n by d", "n runs like a..b, their starts d apart"],
        }
    }

    fn occurs(self, traffic: &Traffic) -> bool {
        let message = |is: &dyn Fn(&DrawnMessage) -> bool| traffic.messages().iter().any(is);
        let region = |is: &dyn Fn(&Region) -> bool| traffic.regions().iter().any(is);
        let lands = |combine| message(&|one| one.landed.is_some_and(|(_, c)| c == combine));
        let copies = |folds| {
            (traffic.copies()).any(|(.., copy)| (copy.combine != Combine::Replace) == folds)
        };
        match self {
            Sign::Send => message(&|one| one.sent.is_some()),
            Sign::FoldRight => lands(Combine::FoldRight),
            Sign::FoldLeft => lands(Combine::FoldLeft),
            Sign::Replace => lands(Combine::Replace),
            Sign::Copy => copies(false),
            Sign::LocalFold => copies(true),
            Sign::Lone => message(&|one| one.is_lone()),
            Sign::Clash => traffic.clashes().next().is_some(),
            Sign::Empty => region(&|one| one.is_empty()),
            Sign::Buffers => region(&|one| one.buffer != Buffer::Output),
            Sign::Runs => region(&|one| !one.is_empty() && one.count > 1),
        }
    }
}

/// Returns the signs that occur.
pub(super) fn signs(panels: &[Traffic]) -> impl Iterator<Item = Sign> + '_ {
    SIGNS
        .into_iter()
        .filter(|sign| panels.iter().any(|traffic| sign.occurs(traffic)))
}
