//! Accesses to windows: put, get, accumulate and the calls that do both.
//!
//! Each copies when it is called. Elements of the target are read and written as the target's datatype lays them out.

use std::ffi::c_int;

use super::{Win, part};
use crate::abi::*;
use crate::datatype::pack::Buffer;
use crate::datatype::{Datatype, Segment, Type};
use crate::error::{Out, failure, require};
use crate::memory::{Byte, Caller};
use crate::op::{self, Fold, Operator};

/// Elements of a target.
pub(crate) struct Aim {
    pub rank: usize,
    pub disp: MPI_Aint,
    pub count: usize,
    pub of: Type,
}

impl Aim {
    /// `None` if the target is `MPI_PROC_NULL`.
    pub(crate) fn new(
        win: &Win,
        rank: c_int,
        disp: MPI_Aint,
        number: i64,
        datatype: MPI_Datatype,
    ) -> Out<Option<Aim>> {
        let of = crate::datatype::committed(datatype)?;
        let count = usize::try_from(number).map_err(|_| {
            let text = format!("the count of the target is {number}, which is negative");
            failure(MPI_ERR_COUNT, text)
        })?;
        require(of.fits(count), MPI_ERR_COUNT, || {
            format!("{number} elements are larger than the address space")
        })?;
        let Some(rank) = win.target(rank)? else {
            return Ok(None);
        };
        win.check_access(rank)?;
        Ok(Some(Aim {
            rank,
            disp,
            count,
            of,
        }))
    }

    fn bytes(&self) -> usize {
        self.count * self.of.size
    }
}

/// How elements of the target are combined with those of the origin.
#[derive(Clone, Copy)]
pub(crate) struct Combine(MPI_Op);

impl Combine {
    /// Only predefined operators serve; `MPI_NO_OP` if a result is asked for.
    pub(crate) fn new(op: MPI_Op, gets: bool) -> Out<Combine> {
        let number = op.addr();
        let predefined = (MPI_SUM.addr()..=MPI_NO_OP.addr()).contains(&number)
            && op::name(number as u16).starts_with("MPI");
        require(op != MPI_OP_NULL, MPI_ERR_OP, || {
            "the operator is MPI_OP_NULL".into()
        })?;
        require(predefined, MPI_ERR_OP, || {
            "the operator is not predefined".into()
        })?;
        require(gets || op != MPI_NO_OP, MPI_ERR_OP, || {
            "MPI_NO_OP is for calls that get elements too".into()
        })?;
        Ok(Combine(op))
    }

    fn fold(self, of: &Type) -> Out<Fold> {
        let fold = Fold {
            operator: Operator::Predefined(self.0),
            of: of.clone(),
            datatype: MPI_DATATYPE_NULL,
        };
        fold.check().map(|()| fold)
    }
}

/// Refuses elements that are not those of the other side, or for which there is no room.
fn check(from: (&Datatype, usize), to: (&Datatype, usize)) -> Out {
    let ((sent, bytes), (wanted, room)) = (from, to);
    require(bytes <= room, MPI_ERR_TRUNCATE, || {
        format!("{bytes} bytes are copied, and there is room for {room}")
    })?;
    require(
        sent.signature.matches(wanted.signature, bytes),
        MPI_ERR_TYPE,
        || {
            let (sent, wanted) = (sent.signature.names(), wanted.signature.names());
            format!("the elements are {sent}, and are copied as {wanted}")
        },
    )
}

/// The pieces of the first `bytes` bytes of elements at an address: where each is, and its place in the message.
fn pieces(at: usize, of: &Datatype, bytes: usize, mut f: impl FnMut(usize, usize, usize)) {
    if of.is_dense() {
        return f(at, 0, bytes);
    }
    let (mut done, mut element) = (0, 0isize);
    while done < bytes {
        for Segment { at: place, len } in &of.segments {
            let len = (*len).min(bytes - done);
            let place = at.wrapping_add_signed(element * of.extent() + place);
            f(place, done, len);
            done += len;
        }
        element += 1;
    }
}

fn store(caller: &Caller, message: &[Byte], at: usize, of: &Datatype) {
    pieces(at, of, message.len(), |place, from, len| {
        caller.store(&message[from..from + len], place);
    });
}

fn load(caller: &Caller, at: usize, of: &Datatype, message: &mut [Byte]) {
    pieces(at, of, message.len(), |place, to, len| {
        caller.load(place, &mut message[to..to + len]);
    });
}

impl Win {
    /// Refuses elements that are not in the target's memory, before anything is copied.
    fn check(&self, aim: &Aim) -> Out {
        let found = self.parts[aim.rank].find(aim.rank, aim.disp, (aim.count, &aim.of));
        found.map(drop)
    }

    /// Runs an access to the elements that are aimed at, with their address.
    fn at<R>(&self, aim: &Aim, f: impl FnOnce(usize) -> Out<R>) -> Out<R> {
        part::access(
            &self.parts[aim.rank],
            aim.rank,
            aim.disp,
            (aim.count, &aim.of),
            f,
        )
    }

    pub(crate) fn put(&self, caller: &Caller, origin: &Buffer<'_>, aim: &Aim) -> Out {
        check((origin.of, origin.bytes()), (&aim.of, aim.bytes()))?;
        self.check(aim)?;
        let mut message = Vec::new();
        origin.pack(caller, &mut message)?;
        self.at(aim, |at| {
            store(caller, &message, at, &aim.of);
            Ok(())
        })
    }

    pub(crate) fn get(&self, caller: &Caller, origin: &Buffer<'_>, aim: &Aim) -> Out {
        check((&aim.of, aim.bytes()), (origin.of, origin.bytes()))?;
        self.check(aim)?;
        let mut message = vec![Byte::ZERO; aim.bytes()];
        self.at(aim, |at| {
            load(caller, at, &aim.of, &mut message);
            Ok(())
        })?;
        origin.unpack(caller, &message)
    }

    /// Combines elements of the target with those of the origin; `result` gets what they were before.
    pub(crate) fn accumulate(
        &self,
        caller: &Caller,
        origin: Option<&Buffer<'_>>,
        result: Option<&Buffer<'_>>,
        aim: &Aim,
        combine: Combine,
    ) -> Out {
        let fold = combine.fold(&aim.of)?;
        self.check(aim)?;
        let mut message = Vec::new();
        if let Some(origin) = origin.filter(|_| combine.0 != MPI_NO_OP) {
            check((origin.of, origin.bytes()), (&aim.of, aim.bytes()))?;
            origin.pack(caller, &mut message)?;
        }
        if let Some(result) = result {
            check((&aim.of, aim.bytes()), (result.of, result.bytes()))?;
        }
        let mut before = vec![Byte::ZERO; aim.bytes()];
        self.at(aim, |at| {
            load(caller, at, &aim.of, &mut before);
            let mut after = before[..message.len()].to_vec();
            fold.combine(caller, &message, &mut after)?;
            store(caller, &after, at, &aim.of);
            Ok(())
        })?;
        match result {
            Some(result) => result.unpack(caller, &before),
            None => Ok(()),
        }
    }

    /// Replaces an element of the target if it equals another one; `result` gets what it was before.
    pub(crate) fn compare_and_swap(
        &self,
        caller: &Caller,
        (origin, compare): (&Buffer<'_>, &Buffer<'_>),
        result: &Buffer<'_>,
        aim: &Aim,
    ) -> Out {
        let (mut new, mut old) = (Vec::new(), Vec::new());
        origin.pack(caller, &mut new)?;
        compare.pack(caller, &mut old)?;
        let mut before = vec![Byte::ZERO; aim.bytes()];
        self.at(aim, |at| {
            load(caller, at, &aim.of, &mut before);
            // The datatype is one of integers.
            if crate::memory::known(&before) == crate::memory::known(&old) {
                store(caller, &new, at, &aim.of);
            }
            Ok(())
        })?;
        result.unpack(caller, &before)
    }
}
