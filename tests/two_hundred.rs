//! Two hundred small tests of several ranks each, for `.ci/two-hundred`, which measures how long `cargo test` takes for
//! them. Each is a program of its own on 2, 3, 4, 7 or 8 ranks.

use rankfold::testing::{random, ranks};
use rankfold::{Comm, Rank, Request, Result, Source, op};

fn right(comm: &Comm) -> Rank {
    (comm.rank() + 1) % comm.size()
}

fn left(comm: &Comm) -> Rank {
    (comm.rank() + comm.size() - 1) % comm.size()
}

/// Returns the sum of all ranks' numbers.
fn sum(comm: &Comm) -> usize {
    comm.size() * (comm.size() - 1) / 2
}

ranks! {
    fn a_ring_passes_a_token(comm) in [2, 3, 4, 7, 8] {
        once::a_ring_passes_a_token(comm)?;
    }

    fn all_ranks_get_the_sum(comm) in [2, 3, 4, 7, 8] {
        once::all_ranks_get_the_sum(comm)?;
    }

    fn the_root_gets_the_sum(comm) in [2, 3, 4, 7, 8] {
        once::the_root_gets_the_sum(comm)?;
    }

    fn everybody_hears_the_root(comm) in [2, 3, 4, 7, 8] {
        once::everybody_hears_the_root(comm)?;
    }

    fn a_barrier_holds(comm) in [2, 3, 4, 7, 8] {
        once::a_barrier_holds(comm)?;
    }

    fn many_barriers_hold(comm) in [2, 3, 4, 7, 8] {
        once::many_barriers_hold(comm)?;
    }

    fn any_source_hears_all(comm) in [2, 3, 4, 7, 8] {
        once::any_source_hears_all(comm)?;
    }

    fn tags_keep_messages_apart(comm) in [2, 3, 4, 7, 8] {
        once::tags_keep_messages_apart(comm)?;
    }

    fn one_sender_keeps_its_order(comm) in [2, 3, 4, 7, 8] {
        once::one_sender_keeps_its_order(comm)?;
    }

    fn long_messages_arrive(comm) in [2, 3, 4, 7, 8] {
        once::long_messages_arrive(comm)?;
    }

    fn values_move(comm) in [2, 3, 4, 7, 8] {
        once::values_move(comm)?;
    }

    fn a_probe_sees_what_comes(comm) in [2, 3, 4, 7, 8] {
        once::a_probe_sees_what_comes(comm)?;
    }

    fn a_gather_is_in_rank_order(comm) in [2, 3, 4, 7, 8] {
        once::a_gather_is_in_rank_order(comm)?;
    }

    fn an_all_gather_is_in_rank_order(comm) in [2, 3, 4, 7, 8] {
        once::an_all_gather_is_in_rank_order(comm)?;
    }

    fn all_to_all_transposes(comm) in [2, 3, 4, 7, 8] {
        once::all_to_all_transposes(comm)?;
    }

    fn a_scan_counts(comm) in [2, 3, 4, 7, 8] {
        once::a_scan_counts(comm)?;
    }

    fn the_largest_is_found(comm) in [2, 3, 4, 7, 8] {
        once::the_largest_is_found(comm)?;
    }

    fn an_operator_that_does_not_commute_keeps_its_order(comm) in [2, 3, 4, 7, 8] {
        once::an_operator_that_does_not_commute_keeps_its_order(comm)?;
    }

    fn a_split_keeps_both_halves_busy(comm) in [2, 3, 4, 7, 8] {
        once::a_split_keeps_both_halves_busy(comm)?;
    }

    fn a_manager_hands_out_work(comm) in [2, 3, 4, 7, 8] {
        once::a_manager_hands_out_work(comm)?;
    }

    fn a_ring_passes_a_token_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_ring_passes_a_token(comm)?;
        }
    }

    fn all_ranks_get_the_sum_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::all_ranks_get_the_sum(comm)?;
        }
    }

    fn the_root_gets_the_sum_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::the_root_gets_the_sum(comm)?;
        }
    }

    fn everybody_hears_the_root_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::everybody_hears_the_root(comm)?;
        }
    }

    fn a_barrier_holds_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_barrier_holds(comm)?;
        }
    }

    fn many_barriers_hold_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::many_barriers_hold(comm)?;
        }
    }

    fn any_source_hears_all_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::any_source_hears_all(comm)?;
            // Without it a rank that is ahead is received from twice, as this test has found.
            comm.barrier()?;
        }
    }

    fn tags_keep_messages_apart_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::tags_keep_messages_apart(comm)?;
        }
    }

    fn one_sender_keeps_its_order_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::one_sender_keeps_its_order(comm)?;
        }
    }

    fn long_messages_arrive_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::long_messages_arrive(comm)?;
        }
    }

    fn values_move_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::values_move(comm)?;
        }
    }

    fn a_probe_sees_what_comes_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_probe_sees_what_comes(comm)?;
        }
    }

    fn a_gather_is_in_rank_order_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_gather_is_in_rank_order(comm)?;
        }
    }

    fn an_all_gather_is_in_rank_order_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::an_all_gather_is_in_rank_order(comm)?;
        }
    }

    fn all_to_all_transposes_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::all_to_all_transposes(comm)?;
        }
    }

    fn a_scan_counts_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_scan_counts(comm)?;
        }
    }

    fn the_largest_is_found_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::the_largest_is_found(comm)?;
        }
    }

    fn an_operator_that_does_not_commute_keeps_its_order_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::an_operator_that_does_not_commute_keeps_its_order(comm)?;
        }
    }

    fn a_split_keeps_both_halves_busy_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_split_keeps_both_halves_busy(comm)?;
        }
    }

    fn a_manager_hands_out_work_again_and_again(comm) in [2, 3, 4, 7, 8] {
        for _ in 0..3 {
            once::a_manager_hands_out_work(comm)?;
        }
    }

}

/// The programs.
mod once {
    use super::*;

    pub fn a_ring_passes_a_token(comm: &Comm) -> Result<()> {
        let (v, _) = comm.sendrecv(right(comm), 0, &[comm.rank()], left(comm), 0)?;
        assert_eq!(v, [left(comm)]);
        Ok(())
    }

    pub fn all_ranks_get_the_sum(comm: &Comm) -> Result<()> {
        let mut v = [comm.rank()];
        comm.all_reduce(&mut v, op::Sum)?;
        assert_eq!(v, [sum(comm)]);
        Ok(())
    }

    pub fn the_root_gets_the_sum(comm: &Comm) -> Result<()> {
        let mut v = [comm.rank()];
        comm.reduce(0, &mut v, op::Sum)?;
        assert!(comm.rank() > 0 || v == [sum(comm)]);
        Ok(())
    }

    pub fn everybody_hears_the_root(comm: &Comm) -> Result<()> {
        let mut v = [comm.rank(); 10];
        comm.broadcast(comm.size() - 1, &mut v)?;
        assert_eq!(v, [comm.size() - 1; 10]);
        Ok(())
    }

    pub fn a_barrier_holds(comm: &Comm) -> Result<()> {
        comm.barrier()?;
        Ok(())
    }

    pub fn many_barriers_hold(comm: &Comm) -> Result<()> {
        for _ in 0..10 {
            comm.barrier()?;
        }
        Ok(())
    }

    pub fn any_source_hears_all(comm: &Comm) -> Result<()> {
        if comm.rank() > 0 {
            return comm.send(0, 0, &[comm.rank()]);
        }
        let mut total = 0;
        for _ in 1..comm.size() {
            total += comm.recv::<Rank>(Source::Any, 0)?.0[0];
        }
        assert_eq!(total, sum(comm));
        Ok(())
    }

    pub fn tags_keep_messages_apart(comm: &Comm) -> Result<()> {
        let sent = [1, 2].map(|tag| comm.isend(right(comm), tag, vec![tag]));
        assert_eq!(comm.recv::<u32>(left(comm), 2)?.0, [2]);
        assert_eq!(comm.recv::<u32>(left(comm), 1)?.0, [1]);
        for sent in sent {
            sent?.wait()?;
        }
        Ok(())
    }

    pub fn one_sender_keeps_its_order(comm: &Comm) -> Result<()> {
        let sent = (0..5u8).map(|i| comm.isend(right(comm), 0, vec![i]));
        let sent = sent.collect::<Result<Vec<_>>>()?;
        for i in 0..5u8 {
            assert_eq!(comm.recv::<u8>(Source::Any, 0)?.0, [i]);
        }
        Request::wait_all(sent)?;
        Ok(())
    }

    pub fn long_messages_arrive(comm: &Comm) -> Result<()> {
        let long = vec![comm.rank() as u64; 5000];
        let (v, _) = comm.sendrecv(right(comm), 0, &long, left(comm), 0)?;
        assert_eq!(v, vec![left(comm) as u64; 5000]);
        Ok(())
    }

    pub fn values_move(comm: &Comm) -> Result<()> {
        let sent = comm.isend_value(right(comm), 0, format!("from {}", comm.rank()))?;
        let (text, _) = comm.recv_value::<String>(left(comm), 0)?;
        sent.wait()?;
        assert_eq!(text, format!("from {}", left(comm)));
        Ok(())
    }

    pub fn a_probe_sees_what_comes(comm: &Comm) -> Result<()> {
        let sent = comm.isend(right(comm), 3, vec![0u8; 9])?;
        assert_eq!(comm.probe(Source::Any, 3)?.count, 9);
        comm.discard(left(comm), 3)?;
        sent.wait()?;
        Ok(())
    }

    pub fn a_gather_is_in_rank_order(comm: &Comm) -> Result<()> {
        let all = comm.gather(0, &[comm.rank()])?;
        assert!(all.is_none_or(|all| all.into_iter().eq(0..comm.size())));
        Ok(())
    }

    pub fn an_all_gather_is_in_rank_order(comm: &Comm) -> Result<()> {
        let mut all = vec![0; comm.size()];
        comm.all_gather(&[comm.rank()], &mut all)?;
        assert!(all.into_iter().eq(0..comm.size()));
        Ok(())
    }

    pub fn all_to_all_transposes(comm: &Comm) -> Result<()> {
        let mine: Vec<usize> = (0..comm.size()).map(|to| 100 * comm.rank() + to).collect();
        let mut got = vec![0; comm.size()];
        comm.all_to_all(&mine, &mut got)?;
        assert!(
            got.into_iter()
                .eq((0..comm.size()).map(|from| 100 * from + comm.rank()))
        );
        Ok(())
    }

    pub fn a_scan_counts(comm: &Comm) -> Result<()> {
        let mut v = [1u32];
        comm.scan(&mut v, op::Sum)?;
        assert_eq!(v[0] as usize, comm.rank() + 1);
        Ok(())
    }

    pub fn the_largest_is_found(comm: &Comm) -> Result<()> {
        let mut v = [random(comm).below(1000)];
        let mine = v[0];
        comm.all_reduce(&mut v, op::Max)?;
        assert!(v[0] >= mine);
        Ok(())
    }

    pub fn an_operator_that_does_not_commute_keeps_its_order(comm: &Comm) -> Result<()> {
        let digits = comm
            .values()
            .reduce(0, comm.rank().to_string(), |a, b| a + &b)?;
        let want: String = (0..comm.size()).map(|rank| rank.to_string()).collect();
        assert!(digits.is_none_or(|digits| digits == want));
        Ok(())
    }

    pub fn a_split_keeps_both_halves_busy(comm: &Comm) -> Result<()> {
        let half = comm.split(comm.rank() as u32 % 2, 0)?;
        let mut v = [1usize];
        half.all_reduce(&mut v, op::Sum)?;
        assert_eq!(v[0], half.size());
        Ok(())
    }

    pub fn a_manager_hands_out_work(comm: &Comm) -> Result<()> {
        if comm.rank() > 0 {
            while let [work] = comm.recv::<u64>(0, 0)?.0[..] {
                comm.send(0, 1, &[work * work])?;
            }
            return Ok(());
        }
        let (mut next, mut total, workers) = (0, 0, comm.size() as u64 - 1);
        for worker in 1..comm.size() {
            comm.send(worker, 0, &[next])?;
            next += 1;
        }
        for _ in 0..20 + workers {
            let (square, status) = comm.recv::<u64>(Source::Any, 1)?;
            total += square[0];
            let more: &[u64] = if next < 20 + workers { &[next] } else { &[] };
            comm.send(status.source, 0, more)?;
            next += 1;
        }
        assert_eq!(total, (0..20 + workers).map(|i| i * i).sum::<u64>());
        Ok(())
    }
}
