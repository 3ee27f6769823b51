//! The actions of a rank in one step, as plain data: regions of its buffers, a copy, a send, a receive.

use std::fmt;
use std::ops::Range;

use crate::Rank;

/// One of a rank's three buffers.
// As wide as the numbers beside it, so that copies of a region move whole words, including padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Buffer {
    /// The caller's input, which is read-only. Collectives that work in place have none.
    Input,
    /// The result; also the initial data of schedules that work in place.
    Output,
    /// Scratch space, invisible to the caller.
    Scratch,
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Buffer::Input => "input",
            Buffer::Output => "output",
            Buffer::Scratch => "scratch",
        })
    }
}

/// Elements of a buffer, in order: `count` runs of `length` elements, with starts `stride` apart.
///
/// Most regions have one run; several runs describe elements that are not contiguous. A region may be empty: an empty
/// message is still a message.
///
/// # Examples
///
/// ```
/// use rankfold::schedule::{Buffer, Region};
///
/// let odd = Region { buffer: Buffer::Output, start: 3, length: 1, stride: 2, count: 3 };
/// assert_eq!(odd.runs().collect::<Vec<_>>(), [3..4, 5..6, 7..8]);
/// assert_eq!((odd.elements(), odd.to_string()), (3, "output 3..4 and 2 more every 2".to_string()));
/// assert_eq!(Region::output(4..9).to_string(), "output 4..9");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Region {
    /// The buffer that holds the elements.
    pub buffer: Buffer,
    /// The first element of the first run.
    pub start: usize,
    /// The number of elements of each run.
    pub length: usize,
    /// The distance between the starts of two consecutive runs; at least `length` if there are several runs.
    pub stride: usize,
    /// The number of runs.
    pub count: usize,
}

impl Region {
    /// A single run of elements of a buffer.
    #[inline]
    pub const fn new(buffer: Buffer, run: Range<usize>) -> Region {
        let length = run.end.saturating_sub(run.start);
        Region {
            buffer,
            start: run.start,
            length,
            stride: length,
            count: 1,
        }
    }

    /// A single run of the input.
    pub const fn input(run: Range<usize>) -> Region {
        Region::new(Buffer::Input, run)
    }

    /// A single run of the output.
    #[inline]
    pub const fn output(run: Range<usize>) -> Region {
        Region::new(Buffer::Output, run)
    }

    /// A single run of the scratch space.
    pub const fn scratch(run: Range<usize>) -> Region {
        Region::new(Buffer::Scratch, run)
    }

    /// The same elements of another buffer.
    pub const fn moved_to(self, buffer: Buffer) -> Region {
        Region { buffer, ..self }
    }

    /// The number of elements, saturating at `usize::MAX`.
    pub const fn elements(&self) -> usize {
        self.length.saturating_mul(self.count)
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.length == 0 || self.count == 0
    }

    /// The runs that hold elements, in order. A run whose end would overflow ends at `usize::MAX`; see
    /// [`end`](Self::end).
    pub fn runs(self) -> impl Iterator<Item = Range<usize>> + Clone {
        let count = if self.is_empty() { 0 } else { self.count };
        (0..count).map(move |run| {
            let start = self.start.saturating_add(run.saturating_mul(self.stride));
            start..start.saturating_add(self.length)
        })
    }

    /// The minimum length of the buffer: the end of the last run, 0 for an empty region. `None` on overflow.
    pub fn end(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let last = self.stride.checked_mul(self.count - 1)?;
        self.start.checked_add(last)?.checked_add(self.length)
    }

    /// Whether the region contains an element twice.
    pub const fn overlaps_itself(&self) -> bool {
        self.length > 0 && self.count > 1 && self.stride < self.length
    }

    /// Whether the two regions share an element.
    ///
    /// # Cost
    ///
    /// The number of comparisons is the product of the numbers of runs.
    pub fn overlaps(&self, other: &Region) -> bool {
        let both = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        self.buffer == other.buffer && self.runs().any(|a| other.runs().any(|b| both(&a, &b)))
    }

    /// The elements whose positions are in `window`.
    ///
    /// # Panics
    ///
    /// If the region has several runs: their part in the window need not be a region.
    #[inline]
    pub(super) fn clip(self, window: &Range<usize>) -> Region {
        assert!(self.count <= 1, "{self} does not lie in one piece");
        let start = self.start.clamp(window.start, window.end);
        let end = self.start.saturating_add(self.length);
        let end = end.clamp(window.start, window.end);
        Region::new(self.buffer, start..end)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.start.saturating_add(self.length);
        write!(f, "{} {}..{end}", self.buffer, self.start)?;
        match self.count {
            1 => Ok(()),
            0 => f.write_str(", no run of it"),
            n => write!(f, " and {} more every {}", n - 1, self.stride),
        }
    }
}

/// One message, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// The rank at the other end.
    pub peer: Rank,
    /// The elements sent, or the destination of those received.
    pub region: Region,
}

/// A copy or fold inside one rank, element by element in the order of the regions. The regions have equal extents and do
/// not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalCopy {
    /// The source.
    pub from: Region,
    /// The destination.
    pub to: Region,
    /// The combination of the elements of the source with those of the destination.
    pub combine: Combine,
}

impl LocalCopy {
    /// A copy.
    #[inline]
    pub const fn new(from: Region, to: Region) -> LocalCopy {
        LocalCopy {
            from,
            to,
            combine: Combine::Replace,
        }
    }

    /// A fold: the elements of the source are the right operands. It is counted among the folded elements, and takes as
    /// long as the fold of a message.
    pub const fn fold_right(from: Region, to: Region) -> LocalCopy {
        LocalCopy {
            from,
            to,
            combine: Combine::FoldRight,
        }
    }
}

/// The combination of an element that arrives, in a message or from another region, with the held one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combine {
    /// It replaces the held one.
    #[default]
    Replace,
    /// held ⊕ received: the received element is the right operand.
    FoldRight,
    /// received ⊕ held: the received element is the left operand.
    FoldLeft,
}

impl Combine {
    /// The fold that keeps the operands in rank order when `rank` receives from `peer`.
    #[inline]
    pub const fn by_rank(rank: Rank, peer: Rank) -> Combine {
        if peer > rank {
            Combine::FoldRight
        } else {
            Combine::FoldLeft
        }
    }
}

/// The port or copy that one step uses twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Clash {
    /// Two sends.
    Sends,
    /// Two receives.
    Receives,
    /// Two local copies.
    Copies,
}

impl fmt::Display for Clash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clash::Sends => "sends",
            Clash::Receives => "receives",
            Clash::Copies => "local copies",
        })
    }
}

/// The actions of one rank in one step: it copies, then sends, and receives concurrently.
///
/// The elements of `send` are those after the copy and before any arrival of this step, even if `recv` names the same
/// elements: a rank can exchange a region with its peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// The local copy or fold, which comes first.
    pub local: Option<LocalCopy>,
    /// The outgoing message.
    pub send: Option<Transfer>,
    /// The incoming message.
    pub recv: Option<Transfer>,
    /// The combination of arriving elements with the held ones.
    pub combine: Combine,
    /// Set where overlaid schedules use a port twice. No schedule that passes [`check`](crate::check) has such a step,
    /// and schedules that do not pass must not be run.
    pub clash: Option<Clash>,
}

impl Step {
    /// A step without actions.
    pub const IDLE: Step = Step {
        local: None,
        send: None,
        recv: None,
        combine: Combine::Replace,
        clash: None,
    };

    /// Whether the step has no actions.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.local.is_none() && self.send.is_none() && self.recv.is_none() && self.clash.is_none()
    }

    /// Both steps at once; a port that both use is a [`Clash`].
    #[inline]
    pub fn beside(self, other: Step) -> Step {
        let clash = [
            (self.send.is_some() && other.send.is_some(), Clash::Sends),
            (self.recv.is_some() && other.recv.is_some(), Clash::Receives),
            (self.local.is_some() && other.local.is_some(), Clash::Copies),
        ];
        let found = clash
            .into_iter()
            .find_map(|(both, what)| both.then_some(what));
        Step {
            local: self.local.or(other.local),
            send: self.send.or(other.send),
            recv: self.recv.or(other.recv),
            combine: if self.recv.is_some() {
                self.combine
            } else {
                other.combine
            },
            clash: self.clash.or(other.clash).or(found),
        }
    }

    /// The same step with its regions mapped.
    #[inline]
    pub(crate) fn map_regions(self, map: impl Fn(Region) -> Region) -> Step {
        let transfer = |t: Transfer| Transfer {
            region: map(t.region),
            ..t
        };
        Step {
            local: self.local.map(|copy| LocalCopy {
                from: map(copy.from),
                to: map(copy.to),
                ..copy
            }),
            send: self.send.map(transfer),
            recv: self.recv.map(transfer),
            ..self
        }
    }

    /// The same step with its peers mapped.
    #[inline(always)] // a call would copy the step, which costs more than making it
    pub(crate) fn map_peers(mut self, map: impl Fn(Rank) -> Rank) -> Step {
        if let Some(send) = &mut self.send {
            send.peer = map(send.peer);
        }
        if let Some(recv) = &mut self.recv {
            recv.peer = map(recv.peer);
        }
        self
    }
}
