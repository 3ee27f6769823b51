//! Worlds in which the last process sends one letter to the first that no process would send: an MPI library that is
//! built from `corrupt.c` spoils it. Every process ends, and no rank blames one of another process.

use std::process;

use rankfold::{Comm, Error, ErrorKind, Outcome, Rank, Report, WorldError, op};

use super::programs::world;
use super::{compiled, launchers, text};

/// The kinds of letters that are spoiled, by their numbers on the wire, and the wrong bytes with their place.
#[derive(Clone, Copy, Debug)]
pub struct Spoiled {
    pub kind: u32,
    /// How many letters of this kind from the last process to the first are left as they are.
    pub nth: u32,
    pub at: usize,
    /// Their length; zero stands for any.
    pub bytes: usize,
    pub value: i64,
}

/// Letters of several kinds. Spoiled are the kind and the world, the world and the number of a receipt, that and the
/// receiver, or the first number of the contents.
pub fn letters() -> Vec<Spoiled> {
    let letter = |(kind, nth, at)| Spoiled {
        kind,
        nth,
        at,
        bytes: 0,
        value: -1,
    };
    let mail = [(0, 0, 0), (0, 0, 8), (7, 0, 4)];
    // Of a letter without contents, the length of its body.
    let lanes = [(1, 0, 0), (1, 1, 4), (1, 0, 48), (1, 2, 48), (1, 3, 48)];
    let greetings = [(2, 0, 0), (2, 0, 48), (2, 1, 4)];
    let ends = [(3, 0, 0), (3, 1, 48), (3, 0, 4)];
    let silence = [(5, 0, 48), (5, 1, 0), (5, 2, 4), (5, 3, 48)];
    let goodbyes = [(6, 0, 0), (6, 0, 48)];
    let all = [&mail[..], &lanes, &greetings, &ends, &silence, &goodbyes].concat();
    let mut all: Vec<Spoiled> = all.into_iter().map(letter).collect();
    all.push(Spoiled {
        value: 100,
        ..letter((1, 0, 48))
    });
    // Of a letter without a body, which is never sent.
    all.push(Spoiled {
        bytes: 56,
        value: 1 << 20,
        ..letter((1, 0, 48))
    });
    // Of a letter with a body, which is longer or shorter than that.
    all.extend([4000, 1 << 20].map(|value| Spoiled { value, ..LONG_MAIL }));
    all
}

/// The letter of a long message, which has nothing but an envelope and the length of the body.
const LONG_MAIL: Spoiled = Spoiled {
    kind: 0,
    nth: 0,
    at: 48,
    bytes: 56,
    value: -1,
};

/// A letter that announces a message, with the ticket of another message: its body is waited for in vain.
pub const OF_ANOTHER: Spoiled = Spoiled {
    bytes: 64,
    value: 7 << 32 | 1,
    ..LONG_MAIL
};

/// Runs a program in which the last process sends the first a letter that is spoiled.
pub fn spoil(program: &str, sizes: &[(usize, usize)], letter: Spoiled) {
    let numbers = [
        (KIND, letter.kind.to_string()),
        ("CORRUPT_NTH", letter.nth.to_string()),
        ("CORRUPT_AT", letter.at.to_string()),
        ("CORRUPT_BYTES", letter.bytes.to_string()),
        ("CORRUPT_VALUE", letter.value.to_string()),
        // Where letters go past MPI, it has none to spoil.
        ("RANKFOLD_SHARED_MEMORY", "off".into()),
    ];
    spoil_by(program, sizes, &numbers);
}

/// The same of whatever these variables say.
pub fn spoil_by(program: &str, sizes: &[(usize, usize)], variables: &[(&str, String)]) {
    for launcher in launchers() {
        let Some(library) = compiled::library("corrupt", &launcher) else {
            return;
        };
        let sizes = sizes.iter();
        for (processes, ranks) in sizes.filter(|(processes, _)| *processes <= launcher.most) {
            let from = (processes - 1).to_string();
            let mut more = vec![
                ("CORRUPT_FROM", from.as_str()),
                ("CORRUPT_TO", "0"),
                ("RANKFOLD_MPI", library.to_str().unwrap()),
            ];
            more.extend(
                variables
                    .iter()
                    .map(|(name, value)| (*name, value.as_str())),
            );
            let output = launcher.check_with(program, *processes, *ranks, &more);
            assert!(text(&output).contains("is spoiled"), "{variables:?}");
        }
    }
}

/// Letters of which the last word is spoiled, which says that a body is announced and how long it is: a short one, which
/// announces none, and the next one of this length, which does where the processes do not share their CPUs.
pub fn announcements() -> Vec<Spoiled> {
    let announced = |length| i64::MIN | length;
    let both = [1 << 62, announced(0)].into_iter();
    let both = both.flat_map(|word| [(0, word), (1, word)]);
    // What they say arrives never, or is shorter or longer: the former takes a while.
    let long = [(0, announced(1 << 16)), (1, announced(1 << 20))];
    let letter = |(nth, value)| Spoiled {
        nth,
        at: 56,
        value,
        ..OF_ANOTHER
    };
    both.chain(long).map(letter).collect()
}

/// The kind of the spoiled letter, in a process of the launch.
pub const KIND: &str = "CORRUPT_KIND";

/// The number of ranks in the sound processes, those but the last: also the first rank of that.
fn sound(comm: &Comm) -> usize {
    comm.size() / comm.processes() * (comm.processes() - 1)
}

/// The rank that an error names.
fn culprit(error: &Error) -> Option<Rank> {
    match error.kind() {
        ErrorKind::RankGone { rank, .. } | ErrorKind::Broken { rank, .. } => Some(*rank),
        _ => None,
    }
}

/// Receives nothing from a rank, as the process whose `first` rank is to blame has sent what cannot be read.
fn hears_of_what_cannot_be_read(comm: &Comm, from: Rank, first: Rank) {
    let error = comm.recv::<u8>(from, 9).unwrap_err();
    assert_eq!(culprit(&error), Some(first), "{error}");
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

/// The last process sends rank 0 a message with a receiver that the world does not have. All ranks that need that
/// process are told so, and so are its own; those of the others fall into a deadlock, which is found. In the end it sends
/// more than MPI buffers to the process that does not believe it.
pub fn excluded(ranks: usize) {
    let report = world(ranks).run_each(|comm| {
        comm.barrier()?;
        let sound = sound(comm);
        let me = comm.rank();
        if me == sound {
            comm.send(0, 9, &[1u8])?;
        }
        if me == 0 || me >= sound {
            let other = if me == 0 { sound } else { 0 };
            hears_of_what_cannot_be_read(comm, other, sound);
        }
        if me < sound {
            let error = comm.recv::<u8>((me + 1) % sound, 3).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Deadlock(_)), "{error}");
        } else {
            _ = comm.send(0, 10, &vec![0u8; 1 << 24]);
        }
        Ok(sound)
    });
    let sound = *returned(&report);
    assert_eq!(report.culprit, Some(sound), "{report}");
    no_other_world(ranks);
}

/// The last process exits, and its goodbye promises a body that it never sends.
pub fn exits_without_a_body(ranks: usize) {
    world(ranks).run_each(|comm| {
        comm.barrier()?;
        let sound = sound(comm);
        if comm.rank() == sound {
            process::exit(0);
        }
        if comm.rank() == 0 {
            hears_of_what_cannot_be_read(comm, sound, sound);
        }
        Ok(())
    });
}

/// The last process sends rank 0 what is no letter, then more than MPI buffers, and exits before it hears that the other
/// process reads nothing of it any more.
pub fn exits_unread(ranks: usize) {
    let report = world(ranks).run_each(|comm| {
        comm.barrier()?;
        let sound = sound(comm);
        if comm.rank() == sound {
            comm.send(0, 9, &[1u8])?;
            comm.send(0, 10, &vec![0u8; 1 << 24])?;
            process::exit(0);
        }
        if comm.rank() == 0 {
            hears_of_what_cannot_be_read(comm, sound, sound);
        }
        Ok(())
    });
    assert!(
        matches!(report.outcomes[0], Outcome::Returned(())),
        "{report}"
    );
}

/// The first process exits. When the ranks of the last one know that, they fall into a deadlock, of which the report is
/// long: its letter is none, and the first process has come to its exit, with nothing else to send.
pub fn ends_unread(ranks: usize) {
    world(ranks).run_each(|comm| {
        let sound = sound(comm);
        if comm.rank() == 0 {
            process::exit(0);
        }
        if comm.rank() >= sound {
            let error = comm.recv::<u8>(0, 9).unwrap_err();
            assert_eq!(culprit(&error), Some(0), "{error}");
            let right = sound + (comm.rank() - sound + 1) % ranks;
            return comm.recv::<u8>(right, 3).map(drop).or_else(deadlock);
        }
        Ok(())
    });
}

/// The last process announces rank 0 a body, in whose buffer MPI waits for another one; and it waits for an answer.
pub fn waits_for_another_body(ranks: usize) {
    waits_for_a_body(ranks, 1 << 17);
}

/// The same of a body that is too long for memory that processes share.
pub fn waits_for_a_long_body(ranks: usize) {
    waits_for_a_body(ranks, 1 << 22);
}

fn waits_for_a_body(ranks: usize, bytes: usize) {
    let report = world(ranks).run_each(|comm| {
        comm.barrier()?;
        let sound = sound(comm);
        let mut message = vec![1u8; bytes];
        if comm.rank() == sound {
            comm.send(0, 9, &message)?;
            hears_of_what_cannot_be_read(comm, 0, sound);
        }
        if comm.rank() == 0 {
            let error = comm.recv_into(sound, 9, &mut message).unwrap_err();
            assert_eq!(culprit(&error), Some(sound), "{error}");
            assert!(error.to_string().contains("cannot be read"), "{error}");
        }
        Ok(sound)
    });
    assert_eq!(report.culprit, Some(*returned(&report)), "{report}");
}

/// Several worlds, of which any letter may be spoiled: whatever fails is a rank of the last process, or nobody's fault.
pub fn spoiled(ranks: usize) {
    let mut failed = false;
    for _ in 0..3 {
        failed |= match world(ranks).try_run_each(talk) {
            Ok(report) => has_failed(&report),
            Err(WorldError::Usage(why)) => {
                assert!(
                    ["cannot be read", "cannot read"]
                        .iter()
                        .any(|it| why.contains(it)),
                    "{why}"
                );
                true
            }
            Err(error) => panic!("{error}"),
        };
    }
    // What is said of silence or at the exit may be in vain.
    let is_needed = number(KIND).is_some_and(|kind| ![5, 6].contains(&kind));
    assert!(failed || !is_needed, "nothing has failed");
}

/// Whether a rank has failed; checks that only ranks of the last process are blamed.
fn has_failed(report: &Report<()>) -> bool {
    let last = report.outcomes.len() * (processes() - 1);
    let blamed = |error: &Error| {
        assert!(
            !matches!(error.kind(), ErrorKind::TimedOut { .. }),
            "{error}"
        );
        culprit(error)
    };
    let blamed = report.outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Returned(()) => None,
        Outcome::Failed(error) => blamed(error),
        _ => panic!("{report}"),
    });
    let mut blamed = blamed.chain(report.culprit);
    assert!(blamed.all(|rank| rank >= last), "{last}: {report}");
    let mut outcomes = report.outcomes.iter();
    !outcomes.all(|outcome| matches!(outcome, Outcome::Returned(())))
}

/// The number of processes, also where no world can be opened.
fn processes() -> usize {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
        .into_iter()
        .find_map(number)
        .unwrap()
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// Collectives, messages, and a deadlock.
fn talk(comm: &Comm) -> Result<(), Error> {
    let (me, size) = (comm.rank(), comm.size());
    let right = (me + 1) % size;
    comm.barrier()?;
    (0..size).try_for_each(|to| comm.send(to, 1, &[me]))?;
    (0..size).try_for_each(|from| comm.recv::<Rank>(from, 1).map(drop))?;
    (0..size).try_for_each(|to| comm.send(to, 4, &vec![me; 5000]))?;
    (0..size).try_for_each(|from| comm.recv::<Rank>(from, 4).map(drop))?;
    (0..size).try_for_each(|to| comm.send(to, 5, &vec![me; 1 << 14]))?;
    let mut got = vec![me; 1 << 14];
    (0..size).try_for_each(|from| comm.recv_into(from, 5, &mut got).map(drop))?;
    comm.ssend(right, 2, &[me]).or_else(deadlock)?;
    comm.barrier()?;
    comm.all_reduce(&mut vec![me; 5000], op::Sum)?;
    comm.recv::<u8>(right, 3).map(drop).or_else(deadlock)
}

/// All ranks send and none receives, or the other way round.
fn deadlock(error: Error) -> Result<(), Error> {
    match error.kind() {
        ErrorKind::Deadlock(_) => Ok(()),
        _ => Err(error),
    }
}

fn returned<R>(report: &Report<R>) -> &R {
    match &report.outcomes[0] {
        Outcome::Returned(value) => value,
        _ => panic!("{report}"),
    }
}

/// Worlds are refused from now on, in every process.
fn no_other_world(ranks: usize) {
    match world(ranks).run(|comm| comm.barrier()).unwrap_err() {
        WorldError::Usage(why) => assert!(
            why.contains("cannot be read") || why.contains("cannot read"),
            "{why}"
        ),
        error => panic!("{error}"),
    }
}
