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
use crate::transport::memory::head::Head;
use crate::transport::{Fabric, Settings};

const THERE: usize = 1;

fn session() -> &'static Session {
    Box::leak(Box::new(Session::new(Processes::without_mpi((0, 2), []))))
}

fn world_of(session: &'static Session) -> Far {
    let hello = Hello {
        ranks: 2,
        ..Hello::default()
    };
    Far::new(session, 1, &[hello.clone(), hello])
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
    assert!(far.session.has_left(THERE));
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
        assert!(far.session.has_left(THERE), "{case}");
    }
}
