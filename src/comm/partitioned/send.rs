//! [`SendParts`]: the sending end of a partitioned message.

use std::fmt;
use std::panic::Location;

use super::Cut;
use super::sending::{Name, Sending};
use super::threads::{Part, ReadyParts, split};
use crate::Rank;
use crate::comm::Comm;
use crate::error::Result;
use crate::op::Element;
use crate::transport::port::CopyTo;

/// The sending end of a [partitioned message](crate::partitioned), with its buffer.
///
/// It is *active* from [`start`](Self::start) until [`wait`](Self::wait) or [`test`](Self::test) has completed it. If
/// it is dropped while it is active, the parts that were ready are delivered, and the others never come: a receiver
/// that waits for them gets an error. One that is forgotten while some of its parts are ready leaves its tag in use.
#[must_use = "it does nothing until it is started"]
pub struct SendParts<'c, T: Element> {
    sending: Sending<'c>,
    buf: Vec<T>,
}

impl<T: Element> fmt::Debug for SendParts<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sending { to, tag, .. } = self.sending;
        write!(f, "{}", Name { to, tag })
    }
}

impl<'c, T: Element> SendParts<'c, T> {
    /// Describes a message of `buf` to rank `to`, in `parts` parts of the same length.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such rank, or if the buffer cannot be cut into that many
    /// parts.
    #[doc(alias = "MPI_Psend_init")]
    #[track_caller]
    pub fn new(comm: &'c Comm, to: Rank, tag: u32, parts: usize, buf: Vec<T>) -> Result<Self> {
        let show = || Name { to, tag }.to_string();
        let cut = comm.op(Location::caller(), &show, || {
            comm.check_near_receiver("a partitioned message", to)?;
            Cut::new(parts, buf.len())
        })?;
        let sending = Sending {
            comm,
            to,
            tag,
            cut,
            active: false,
            ready: vec![false; parts],
            left: 0,
            open: Vec::new(),
        };
        Ok(SendParts { sending, buf })
    }

    /// Returns the number of parts.
    pub fn parts(&self) -> usize {
        self.sending.cut.parts
    }

    /// Whether it has been started and not been completed.
    pub fn is_active(&self) -> bool {
        self.sending.active
    }

    /// Starts it: no part is ready.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is active.
    #[track_caller]
    pub fn start(&mut self) -> Result<()> {
        let site = Location::caller();
        self.sending.op(site, "start", Sending::start)
    }

    /// Returns the elements of a part, to be written.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if there is no such part, or if it is ready.
    #[track_caller]
    pub fn part_mut(&mut self, part: usize) -> Result<&mut [T]> {
        if let Err(error) = self.sending.check_open(part) {
            let site = Location::caller();
            return self.sending.op(site, "part_mut", |_| Err(error));
        }
        Ok(&mut self.buf[self.sending.cut.range(part)])
    }

    /// Declares a part ready, and sends it.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is not active, if there is no such part, or if it is ready already;
    /// otherwise as [`isend`](Comm::isend).
    #[doc(alias = "MPI_Pready")]
    #[track_caller]
    pub fn ready(&mut self, part: usize) -> Result<()> {
        let (site, buf) = (Location::caller(), &self.buf);
        self.sending.op(site, "ready", |sending| {
            sending.check_active()?;
            sending.check_open(part)?;
            let elements = &buf[sending.cut.range(part)];
            let to = sending.to;
            sending.post(part, site, |comm, head| {
                comm.post_copy(to, head, elements, CopyTo::Kept)
            })
        })
    }

    /// Gives away the parts that are not ready: each to be filled and declared ready by any thread. They are sent by
    /// [`ReadyParts::send`], on the thread of the rank.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if it is not active.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::partitioned::{RecvParts, SendParts};
    ///
    /// World::new(2).run(|comm| {
    ///     if comm.rank() == 1 {
    ///         let mut received = RecvParts::new(comm, 0, 0, 4, vec![0_usize; 4])?;
    ///         received.start()?;
    ///         received.wait()?;
    ///         assert_eq!(received.elements()?, [0, 10, 20, 30]);
    ///         return Ok(());
    ///     }
    ///     let mut sent = SendParts::new(comm, 1, 0, 4, vec![0; 4])?;
    ///     sent.start()?;
    ///     let (parts, ready) = sent.split()?;
    ///     std::thread::scope(|threads| {
    ///         for mut part in parts {
    ///             threads.spawn(move || {
    ///                 part[0] = 10 * part.number();
    ///                 part.ready();
    ///             });
    ///         }
    ///         ready.send()
    ///     })?;
    ///     sent.wait()
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[track_caller]
    pub fn split(&mut self) -> Result<(Vec<Part<'_, T>>, ReadyParts<'_, 'c, T>)> {
        let site = Location::caller();
        let active = |sending: &mut Sending<'c>| sending.check_active();
        self.sending.op(site, "split", active)?;
        Ok(split(&mut self.sending, &mut self.buf))
    }

    /// Waits until it is complete: all its parts have left and, in a world of limited
    /// [buffering](crate::World::buffering), there was room for them. It is inactive afterwards. Returns at once if it
    /// is not active.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::ErrorKind::Usage) if a part is not ready, since a rank that waited could not declare it ready
    /// any more; it stays active then. Otherwise as [`Request::wait`](crate::Request::wait).
    #[track_caller]
    pub fn wait(&mut self) -> Result<()> {
        self.sending.wait()
    }

    /// Returns whether it is inactive now: it completes it if that is possible without waiting.
    ///
    /// # Errors
    ///
    /// As [`Request::test`](crate::Request::test).
    #[track_caller]
    pub fn test(&mut self) -> Result<bool> {
        self.sending.test()
    }
}
