//! The transport of a world: what its reports say, what algorithms execute over channels, and the environment variable.
//! That all else holds over channels is a test of each file.

use std::env;
use std::process::Command;

use rankfold::check::{Goal, check};
use rankfold::collective::{Algorithm, Call, Choice, Collective};
use rankfold::machine::Machine;
use rankfold::{Transport, World, WorldError, op};

const VARIABLE: &str = "RANKFOLD_TRANSPORT";

fn over_channels(ranks: usize) -> World {
    World::new(ranks).transport(Transport::Channels)
}

#[test]
fn reports_and_traces_say_what_carried_the_messages() {
    for transport in Transport::all() {
        let world = World::new(3).transport(transport).trace(true);
        let report = world.run_each(|comm| comm.barrier());
        assert_eq!(report.transport, transport);
        let trace = report.trace().unwrap();
        assert_eq!(trace.transport, transport);
        let expected = format!("\"otherData\":{{\"transport\":\"{transport}\"}}");
        assert!(trace.to_perfetto().contains(&expected));
    }
}

/// Those that read other ranks' memory by default, and two that send messages over either transport.
#[test]
fn every_algorithm_sends_the_messages_of_its_schedule_over_channels() {
    let all = [
        Algorithm::Cells,
        Algorithm::Direct,
        Algorithm::Halving,
        Algorithm::Ring,
    ];
    let points = [(2, 1), (5, 3), (8, 20_000)]
        .map(|(ranks, length)| [(ranks, length, 1), (ranks, length, 8)]);
    for (ranks, length, cores) in points.into_iter().flatten() {
        for algorithm in all {
            let call = Call::new(Collective::AllReduce, ranks, length).commuting();
            let call = if ranks > cores { call.crowded() } else { call };
            let machine = Machine::from_text(&format!("core:{cores}")).unwrap();
            let schedule = algorithm.schedule(&call).unwrap();
            let proof = check(&*schedule, &Goal::all_reduce(length)).unwrap();
            let world = over_channels(ranks).check(false).machine(machine);
            let report = world.run_each(|comm| {
                let mut v = vec![comm.rank() as u64; length];
                comm.using(algorithm).all_reduce(&mut v, op::Sum)?;
                assert!(v.iter().all(|&x| x as usize == ranks * (ranks - 1) / 2));
                Ok(())
            });
            let bytes = |out: usize| (8 * out) as u64;
            for (rank, (said, counted)) in report.counts.iter().zip(&proof.traffic).enumerate() {
                let expected = (counted.messages_out as u64, bytes(counted.elements_out));
                let place = format!("{algorithm}, rank {rank} of {ranks}, {length}");
                assert_eq!((said.messages, said.bytes), expected, "{place}");
            }
        }
    }
}

#[test]
fn a_choice_over_channels_names_no_algorithm_that_reads_memory() {
    for collective in Collective::all() {
        for ranks in [1, 2, 3, 8, 64] {
            for length in [0, 1, 100, 1 << 20] {
                let call = Call::new(collective, ranks, length).over(Transport::Channels);
                let choice = Choice::of(&call, 8);
                let by_memory = [Algorithm::Cells, Algorithm::Direct, Algorithm::Gate];
                for named in [Some(choice.algorithm), choice.runner_up] {
                    let what = format!("{collective}, {ranks} ranks, {length}: {named:?}");
                    assert!(named.is_none_or(|one| !by_memory.contains(&one)), "{what}");
                }
            }
        }
    }
}

#[test]
fn worlds_that_choose_no_transport_have_the_one_that_the_environment_names() {
    match env::var(VARIABLE).ok().as_deref() {
        None => {
            for name in ["", "memory", "channels", "chanels"] {
                assert_again_with(name);
            }
        }
        Some("chanels") => {
            let refused = World::new(2).run(|comm| comm.barrier()).unwrap_err();
            let WorldError::Usage(says) = refused else {
                panic!("{refused}")
            };
            let expected =
                "RANKFOLD_TRANSPORT: no transport is called `chanels`; did you mean `channels`?";
            assert!(says.starts_with(expected), "{says}");
            over_channels(2).run(|comm| comm.barrier()).unwrap();
        }
        Some(name) => {
            let named: Transport = match name {
                "" => Transport::default(),
                name => name.parse().unwrap(),
            };
            let carried = |world: World| world.run_each(|comm| comm.barrier()).transport;
            assert_eq!(carried(World::new(2)), named);
            let chosen = World::new(2).transport(Transport::Memory);
            assert_eq!(carried(chosen), Transport::Memory);
        }
    }
}

/// Runs the test above once more, with the variable set.
fn assert_again_with(name: &str) {
    let test = "worlds_that_choose_no_transport_have_the_one_that_the_environment_names";
    let mut run = Command::new(env::current_exe().unwrap());
    let output = run.args(["--exact", test]).env(VARIABLE, name).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{name}: {said}");
    assert!(said.contains("1 passed"), "{name}: {said}");
}
