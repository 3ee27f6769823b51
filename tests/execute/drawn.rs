//! Schedules drawn from a seed.

use rankfold::schedule::{Buffer, Combine, Lengths, LocalCopy, Region, Step, Transfer};

use super::Table;
use crate::zoo::noise;

/// Numbers drawn from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = noise(self.0);
        (self.0 >> 20) as usize % n.max(1)
    }
}

/// The length of each buffer.
pub const SIDE: usize = 24;

/// Returns any region of `elements` elements of a buffer of `SIDE` elements.
fn region(dice: &mut Dice, buffer: Buffer, elements: usize) -> Region {
    let count = if elements > 1 && elements.is_multiple_of(2) && dice.below(3) == 0 {
        2
    } else {
        1
    };
    let length = elements / count;
    let stride = length + dice.below((SIDE - elements) / 2 + 1);
    let extent = stride * (count - 1) + length;
    let start = dice.below(SIDE - extent + 1);
    Region {
        buffer,
        start,
        length,
        stride,
        count,
    }
}

fn written(dice: &mut Dice) -> Buffer {
    [Buffer::Output, Buffer::Output, Buffer::Scratch][dice.below(3)]
}

fn read(dice: &mut Dice) -> Buffer {
    [
        Buffer::Output,
        Buffer::Output,
        Buffer::Scratch,
        Buffer::Input,
    ][dice.below(4)]
}

fn combine(dice: &mut Dice) -> Combine {
    [Combine::Replace, Combine::FoldLeft, Combine::FoldRight][dice.below(3)]
}

/// One step of all ranks: each rank drawn sends to the next one drawn, or two exchange.
fn any_step(dice: &mut Dice, p: usize) -> Vec<Step> {
    let mut steps = vec![Step::IDLE; p];
    let mut order: Vec<usize> = (0..p).collect();
    for i in (1..p).rev() {
        order.swap(i, dice.below(i + 1));
    }
    let circle = &order[..dice.below(p + 1)];
    if circle.len() > 1 {
        pass_round(dice, circle, &mut steps);
    }
    if let [a, b] = *circle {
        exchange(dice, a, b, &mut steps);
    }
    for step in &mut steps {
        if dice.below(4) == 0 {
            step.local = local_copy(dice);
        }
    }
    steps
}

/// Each rank of the circle sends to the next one.
fn pass_round(dice: &mut Dice, circle: &[usize], steps: &mut [Step]) {
    for (place, &rank) in circle.iter().enumerate() {
        let peer = circle[(place + 1) % circle.len()];
        let elements = [0, 1, 2, 4, 10, 16][dice.below(6)];
        let (from, into) = (read(dice), written(dice));
        steps[rank].send = Some(Transfer {
            peer,
            region: region(dice, from, elements),
        });
        steps[peer].recv = Some(Transfer {
            peer: rank,
            region: region(dice, into, elements),
        });
        steps[peer].combine = combine(dice);
    }
}

/// As in exchanges: the elements that are sent are folded too.
fn exchange(dice: &mut Dice, a: usize, b: usize, steps: &mut [Step]) {
    let elements = [1, 2, 8, 16][dice.below(4)];
    let same = region(dice, Buffer::Output, elements);
    if dice.0.is_multiple_of(4) {
        return;
    }
    for (rank, peer) in [(a, b), (b, a)] {
        steps[rank].send = Some(Transfer { peer, region: same });
        steps[rank].recv = Some(Transfer { peer, region: same });
    }
}

/// Returns a copy between two regions, unless they overlap.
fn local_copy(dice: &mut Dice) -> Option<LocalCopy> {
    let elements = dice.below(SIDE / 2);
    let (from, to) = (read(dice), written(dice));
    let (from, to) = (region(dice, from, elements), region(dice, to, elements));
    (!from.overlaps(&to)).then_some(LocalCopy::new(from, to))
}

pub fn any_schedule(seed: u64) -> Table {
    let mut dice = Dice(noise(seed));
    let p = 2 + dice.below(5);
    let all = |buffer| Region::new(buffer, 0..SIDE);
    let furnish = Step {
        local: Some(LocalCopy::new(all(Buffer::Input), all(Buffer::Scratch))),
        ..Step::IDLE
    };
    let mut steps = vec![vec![furnish; p]];
    steps.extend((0..12).map(|_| any_step(&mut dice, p)));
    let lengths = Lengths {
        input: SIDE,
        output: SIDE,
        scratch: SIDE,
    };
    Table { lengths, steps }
}
