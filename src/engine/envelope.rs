//! The envelope of a message: its source, tag and contents, and whether these fit a receive.

use std::fmt;

use crate::Rank;
use crate::error::{Error, ErrorKind, Result};
use crate::op::Element;
use crate::op::elements::Info;
use crate::transport::memory::head::Head;
use crate::transport::memory::packet::Packet;

/// The ranks from which a receive accepts messages.
///
/// # Examples
///
/// ```
/// # use rankfold::Source;
/// assert_eq!(Source::from(3), Source::Rank(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only from this rank.
    Rank(Rank),
    /// From any rank; of several messages the one that arrived first.
    #[doc(alias = "MPI_ANY_SOURCE")]
    Any,
}

/// The tags that a receive accepts.
///
/// # Examples
///
/// ```
/// # use rankfold::Tag;
/// assert_eq!(Tag::from(7), Tag::Is(7));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Only this tag.
    Is(u32),
    /// Every tag.
    #[doc(alias = "MPI_ANY_TAG")]
    Any,
}

impl From<Rank> for Source {
    fn from(rank: Rank) -> Self {
        Source::Rank(rank)
    }
}

impl From<i32> for Source {
    /// Lets a plain literal be a source. A negative number is not a rank; the receive reports that.
    fn from(rank: i32) -> Self {
        // A negative number stays one: no world has so many ranks.
        Source::Rank(rank as Rank)
    }
}

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Tag::Is(tag)
    }
}

impl From<i32> for Tag {
    /// Lets a plain literal be a tag.
    ///
    /// # Panics
    ///
    /// Panics if it is negative; use [`Tag::Any`] for any tag.
    fn from(tag: i32) -> Self {
        Tag::Is(
            u32::try_from(tag)
                .unwrap_or_else(|_| panic!("a tag is 0 or more, not {tag}; any tag is Tag::Any")),
        )
    }
}

/// A rank of a call, as it was written: perhaps a negative number.
#[derive(Clone, Copy)]
pub(crate) struct Shown(pub Rank);

impl Shown {
    pub(crate) fn is_negative(self) -> bool {
        self.0.cast_signed() < 0
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.cast_signed().fmt(f)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Rank(rank) => Shown(*rank).fmt(f),
            Source::Any => f.write_str("any"),
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tag::Is(tag) => tag.fmt(f),
            Tag::Any => f.write_str("any"),
        }
    }
}

/// The envelope of a message that was received or probed.
#[doc(alias = "MPI_Status")]
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Status {
    /// The rank that sent it, by its number in the communicator.
    #[doc(alias = "MPI_SOURCE")]
    pub source: Rank,
    /// Its tag.
    #[doc(alias = "MPI_TAG")]
    pub tag: u32,
    /// The number of its elements; 1 for a moved value.
    #[doc(alias = "MPI_Get_count")]
    pub count: usize,
    pub(crate) mark: u32,
    info: &'static Info,
}

impl Status {
    /// Returns the name of the type of its elements, or of the moved value.
    pub fn type_name(&self) -> &'static str {
        self.info.name()
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Status {
            source, tag, count, ..
        } = self;
        write!(
            f,
            "Status {{ source: {source}, tag: {tag}, count: {count}, type: {} }}",
            self.type_name()
        )
    }
}

impl Status {
    #[inline]
    pub(crate) fn of(packet: &Packet, source: Rank) -> Self {
        Status::of_head(
            packet.head,
            source,
            packet.count().unwrap_or(1),
            packet.info(),
        )
    }

    #[inline]
    pub(crate) fn of_head(head: Head, source: Rank, count: usize, info: &'static Info) -> Self {
        Status {
            source,
            tag: head.tag(),
            count,
            mark: head.print(),
            info,
        }
    }
}

/// Describes a message in errors and reports.
pub(crate) fn show(packet: &Packet) -> String {
    format!(
        "the message from rank {} with tag {}",
        packet.source(),
        packet.head.tag()
    )
}

#[inline]
pub(crate) fn is_of<T: Element>(packet: &Packet) -> Result<()> {
    is_of_type(packet, Info::of::<T>())
}

#[inline]
pub(crate) fn is_of_type(packet: &Packet, info: &'static Info) -> Result<()> {
    if packet.holds_elements(info) {
        Ok(())
    } else {
        Err(wrong_type(packet, info.name()))
    }
}

pub(crate) fn is_value<V: 'static>(packet: &Packet) -> Result<()> {
    if packet.holds_value::<V>() {
        Ok(())
    } else {
        Err(wrong_type(packet, std::any::type_name::<V>()))
    }
}

fn wrong_type(packet: &Packet, wanted: &'static str) -> Error {
    let sent_as = if packet.count().is_some() {
        "elements"
    } else {
        "one moved value"
    };
    let message = format!(
        "{} ({}, sent as {sent_as})",
        show(packet),
        packet.contents()
    );
    Error::new(ErrorKind::WrongType {
        sent: packet.info().name(),
        wanted,
        message,
    })
}

#[inline]
pub(crate) fn has_room(packet: &Packet, room: usize) -> Result<()> {
    match packet.count() {
        Some(sent) if sent > room => Err(Error::new(ErrorKind::TooShort {
            sent,
            room,
            message: show(packet),
        })),
        _ => Ok(()),
    }
}
