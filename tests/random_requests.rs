//! Random programs with requests: right ones end without reports at every buffering with the messages of a sequential
//! model, wrong ones end as the model of stuck ranks says.
//!
//! A program is a sequence of stages. In each stage, a rank first posts without waiting, and waits after that, so a
//! right program needs no buffer: whatever stage the slowest rank is in, everything it waits for there is posted by
//! ranks that have come at least as far.
//!
//! `RANKFOLD_CASES` and `RANKFOLD_SEED` set how many random programs run, and the first seed.

mod channels;
mod support;

use std::collections::HashMap;

use rankfold::{Buffering, Comm, Error, Rank, Request, Result, Source, Status, Tag, World, op};
use support::{Random, guarded, mix, scale, setting};

/// A message: everything that sender and receiver must agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Message {
    id: usize,
    from: Rank,
    to: Rank,
    tag: u32,
    length: usize,
    /// Sent as one moved value.
    moved: bool,
    /// Received from any source: its tag is unique.
    wild: bool,
}

/// How a blocking call receives a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Plain,
    Into,
    Probed,
    Matched,
    Polled,
}

/// How a set of requests is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Each,
    All,
    Any,
    Some,
    Tested,
    TestedAll,
    TestedAny,
    TestedSome,
}

#[derive(Clone, Debug)]
enum Act {
    Isend(Message),
    Send(Message),
    Irecv {
        message: Message,
        any_tag: bool,
    },
    Recv {
        message: Message,
        any_tag: bool,
        how: How,
    },
    /// Posts a receive without a matching send, to be cancelled at the end.
    Never(usize),
    /// Sends and receives all of these from and into borrowed buffers.
    Scope {
        sends: Vec<Message>,
        receives: Vec<Message>,
    },
    /// Waits for these requests, by the numbers of their messages.
    WaitSends(Ends, Vec<usize>),
    WaitReceives(Ends, Vec<usize>),
    Barrier,
    Sum(usize),
}

/// What each rank does, in order.
#[derive(Clone, Debug)]
struct Program(Vec<Vec<Act>>);

/// A program under construction.
struct Draft {
    program: Program,
    random: Random,
    next: usize,
    /// Values, wildcards and all ways to wait; otherwise all messages are alike.
    rich: bool,
    longest: usize,
    /// Requests of each rank that remain for the end: sends and receives.
    late: Vec<[Vec<usize>; 2]>,
}

fn draw(seed: u64, rich: bool) -> Program {
    let mut random = Random::new(seed);
    let ranks = 2 + random.below(7);
    let longest = if rich { random.of(&[3, 40, 3000]) } else { 1 };
    let mut draft = Draft {
        program: Program(vec![Vec::new(); ranks]),
        random,
        next: 0,
        rich,
        longest,
        late: vec![Default::default(); ranks],
    };
    for _ in 0..1 + draft.random.below(5) {
        draft.stage();
    }
    for rank in 0..ranks {
        let [sends, receives] = std::mem::take(&mut draft.late[rank]);
        draft.settle(rank, sends, receives);
    }
    draft.program
}

impl Draft {
    fn ranks(&self) -> usize {
        self.program.0.len()
    }

    fn push(&mut self, rank: Rank, act: Act) {
        self.program.0[rank].push(act);
    }

    fn message(&mut self) -> Message {
        self.next += 1;
        let (id, n) = (self.next, self.ranks());
        let wild = self.rich && self.random.one_in(5);
        Message {
            id,
            from: self.random.below(n),
            to: self.random.below(n),
            tag: if wild {
                1000 + id as u32
            } else {
                self.random.below(3) as u32
            },
            length: 1 + self.random.below(self.longest),
            moved: self.rich && self.random.one_in(5),
            wild,
        }
    }

    fn stage(&mut self) {
        let messages: Vec<_> = (0..self.random.below(4 * self.ranks()))
            .map(|_| self.message())
            .collect();
        // Either some sends block, after all receives were posted, or some receives do, after all sends.
        let sends_block = self.random.one_in(2);
        let scoped = self.rich && self.random.one_in(4);
        for rank in 0..self.ranks() {
            let sends: Vec<_> = messages
                .iter()
                .copied()
                .filter(|m| m.from == rank)
                .collect();
            let receives = self.order(messages.iter().copied().filter(|m| m.to == rank).collect());
            if scoped && messages.iter().all(|m| !m.moved) {
                let receives = receives.into_iter().map(|(message, _)| message).collect();
                self.push(rank, Act::Scope { sends, receives });
                continue;
            }
            let (sent, received) = match sends_block {
                true => {
                    let received = self.receive_all(rank, receives, false);
                    (self.send_all(rank, sends, true), received)
                }
                false => {
                    let sent = self.send_all(rank, sends, false);
                    (sent, self.receive_all(rank, receives, true))
                }
            };
            self.settle(rank, sent, received);
        }
        match self.random.below(4) {
            0 => (0..self.ranks()).for_each(|rank| self.push(rank, Act::Barrier)),
            1 if self.rich => {
                let length = 1 + self.random.below(self.longest);
                (0..self.ranks()).for_each(|rank| self.push(rank, Act::Sum(length)));
            }
            _ => {}
        }
    }

    /// Returns an order in which the messages of one receiver can be received, and whether any tag would do.
    fn order(&mut self, mut left: Vec<Message>) -> Vec<(Message, bool)> {
        let mut order = Vec::new();
        while !left.is_empty() {
            let drawn = left[self.random.below(left.len())];
            let first = left
                .iter()
                .position(|m| m.from == drawn.from && m.tag == drawn.tag);
            let place = first.expect("it is there itself");
            let head = left.iter().position(|m| m.from == drawn.from) == Some(place);
            let message = left.remove(place);
            order.push((message, head && !message.wild && self.random.one_in(3)));
        }
        order
    }

    /// Adds the sends; returns their requests.
    fn send_all(&mut self, rank: Rank, sends: Vec<Message>, may_block: bool) -> Vec<usize> {
        let mut requests = Vec::new();
        for message in sends {
            if may_block && self.random.one_in(2) {
                self.push(rank, Act::Send(message));
            } else {
                self.push(rank, Act::Isend(message));
                requests.push(message.id);
            }
        }
        requests
    }

    fn receive_all(
        &mut self,
        rank: Rank,
        receives: Vec<(Message, bool)>,
        may_block: bool,
    ) -> Vec<usize> {
        let mut requests = Vec::new();
        for (message, any_tag) in receives {
            if self.rich && self.random.one_in(6) {
                self.next += 1;
                let never = self.next;
                self.push(rank, Act::Never(never));
            }
            if may_block && self.random.one_in(2) {
                let all = [
                    How::Plain,
                    How::Into,
                    How::Probed,
                    How::Matched,
                    How::Polled,
                ];
                let how = if self.rich {
                    self.random.of(&all)
                } else {
                    How::Plain
                };
                self.push(
                    rank,
                    Act::Recv {
                        message,
                        any_tag,
                        how,
                    },
                );
            } else {
                self.push(rank, Act::Irecv { message, any_tag });
                requests.push(message.id);
            }
        }
        requests
    }

    /// Waits for requests, for some of them only at the end.
    fn settle(&mut self, rank: Rank, sends: Vec<usize>, receives: Vec<usize>) {
        let mut sets = [sends, receives];
        for (side, set) in sets.iter_mut().enumerate() {
            let (late, mut now): (Vec<_>, Vec<_>) = set.iter().partition(|_| self.random.one_in(5));
            self.late[rank][side].extend(late);
            for i in (1..now.len()).rev() {
                now.swap(i, self.random.below(i + 1));
            }
            *set = now;
        }
        let [sends, receives] = sets;
        let all = [
            Ends::Each,
            Ends::All,
            Ends::Any,
            Ends::Some,
            Ends::Tested,
            Ends::TestedAll,
            Ends::TestedAny,
            Ends::TestedSome,
        ];
        let mut ends = || {
            if self.rich {
                self.random.of(&all)
            } else {
                Ends::Each
            }
        };
        let acts = [
            Act::WaitSends(ends(), sends),
            Act::WaitReceives(ends(), receives),
        ];
        let sends_first = self.random.one_in(2);
        let order = if sends_first { [0, 1] } else { [1, 0] };
        order
            .into_iter()
            .for_each(|i| self.push(rank, acts[i].clone()));
    }
}

/// Returns the contents of a message.
fn elements(id: usize, length: usize) -> Vec<u64> {
    (0..length)
        .map(|i| mix((id as u64) << 32 ^ i as u64))
        .collect()
}

// ── running a program ──

type Receiving<'c> = Request<'c, (Vec<u64>, Status)>;

/// The state of a rank in its part of a program.
struct Player<'c> {
    comm: &'c Comm,
    /// Whether contents are checked: in a wrong program another message may arrive in place of the intended one.
    checks: bool,
    sends: HashMap<usize, Request<'c, Vec<u64>>>,
    moves: HashMap<usize, Request<'c, ()>>,
    receives: HashMap<usize, (Message, Receiving<'c>)>,
    never: Vec<Receiving<'c>>,
}

impl Program {
    fn play(&self, comm: &Comm, checks: bool) -> Result<()> {
        let mut player = Player {
            comm,
            checks,
            sends: HashMap::new(),
            moves: HashMap::new(),
            receives: HashMap::new(),
            never: Vec::new(),
        };
        for act in &self.0[comm.rank()] {
            player.act(act)?;
        }
        // Requests that have not been waited for yet.
        let sends = player.sends.keys().chain(player.moves.keys());
        let mut sends: Vec<_> = sends.copied().collect();
        let mut receives: Vec<_> = player.receives.keys().copied().collect();
        sends.sort();
        receives.sort();
        player.wait_sends(Ends::Each, &sends)?;
        player.wait_receives(Ends::Each, &receives)?;
        let never = std::mem::take(&mut player.never);
        never
            .into_iter()
            .try_for_each(|never| never.cancel().map(|_| ()))
    }
}

impl<'c> Player<'c> {
    fn act(&mut self, act: &Act) -> Result<()> {
        match act {
            Act::Isend(message) => self.isend(*message),
            Act::Send(message) => self.send(*message),
            Act::Irecv { message, any_tag } => self.irecv(*message, *any_tag),
            Act::Recv {
                message,
                any_tag,
                how,
            } => self.recv(*message, *any_tag, *how),
            Act::Never(id) => {
                let never = self.comm.irecv(Source::Any, 1_000_000 + *id as u32)?;
                self.never.push(never);
                Ok(())
            }
            Act::Scope { sends, receives } => self.scope(sends, receives),
            Act::WaitSends(ends, ids) => self.wait_sends(*ends, ids),
            Act::WaitReceives(ends, ids) => self.wait_receives(*ends, ids),
            Act::Barrier => self.comm.barrier(),
            Act::Sum(length) => {
                let mut data = vec![self.comm.rank(); *length];
                self.comm.all_reduce(&mut data, op::Sum)?;
                let n = self.comm.size();
                assert_eq!(data, vec![n * (n - 1) / 2; *length]);
                Ok(())
            }
        }
    }

    fn isend(&mut self, message: Message) -> Result<()> {
        let Message {
            id,
            to,
            tag,
            length,
            moved,
            ..
        } = message;
        let data = elements(id, length);
        if moved {
            let request = self.comm.isend_value(to, tag, data);
            return passes(request.map(|request| _ = self.moves.insert(id, request)));
        }
        let request = self.comm.isend(to, tag, data);
        passes(request.map(|request| _ = self.sends.insert(id, request)))
    }

    fn send(&mut self, message: Message) -> Result<()> {
        let Message {
            id,
            to,
            tag,
            length,
            moved,
            ..
        } = message;
        let data = elements(id, length);
        passes(match moved {
            true => self.comm.send_value(to, tag, data),
            false => self.comm.send(to, tag, &data),
        })
    }

    fn irecv(&mut self, message: Message, any_tag: bool) -> Result<()> {
        let (from, tag) = pattern(&message, any_tag);
        let request = match message.moved {
            true => self.comm.irecv_value(from, tag)?,
            false => self.comm.irecv(from, tag)?,
        };
        self.receives.insert(message.id, (message, request));
        Ok(())
    }

    fn check(&self, message: &Message, got: &[u64]) {
        let right = got == elements(message.id, message.length);
        assert!(right || !self.checks, "{message:?}");
    }

    fn recv(&self, message: Message, any_tag: bool, how: How) -> Result<()> {
        let (comm, (from, tag)) = (self.comm, pattern(&message, any_tag));
        let got = match how {
            How::Probed | How::Polled if message.moved => {
                assert_eq!(comm.probe(from, tag)?.tag, message.tag);
                comm.recv_value(from, tag)?.0
            }
            How::Matched if message.moved => comm.probe_matched(from, tag)?.recv_value()?,
            _ if message.moved => comm.recv_value(from, tag)?.0,
            How::Plain => comm.recv(from, tag)?.0,
            How::Into => {
                let mut buf = vec![0; message.length + 1];
                let count = comm.recv_into(from, tag, &mut buf)?.count;
                buf.truncate(count);
                buf
            }
            How::Probed => {
                let status = comm.probe(from, tag)?;
                comm.recv(status.source, status.tag)?.0
            }
            How::Matched => comm.probe_matched(from, tag)?.recv()?,
            How::Polled => loop {
                if let Some(matched) = comm.iprobe_matched(from, tag)? {
                    break matched.recv()?;
                }
            },
        };
        self.check(&message, &got);
        Ok(())
    }

    fn scope(&self, sends: &[Message], receives: &[Message]) -> Result<()> {
        let data: Vec<_> = sends.iter().map(|m| elements(m.id, m.length)).collect();
        let mut bufs: Vec<_> = receives.iter().map(|m| vec![0; m.length]).collect();
        self.comm.scope(|s| {
            for (number, (message, buf)) in receives.iter().zip(&mut bufs).enumerate() {
                let (from, tag) = pattern(message, false);
                let mut request = s.irecv_into(from, tag, buf)?;
                if number % 3 == 0 {
                    request.test()?;
                }
            }
            for (message, data) in sends.iter().zip(&data) {
                s.isend(message.to, message.tag, data)?;
            }
            Ok(())
        })?;
        receives
            .iter()
            .zip(&bufs)
            .for_each(|(message, buf)| self.check(message, buf));
        Ok(())
    }

    fn wait_sends(&mut self, ends: Ends, ids: &[usize]) -> Result<()> {
        let moves = ids.iter().filter_map(|id| self.moves.remove(id)).collect();
        end(ends, moves)?;
        let sends = ids
            .iter()
            .filter_map(|id| Some((*id, self.sends.remove(id)?)));
        let (ids, sends): (Vec<_>, Vec<_>) = sends.unzip();
        for (id, data) in ids.iter().zip(end(ends, sends)?) {
            assert_eq!(data, elements(*id, data.len()));
        }
        Ok(())
    }

    fn wait_receives(&mut self, ends: Ends, ids: &[usize]) -> Result<()> {
        let receives = ids.iter().filter_map(|id| self.receives.remove(id));
        let (messages, receives): (Vec<_>, Vec<_>) = receives.unzip();
        for (message, (got, status)) in messages.iter().zip(end(ends, receives)?) {
            assert_eq!(status.source, message.from);
            self.check(message, &got);
        }
        Ok(())
    }
}

/// A failing send is not the end: the message is lost, and the rank goes on. Only where it is buffered.
fn passes(sent: Result<()>) -> Result<()> {
    sent.or_else(|error| {
        if error.is_consequence() {
            Ok(())
        } else {
            Err(error)
        }
    })
}

fn pattern(message: &Message, any_tag: bool) -> (Source, Tag) {
    let from = if message.wild {
        Source::Any
    } else {
        Source::Rank(message.from)
    };
    (
        from,
        if any_tag {
            Tag::Any
        } else {
            Tag::Is(message.tag)
        },
    )
}

/// Waits for all requests in one of the ways, and returns the results in their order.
fn end<R>(ends: Ends, mut requests: Vec<Request<'_, R>>) -> Result<Vec<R>> {
    let mut results: Vec<Option<R>> = requests.iter().map(|_| None).collect();
    match ends {
        Ends::Each => return requests.into_iter().map(Request::wait).collect(),
        Ends::All => return Request::wait_all(requests),
        Ends::Any => {
            while let Some((place, result)) = Request::wait_any(&mut requests)? {
                results[place] = Some(result);
            }
        }
        Ends::Some => loop {
            let some = Request::wait_some(&mut requests)?;
            if some.is_empty() {
                break;
            }
            some.into_iter()
                .for_each(|(place, result)| results[place] = Some(result));
        },
        Ends::TestedAll => loop {
            if let Some(results) = Request::test_all(&mut requests)? {
                return Ok(results);
            }
        },
        Ends::TestedAny => {
            while results.iter().any(Option::is_none) {
                if let Some((place, result)) = Request::test_any(&mut requests)? {
                    results[place] = Some(result);
                }
            }
        }
        Ends::TestedSome => {
            while results.iter().any(Option::is_none) {
                for (place, result) in Request::test_some(&mut requests)? {
                    results[place] = Some(result);
                }
            }
        }
        Ends::Tested => {
            while results.iter().any(Option::is_none) {
                for (request, result) in requests.iter_mut().zip(&mut results) {
                    if result.is_none() {
                        *result = request.test()?;
                    }
                }
            }
        }
    }
    let all: Option<Vec<R>> = results.into_iter().collect();
    all.ok_or_else(|| Error::user("a request was passed by"))
}

// ── the model of stuck ranks ──

/// The mailbox of one rank: the messages that have arrived, and the posted receives, in order.
#[derive(Default)]
struct Mail {
    come: Vec<Message>,
    posted: Vec<(Message, bool)>,
    done: Vec<usize>,
}

fn accepts((wanted, any_tag): (Message, bool), message: &Message) -> bool {
    wanted.from == message.from && (any_tag || wanted.tag == message.tag)
}

impl Mail {
    fn arrive(&mut self, message: Message) {
        match self
            .posted
            .iter()
            .position(|&wanted| accepts(wanted, &message))
        {
            Some(place) => self.done.push(self.posted.remove(place).0.id),
            None => self.come.push(message),
        }
    }

    fn take(&mut self, wanted: (Message, bool)) -> bool {
        let place = self
            .come
            .iter()
            .position(|message| accepts(wanted, message));
        place.map(|place| self.come.remove(place)).is_some()
    }
}

/// Returns whether each rank reaches its end. Sequential, without wildcards, with room for every message.
fn completes(program: &Program) -> Vec<bool> {
    let n = program.0.len();
    let mut at = vec![0; n];
    let mut met = vec![0; n];
    let mut mail: Vec<Mail> = (0..n).map(|_| Mail::default()).collect();
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for rank in 0..n {
            let Some(act) = program.0[rank].get(at[rank]) else {
                continue;
            };
            let goes = match act {
                Act::Isend(message) | Act::Send(message) => {
                    mail[message.to].arrive(*message);
                    true
                }
                Act::Irecv { message, any_tag } => {
                    match mail[rank].take((*message, *any_tag)) {
                        true => mail[rank].done.push(message.id),
                        false => mail[rank].posted.push((*message, *any_tag)),
                    }
                    true
                }
                Act::Recv {
                    message, any_tag, ..
                } => mail[rank].take((*message, *any_tag)),
                Act::WaitReceives(_, ids) => ids.iter().all(|id| mail[rank].done.contains(id)),
                Act::Barrier => {
                    let here = |other: usize| {
                        met[other] > met[rank]
                            || met[other] == met[rank]
                                && matches!(program.0[other].get(at[other]), Some(Act::Barrier))
                    };
                    let goes = (0..n).all(here);
                    met[rank] += usize::from(goes);
                    goes
                }
                _ => true,
            };
            at[rank] += usize::from(goes);
            moved |= goes;
        }
    }
    // Requests that remain for the end are waited for there.
    let late = |rank: usize| mail[rank].posted.is_empty();
    (0..n)
        .map(|rank| at[rank] == program.0[rank].len() && late(rank))
        .collect()
}

// ── the tests ──

fn cases(all: usize) -> usize {
    let all = setting("RANKFOLD_CASES").unwrap_or(all);
    ((all as f64 * scale()) as usize).max(1)
}

fn first_seed() -> u64 {
    setting("RANKFOLD_SEED").unwrap_or(1)
}

/// Returns every way of buffering, with a budget that depends on the seed.
fn bufferings(seed: u64) -> [Buffering; 3] {
    let bytes = mix(seed) as usize % 5000;
    [
        Buffering::Zero,
        Buffering::Bytes(bytes),
        Buffering::Unbounded,
    ]
}

#[test]
fn right_programs_end_silently_at_every_buffering() {
    for seed in (first_seed()..).take(cases(150)) {
        let program = draw(seed, true);
        for buffering in bufferings(seed) {
            let case = format!("seed {seed}, {buffering:?}");
            let world = World::new(program.0.len())
                .buffering(buffering)
                .check(seed % 2 == 0)
                .strict();
            guarded(&|| case.clone(), || {
                world.run(|comm| program.play(comm, true))
            })
            .unwrap_or_else(|error| panic!("{case}: {error}\n{program:#?}"));
        }
    }
}

#[test]
fn the_model_knows_that_right_programs_are_right() {
    for seed in 0..300 {
        let program = draw(seed, false);
        assert!(
            completes(&program).into_iter().all(|all| all),
            "{program:#?}"
        );
    }
}

/// Removes one act from a program: a send, a receive or a barrier of one rank, with its wait.
fn spoil(program: &mut Program, random: &mut Random) -> bool {
    let rank = random.below(program.0.len());
    let acts = &mut program.0[rank];
    let spoils = |act: &Act| !matches!(act, Act::WaitSends(..) | Act::WaitReceives(..));
    let places: Vec<_> = (0..acts.len()).filter(|&i| spoils(&acts[i])).collect();
    if places.is_empty() {
        return false;
    }
    let gone = acts.remove(random.of(&places));
    let (Act::Isend(Message { id, .. })
    | Act::Irecv {
        message: Message { id, .. },
        ..
    }) = gone
    else {
        return true;
    };
    for act in acts {
        match (act, &gone) {
            (Act::WaitSends(_, ids), Act::Isend(_))
            | (Act::WaitReceives(_, ids), Act::Irecv { .. }) => ids.retain(|other| *other != id),
            _ => {}
        }
    }
    true
}

#[test]
fn wrong_programs_end_as_the_model_says() {
    let mut stuck = 0;
    for seed in (first_seed()..).take(cases(300)) {
        let mut program = draw(seed, false);
        let mut random = Random::new(!seed);
        if !spoil(&mut program, &mut random) {
            continue;
        }
        let want = completes(&program);
        stuck += usize::from(want.contains(&false));
        for buffering in bufferings(seed) {
            let case = format!("seed {seed}, {buffering:?}");
            let world = World::new(program.0.len())
                .buffering(buffering)
                .check(false);
            let report = guarded(&|| case.clone(), || {
                world.run_each(|comm| program.play(comm, false))
            });
            let got: Vec<_> = report
                .outcomes
                .iter()
                .map(|outcome| outcome.value().is_some())
                .collect();
            // With less room a rank may also fail for a message that no rank receives any more.
            let right = match buffering {
                Buffering::Unbounded => got == want,
                _ => got.iter().zip(&want).all(|(got, want)| *want || !*got),
            };
            assert!(
                right,
                "{case}: {want:?}\n{:?}\n{program:#?}",
                report.outcomes
            );
            let consequence = |error: &Error| error.is_consequence();
            assert!(
                report
                    .outcomes
                    .iter()
                    .filter_map(|o| o.error())
                    .all(consequence),
                "{case}"
            );
        }
    }
    assert!(stuck > 0 || cases(300) < 50, "some programs must be wrong");
}

#[test]
fn all_of_it_holds_over_channels() {
    channels::again(&[]);
}
