//! Synchronous sends: they complete only when the receiver has taken the message, whatever room there is for it.
//!
//! The message owns its contents and carries a receipt, as a send that finds no room does in worlds with limited
//! [buffering](crate::World::buffering).

use std::panic::Location;

use super::Comm;
use super::point_to_point::sending;
use super::request::Request;
use crate::Rank;
use crate::engine::request_state::Waits;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::Result;
use crate::op::Element;
use crate::transport::trace::call_event::CallEvent;

/// # Synchronous send
///
/// Sends that complete only when the receiver has taken the message.
impl Comm {
    /// Sends elements to rank `to`, and waits until they have been received.
    ///
    /// When it returns, the receiver has reached the receive of this message, or a matched probe of it: everything that
    /// the receiver did before has happened. Two ranks that `ssend` to each other before either receives are a
    /// deadlock, which is reported at once. A program that runs with `ssend` in place of [`send`](Self::send) does not
    /// depend on buffers; [`Buffering::Zero`](crate::Buffering::Zero) does the same for every send of a world.
    ///
    /// # Cost
    ///
    /// The elements are copied into the message.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if there is no such rank, [`RankGone`](ErrorKind::RankGone) if it has ended without
    /// receiving the message, [`Deadlock`](ErrorKind::Deadlock) if it never can. After an error the message is as if it
    /// had never been sent, unless its receiver is in another process, which may still receive it.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let ready = AtomicBool::new(false);
    /// World::new(2).run(|comm| {
    ///     if comm.rank() == 0 {
    ///         comm.ssend(1, 0, &[1])?;
    ///         assert!(ready.load(Ordering::Relaxed)); // rank 1 has come to its receive
    ///     } else {
    ///         ready.store(true, Ordering::Relaxed);
    ///         comm.recv::<i32>(0, 0)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    /// The report of a deadlock names both sends:
    ///
    /// ```
    /// use rankfold::{ErrorKind, World};
    ///
    /// let report = World::new(2).run_each(|comm| {
    ///     let other = 1 - comm.rank();
    ///     comm.ssend(other, 0, &[comm.rank()])?; // both wait here
    ///     comm.recv::<usize>(other, 0).map(|_| ())
    /// });
    /// assert_eq!(report.deadlocks[0].cycle, [0, 1]);
    /// assert!(report.deadlocks[0].to_string().contains("ssend(to 1, tag 0)"));
    /// ```
    #[doc(alias = "MPI_Ssend")]
    #[track_caller]
    pub fn ssend<T: Element>(&self, to: Rank, tag: u32, data: &[T]) -> Result<()> {
        let show = move || format!("ssend(to {to}, tag {tag})");
        let site = Location::caller();
        let event = || CallEvent {
            count: Some(data.len()),
            posts: false,
            ..sending::<T>("ssend", to, tag, site)
        };
        self.recorded(&event, &show, || {
            self.check_receiver::<T>(to)?;
            let receipt = self.post_synchronous(to, tag, data);
            self.await_receipt(Some(receipt), to, Waits::OnPurpose, &show, site)
        })
    }

    /// Starts to send a buffer to rank `to`; the request is complete, and returns the buffer, once the message has been
    /// received.
    ///
    /// # Errors
    ///
    /// [`Usage`](ErrorKind::Usage) if there is no such rank, [`NotPlain`](ErrorKind::NotPlain) if it is in another process
    /// and the elements cannot leave this one; the other errors of [`ssend`](Self::ssend) come from the
    /// request.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    ///
    /// World::new(2).run(|comm| {
    ///     let other = 1 - comm.rank();
    ///     let sent = comm.issend(other, 0, vec![comm.rank(); 3])?;
    ///     assert_eq!(comm.recv::<usize>(other, 0)?.0, [other; 3]);
    ///     assert_eq!(sent.wait()?, [comm.rank(); 3]); // the other rank has received it
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_Issend")]
    #[track_caller]
    pub fn issend<T: Element>(
        &self,
        to: Rank,
        tag: u32,
        data: Vec<T>,
    ) -> Result<Request<'static, Vec<T>>> {
        let site = Location::caller();
        let show = || format!("issend(to {to}, tag {tag})");
        let event = || CallEvent::named("issend", site);
        self.recorded(&event, &show, || {
            let direction = self.start_synchronous("issend", to, tag, &data)?;
            Ok(self.request(direction, site, Box::new(|_, _| Ok(data))))
        })
    }
}
