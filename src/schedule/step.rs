//! What a rank does in one step, as plain data: regions of its buffers, a copy, a send, a receive.

use std::fmt;
use std::ops::Range;

use crate::Rank;

/// Which of a rank's three buffers.
// As wide as the numbers beside it: copies of a region then move whole words, padding and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Buffer {
    /// What the caller passed; it is only read. Collectives that work in place have none.
    Input,
    /// Where the result goes; what works in place also starts from it.
    Output,
    /// Room that nobody sees.
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

/// Elements of a buffer, in order: `count` runs of `length` elements, their starts `stride` apart.
///
/// One run is the rule; more of them say what cannot lie in one piece. A region may be empty: a
/// message of it is still a message.
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
    /// Where the elements are.
    pub buffer: Buffer,
    /// The first element of the first run.
    pub start: usize,
    /// The elements of each run.
    pub length: usize,
    /// From the start of one run to the start of the next; at least `length` if there are two.
    pub stride: usize,
    /// The number of runs.
    pub count: usize,
}

impl Region {
    /// One run of elements of a buffer.
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

    /// One run of the input.
    pub const fn input(run: Range<usize>) -> Region {
        Region::new(Buffer::Input, run)
    }

    /// One run of the output.
    #[inline]
    pub const fn output(run: Range<usize>) -> Region {
        Region::new(Buffer::Output, run)
    }

    /// One run of the scratch room.
    pub const fn scratch(run: Range<usize>) -> Region {
        Region::new(Buffer::Scratch, run)
    }

    /// The same elements of another buffer.
    pub const fn moved_to(self, buffer: Buffer) -> Region {
        Region { buffer, ..self }
    }

    /// How many elements; the largest number there is if there are more than can be counted.
    pub const fn elements(&self) -> usize {
        self.length.saturating_mul(self.count)
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.length == 0 || self.count == 0
    }

    /// The runs that hold elements, in order. One that would end beyond the last number ends there; see
    /// [`end`](Self::end).
    pub fn runs(self) -> impl Iterator<Item = Range<usize>> + Clone {
        let count = if self.is_empty() { 0 } else { self.count };
        (0..count).map(move |run| {
            let start = self.start.saturating_add(run.saturating_mul(self.stride));
            start..start.saturating_add(self.length)
        })
    }

    /// How long the buffer must be: the end of the last run, 0 for an empty region. `None` if that is
    /// no number.
    pub fn end(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let last = self.stride.checked_mul(self.count - 1)?;
        self.start.checked_add(last)?.checked_add(self.length)
    }

    /// Whether an element stands in it twice.
    pub const fn overlaps_itself(&self) -> bool {
        self.length > 0 && self.count > 1 && self.stride < self.length
    }

    /// Whether there is an element that stands in both.
    ///
    /// # Cost
    ///
    /// As many comparisons as the product of the numbers of runs.
    pub fn overlaps(&self, other: &Region) -> bool {
        let both = |a: &Range<usize>, b: &Range<usize>| a.start < b.end && b.start < a.end;
        self.buffer == other.buffer && self.runs().any(|a| other.runs().any(|b| both(&a, &b)))
    }

    /// The elements whose positions are in `window`.
    ///
    /// # Panics
    ///
    /// If the region has several runs: their share need not be a region.
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
    /// What is sent from here, or where it goes.
    pub region: Region,
}

/// A copy inside one rank, element by element in the order of the regions. They have equal extents
/// and do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LocalCopy {
    /// What is copied.
    pub from: Region,
    /// Where it goes.
    pub to: Region,
}

/// What becomes of a received element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Combine {
    /// It takes the place of the held one.
    #[default]
    Replace,
    /// held ⊕ received: the received one stands on the right.
    FoldRight,
    /// received ⊕ held: the received one stands on the left.
    FoldLeft,
}

impl Combine {
    /// The fold that keeps the operands in the order of ranks when `rank` receives from `peer`.
    #[inline]
    pub const fn by_rank(rank: Rank, peer: Rank) -> Combine {
        if peer > rank {
            Combine::FoldRight
        } else {
            Combine::FoldLeft
        }
    }
}

/// What was asked for twice in one step.
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

/// What one rank does in one step: it copies, then sends what is there, and receives meanwhile.
///
/// The elements of `send` are those after the copy and before anything of this step has arrived,
/// also where `recv` names the same elements: a rank can exchange a region with its peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Step {
    /// The copy, made first.
    pub local: Option<LocalCopy>,
    /// The message that leaves.
    pub send: Option<Transfer>,
    /// The message that arrives.
    pub recv: Option<Transfer>,
    /// What becomes of the elements that arrive.
    pub combine: Combine,
    /// Set where schedules laid over each other want a port twice. No schedule that
    /// [`check`](crate::check) passes has such a step; the others must not be run.
    pub clash: Option<Clash>,
}

impl Step {
    /// A step in which the rank does nothing.
    pub const IDLE: Step = Step {
        local: None,
        send: None,
        recv: None,
        combine: Combine::Replace,
        clash: None,
    };

    /// Whether the rank does nothing.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.local.is_none() && self.send.is_none() && self.recv.is_none() && self.clash.is_none()
    }

    /// Both at once; a port that both want is a [`Clash`].
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

    /// The same step with other regions.
    #[inline]
    pub(super) fn map_regions(self, map: impl Fn(Region) -> Region) -> Step {
        let transfer = |t: Transfer| Transfer {
            region: map(t.region),
            ..t
        };
        Step {
            local: self.local.map(|copy| LocalCopy {
                from: map(copy.from),
                to: map(copy.to),
            }),
            send: self.send.map(transfer),
            recv: self.recv.map(transfer),
            ..self
        }
    }

    /// The same step with other peers.
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
