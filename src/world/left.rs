//! Leftovers of a run: messages that were never received, requests that were never completed.

use std::fmt;
use std::sync::Arc;

use crate::Rank;
use crate::error::on;
use crate::transport::Unfinished;
use crate::transport::memory::packet::Packet;
use crate::transport::trace::origin::Names;
use crate::unwind;

/// A message that was sent and never received.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// Its tag.
    pub tag: u32,
    /// Its contents, such as `3 x f64`.
    pub contents: String,
    /// The communicator, such as `dup of world at src/main.rs:7:20`; `None` for the world.
    pub comm: Option<Arc<str>>,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost {
            from,
            to,
            tag,
            contents,
            comm,
        } = self;
        let on = on(comm.as_deref());
        write!(
            f,
            "rank {from} sent {contents} to rank {to} with tag {tag}{on}"
        )
    }
}

impl Lost {
    /// A left-over packet, if it is a point-to-point message.
    pub(super) fn of((to, packet): (Rank, Packet), names: &Names) -> Option<Lost> {
        let from = packet.source();
        let collective = packet.head.is_collective();
        let lost = (!collective).then(|| Lost {
            from,
            to,
            tag: packet.head.tag(),
            contents: packet.contents(),
            comm: names.get(packet.head.context()),
        });
        unwind::drop_quietly(packet);
        lost
    }
}

/// Messages that were never received, as they print.
pub(super) fn all_lost(lost: &[Lost]) -> impl fmt::Display {
    fmt::from_fn(move |f| show_lost(f, lost))
}

/// Requests that were never completed, as they print.
pub(super) fn all_unfinished(requests: &[Unfinished]) -> impl fmt::Display {
    fmt::from_fn(move |f| show_unfinished(f, requests))
}

pub(super) fn show_lost(f: &mut fmt::Formatter<'_>, lost: &[Lost]) -> fmt::Result {
    let what = ["message was never received", "messages were never received"];
    show_left(f, lost, what)
}

pub(super) fn show_unfinished(f: &mut fmt::Formatter<'_>, requests: &[Unfinished]) -> fmt::Result {
    let what = [
        "request was neither waited for nor cancelled",
        "requests were neither waited for nor cancelled",
    ];
    show_left(f, requests, what)
}

/// Writes the first few items that were left behind, and how many more there are.
fn show_left(
    f: &mut fmt::Formatter<'_>,
    left: &[impl fmt::Display],
    [one, several]: [&str; 2],
) -> fmt::Result {
    const SHOWN: usize = 3;
    let first: Vec<_> = left.iter().take(SHOWN).map(ToString::to_string).collect();
    match left.len() {
        1 => write!(f, "1 {one}: ")?,
        many => write!(f, "{many} {several}: ")?,
    }
    f.write_str(&first.join("; "))?;
    if left.len() > SHOWN {
        write!(f, "; and {} more", left.len() - SHOWN)
    } else {
        Ok(())
    }
}
