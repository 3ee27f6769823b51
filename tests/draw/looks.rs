//! Drawings look as they did.

use rankfold::collective::{
    BruckAllGather, ExclusiveScan, RingReduceScatter, halving_all_reduce, simple_exchange,
};
use rankfold::draw;
use rankfold::schedule::{FoldAlong, Schedule};
use rankfold::topology::{Circle, Shift, Topology};

use super::golden;
use crate::zoo::own_steps;

#[test]
fn trees_look_as_they_did() {
    for (name, p) in [
        ("binomial", 8),
        ("fibonacci", 13),
        ("flat", 12),
        ("k-ary:2", 1),
    ] {
        let drawing = draw::tree(&Topology::by_name(name, p).unwrap()).unwrap();
        golden(
            &format!("tree-{}-{p}.txt", name.replace(':', "")),
            drawing.text(),
        );
    }
    let worked = Topology::from_text("1 0 0\n2 0 0\n4 0 3\n5 0 3\n7 0 6\n3 1 0\n6 1 0").unwrap();
    let drawing = draw::tree(&worked).unwrap();
    golden("tree-custom-8.txt", drawing.text());
    golden("tree-custom-8.svg", &drawing.svg());
}

#[test]
fn schedules_look_as_they_did() {
    let chain = own_steps("chain", 8, 64).pipelined(4, 1);
    let barrier = FoldAlong::new(Circle::new(5), 0);
    let schedules: [(&str, &dyn Schedule); 7] = [
        ("halving-8", &halving_all_reduce(8, 64)),
        ("ring-8", &RingReduceScatter::new(8, 64)),
        ("pipelined-chain-8", &chain),
        ("bruck-5", &BruckAllGather::new(5, 10)),
        ("scan-8", &FoldAlong::new(Shift::new(8), 64)),
        ("exclusive-scan-5", &ExclusiveScan::new(5, 10)),
        ("barrier-5", &barrier),
    ];
    for (name, schedule) in schedules {
        let drawing = draw::space_time(name, schedule).unwrap();
        golden(&format!("{name}.txt"), drawing.text());
    }
    let scan = draw::space_time("scan", &FoldAlong::new(Shift::new(3), 6)).unwrap();
    golden("scan-3.svg", &scan.svg());
}

#[test]
fn pairs_of_schedules_look_as_they_did() {
    let (exchange, halving) = (simple_exchange(8, 64), halving_all_reduce(8, 64));
    let drawing = draw::beside(("exchange", &exchange), ("halving", &halving)).unwrap();
    golden("exchange-beside-halving-8.txt", drawing.text());
    let few = RingReduceScatter::new(3, 6);
    let drawing = draw::beside(("five ranks", &simple_exchange(5, 6)), ("three", &few)).unwrap();
    golden("five-beside-three.txt", drawing.text());
}
