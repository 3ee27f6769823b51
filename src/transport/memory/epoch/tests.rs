//! Arrivals and ends in epochs, by one thread.

use super::*;

fn brought(length: usize) -> Brought {
    Brought {
        print: 7,
        job: 1,
        info: Info::of::<u64>(),
        input: (std::ptr::without_provenance(8), length),
        output: (std::ptr::without_provenance_mut(8), length),
        whole: false,
        outs: Outs::Apart,
    }
}

/// Whatever an operator may call: the words that others have compared do not change.
#[test]
fn a_rank_cannot_come_again_before_it_has_taken_back_what_it_brought() {
    let epoch = Epoch::new(2);
    for call in 1..4 {
        let ticket = epoch.arrive(0, &brought(1)).unwrap();
        assert_eq!(epoch.arrive(0, &brought(2)), Err(Turned::Inside));
        assert_eq!(epoch.arrive(1, &brought(1)), Ok(ticket), "call {call}");
        let outs = Outs::Apart;
        assert_eq!(epoch.go(ticket), Decision::Go(outs));
        assert_eq!(epoch.arrive(0, &brought(2)), Err(Turned::Inside));
        epoch.report_out(0, ticket, outs, true);
        assert!(
            !epoch.take_back(0, ticket, outs, 0),
            "the other is not through"
        );
        assert_eq!(epoch.arrive(0, &brought(2)), Err(Turned::Inside));
        assert_eq!(epoch.input(0).1, 1);
        epoch.report_out(1, ticket, outs, true);
        assert!(epoch.take_back(0, ticket, outs, 0) && epoch.take_back(1, ticket, outs, 0));
    }
}

/// So that what is found there is never the *out* value of 2³¹ calls ago.
#[test]
fn the_place_where_two_do_not_report_out_is_written_now_and_then() {
    for outs in [Outs::Apart, Outs::WithArrivals] {
        let epoch = Epoch::new(2);
        for call in 1..=3 * SELDOM {
            let tickets = [0, 1].map(|me| {
                let brought = brought(1);
                epoch.arrive(me, &Brought { outs, ..brought }).unwrap()
            });
            assert_eq!(tickets, [call; 2]);
            (0..2).for_each(|me| epoch.report_out(me, call, outs, true));
            assert!((0..2).all(|me| epoch.take_back(me, call, outs, 0)));
            let last = out_of(call - call % SELDOM);
            for rank in 0..2 {
                let other = epoch.out(rank, outs.other());
                assert_eq!(other.load(Ordering::Relaxed), last, "call {call}");
            }
        }
    }
}

#[test]
fn what_was_brought_to_an_aborted_call_is_taken_back_at_once() {
    let (epoch, outs) = (Epoch::new(2), Outs::WithArrivals);
    let ticket = epoch.arrive(0, &brought(1)).unwrap();
    assert!(
        !epoch.take_back(0, ticket, outs, 0),
        "the other may still come"
    );
    assert_eq!(epoch.leave_early(ticket), Decision::Aborted);
    assert!(epoch.take_back(0, ticket, outs, 0));
    assert_eq!(epoch.arrive(0, &brought(1)), Err(Turned::Aborted));
}
