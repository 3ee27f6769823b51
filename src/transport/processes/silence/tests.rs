//! Silence is proved if and only if no rank can move, whatever the order in which processes hear of each other.

use super::*;

/// Processes that hear at once what is said.
struct All {
    each: Vec<Silence>,
    live: Vec<bool>,
}

impl All {
    fn of(processes: usize) -> All {
        All {
            each: (0..processes)
                .map(|me| Silence::new(me, processes))
                .collect(),
            live: vec![true; processes],
        }
    }

    fn say(&mut self, from: usize, to: To, say: &Say) {
        let hears = |me: usize| to == To::All || to == To::One(me);
        let live = self.live.clone();
        let hear = self.each.iter_mut().enumerate();
        hear.filter(|(me, _)| hears(*me) && live[*me])
            .for_each(|(_, one)| one.hear(from, say.clone()));
    }

    /// Each process rests with its count when it is its turn.
    fn rest(&mut self, counts: &[(u64, u64)]) {
        self.rest_in(counts, 0);
    }

    fn rest_in(&mut self, counts: &[(u64, u64)], waits: u64) {
        for (me, &(sent, received)) in counts.iter().enumerate() {
            let count = Count {
                sent,
                received,
                left: self.live.iter().filter(|live| !**live).count() as u64,
            };
            if self.live[me] {
                let rest = Rest { count, waits };
                let says = self.each[me].rest(rest, &self.live);
                says.iter().for_each(|(to, say)| self.say(me, *to, say));
            }
        }
    }

    fn are_stuck(&self) -> bool {
        let mut live = self.each.iter().zip(&self.live).filter(|(_, live)| **live);
        live.all(|(one, _)| one.proved)
    }

    /// Each tells a local state, and gets those of all.
    fn conclude(
        &mut self,
        nothing: bool,
        local_state: impl Fn(usize) -> Option<LocalState>,
    ) -> Vec<bool> {
        for me in 0..self.each.len() {
            let say = self.each[me].turn(local_state(me)).unwrap();
            assert!(self.each[me].turn(local_state(me)).is_none(), "twice");
            self.say(me, To::All, &say);
        }
        let live = self.live.clone();
        let local_states = self.each.iter().map(|one| one.local_states(&live));
        let judged: Vec<bool> = local_states
            .map(|local_states| local_states.unwrap().is_some())
            .collect();
        self.each.iter_mut().for_each(Silence::begins_to_tell);
        for one in &mut self.each {
            one.next_round(nothing);
            one.concluding = false;
        }
        judged
    }
}

fn is_silent(rounds: &[[(u64, u64); 2]]) -> bool {
    let mut all = All::of(2);
    rounds.iter().for_each(|counts| all.rest(counts));
    all.are_stuck()
}

#[test]
fn processes_at_rest_are_silent_if_nothing_happens_between_two_looks() {
    assert!(is_silent(&[[(3, 2), (2, 3)]; 5]));
    assert!(is_silent(&[[(0, 0), (0, 0)]; 5]));
}

#[test]
fn a_message_on_its_way_is_no_silence() {
    assert!(!is_silent(&[[(u64::MAX, 2), (u64::MAX, 2)]; 5]));
    assert!(!is_silent(&[[(3, 2), (2, 2)]; 9]));
    let moving: Vec<_> = (0..9).map(|i| [(i, i), (i, i)]).collect();
    assert!(!is_silent(&moving));
    // As many received as sent when both told, by chance: one has moved in between.
    assert!(!is_silent(&[
        [(1, 0), (0, 1)],
        [(2, 1), (0, 1)],
        [(2, 1), (0, 1)]
    ]));
}

#[test]
fn silence_after_a_movement_is_found() {
    let mut rounds = vec![[(1, 0), (0, 1)], [(1, 0), (0, 1)], [(2, 1), (0, 1)]];
    rounds.extend([[(2, 1), (1, 2)]; 6]);
    assert!(is_silent(&rounds));
}

#[test]
fn silence_is_proved_anew_after_each_judgement() {
    let mut all = All::of(3);
    for moved in [false, true, false] {
        assert!(!all.are_stuck());
        (0..5).for_each(|_| all.rest(&[(1, 1); 3]));
        assert!(all.are_stuck());
        let local_state = |me| (me != 1 || !moved).then(LocalState::default);
        assert_eq!(all.conclude(false, local_state), [!moved; 3]);
    }
}

#[test]
fn a_process_that_has_moved_since_its_answer_knows_the_count_of_that() {
    let mut all = All::of(2);
    let counts = [(1, 1); 2];
    let rest = |sent| Rest {
        count: Count {
            sent,
            received: 1,
            left: 0,
        },
        waits: 0,
    };
    // In the second look the first process asks, and the other one answers.
    (0..2).for_each(|_| all.rest(&counts));
    // Then a rank of that one sends a message, and it rests again; the first process does not hear of it in time.
    assert!(!all.each[1].rest(rest(2), &[true; 2]).is_empty());
    for _ in 0..2 {
        let says = all.each[0].rest(rest(1), &[true; 2]);
        says.iter().for_each(|(to, say)| all.say(0, *to, say));
    }
    assert!(all.are_stuck());
    assert_eq!(all.each[1].wants_local_state(), Some(Some(rest(1).count)));
}

#[test]
fn a_question_of_the_next_round_waits_for_that_round() {
    let mut late = Silence::new(1, 2);
    let ask = Say::Ask {
        round: 1,
        question: 7,
    };
    late.hear(0, ask);
    let live = [true; 2];
    let answers = |says: Vec<(To, Say)>| {
        let is_answer = |(_, say): &(To, Say)| matches!(say, Say::Rest { question: 7, .. });
        says.iter().filter(|say| is_answer(say)).count()
    };
    assert_eq!(answers(late.rest(Rest::default(), &live)), 0);
    late.next_round(true);
    assert_eq!(answers(late.rest(Rest::default(), &live)), 1);
    assert_eq!(late.answered, Some(Count::default()));
}

#[test]
fn a_round_that_found_nothing_is_followed_by_one_when_a_rank_has_moved() {
    let mut all = All::of(3);
    (0..5).for_each(|_| all.rest(&[(1, 1); 3]));
    all.conclude(true, |_| Some(LocalState::default()));
    (0..5).for_each(|_| all.rest(&[(1, 1); 3]));
    assert!(!all.are_stuck());
    (0..5).for_each(|_| all.rest_in(&[(1, 1); 3], 7));
    assert!(all.are_stuck());
}

#[test]
fn processes_that_have_left_are_not_waited_for() {
    for gone in 0..3 {
        let mut all = All::of(3);
        all.rest(&[(1, 1); 3]);
        all.live[gone] = false;
        (0..5).for_each(|_| all.rest(&[(1, 1); 3]));
        assert!(all.are_stuck(), "process {gone}");
    }
}
