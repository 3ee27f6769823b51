//! rankfold, as its users call it.

use std::sync::Mutex;
use std::time::Duration;

use crossbeam_utils::CachePadded;
use rankfold::{Bind, Comm, Team, World, op as fold};

use super::clock::{self, Figures, Hub, Member, Solo};
use super::op::{Kind, MESSAGES, Op};
use super::place::Place;
use super::values;
use super::vector::Vector;

/// A rank with its vectors.
struct Ours<'c> {
    comm: &'c Comm,
    op: Op,
    input: Vector,
    output: Vector,
    filled: usize,
}

/// Times one operation in a world of its own.
pub fn point(place: &Place, op: Op, bytes: usize, budget: Duration) -> Option<Figures> {
    let world = World::new(place.ranks);
    if op.region() {
        // Without a binding the caller takes part, as the master thread of the other libraries' regions does.
        let mut regions = Regions::new(&world, op, bytes);
        return clock::point(&Solo, &mut regions, op, budget);
    }
    let (len, out) = op.elements(bytes, place.ranks);
    let figures = world.bind(bind(place)).run(|comm| {
        let mut member = Ours {
            comm,
            op,
            input: Vector::new(len),
            output: Vector::new(out),
            filled: 0,
        };
        Ok(clock::point(comm, &mut member, op, budget))
    });
    figures.expect("no rank fails").swap_remove(0)
}

fn bind(place: &Place) -> Bind {
    match &place.cpus[..] {
        [] => Bind::None,
        cpus => Bind::Cpus(cpus.to_vec()),
    }
}

impl Ours<'_> {
    /// Rank 0 sends first, rank 1 answers, the others are idle.
    fn ping_pong(&mut self, bounce: bool) -> rankfold::Result<()> {
        let (me, comm) = (self.comm.rank(), self.comm);
        let send = |data: &[f32]| comm.send(1 - me, 0, data);
        if me == 0 {
            send(&self.input)?;
        }
        if me < 2 {
            let into = if bounce {
                &mut self.input
            } else {
                &mut self.output
            };
            comm.recv_into(1 - me, 0, into)?;
        }
        if me == 1 {
            send(&self.input)?;
        }
        Ok(())
    }

    /// Rank 0 sends messages in a row, rank 1 tells when it has them all.
    fn stream(&mut self) -> rankfold::Result<()> {
        let n = self.input.len() / MESSAGES;
        for k in 0..MESSAGES {
            let place = k * n..(k + 1) * n;
            match self.comm.rank() {
                0 => self.comm.send(1, 0, &self.input[place])?,
                1 => _ = self.comm.recv_into(0, 0, &mut self.output[place])?,
                _ => {}
            }
        }
        self.tell_done()
    }

    /// The same, all started before one is waited for.
    fn window(&mut self) -> rankfold::Result<()> {
        let n = (self.input.len() / MESSAGES).max(1);
        let (rank, input, output) = (self.comm.rank(), &self.input[..], &mut self.output[..]);
        self.comm.scope(|scope| {
            match rank {
                0 => {
                    for message in input.chunks(n) {
                        scope.isend(1, 0, message)?;
                    }
                }
                1 => {
                    for message in output.chunks_mut(n) {
                        scope.irecv_into(0, 0, message)?;
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        self.tell_done()
    }

    fn tell_done(&self) -> rankfold::Result<()> {
        match self.comm.rank() {
            0 => self.comm.recv_into(1, 1, &mut [0f32]).map(|_| ()),
            1 => self.comm.send(0, 1, &[0f32]),
            _ => Ok(()),
        }
    }

    fn scan(&mut self) -> rankfold::Result<()> {
        self.output.copy_from_slice(&self.input);
        self.comm.scan(&mut self.output, fold::Sum)
    }

    fn reduce(&mut self) -> rankfold::Result<()> {
        self.comm
            .reduce_into(0, &self.input, &mut self.output, fold::Sum)
    }

    fn go(&mut self) -> rankfold::Result<()> {
        let (comm, input, output) = (self.comm, &mut self.input[..], &mut self.output[..]);
        match self.op.kind {
            Kind::Barrier => comm.barrier(),
            Kind::P2p => self.ping_pong(false),
            Kind::P2pBounce => self.ping_pong(true),
            Kind::AllReduce => comm.all_reduce_into(input, output, fold::Sum),
            Kind::AllReduceInplace => comm.all_reduce(input, fold::Sum),
            Kind::Reduce => self.reduce(),
            Kind::ReduceInplace => comm.reduce(0, input, fold::Sum),
            Kind::Broadcast => comm.broadcast(0, input),
            Kind::ReduceScatter => comm.reduce_scatter(input, output, fold::Sum),
            Kind::AllGather => comm.all_gather(input, output),
            Kind::Scan => self.scan(),
            Kind::AllToAll => comm.all_to_all(input, output),
            Kind::Stream => self.stream(),
            Kind::Window => self.window(),
            Kind::Scatter => comm.scatter(0, (comm.rank() == 0).then_some(&*input), output),
            _ => unreachable!("`offers` says what there is"),
        }
    }
}

/// Returns whether the library offers an operation.
pub fn offers(op: Op) -> bool {
    match op.kind {
        Kind::LineHand | Kind::LineExchange | Kind::LineMeet => false,
        Kind::Copy | Kind::Add | Kind::Accumulate | Kind::Fetch => false,
        _ => op.sensible(),
    }
}

impl Hub for Comm {
    fn meet(&self) {
        self.barrier().expect("no operation fails");
    }

    fn is_late(&self, call: usize) -> bool {
        call % self.size() == self.rank()
    }

    fn tell(&self, number: u64) -> u64 {
        let mut told = [number];
        self.broadcast(0, &mut told).expect("no operation fails");
        told[0]
    }

    fn latest(&self, mut times: Vec<f64>) -> Vec<f64> {
        self.reduce(0, &mut times, fold::Max)
            .expect("no operation fails");
        times
    }
}

/// A team whose runs are empty, or reduce what each rank has.
struct Regions {
    team: Team,
    op: Op,
    inputs: Vec<Vector>,
    /// Each rank locks its own.
    outputs: Vec<CachePadded<Mutex<Vector>>>,
}

impl Regions {
    fn new(world: &World, op: Op, bytes: usize) -> Regions {
        let team = world.start().expect("there are threads");
        let (len, _) = op.elements(bytes, team.size());
        let vectors = || (0..team.size()).map(|_| Vector::new(len));
        let mut inputs: Vec<Vector> = vectors().collect();
        for (rank, input) in inputs.iter_mut().enumerate() {
            values::fill(input, rank, 1);
        }
        Regions {
            outputs: vectors()
                .map(|it| CachePadded::new(Mutex::new(it)))
                .collect(),
            team,
            op,
            inputs,
        }
    }

    fn reduce(&self, comm: &Comm) -> rankfold::Result<()> {
        let mut output = self.outputs[comm.rank()].lock().expect("no rank panics");
        comm.all_reduce_into(&self.inputs[comm.rank()], &mut output, fold::Sum)
    }
}

impl Member for Regions {
    fn call(&mut self) {
        let size = self.team.size();
        let ranks = match self.op.kind {
            Kind::Run => self.team.run(|comm| Ok(comm.rank())),
            _ => self
                .team
                .run(|comm| self.reduce(comm).map(|()| comm.rank())),
        };
        assert_eq!(ranks.expect("no rank fails").len(), size);
    }

    fn right(&mut self) -> bool {
        let size = self.team.size();
        let right = |output: &CachePadded<Mutex<Vector>>| {
            values::right(self.op, &output.lock().expect("no rank panics"), 0, size, 1)
        };
        self.outputs.iter().all(right)
    }
}

impl Member for Ours<'_> {
    #[inline]
    fn call(&mut self) {
        self.go().expect("no operation fails");
    }

    fn fill(&mut self, call: usize) {
        self.filled = call;
        values::fill(&mut self.input, self.comm.rank(), call);
    }

    fn clear(&mut self) {
        if matches!(self.op.kind, Kind::AllReduceInplace | Kind::ReduceInplace) {
            self.input.fill(0.0);
        }
    }

    fn right(&mut self) -> bool {
        let (rank, ranks) = (self.comm.rank(), self.comm.size());
        let got = match self.op.kind {
            Kind::P2pBounce | Kind::AllReduceInplace | Kind::ReduceInplace | Kind::Broadcast => {
                &*self.input
            }
            _ => &*self.output,
        };
        values::right(self.op, got, rank, ranks, self.filled)
    }
}
