//! The event that a call begins: its name, its source line and its arguments.

use crate::Rank;
use crate::error::Site;
use crate::op::elements::Info;

/// A call at one source line, without its arguments.
#[derive(Clone)]
pub(crate) struct Known {
    pub verb: String,
    pub site: Site,
    pub info: Option<&'static Info>,
}

/// The peer that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    None,
    To(Rank),
    From(Rank),
    FromAny,
    Root(Rank),
}

/// The tag that a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tagged {
    None,
    Any,
    Is(u32),
}

/// An operation about to begin.
#[derive(Clone, Copy)]
pub(crate) struct CallEvent {
    /// The name of the call. Empty: the part before the arguments of the call as it prints.
    pub verb: &'static str,
    /// Where the name is empty: what tells calls of one line with different names apart; 0: the name as it prints.
    pub apart: usize,
    pub site: Site,
    pub info: Option<&'static Info>,
    pub peer: Peer,
    pub tag: Tagged,
    /// Number of elements.
    pub count: Option<usize>,
    /// Whether it sends, or posts a receive, without ever waiting: then it may be recorded after that.
    pub posts: bool,
    /// The communicator's context.
    pub context: u32,
}

impl CallEvent {
    /// A call of which only the name and the source line are known.
    #[inline]
    pub(crate) fn named(verb: &'static str, site: Site) -> CallEvent {
        CallEvent {
            verb,
            ..CallEvent::at(site)
        }
    }

    /// A call whose name is the one that prints, and is the same in all calls with this line and this text.
    #[inline]
    pub(crate) fn apart(text: &'static str, site: Site) -> CallEvent {
        CallEvent {
            apart: text.as_ptr().addr(),
            ..CallEvent::at(site)
        }
    }

    /// A call of which only the source line is known.
    #[inline]
    pub(crate) fn at(site: Site) -> CallEvent {
        CallEvent {
            verb: "",
            apart: 0,
            site,
            info: None,
            peer: Peer::None,
            tag: Tagged::None,
            count: None,
            posts: false,
            context: 0,
        }
    }
}
