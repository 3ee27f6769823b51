//! The part of a window that one rank gives: where its memory is, and which addresses of it others may access.

use std::cell::RefCell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::memory::Memory;
use crate::abi::*;
use crate::datatype::Datatype;
use crate::error::{Out, failure, require};

/// A rank's part of a window. All ranks of the window share it.
pub(crate) struct WindowPart {
    /// Its first address; 0 in a dynamic window, whose displacements are addresses.
    pub base: usize,
    pub size: usize,
    pub unit: usize,
    dynamic: bool,
    state: Mutex<State>,
    has_left: Condvar,
    _memory: Option<Arc<Memory>>,
}

#[derive(Default)]
pub(super) struct State {
    /// Whether a rank accesses it now: accesses of this library come one after the other. None holds the lock meanwhile,
    /// since a fault in it ends the rank there, and the others go on.
    accessed: bool,
    /// How many threads wait until the access is over.
    waiting: usize,
    /// Whether the rank has called `MPI_Finalize` or has ended.
    closed: bool,
    /// Address and length of what is attached.
    attached: Vec<(usize, usize)>,
}

impl State {
    /// Whether all bytes from `begin` to `end` are attached, in one part or in several that adjoin.
    fn holds(&self, begin: i128, end: i128) -> bool {
        let mut reached = begin;
        let next = |reached: i128| {
            let ends = |(at, len): &(usize, usize)| (*at as i128, *at as i128 + *len as i128);
            let mut parts = self.attached.iter().map(ends);
            parts.find(|(at, end)| *at <= reached && reached < *end)
        };
        while reached < end {
            match next(reached) {
                Some((_, end)) => reached = end,
                None => return false,
            }
        }
        true
    }
}

impl WindowPart {
    pub(super) fn new(
        base: usize,
        size: usize,
        unit: usize,
        memory: Option<Arc<Memory>>,
    ) -> WindowPart {
        WindowPart {
            base,
            size,
            unit,
            dynamic: false,
            state: Mutex::default(),
            has_left: Condvar::new(),
            _memory: memory,
        }
    }

    pub(super) fn dynamic() -> WindowPart {
        WindowPart {
            dynamic: true,
            ..WindowPart::new(0, 0, 1, None)
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with it")
    }

    /// From now on no rank accesses the part: its memory may go. The access in progress ends before; this thread has none.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        drop(self.once_left(state));
    }

    /// Waits until no rank accesses the part. That is a copy, which waits for nothing.
    fn once_left<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        while state.accessed {
            state.waiting += 1;
            let woken = self.has_left.wait(state);
            state = woken.expect("no thread panics with it");
            state.waiting -= 1;
        }
        state
    }

    pub(super) fn attach(&self, at: usize, len: usize) -> Out {
        let mut state = self.lock();
        let end = at.checked_add(len);
        let free = |end: usize| {
            // Memory of no bytes overlaps none.
            let apart = |(start, other): &(usize, usize)| {
                *start + *other <= at || end <= *start || len.min(*other) == 0
            };
            state.attached.iter().all(apart)
        };
        require(end.is_some_and(free), MPI_ERR_RMA_ATTACH, || {
            "a part of the memory is attached already".into()
        })?;
        state.attached.push((at, len));
        Ok(())
    }

    pub(super) fn detach(&self, at: usize) -> Out {
        let mut state = self.lock();
        let all = state.attached.iter().enumerate();
        let begins = all.filter(|(_, (start, _))| *start == at);
        // Memory of no bytes may begin there, too, which no other rank can reach.
        let found = begins.max_by_key(|(_, (_, len))| *len);
        let (found, _) =
            found.ok_or_else(|| failure(MPI_ERR_RMA_ATTACH, "no attached memory begins there"))?;
        state.attached.swap_remove(found);
        Ok(())
    }

    /// The address of `count` elements at a displacement, if others may access them.
    pub(super) fn find(
        &self,
        rank: usize,
        disp: MPI_Aint,
        (count, of): (usize, &Datatype),
    ) -> Out<usize> {
        self.find_in(&self.lock(), rank, disp, (count, of))
    }

    fn find_in(
        &self,
        state: &State,
        rank: usize,
        disp: MPI_Aint,
        (count, of): (usize, &Datatype),
    ) -> Out<usize> {
        require(!state.closed, MPI_ERR_PROC_ABORTED, || {
            format!("rank {rank} has called MPI_Finalize, or has ended")
        })?;
        self.locate(state, rank, disp, count, of)
    }

    fn leave(&self) {
        let mut state = self.lock();
        state.accessed = false;
        let waiting = state.waiting;
        drop(state);
        if waiting > 0 {
            // All of them: the one that is woken may have nothing to access, and would wake no other.
            self.has_left.notify_all();
        }
    }

    /// The address of a displacement, if all elements from there on are in the part.
    fn locate(
        &self,
        state: &State,
        rank: usize,
        disp: MPI_Aint,
        count: usize,
        of: &Datatype,
    ) -> Out<usize> {
        require(self.dynamic || disp >= 0, MPI_ERR_DISP, || {
            format!("the displacement is {disp}, which is negative")
        })?;
        let first = disp as i128 * self.unit as i128;
        let (low, high) = span(count, of);
        let (begin, end) = (first + low, first + high);
        if begin == end {
            return Ok(self.base.wrapping_add(first as usize));
        }
        if self.dynamic {
            require(state.holds(begin, end), MPI_ERR_RMA_RANGE, || {
                format!("the memory from {begin:#x} to {end:#x} is not attached at rank {rank}")
            })?;
        } else {
            require(
                0 <= begin && end <= self.size as i128,
                MPI_ERR_RMA_RANGE,
                || {
                    format!(
                        "bytes {begin}..{end} are not all in the window of rank {rank}, which has {}",
                        self.size
                    )
                },
            )?;
        }
        Ok(self.base.wrapping_add(first as usize))
    }
}

thread_local! {
    /// The part that this thread accesses.
    static ACCESSED: RefCell<Option<Arc<WindowPart>>> = const { RefCell::new(None) };
}

/// Runs an access to `count` elements at a displacement, with the address of the first, while nothing else accesses the
/// part.
pub(super) fn access<R>(
    part: &Arc<WindowPart>,
    rank: usize,
    disp: MPI_Aint,
    elements: (usize, &Datatype),
    f: impl FnOnce(usize) -> Out<R>,
) -> Out<R> {
    let mut state = part.once_left(part.lock());
    let at = part.find_in(&state, rank, disp, elements)?;
    state.accessed = true;
    drop(state);
    ACCESSED.set(Some(part.clone()));
    let result = f(at);
    leave();
    result
}

/// Ends the access that this thread is in, if there is one: a fault may have ended its rank there.
pub(super) fn leave() {
    if let Some(part) = ACCESSED.take() {
        part.leave();
    }
}

/// First byte and end of what some elements cover, from the address of the first.
fn span(count: usize, of: &Datatype) -> (i128, i128) {
    let (first, end) = of.true_bounds();
    if count == 0 || first == end {
        return (0, 0);
    }
    let last = of.extent() as i128 * (count as i128 - 1);
    (first as i128 + last.min(0), end as i128 + last.max(0))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::datatype;

    /// Accesses that many bytes of a part.
    fn access_bytes(part: &Arc<WindowPart>, number: usize, f: impl FnOnce()) -> Out {
        let byte = datatype::of(MPI_BYTE)?;
        access(part, 0, 0, (number, &*byte), |_| {
            f();
            Ok(())
        })
    }

    /// Until so many threads wait for the access in progress.
    fn waited_for_by(part: &WindowPart, number: usize) {
        while part.lock().waiting < number {
            thread::yield_now();
        }
    }

    #[test]
    fn a_part_is_closed_once_the_access_in_progress_is_over() {
        let part = Arc::new(WindowPart::new(64, 8, 1, None));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let closes = || {
                part.close();
                assert!(over.load(Ordering::Relaxed));
            };
            let copies = || {
                let closing = scope.spawn(closes);
                while !part.lock().closed {
                    thread::yield_now();
                }
                // Whoever does not wait is gone after this.
                (0..1000).for_each(|_| thread::yield_now());
                over.store(true, Ordering::Relaxed);
                closing
            };
            let mut closing = None;
            access_bytes(&part, 8, || closing = Some(copies())).unwrap();
            closing.unwrap().join().unwrap();
        });
        assert!(access_bytes(&part, 8, || ()).is_err());
    }

    #[test]
    fn an_access_that_fails_after_waiting_keeps_no_other_one_waiting() {
        let part = Arc::new(WindowPart::new(64, 8, 1, None));
        thread::scope(|scope| {
            let mut others = Vec::new();
            let all_wait = || {
                for number in [9, 9, 8, 9] {
                    let part = &part;
                    others.push(scope.spawn(move || access_bytes(part, number, || ()).is_ok()));
                }
                waited_for_by(&part, 4);
            };
            access_bytes(&part, 8, all_wait).unwrap();
            let over: Vec<bool> = others.into_iter().map(|it| it.join().unwrap()).collect();
            assert_eq!(over, [false, false, true, false]);
        });
    }

    #[test]
    fn what_has_bytes_is_detached_before_what_has_none_at_the_same_address() {
        for lens in [[0, 8], [8, 0]] {
            let part = WindowPart::dynamic();
            for len in lens {
                part.attach(64, len).unwrap();
            }
            assert!(part.lock().holds(64, 72));
            part.detach(64).unwrap();
            assert!(!part.lock().holds(64, 72), "{lens:?}");
            part.detach(64).unwrap();
            assert!(part.detach(64).is_err());
        }
    }
}
