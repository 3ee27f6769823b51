//! How a rank of a random program sends and receives a message: by the blocking calls, by requests, and by persistent ones.

use rankfold::{Comm, Request, Result, Source, Tag};

use super::random::{Message, elements};
use super::random_started::Open;

/// Sends a message. A synchronous send is waited for at the end of the program.
pub fn send<'g>(comm: &Comm, message: Message) -> Result<Option<Open<'g>>> {
    let Message {
        id,
        from,
        to,
        tag,
        length,
        moved,
        plain,
        ..
    } = message;
    let data = elements(id, from, length);
    let sent = match id % 8 {
        _ if moved => comm.send_value(to, tag, data),
        _ if plain => comm.send(to, tag, &data),
        0 => {
            let request = comm.issend(to, tag, data.clone())?;
            return Ok(Some(Open::sent(id, data, request)));
        }
        1 => comm
            .isend(to, tag, data)
            .and_then(|request| request.wait().map(drop)),
        2 => comm.send_init(to, tag, data).and_then(|mut call| {
            call.start()?;
            call.wait()
        }),
        _ => comm.send(to, tag, &data),
    };
    // In a wrong program the receiver may have ended by then: its message would have stayed unread.
    match sent {
        Err(error) if !error.is_consequence() => Err(error),
        _ => Ok(None),
    }
}

pub fn receive(comm: &Comm, message: Message, any_tag: bool, probe: bool) -> Result<()> {
    let Message {
        id,
        from,
        tag,
        length,
        moved,
        wild,
        plain,
        ..
    } = message;
    let source = if wild {
        Source::Any
    } else {
        Source::Rank(from)
    };
    let tag = if any_tag { Tag::Any } else { Tag::Is(tag) };
    if probe {
        assert_eq!(comm.probe(source, tag)?.source, from);
    }
    // In a wrong program a rank that polls would never be found to be stuck.
    let form = if plain { 5 + id % 2 } else { id % 7 };
    let got = match form {
        _ if moved => comm.recv_value::<Vec<u64>>(source, tag)?.0,
        0 => comm.irecv::<u64>(source, tag)?.wait()?.0,
        1 => polled(comm.irecv::<u64>(source, tag)?.map(|(data, _)| data))?,
        2 => persistent(comm, source, tag, length)?,
        3..=5 => comm.recv(source, tag)?.0,
        _ => {
            let mut buffer = vec![0; length + 1];
            let count = comm.recv_into(source, tag, &mut buffer)?.count;
            buffer.truncate(count);
            buffer
        }
    };
    assert!(plain || got == elements(id, from, length), "{message:?}");
    Ok(())
}

fn persistent(comm: &Comm, source: Source, tag: Tag, length: usize) -> Result<Vec<u64>> {
    let mut call = comm.recv_init(source, tag, vec![0; length])?;
    call.start()?;
    call.wait()?;
    Ok(call.output()?.to_vec())
}

/// Looks for the end of a request again and again.
fn polled(request: Request<'_, Vec<u64>>) -> Result<Vec<u64>> {
    let mut requests = [request];
    loop {
        if let Some((_, data)) = Request::test_any(&mut requests)? {
            return Ok(data);
        }
    }
}
