//! What one rank of a program does.

use std::collections::HashMap;

use rankfold::{Comm, Error, Request, Result, Source, Status, Tag, op};

use super::{Act, Ends, How, Message, Program, elements};

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
    pub fn play(&self, comm: &Comm, checks: bool) -> Result<()> {
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
    match ends {
        Ends::Each => return requests.into_iter().map(Request::wait).collect(),
        Ends::All => return Request::wait_all(requests),
        Ends::TestedAll => loop {
            if let Some(results) = Request::test_all(&mut requests)? {
                return Ok(results);
            }
        },
        _ => {}
    }
    let mut results: Vec<Option<R>> = requests.iter().map(|_| None).collect();
    match ends {
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
        _ => {
            while results.iter().any(Option::is_none) {
                test(ends, &mut requests, &mut results)?;
            }
        }
    }
    let all: Option<Vec<R>> = results.into_iter().collect();
    all.ok_or_else(|| Error::user("a request was passed by"))
}

/// Tests the requests once, and stores the results of those that are complete.
fn test<R>(ends: Ends, requests: &mut [Request<'_, R>], results: &mut [Option<R>]) -> Result<()> {
    match ends {
        Ends::TestedAny => {
            if let Some((place, result)) = Request::test_any(requests)? {
                results[place] = Some(result);
            }
        }
        Ends::TestedSome => {
            for (place, result) in Request::test_some(requests)? {
                results[place] = Some(result);
            }
        }
        Ends::Tested => {
            for (request, result) in requests.iter_mut().zip(results) {
                if result.is_none() {
                    *result = request.test()?;
                }
            }
        }
        ends => unreachable!("{ends:?} waits"),
    }
    Ok(())
}
