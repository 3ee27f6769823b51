//! Reports are read as they were written, and nothing else is read.

use std::panic::Location;

use super::*;
use crate::transport::processes::judgement::Case;

/// The number of ranks of the world.
const RANKS: usize = 7;

fn row(needs: Needs) -> SleepingRank {
    SleepingRank {
        rank: 4,
        call: "recv".into(),
        site: Location::caller().into(),
        comm: Some("dup".into()),
        needs,
        needs_buffer: true,
        contexts: vec![2, 9],
        may_move: true,
        awaiting: vec![((8, 9), vec![2])],
        since: None,
    }
}

fn calls(members: Members) -> Calls {
    let record = CallRecord {
        print: u32::MAX,
        call: "barrier".into(),
        unlike: " in another way".into(),
        tolerant: true,
        site: Location::caller().into(),
    };
    Calls {
        group: CommRecord {
            context: 6,
            members,
            name: None,
        },
        broken: true,
        records: vec![(3, 4, record)],
    }
}

fn local_state() -> LocalState {
    let call = (1, 2, 3);
    let some = Members::of(vec![4, 2]);
    let arms = vec![Needs::One(3), Needs::Started((1, 2))];
    let all_needs = [
        Needs::Any(some.clone()),
        Needs::All(vec![1, 5]),
        Needs::Gate(call, Members::All(7)),
        Needs::Shrink(call, some.clone()),
        Needs::Every(arms.clone()),
        Needs::Either(arms),
    ];
    LocalState {
        ended: vec![5],
        rows: all_needs.into_iter().map(row).collect(),
        calls: vec![calls(some)],
        numbers: vec![(5, numbers())],
    }
}

fn numbers() -> LastNumbers {
    LastNumbers {
        last: vec![(6, u32::MAX), (9, 0)],
        complete_from: 1 << 32,
    }
}

/// One of each kind.
fn says() -> Vec<Say> {
    let count = Count {
        sent: 1,
        received: 2,
        left: 3,
    };
    let mismatch = Mismatch {
        calls: Vec::new(),
        odd: vec![3],
        comm: None,
    };
    let (round, question) = (1, 7);
    let [some, none] =
        [Some(local_state()), None].map(|local_state| Say::LocalState { round, local_state });
    let local_state = local_state();
    vec![
        Say::Rest {
            round,
            question,
            count,
        },
        Say::Ask { round, question },
        Say::Stuck { round },
        some,
        none,
        Say::Look(question),
        Say::Seen {
            question,
            local_state,
        },
        Say::Told { round },
        Say::Found(None),
        Say::Found(Some(Arc::new(mismatch))),
    ]
}

#[test]
fn what_processes_say_is_read() {
    for say in says() {
        let Writer(bytes) = Writer::default().say(&say);
        let read = Reader::of(&bytes, RANKS).say().unwrap();
        assert_eq!(format!("{read:?}"), format!("{say:?}"));
        for cut in 0..bytes.len() {
            let cut_off = Reader::of(&bytes[..cut], RANKS).say();
            assert!(cut_off.is_none(), "cut at {cut}");
        }
    }
}

/// What a corrupt process may send: each number of each note replaced by each of some others.
fn corrupt() -> impl Iterator<Item = Vec<u8>> {
    let notes = says().into_iter().map(|say| Writer::default().say(&say).0);
    let numbers = [0, 1, 2, 5, 7, RANKS as u64, 1 << 32, 1 << 62, u64::MAX];
    let replaced = move |note: Vec<u8>| {
        let places = 0..note.len() - 7;
        places.flat_map(move |place| {
            let note = note.clone();
            numbers.map(move |number| {
                let mut note = note.clone();
                note[place..place + 8].copy_from_slice(&number.to_le_bytes());
                note
            })
        })
    };
    notes.flat_map(replaced)
}

#[test]
fn what_a_corrupt_process_says_is_refused_or_can_be_judged() {
    let (mut refused, mut judged) = (0, 0);
    for note in corrupt() {
        match Reader::of(&note, RANKS).say() {
            Some(Say::LocalState {
                local_state: Some(local_state),
                ..
            }) => {
                _ = Case::new(RANKS, &[local_state]).judge();
                judged += 1;
            }
            Some(_) => {}
            None => refused += 1,
        }
    }
    assert!(refused > 1000 && judged > 1000, "{refused}, {judged}");
}

#[test]
fn a_rank_that_the_world_does_not_have_is_refused() {
    for say in says() {
        let Writer(bytes) = Writer::default().say(&say);
        let printed = format!("{say:?}");
        let has_ranks = ["rank", "odd"].iter().any(|word| printed.contains(word));
        let mut fewer = (0..RANKS).map(|ranks| Reader::of(&bytes, ranks).say());
        assert_eq!(fewer.any(|read| read.is_none()), has_ranks, "{say:?}");
    }
}

#[test]
fn needs_that_are_nested_without_end_are_refused() {
    let nested = |depth: usize| {
        let mut writer = Writer::default();
        (0..depth).for_each(|_| _ = writer.number(5).number(1));
        writer.number(0).number(0);
        Reader::of(&writer.0, RANKS).needs(0).is_some()
    };
    assert!(nested(0) && nested(DEPTH));
    assert!(!nested(DEPTH + 1) && !nested(1 << 20));
}

#[test]
fn members_that_are_named_twice_or_too_many_are_refused() {
    let read = |write: fn(&mut Writer)| {
        let mut writer = Writer::default();
        write(&mut writer);
        Reader::of(&writer.0, RANKS).members()
    };
    assert!(read(|it| _ = it.number(1).ranks(&[3, 1])).is_some());
    assert!(read(|it| _ = it.number(1).ranks(&[3, 1, 3])).is_none());
    assert!(read(|it| _ = it.number(0).number(RANKS)).is_some());
    assert!(read(|it| _ = it.number(0).number(1 << 40)).is_none());
}

#[test]
fn records_are_of_members_and_one_for_each_call() {
    let read = |calls: &Calls| {
        let mut writer = Writer::default();
        writer.calls(calls);
        Reader::of(&writer.0, RANKS).calls()
    };
    let once = calls(Members::of(vec![4, 2]));
    let mut twice = once.clone();
    twice.records.extend(once.records.clone());
    assert_eq!(read(&twice).unwrap().records.len(), 1);
    assert!(read(&calls(Members::of(vec![3, 2]))).is_none());
}
