//! Collective calls that a rank may make again: what follows from their arguments is found out once.
//!
//! A program makes the same few calls over and over. Each has been described for reports, checked, and given an
//! algorithm when it was first made; made again with the same arguments, at the same line, it needs none of that.

use std::cell::RefCell;
use std::mem;
use std::panic::Location;
use std::ptr;
use std::rc::Rc;

use super::Comm;
use super::call::Described;
use crate::Rank;
use crate::collective::{Algorithm, Call as Shape, Collective};
use crate::error::Site;
use crate::op::{Element, Kind, Operator};
use crate::transport::head::Info;

/// What a call asks for besides its data, its type and its operator.
#[derive(Clone, Copy)]
pub(super) struct Ask {
    pub site: Site,
    pub collective: Collective,
    /// Elements of the whole vector.
    pub length: usize,
    pub root: Rank,
    pub commutes: bool,
    pub from_input: bool,
    /// `None`: the automatic choice.
    pub algorithm: Option<Algorithm>,
}

impl Ask {
    #[inline]
    pub(super) fn to_root(self, root: Rank) -> Ask {
        Ask { root, ..self }
    }

    #[inline]
    pub(super) fn by(self, algorithm: Option<Algorithm>) -> Ask {
        Ask { algorithm, ..self }
    }

    /// The same where something is folded.
    #[inline]
    pub(super) fn folding<T: Element>(self, op: &impl Operator<T>) -> Ask {
        Ask {
            commutes: op.commutes(),
            ..self
        }
    }

    /// Whether both ask for the same. Lines are compared as what they are, places in the program.
    #[inline]
    fn is(&self, other: &Ask) -> bool {
        let what = |ask: &Ask| {
            (
                ask.collective,
                ask.length,
                ask.root,
                ask.commutes,
                ask.from_input,
            )
        };
        ptr::eq(self.site, other.site)
            && what(self) == what(other)
            && self.algorithm == other.algorithm
    }
}

/// A call at the caller's line.
#[inline]
#[track_caller]
pub(super) fn ask(collective: Collective, length: usize) -> Ask {
    Ask {
        site: Location::caller(),
        collective,
        length,
        root: 0,
        commutes: false,
        from_input: false,
        algorithm: None,
    }
}

/// All that a call's description, check and choice follow from.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub ask: Ask,
    pub op: Kind,
    /// Of input and output.
    pub lengths: (usize, usize),
    info: &'static Info,
    context: u32,
}

impl Key {
    #[inline]
    pub(super) fn new<T: Element>(comm: &Comm, ask: Ask, op: Kind, lengths: (usize, usize)) -> Key {
        Key {
            ask,
            op,
            lengths,
            info: Info::of::<T>(),
            context: comm.shared.context,
        }
    }

    #[inline]
    fn is(&self, other: &Key) -> bool {
        let what = |key: &Key| (key.lengths, key.context, key.op);
        self.ask.is(&other.ask) && what(self) == what(other) && self.info.is(other.info)
    }

    /// Where it is kept: calls at neighbouring lines are not in each other's way.
    #[inline]
    fn place(&self) -> usize {
        // Lines lie 24 bytes apart.
        ptr::from_ref(self.ask.site).addr() / 8 % PLACES
    }
}

/// A call that was described, checked and chosen.
pub(super) struct Kept {
    pub key: Key,
    pub shape: Shape,
    pub algorithm: Algorithm,
    /// Whether somebody, or a tuning table, says that it is to be this algorithm.
    pub named: bool,
    pub described: Described,
}

impl Kept {
    /// A barrier of which nothing is said: where there are too many ranks for cells, they meet at one word and
    /// send no messages.
    #[inline]
    pub(super) fn is_gate(&self) -> bool {
        let follows = matches!(
            self.algorithm,
            Algorithm::Cells | Algorithm::Hierarchical { .. }
        );
        self.shape.collective == Collective::Barrier && !self.named && !follows
    }
}

const PLACES: usize = 16;

/// The calls that a rank may make again: two at each place, the last one that was put there first, so that two
/// lines that share a place and take turns do not drive each other out.
#[derive(Default)]
pub(super) struct KeptCalls(RefCell<[[Option<Rc<Kept>>; 2]; PLACES]>);

impl KeptCalls {
    /// What is kept of a call.
    #[inline]
    pub(super) fn find(&self, key: &Key) -> Option<Rc<Kept>> {
        let calls = self.0.borrow();
        let both = calls[key.place()].iter().flatten();
        both.into_iter().find(|kept| kept.key.is(key)).cloned()
    }

    /// Keeps a call, where another one was perhaps, in whose memory it then lies.
    pub(super) fn put(&self, call: Kept) -> Rc<Kept> {
        let [first, second] = &mut self.0.borrow_mut()[call.key.place()];
        mem::swap(first, second);
        match first.as_mut().and_then(Rc::get_mut) {
            Some(other) => *other = call,
            None => *first = Some(Rc::new(call)),
        }
        first.clone().expect("it was put there")
    }
}
