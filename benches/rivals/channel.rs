//! Vectors through bare crossbeam channels: copied into a carrier that goes back and forth, and out of it.
//!
//! ```text
//! input ──copy──▶ carrier ══▶ │ carrier ──copy──▶ output        nothing is allocated on the way
//! ```

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::clock::{Figures, Member};
use super::op::{Kind, Op};
use super::place::Place;
use super::threads;
use super::values;
use super::vector::Vector;

pub fn offers(op: Op) -> bool {
    matches!(op.kind, Kind::P2p | Kind::P2pBounce) && op.sensible()
}

/// One end: rank 0 has the carrier first.
struct End {
    op: Op,
    rank: usize,
    to: Sender<Vec<f32>>,
    from: Receiver<Vec<f32>>,
    carrier: Option<Vec<f32>>,
    input: Vector,
    output: Vector,
    filled: usize,
    wait: fn(),
}

pub fn point(place: &Place, op: Op, bytes: usize, budget: Duration) -> Option<Figures> {
    let doors = [unbounded(), unbounded()];
    let (len, _) = op.elements(bytes, place.ranks);
    threads::point(place, op, budget, |rank| End {
        op,
        rank,
        to: doors[(rank + 1) % 2].0.clone(),
        from: doors[rank % 2].1.clone(),
        carrier: (rank == 0).then(|| vec![0.0; len]),
        input: Vector::new(len),
        output: Vector::new(len),
        filled: 0,
        wait: threads::waiting(place),
    })
}

impl End {
    fn send(&mut self) {
        let mut carrier = self.carrier.take().expect("it is this side's turn");
        carrier.copy_from_slice(&self.input);
        self.to.send(carrier).expect("the other is there");
    }

    fn recv(&mut self) {
        let carrier = loop {
            match self.from.try_recv() {
                Ok(carrier) => break carrier,
                Err(_) => (self.wait)(),
            }
        };
        self.landing().copy_from_slice(&carrier);
        self.carrier = Some(carrier);
    }

    fn landing(&mut self) -> &mut [f32] {
        match self.op.kind {
            Kind::P2pBounce => &mut self.input,
            _ => &mut self.output,
        }
    }
}

impl Member for End {
    fn call(&mut self) {
        match self.rank {
            0 => {
                self.send();
                self.recv();
            }
            1 => {
                self.recv();
                self.send();
            }
            _ => {}
        }
    }

    fn fill(&mut self, call: usize) {
        self.filled = call;
        values::fill(&mut self.input, self.rank, call);
    }

    fn right(&mut self) -> bool {
        let (op, rank, filled) = (self.op, self.rank, self.filled);
        values::right(op, self.landing(), rank, 2, filled)
    }
}
