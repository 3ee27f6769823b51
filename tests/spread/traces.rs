//! The traces of worlds over processes: each process writes that of its own ranks.

use std::env;
use std::fs;
use std::path::Path;

use rankfold::{Comm, Result, op};
use serde_json::Value;

use super::programs::world;

/// Where the traces are written.
pub const FOLDER: &str = "SPREAD_TRACES";

fn talk(comm: &Comm) -> Result<()> {
    let (me, size) = (comm.rank(), comm.size());
    for _ in 0..3 {
        comm.sendrecv((me + 1) % size, 7, &[me; 3], (me + size - 1) % size, 7)?;
    }
    comm.all_reduce(&mut [me], op::Sum)?;
    comm.dup()?.barrier()
}

/// A trace has the ranks of its process, and says which world it is of; each message has both ends in some process.
pub fn traces(ranks: usize) {
    let report = world(ranks).trace(true).run_each(talk);
    let text = report.trace().unwrap().to_perfetto();
    let json: Value = serde_json::from_str(&text).unwrap();
    let about = &json["otherData"];
    let events = json["traceEvents"].as_array().unwrap();
    let process = about["process"].as_u64().unwrap();
    assert!(events.iter().all(|event| event["pid"] == process));
    let of = |phase: &str| {
        let keyed = |event: &&Value| event["ph"] == phase && event["args"]["key"].is_array();
        events.iter().filter(keyed).count()
    };
    let world_id = u64::from_str_radix(about["world"].as_str().unwrap(), 16).unwrap();
    let mine = [world_id, !world_id, of("s") as u64, of("f") as u64];
    let all = world(ranks).run(|comm| {
        let here = comm.rank() == report.first_rank;
        let mut ends = if here { [mine[2], mine[3]] } else { [0, 0] };
        let mut ids = [mine[0], mine[1]];
        comm.all_reduce(&mut ends, op::Sum)?;
        comm.all_reduce(&mut ids, op::Max)?;
        Ok((ends, ids, comm.processes(), comm.size()))
    });
    let (ends, ids, processes, size) = all.unwrap()[0];
    assert_eq!(
        (about["processes"].as_u64(), about["ranks"].as_u64()),
        (Some(processes as u64), Some(size as u64))
    );
    assert_eq!(about["first_rank"], report.first_rank as u64);
    assert_eq!(ids, [mine[0], mine[1]], "one world");
    assert_eq!(ends[0], ends[1], "a message lacks an end");
    assert!(
        processes == 1 || ends[0] >= 3 * processes as u64,
        "{ends:?}"
    );
    if let Ok(folder) = env::var(FOLDER) {
        let file = format!("{size}-{processes}-{process}.json");
        fs::write(Path::new(&folder).join(file), text).unwrap();
    }
}

/// A synchronous message to another process that its sender has revoked is not the one that is received there.
pub fn revoked(ranks: usize) {
    let report = world(ranks).trace(true).run_each(|comm| {
        let last = comm.size() - 1;
        if comm.rank() == 0 {
            assert!(comm.issend(last, 5, vec![1])?.cancel()?);
            comm.send(last, 6, &[2])?;
            comm.ssend(last, 5, &[3])?;
        }
        if comm.rank() == last {
            comm.recv::<i32>(0, 6)?;
            comm.recv::<i32>(0, 5)?;
        }
        Ok(())
    });
    let json: Value = serde_json::from_str(&report.trace().unwrap().to_perfetto()).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let sent = |event: &&Value| event["ph"] == "s" && event["name"] == "tag 5";
    let keyed: Vec<bool> = events
        .iter()
        .filter(sent)
        .map(|event| event["args"]["key"].is_array())
        .collect();
    let wanted: &[bool] = if report.first_rank == 0 {
        &[false, true]
    } else {
        &[]
    };
    assert_eq!(keyed, wanted);
}

/// Each message of a merged trace has one sender and one receiver, in this order of time.
#[cfg(feature = "cli")]
pub fn is_whole(merged: &str) {
    let json: Value = serde_json::from_str(merged).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let ends = |phase: &'static str| {
        let ends = events.iter().filter(move |event| event["ph"] == phase);
        ends.map(|event| (event["id"].as_u64().unwrap(), event))
    };
    let received: std::collections::BTreeMap<u64, &Value> = ends("f").collect();
    assert_eq!(received.len(), ends("s").count());
    for (id, sent) in ends("s") {
        let received = received[&id];
        assert_eq!(
            (&sent["args"], &sent["name"]),
            (&received["args"], &received["name"])
        );
        assert!(
            sent["ts"].as_f64() <= received["ts"].as_f64(),
            "{sent}, {received}"
        );
    }
    assert!(json["otherData"]["messages_between_processes"].as_u64() >= Some(6));
    // Messages went in both directions, and so each clock is known within some time; the first is that of all.
    let clocks = json["otherData"]["clocks"].as_array().unwrap();
    let all = |key: &str| clocks.iter().map(|clock| clock[key].as_f64()).collect();
    let (added, within): (Vec<_>, Vec<_>) = (all("added_us"), all("within_us"));
    assert_eq!(within[0], Some(0.0), "{clocks:?}");
    let bounded = |within: &Option<f64>| within.is_some_and(|within| within >= 0.0);
    assert_eq!(added.len(), 2, "{clocks:?}");
    assert!(added.iter().all(Option::is_some), "{clocks:?}");
    assert!(within.iter().all(bounded), "{clocks:?}");
    let named = |name: &str| events.iter().filter(|event| event["name"] == *name).count();
    assert_eq!((named("process_name"), named("thread_name")), (2, 4));
}
