//! Memory that processes of one node share: each has a segment with a ring for every process that may write to it.
//!
//! A segment is a file without a name, so nothing is left of it, however its process ends. Other processes find it among
//! the open files of that one, and know by its first words that it is the one they were told of.
//!
//! # Why this is sound
//!
//! The memory is mapped from a file of at least its length, which is made as long before anybody is told of it and
//! is never shortened, and stays mapped. It is zeros before it is written, which is a valid head and valid rings, and is
//! accessed through shared references alone, as [`LetterRing`] allows.
#![allow(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{process, ptr, slice};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Resource, getrlimit};

use super::ring::{LAYOUT, LetterRing, PAGE};

/// The name of the file, and how a link to it begins.
const NAME: &str = "rankfold";
const LINK: &str = "/memfd:rankfold";

/// Where a segment is: what another process needs to map it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The operating system, and the processes in it that see each other.
    node: u64,
    process: u64,
    file: u64,
    /// Words that no other segment begins with.
    nonce: [u64; 2],
    /// The bytes of a ring.
    size: u64,
}

/// Its first words, alone in a page.
#[repr(C, align(128))]
struct Head([AtomicU64; 2]);

// Each part begins with a page.
const _: () = assert!(cfg!(all(test, loom)) || size_of::<LetterRing>().is_multiple_of(PAGE));

const WORDS: usize = 6;
/// The bytes of an address in a letter.
pub(in crate::mpi) const ADDRESS: usize = WORDS * size_of::<u64>();

impl Address {
    pub(super) fn bytes(&self) -> [u8; ADDRESS] {
        let [first, second] = self.nonce;
        let words = [self.node, self.process, self.file, first, second, self.size];
        let mut bytes = [0; ADDRESS];
        let places = bytes.chunks_exact_mut(size_of::<u64>());
        places
            .zip(words)
            .for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    pub(super) fn of(bytes: &[u8; ADDRESS]) -> Address {
        let (words, _) = bytes.as_chunks();
        let word = |place: usize| u64::from_le_bytes(words[place]);
        Address {
            node: word(0),
            process: word(1),
            file: word(2),
            nonce: [word(3), word(4)],
            size: word(5),
        }
    }
}

/// Makes the segment of this process, with this number of rings. `None` where the system has no such memory.
pub(super) fn create(rings: usize) -> Option<(Address, &'static [LetterRing])> {
    let file = File::from(memfd_create(NAME, MemfdFlags::CLOEXEC).ok()?);
    let length = begin_of(rings)? as u64;
    // A longer file would end the process by a signal.
    let limit = getrlimit(Resource::Fsize).current;
    if limit.is_some_and(|limit| length > limit) {
        return None;
    }
    file.set_len(length).ok()?;
    let address = Address {
        node: node()?,
        process: process::id().into(),
        file: file.as_raw_fd() as u64,
        nonce: [(); 2].map(|()| RandomState::new().hash_one(process::id())),
        size: size_of::<LetterRing>() as u64,
    };
    let first = map(&file, 0..begin_of(rings)?)?;
    // SAFETY: the head, and the rings that follow it, which stay mapped; zeros, or what was written by the same types.
    let (head, rings) = unsafe {
        let first_ring = first.add(PAGE).cast();
        (
            &*first.cast::<Head>(),
            slice::from_raw_parts(first_ring, rings),
        )
    };
    for (word, value) in head.0.iter().zip(address.nonce) {
        word.store(value, Ordering::Release); // Pairs with the load in `nonce_of`.
    }
    // Others may open it as long as this process runs.
    std::mem::forget(file);
    Some((address, rings))
}

/// Maps a ring of the segment of another process. `None` if that is on another node, or if it cannot be had.
pub(super) fn open(address: &Address, ring: usize) -> Option<&'static LetterRing> {
    if address.node != node()? || address.size != size_of::<LetterRing>() as u64 {
        return None;
    }
    let path = format!("/proc/{}/fd/{}", address.process, address.file);
    // Opening something else might do something.
    let link = fs::read_link(&path).ok()?;
    if !link.to_str()?.starts_with(LINK) {
        return None;
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).open(path).ok()?;
    let place = begin_of(ring)?..begin_of(ring.checked_add(1)?)?;
    if file.metadata().ok()?.len() < place.end as u64 {
        return None;
    }
    if nonce_of(&file)? != address.nonce {
        return None;
    }
    // SAFETY: a ring, as above.
    map(&file, place).map(|first| unsafe { &*first.cast() })
}

/// Where a ring begins in a segment.
fn begin_of(ring: usize) -> Option<usize> {
    ring.checked_mul(size_of::<LetterRing>())?.checked_add(PAGE)
}

/// The first words of a segment.
fn nonce_of(file: &File) -> Option<[u64; 2]> {
    let first = map(file, 0..PAGE)?;
    // SAFETY: a page of the file; any words are a head.
    let words = unsafe { &(*first.cast::<Head>()).0 };
    // Pairs with the store in `create`.
    let nonce = [0, 1].map(|place: usize| words[place].load(Ordering::Acquire));
    // SAFETY: what was mapped here, which nothing refers to any more.
    unsafe { munmap(first.cast(), PAGE).ok()? };
    Some(nonce)
}

/// Maps a part of a file that is as long, from a page on.
fn map(file: &File, part: Range<usize>) -> Option<*mut u8> {
    let both = ProtFlags::READ | ProtFlags::WRITE;
    let (flags, begin) = (MapFlags::SHARED, part.start as u64);
    // SAFETY: new memory at a place that the system chooses.
    let first = unsafe { mmap(ptr::null_mut(), part.len(), both, flags, file, begin) };
    first.ok().map(<*mut _>::cast)
}

/// A number of the system that runs, of the processes in it that this one sees, and of the layout of a ring: another process
/// with the same finds the files of this one by its process number, and reads them alike.
fn node() -> Option<u64> {
    static NODE: OnceLock<Option<u64>> = OnceLock::new();
    *NODE.get_or_init(|| {
        let boot = fs::read("/proc/sys/kernel/random/boot_id").ok()?;
        let processes = fs::read_link("/proc/self/ns/pid").ok()?;
        let processes = processes.as_os_str().as_encoded_bytes();
        Some(hash(boot.iter().chain(processes).chain(&LAYOUT)))
    })
}

/// The same in each process: FNV-1a.
fn hash<'b>(bytes: impl Iterator<Item = &'b u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::super::message::as_padded;
    use super::super::ring::{LetterReader, LetterWriter};
    use super::*;

    #[test]
    fn who_has_the_address_maps_the_same_memory() {
        let (address, rings) = create(3).expect("Linux has such memory");
        assert_eq!(rings.len(), 3);
        let same = open(&Address::of(&address.bytes()), 2).expect("it is this process's own");
        let mut writer = LetterWriter::of(same, 0).unwrap();
        let mut reader = LetterReader::of(&rings[2]).unwrap();
        assert!(LetterWriter::of(&rings[2], 0).is_none(), "it has one");
        let letter = [as_padded(b"letter"), &[], &[]];
        assert!(writer.write(letter) && reader.read(|read| assert_eq!(read, b"letter")));
    }

    #[test]
    fn what_is_not_what_the_address_says_is_not_mapped() {
        let (address, _) = create(2).expect("Linux has such memory");
        let mut wrong = [address; 5];
        wrong[0].node ^= 1;
        wrong[1].nonce[1] ^= 1;
        wrong[2].size -= 1;
        (wrong[3].file, wrong[4].file) = (0, u64::MAX);
        for address in wrong {
            assert!(open(&address, 0).is_none(), "{address:?}");
        }
        for ring in [2, usize::MAX] {
            assert!(open(&address, ring).is_none(), "there is no ring {ring}");
        }
        assert!(open(&address, 1).is_some());
    }
}
