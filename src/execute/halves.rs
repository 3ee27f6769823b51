//! Two ranks that fold halves of a vector for each other: what one has sent in a step comes back in the next one, folded,
//! to where it lay. So the receiver may store its result there, and neither copies anything. The last step of recursive
//! halving and the first one of doubling are such steps, and those in the middle of a ring.

use crate::schedule::{Combine, Step, Transfer};

/// Whether what a rank sends in a step comes back in the next one, and nothing else touches it meanwhile.
pub(super) fn comes_back(step: &Step, next: &Step) -> bool {
    let (Some(send), Some(recv)) = (step.send, step.recv) else {
        return false;
    };
    next.recv == Some(send)
        && next.combine == Combine::Replace
        && goes_back(recv, step.combine, next)
        && !recv.region.overlaps(&send.region)
}

/// Whether what a rank folds goes back to its sender in the next step, and is its result.
pub(super) fn goes_back(recv: Transfer, combine: Combine, next: &Step) -> bool {
    next.send == Some(recv)
        && combine != Combine::Replace
        && recv.region.count == 1
        && next.local.is_none()
        && next.clash.is_none()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::collective::{Algorithm, Call, Collective};

    /// The steps of each rank after which what it sent comes back.
    fn found(algorithm: Algorithm, ranks: usize, n: usize) -> Vec<Vec<usize>> {
        let call = Call::new(Collective::AllReduce, ranks, n).commuting();
        let schedule = algorithm.schedule(&call).unwrap();
        let step = |rank, at| schedule.step(rank, at);
        let steps = |rank| {
            let of_rank = move |&at: &usize| comes_back(&step(rank, at), &step(rank, at + 1));
            (0..schedule.steps()).filter(of_rank).collect()
        };
        (0..ranks).map(steps).collect()
    }

    #[test]
    fn the_last_halves_come_back() {
        assert_eq!(found(Algorithm::Halving, 2, 10), vec![vec![0]; 2]);
        assert_eq!(found(Algorithm::Halving, 8, 64), vec![vec![2]; 8]);
        assert_eq!(found(Algorithm::Ring, 3, 12), vec![vec![1]; 3]);
        assert_eq!(
            found(Algorithm::Exchange, 4, 12),
            vec![Vec::<usize>::new(); 4]
        );
    }

    #[test]
    fn who_gets_a_half_that_comes_back_sends_it_back() {
        let call = Call::new(Collective::AllReduce, 4, 40).commuting();
        let schedule = Algorithm::Halving.schedule(&call).unwrap();
        for rank in 0..4 {
            let (step, next) = (schedule.step(rank, 1), schedule.step(rank, 2));
            let recv = step.recv.unwrap();
            assert!(goes_back(recv, step.combine, &next));
            assert!(!goes_back(recv, Combine::Replace, &next));
            assert!(!goes_back(recv, step.combine, &schedule.step(rank, 3)));
        }
    }
}
