//! The binary interfaces of MPI libraries: handles, constants, and where a status keeps what.
//!
//! All handles are kept as `usize`. Where a library has handles of 32 bits, they are the low half, which is what it reads
//! of a register, and what it writes into a word of memory that was zero: on a little-endian machine.

/// Room for any library's status, in words of 32 bits. A library may write longer words there.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub(super) struct Status(pub [i32; 16]);

/// What differs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abi {
    pub world: usize,
    pub byte: usize,
    pub errors_return: usize,
    pub any_source: i32,
    /// The class of the error of a receive whose message is longer than its room.
    pub truncated: i32,
    /// Where in a status the source is; the tag follows it.
    pub source: usize,
    /// `MPI_THREAD_SERIALIZED`; a higher level is a larger number.
    pub serialized: i32,
    /// The parts of messages that are longer than what the library sends at once, if they are sent faster so.
    pub split: Option<Split>,
}

/// Messages that go in several parts, of which each is sent at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// The bytes of each part but the last.
    part: usize,
    /// The bytes of the longest message that does.
    longest: usize,
}

/// The longest part in which a message is sent: MPI counts bytes by an `int`.
pub(super) const PART: usize = 1 << 30;

/// The shortest part that is not the last of a message: what Open MPI sends at once over shared memory, less a header of
/// its own. Over networks it was not measured.
pub(super) const SHORTEST_PART: usize = (4 << 10) - 64;

impl Abi {
    /// The bytes of each part of a message of this length but the last.
    pub(super) fn part_of(&self, length: usize) -> usize {
        let split = self.split.filter(|split| length <= split.longest);
        split.map_or(PART, |split| split.part)
    }
}

/// The standard ABI (MPI 5.0, section 20 and appendix A.1), in its version 1.
pub(super) const STANDARD: Abi = Abi {
    world: 0x101,
    byte: 0x247,
    errors_return: 0x143,
    any_source: -1,
    truncated: 15,
    source: 0,
    serialized: 2048,
    split: None,
};

/// The interface of MPICH, and of the libraries that share it: Intel MPI, MVAPICH, Cray MPT.
pub(super) const MPICH: Abi = Abi {
    world: 0x4400_0000,
    byte: 0x4c00_010d,
    errors_return: 0x5400_0001,
    any_source: -2,
    truncated: 14,
    source: 2,
    serialized: 2,
    split: Some(Split {
        part: 8 << 10,
        longest: 32 << 10,
    }),
};

/// The interface of Open MPI, whose handles are addresses of objects in the library.
pub(super) const fn open_mpi(world: usize, byte: usize, errors_return: usize) -> Abi {
    Abi {
        world,
        byte,
        errors_return,
        any_source: -1,
        truncated: 15,
        source: 0,
        serialized: 2,
        split: Some(Split {
            part: SHORTEST_PART,
            longest: 8 << 10,
        }),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{MPICH, PART, STANDARD, open_mpi};

    #[test]
    fn messages_go_in_parts_up_to_a_length_of_the_library() {
        let parts =
            |abi: super::Abi, lengths: [usize; 3]| lengths.map(|length| abi.part_of(length));
        let of_open_mpi = parts(open_mpi(0, 0, 0), [4 << 10, 8 << 10, (8 << 10) + 1]);
        assert_eq!(of_open_mpi, [4032, 4032, PART]);
        let of_mpich = parts(MPICH, [4 << 10, 32 << 10, (32 << 10) + 1]);
        assert_eq!(of_mpich, [8 << 10, 8 << 10, PART]);
        assert_eq!(parts(STANDARD, [1, 4 << 10, 1 << 20]), [PART; 3]);
    }
}
