//! What a world does with what arrives, without MPI: two processes of two ranks each, of which this is the first.

use std::sync::Arc;

use super::far::Far;
use super::local_state::LocalState;
use super::notes::{End, Hello, Writer};
use super::session::Session;
use super::silence::Say;
use super::wire::{Envelope, Kind};
use crate::Rank;
use crate::error::Gone;
use crate::mpi::Processes;
use crate::transport::communicator::call::Call;
use crate::transport::communicator::call_log::LastNumbers;
use crate::transport::memory::head::Head;
use crate::transport::{Fabric, Settings};

const THERE: usize = 1;

fn session() -> &'static Session {
    Box::leak(Box::new(Session::new(Processes::without_mpi((0, 2), []))))
}

fn world_of(session: &'static Session) -> Far {
    Far::new(session, 1, &[hello(), hello()])
}

fn world() -> (Arc<Far>, Arc<Fabric>) {
    let far = Arc::new(world_of(session()));
    (far.clone(), Fabric::spread(far, Settings::default()))
}

fn letter(kind: Kind, note: &Writer) -> Vec<u8> {
    let mut letter = Envelope::of_note(kind, 1).bytes().to_vec();
    letter.extend(&note.0);
    letter
}

fn say(say: &Say) -> Vec<u8> {
    letter(Kind::Silence, &Writer::default().say(say))
}

fn panicked(rank: Rank) -> Vec<u8> {
    let end = End {
        rank,
        why: Gone::Panicked("boom".into()),
        site: None,
        follows: None,
        deadlocks: Vec::new(),
        left: false,
    };
    letter(Kind::End, &Writer::default().end(&end))
}

fn end_of(fabric: &Fabric, rank: Rank) -> Option<String> {
    let registry = fabric.open_registry();
    registry.end(rank).map(|end| end.why.to_string())
}

/// The other process tells its ranks of a silence, one of them panics, and the process exits.
#[test]
fn the_exit_of_a_process_comes_after_what_it_has_sent_before() {
    let (far, fabric) = world();
    let local_state = Some(LocalState::default());
    let (round, exit) = (0, letter(Kind::Bye, &Writer::default()));
    let arrived = [
        say(&Say::LocalState { round, local_state }),
        say(&Say::Told { round }),
        panicked(2),
        exit,
    ];
    for letter in &arrived {
        far.arrived(Some(&fabric), THERE, letter, None);
    }
    assert!(far.session.membership.has_left(THERE));
    assert_eq!(
        [2, 3].map(|rank| end_of(&fabric, rank)),
        [None, None],
        "held"
    );
    far.take_held(Some(&fabric), true);
    let ends = [2, 3].map(|rank| end_of(&fabric, rank).unwrap());
    assert!(ends[0].contains("boom"), "{ends:?}");
    assert!(ends[1].contains("has exited"), "{ends:?}");
}

#[test]
fn a_world_that_cannot_start_takes_in_what_came_early() {
    let session = session();
    let ended = [2, 3].map(panicked);
    let last = say(&Say::Seen {
        question: u32::MAX,
        local_state: LocalState::default(),
    });
    let early = ended.iter().chain([&last]);
    early.for_each(|letter| session.keep(THERE, letter, None));
    // It waits for the ends of all ranks.
    drop(world_of(session));
    assert!(session.take_early().is_empty());
}

fn hello() -> Hello {
    Hello {
        ranks: 2,
        ..Hello::default()
    }
}

#[test]
fn a_process_whose_mpi_fails_waits_for_no_other_one() {
    let session = session();
    session.processes.fail("the network is down");
    assert_eq!(session.open(&hello()).unwrap_err(), "the network is down");
    let again = session.open(&hello()).unwrap_err();
    assert!(again.contains("process 1 has exited"), "{again}");
    session.say_bye();
}

#[test]
fn a_greeting_that_cannot_be_read_is_none() {
    let greeting = letter(Kind::Hello, &Writer::default());
    let processes = Processes::without_mpi((0, 2), [(THERE, greeting)]);
    let why = Session::new(processes).open(&hello()).unwrap_err();
    assert!(why.contains("cannot be read"), "{why}");
}

#[test]
fn the_others_are_told_whom_a_greeting_excludes_that_came_early() {
    let session = session();
    let greeting = letter(Kind::Hello, &Writer::default());
    session.keep(THERE, &greeting, None);
    let why = session.open(&hello()).unwrap_err();
    assert!(why.contains("cannot be read"), "{why}");
    assert!(session.membership.is_excluded(THERE));
    assert!(session.membership.take_news().is_empty());
}

#[test]
fn a_process_that_exits_excludes_who_sends_what_is_no_letter() {
    let session = session();
    session.hear_at_exit(THERE, &letter(Kind::End, &Writer::default()), None);
    assert!(!session.membership.is_dropped(THERE));
    session.hear_at_exit(THERE, &[], None);
    assert!(session.membership.is_excluded(THERE));
    let session = self::session();
    let mut me = Writer::default();
    me.number(0);
    session.hear_at_exit(THERE, &letter(Kind::Excluded, &me), None);
    assert!(session.membership.is_excluded(0));
}

#[test]
fn a_process_may_say_after_its_greeting_that_it_does_not_take_part() {
    let (far, fabric) = world();
    let hello = Hello {
        refused: Some("no network".into()),
        ..hello()
    };
    let letter = letter(Kind::Hello, &Writer::default().hello(&hello));
    far.arrived(Some(&fabric), THERE, &letter, None);
    for rank in [2, 3] {
        let end = end_of(&fabric, rank).unwrap();
        assert!(end.contains("could not start: no network"), "{end}");
    }
    assert!(far.session.membership.has_left(THERE));
}

#[test]
fn a_world_is_opened_once_the_one_before_has_ended() {
    let session = session();
    let open = || {
        session.processes.fail("nobody is there");
        session.open(&hello()).unwrap_err()
    };
    assert_eq!(open(), "nobody is there");
    session.ends();
    std::thread::scope(|scope| {
        let next = scope.spawn(open);
        session.close();
        assert!(!next.join().unwrap().contains("another world"));
    });
}

/// Letters that no process of a world would send.
fn corrupt() -> Vec<Vec<u8>> {
    let short = LocalState {
        ended: vec![0],
        ..LocalState::default()
    };
    let mail = |to: Rank, from: Rank| {
        let head = Head::new(0, from, 0, 0);
        let envelope = Envelope {
            to,
            head,
            ..Envelope::of_note(Kind::Mail, 1)
        };
        envelope.bytes().to_vec()
    };
    vec![
        vec![0; 7],
        letter(Kind::End, &Writer::default()),
        letter(Kind::Broken, &Writer::default()),
        letter(Kind::Silence, &Writer::default()),
        panicked(0),
        panicked(4),
        say(&Say::LocalState {
            round: 0,
            local_state: Some(short),
        }),
        mail(2, 2),
        mail(4, 2),
        mail(0, 1),
        mail(0, 4),
        Envelope::of_note(Kind::Mail, 0).bytes().to_vec(),
        Envelope::of_note(Kind::Mail, 2).bytes().to_vec(),
    ]
}

#[test]
fn a_process_that_sends_what_cannot_be_read_has_failed() {
    for (case, letter) in corrupt().iter().enumerate() {
        let (far, fabric) = world();
        far.arrived(Some(&fabric), THERE, letter, None);
        for rank in [2, 3] {
            let end = end_of(&fabric, rank);
            assert!(
                end.is_some_and(|end| end.contains("cannot be read")),
                "{case}"
            );
        }
        assert_eq!(
            [0, 1].map(|rank| end_of(&fabric, rank)),
            [None, None],
            "{case}"
        );
        assert!(far.session.membership.has_left(THERE), "{case}");
    }
}

/// Three processes of two ranks each.
fn world_of_three() -> (Arc<Far>, Arc<Fabric>) {
    let processes = Processes::without_mpi((0, 3), []);
    let session: &'static Session = Box::leak(Box::new(Session::new(processes)));
    let far = Arc::new(Far::new(session, 1, &[hello(), hello(), hello()]));
    (far.clone(), Fabric::spread(far, Settings::default()))
}

fn excluded(process: usize) -> Vec<u8> {
    let mut note = Writer::default();
    note.number(process);
    letter(Kind::Excluded, &note)
}

/// The rank that is to blame for the end of each.
fn culprits<const N: usize>(fabric: &Fabric, ranks: [Rank; N]) -> [Option<Rank>; N] {
    let registry = fabric.open_registry();
    ranks.map(|rank| registry.end(rank).and_then(|end| end.cause(rank).culprit()))
}

#[test]
fn a_process_that_another_one_has_excluded_has_failed() {
    let (far, fabric) = world_of_three();
    far.arrived(Some(&fabric), 1, &excluded(2), None);
    assert_eq!(far.live(), [true, true, false]);
    let all = [0, 1, 2, 3, 4, 5];
    assert_eq!(
        culprits(&fabric, all),
        [None, None, None, None, Some(4), Some(4)]
    );
    // Nothing else is taken of it, also what it says of others.
    for letter in [excluded(1), panicked(2), vec![0; 7]] {
        far.arrived(Some(&fabric), 2, &letter, None);
    }
    assert_eq!(far.live(), [true, true, false]);
    far.arrived(Some(&fabric), 1, &panicked(2), None);
    assert_eq!(culprits(&fabric, [2, 3]), [Some(2), None]);
    exits(&far, &fabric, 1);
}

/// So many that a look at all of them for each would take minutes.
#[test]
fn all_ranks_of_a_process_fail_together() {
    let many = 1 << 16;
    let there = Hello {
        ranks: many,
        ..hello()
    };
    for (letter, why) in [
        (vec![0; 7], "cannot be read"),
        (letter(Kind::Bye, &Writer::default()), "has exited"),
    ] {
        let far = Arc::new(Far::new(session(), 1, &[hello(), there.clone()]));
        let fabric = Fabric::spread(far.clone(), Settings::default());
        far.arrived(Some(&fabric), THERE, &letter, None);
        for rank in [2, 3, many, many + 1] {
            let end = end_of(&fabric, rank).unwrap();
            assert!(end.contains(why), "{rank}: {end}");
        }
        assert!((2..many + 2).all(|rank| far.is_ended(rank)));
        let registry = fabric.open_registry();
        assert!((2..many + 2).all(|rank| registry.end(rank).is_some()));
    }
}

/// The process is not waited for when the world is over.
fn exits(far: &Far, fabric: &Fabric, process: usize) {
    let bye = letter(Kind::Bye, &Writer::default());
    far.arrived(Some(fabric), process, &bye, None);
}

#[test]
fn a_process_that_is_excluded_blames_no_rank_of_others() {
    let (far, fabric) = world_of_three();
    far.arrived(Some(&fabric), 2, &excluded(0), None);
    assert_eq!(far.live(), [true, false, false]);
    let all = [0, 1, 2, 3, 4, 5];
    let mine = Some(0);
    assert_eq!(culprits(&fabric, all), [None, None, mine, mine, mine, mine]);
    let why = far.session.open(&hello()).unwrap_err();
    assert!(why.contains("this process has sent"), "{why}");
}

#[test]
fn a_process_cannot_exclude_one_that_is_not_there() {
    let (far, fabric) = world_of_three();
    far.arrived(Some(&fabric), 1, &excluded(3), None);
    assert_eq!(far.live(), [true, false, true]);
    exits(&far, &fabric, 2);
}

/// A letter with a wrong number of its world is missing in this one.
#[test]
fn a_process_is_in_a_later_world_once_it_has_told_all_of_this_one() {
    let later = Envelope::of_note(Kind::Hello, 2).bytes();
    let last = say(&Say::Seen {
        question: u32::MAX,
        local_state: LocalState::default(),
    });
    let told = [panicked(2), panicked(3), last, say(&Say::Found(None))];
    for missing in 0..=told.len() {
        let (far, fabric) = world();
        for (place, letter) in told.iter().enumerate() {
            if place != missing {
                far.arrived(Some(&fabric), THERE, letter, None);
            }
        }
        far.arrived(Some(&fabric), THERE, &later, None);
        let is_whole = missing == told.len();
        assert_eq!(far.live(), [true, is_whole], "{missing}");
        assert_eq!(far.session.take_early().len(), usize::from(is_whole));
    }
}

#[test]
fn a_process_greets_before_all_else() {
    for (world, is_left_over) in [(0, true), (1, false), (2, false)] {
        let early = Envelope::of_note(Kind::End, world).bytes().to_vec();
        let greeting = letter(Kind::Hello, &Writer::default().hello(&hello()));
        let processes = Processes::without_mpi((0, 2), [(THERE, early), (THERE, greeting)]);
        let opened = Session::new(processes).open(&hello());
        assert_eq!(opened.is_ok(), is_left_over, "world {world}: {opened:?}");
    }
}

/// Rank 0 has made call 7. All others have returned; what the other process tells of the calls of its ranks is `told`.
fn odd_by_numbers(told: &LastNumbers) -> Option<Vec<Rank>> {
    let (far, fabric) = world();
    let log = &fabric.endpoints[0].log;
    log.write(log.enter(&Call::of_length(1)), 0, 7);
    let ended = vec![2, 3];
    let seen = Say::Seen {
        question: 1,
        local_state: LocalState {
            numbers: ended.iter().map(|rank| (*rank, told.clone())).collect(),
            ended,
            ..LocalState::default()
        },
    };
    far.arrived(Some(&fabric), THERE, &say(&seen), None);
    (1..4).for_each(|rank| fabric.record_end(rank, Gone::Returned, None, None));
    let compared = fabric.call_too_many(&fabric.all, 7);
    exits(&far, &fabric, THERE);
    compared.map(|compared| compared.mismatch.odd)
}

#[test]
fn a_far_rank_has_left_out_a_call_only_if_all_its_calls_are_known() {
    let told = |last, complete_from| LastNumbers {
        last,
        complete_from,
    };
    assert_eq!(odd_by_numbers(&told(vec![(8, 9)], 0)), Some(vec![0]));
    assert_eq!(odd_by_numbers(&told(vec![(0, 6)], 9)), Some(vec![0]));
    assert_eq!(odd_by_numbers(&told(vec![(0, 7)], 0)), None, "made");
    assert_eq!(odd_by_numbers(&told(vec![(0, 9)], 0)), None, "long ago");
    assert_eq!(odd_by_numbers(&told(vec![], 1)), None, "perhaps forgotten");
}
