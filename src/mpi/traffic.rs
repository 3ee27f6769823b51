//! The messages between this process and the others.
//!
//! A message is one *letter*, and a *body* if it is too long for one:
//!
//! ```text
//! letter   head │ contents │ 0              a short message
//! letter   head │ length of the body        a long one; the body goes apart, from where it was copied to where it is read
//! letter   head │ ticket │ length, marked   a long one that is announced: the body goes once it is wanted, from where it is,
//!                                           or after a while from where it was copied
//! letter   ticket │ mark                    the announced message is wanted: the receive of its body is posted
//! ```
//!
//! Letters to and from processes that share memory with this one go through [that](super::node). What has a mark is [no
//! message](super::marked), or announces one.
//!
//! For letters over MPI a few receives of any sender are posted all the time, and posted again in the same order, so that
//! one test tells whether the next letter is there, and MPI writes it where it is read. Letters of one process arrive in the
//! order in which they were sent, and so do bodies; a letter whose body has not arrived holds up those behind it.
//!
//! A letter that is none, or whose body is longer or shorter than it says, or was never sent, is delivered as an empty
//! one: nothing that its sender has sent besides is read. MPI finds the messages of one process in the order in which
//! they were sent, so a body that it has not found when a later letter has arrived over MPI was not sent before that; a
//! process whose letters come through memory is asked for such a letter. The receive of the body is then recalled, which
//! does nothing to one whose message MPI has found, and may still be writing.

use std::collections::VecDeque;
use std::mem::{self, MaybeUninit};

use super::lending::{Lending, Ticket};
use super::library::{Arrival, Barrier, Library};
use super::marks::MARKS;
use super::message::as_padded;
use super::node::NodeLetters;
use super::requests::{Receiving, Sending, Standing};
use super::{Deliver, HEAD, Message};

/// The bytes of the longest letter over MPI, which MPI libraries send at once.
const LETTER: usize = 4032;
const _: () = assert!(
    LETTER <= super::abi::SHORTEST_PART,
    "a letter is one message"
);
/// Number of receives for letters.
const RECEIVES: usize = 16;
/// The number of bytes at the end of a letter that say how long its body is.
const LENGTH: usize = size_of::<u64>();
/// The tags of letters and of bodies, and the first of those of announced bodies, one for each place.
const LETTERS: i32 = 0;
const BODIES: i32 = 1;
const ANNOUNCED_BODIES: i32 = 2;
/// Number of polls of which one looks at MPI though a letter has come through memory; and though none is to come over MPI,
/// which may still have to move what was sent before.
const TURN: u32 = 16;
const SELDOM: u32 = 256;
/// Number of letters that one poll takes in, and of sends that it tests; and the bytes of letters through memory, of which
/// one may exceed them: the others of this process wait meanwhile.
const AT_ONCE: usize = 64;
const BYTES_AT_ONCE: usize = 1 << 18;
/// Number of buffers that are kept for the next letters and bodies, and the bytes of the longest body among them.
const SPARES: usize = 8;
const LONGEST_SPARE: usize = 1 << 24;

/// Whether a message with this number of bytes of contents is one letter over MPI.
pub(super) fn is_short(contents: usize) -> bool {
    contents <= LETTER - LENGTH - HEAD
}

/// A buffer for the body of a message.
pub(super) struct Body(pub(super) Sending);

impl Body {
    /// The body with these contents.
    pub(super) fn filled(mut self, contents: &[MaybeUninit<u8>]) -> Body {
        self.0.bytes.clear();
        self.0.bytes.extend_from_slice(contents);
        self
    }
}

/// What is on its way.
pub(super) struct Traffic {
    pub(super) library: Library,
    /// The letters that go through memory.
    pub(super) node: NodeLetters,
    /// What has not left, with its receivers.
    pub(super) outgoing: VecDeque<(usize, Sending)>,
    /// The receives for letters; the next letter arrives at `next`, and the one before has been read if `is_read`.
    pub(super) letters: Vec<Standing>,
    next: usize,
    is_read: bool,
    /// The letters of each process that wait for a body, theirs or that of one before them, and how many there are.
    pub(super) waiting: Vec<VecDeque<Waiting>>,
    pub(super) bodies: usize,
    /// The number of letters that have arrived from each process, and whether nothing of it is read any more.
    pub(super) heard: Vec<u32>,
    unread: Vec<bool>,
    /// The numbers of the last question to each process and of the last answer.
    pub(super) questions: Vec<u32>,
    pub(super) answers: Vec<u32>,
    /// Whether MPI may have to move a receive that is tested no more.
    has_abandoned: bool,
    /// Whether letters are being read: one that could not be taken in leaves it so.
    is_reading: bool,
    /// Number of polls.
    polls: u32,
    /// Buffers of letters and of bodies that have left.
    spare_letters: Vec<Sending>,
    spare_bodies: Vec<Sending>,
    /// What is announced to other processes, and how many bodies are wanted from them that have not arrived.
    pub(super) lending: Lending,
    pub(super) wanted: usize,
    /// The message that goes into memory of the rank that takes in messages, until it is told.
    pub(super) straight: Option<Box<Straight>>,
    /// Whether the process has said that it exits.
    pub(super) exits: bool,
    /// The barrier at the exit, once it has begun.
    pub(super) exit: Option<Barrier>,
}

/// A letter that is not delivered yet.
pub(super) struct Waiting {
    pub letter: Message,
    pub body: Option<Receiving>,
    pub was_announced: bool,
}

/// A message whose body goes into memory of the rank that has taken in its letter.
pub(super) struct Straight {
    pub from: usize,
    pub body: Receiving,
    /// The number of letters that had arrived from its process.
    pub heard: u32,
}

impl Traffic {
    /// Between process `me` and the others of `processes`, with which it shares memory or does not.
    pub(super) fn new(
        mut library: Library,
        (me, processes): (usize, usize),
        shares: bool,
    ) -> Result<Traffic, String> {
        let mut letters = Vec::new();
        for _ in 0..RECEIVES {
            letters.push(library.standing(LETTER, LETTERS)?);
        }
        for letter in &mut letters {
            library.post(letter)?;
        }
        let mut traffic = Traffic {
            library,
            node: NodeLetters::new((me, processes), shares),
            outgoing: VecDeque::new(),
            letters,
            next: 0,
            is_read: false,
            waiting: (0..processes).map(|_| VecDeque::new()).collect(),
            bodies: 0,
            heard: vec![0; processes],
            unread: vec![false; processes],
            questions: vec![0; processes],
            answers: vec![0; processes],
            has_abandoned: false,
            is_reading: false,
            polls: 0,
            spare_letters: Vec::new(),
            spare_bodies: Vec::new(),
            lending: Lending::default(),
            wanted: 0,
            straight: None,
            exits: false,
            exit: None,
        };
        traffic.offer((me, processes))?;
        Ok(traffic)
    }

    /// Whether a message to a process with this number of bytes of contents is one letter.
    #[inline]
    pub(super) fn is_one_letter(&self, to: usize, contents: usize) -> bool {
        let longest = self.node.longest(to).unwrap_or(LETTER);
        contents + LENGTH + HEAD <= longest
    }

    /// A buffer for a body of this number of bytes.
    pub(super) fn spare_body(&mut self, length: usize) -> Body {
        let fits = |spare: &Sending| spare.bytes.capacity() >= length;
        let place = self.spare_bodies.iter().position(fits);
        Body(place.map_or_else(Sending::default, |place| {
            self.spare_bodies.swap_remove(place)
        }))
    }

    /// Sends a letter and, if there is one, its body: nothing once the process has said that it exits. For the others its
    /// ranks have ended then, and what they send would never have left, or MPI would wait for it without a receiver.
    pub(super) fn send(
        &mut self,
        to: usize,
        head: &[u8; HEAD],
        contents: &[MaybeUninit<u8>],
        body: Option<Body>,
    ) -> Result<(), String> {
        match self.exits {
            false => self.send_always(to, head, contents, body),
            true => Ok(()),
        }
    }

    /// Sends a letter that says to all of `others` that this process exits, after all else.
    pub(super) fn say_exit(
        &mut self,
        mut others: impl Iterator<Item = usize>,
        head: &[u8; HEAD],
    ) -> Result<(), String> {
        self.exits = true;
        others.try_for_each(|to| self.send_always(to, head, &[], None))
    }

    /// The same as [`send`](Self::send), also after that: for a letter without which its receiver might not come to the barrier.
    pub(super) fn send_always(
        &mut self,
        to: usize,
        head: &[u8; HEAD],
        contents: &[MaybeUninit<u8>],
        body: Option<Body>,
    ) -> Result<(), String> {
        let length = body.as_ref().map_or(0, |body| body.0.bytes.len());
        self.send_letter(to, [as_padded(head), contents], length as u64)?;
        match body {
            Some(body) => self.post(body.0, to, BODIES),
            None => Ok(()),
        }
    }

    #[inline]
    pub(super) fn send_letter(
        &mut self,
        to: usize,
        contents: [&[MaybeUninit<u8>]; 2],
        last: u64,
    ) -> Result<(), String> {
        if self.node.reaches(to) {
            let [first, second] = contents;
            self.node
                .send(to, [first, second, as_padded(&last.to_le_bytes())]);
            return Ok(());
        }
        self.send_over_mpi(to, contents, last)
    }

    /// The same over MPI, behind all that was sent so before.
    pub(super) fn send_over_mpi(
        &mut self,
        to: usize,
        contents: [&[MaybeUninit<u8>]; 2],
        last: u64,
    ) -> Result<(), String> {
        let mut letter = self.spare_letters.pop().unwrap_or_default();
        let bytes = &mut letter.bytes;
        bytes.clear();
        bytes.reserve(contents[0].len() + contents[1].len() + LENGTH);
        bytes.extend_from_slice(contents[0]);
        bytes.extend_from_slice(contents[1]);
        bytes.extend_from_slice(as_padded(&last.to_le_bytes()));
        self.post(letter, to, LETTERS)
    }

    pub(super) fn post(&mut self, mut sending: Sending, to: usize, tag: i32) -> Result<(), String> {
        match self.library.send(&mut sending, to, tag)? {
            true => self.keep(sending),
            false => self.outgoing.push_back((to, sending)),
        }
        Ok(())
    }

    /// Keeps the buffer of a message that has left.
    fn keep(&mut self, sent: Sending) {
        let capacity = sent.bytes.capacity();
        let spares = match capacity <= 2 * LETTER {
            true => &mut self.spare_letters,
            false => &mut self.spare_bodies,
        };
        if spares.len() < SPARES && capacity <= LONGEST_SPARE {
            spares.push(sent);
        }
    }

    /// Takes in what has arrived, of letters one, or `all`. Returns whether anything is left: a message that goes into
    /// memory of the rank that polls, or bodies that are wanted.
    pub(super) fn poll(&mut self, all: bool, deliver: &mut dyn Deliver) -> Result<bool, String> {
        if !self.outgoing.is_empty() {
            self.test_outgoing()?;
        }
        self.node.send_waiting();
        let most = if all { AT_ONCE } else { 1 };
        let read = self.read_letters(most, deliver)?;
        // Those of the others come over MPI, where a look takes longer.
        self.polls = self.polls.wrapping_add(1);
        let is_turn = all || read == 0 || self.polls.is_multiple_of(TURN);
        if is_turn && self.needs_mpi() {
            self.receive_letters(most, deliver)?;
        }
        if self.bodies > 0 {
            self.take_bodies(deliver)?;
        }
        Ok(self.wanted > 0 || self.straight.is_some())
    }

    /// Whether letters come over MPI, or MPI has something to move.
    fn needs_mpi(&self) -> bool {
        let all_moved = self.node.readers.count() + 1 >= self.waiting.len();
        !all_moved
            || self.has_abandoned
            || self.questions != self.answers
            || self.polls.is_multiple_of(SELDOM)
    }

    /// Takes in at most `most` letters that have arrived through memory. Returns how many.
    fn read_letters(&mut self, most: usize, deliver: &mut dyn Deliver) -> Result<usize, String> {
        if mem::replace(&mut self.is_reading, true) {
            return Err("a rank has panicked while it took in a message".into());
        }
        let (mut readers, mut opened) = (mem::take(&mut self.node.readers), Ok(()));
        let read = readers.read((most, BYTES_AT_ONCE), |from, letter| {
            let this = self.open_letter(from, letter, deliver);
            opened = mem::replace(&mut opened, Ok(())).and(this);
        });
        self.node.readers = readers;
        self.is_reading = false;
        opened.map(|()| read)
    }

    /// Takes in at most `most` letters that have arrived over MPI. The receive of a letter is posted again by the next
    /// poll: a rank that waits for the letter need not wait for that.
    fn receive_letters(&mut self, most: usize, deliver: &mut dyn Deliver) -> Result<(), String> {
        for _ in 0..most {
            if mem::take(&mut self.is_read) {
                self.post_again()?;
            }
            match self.library.has_come(&mut self.letters[self.next])? {
                Arrival::Yes => {}
                Arrival::No => break,
                Arrival::OtherLength => return Err("a letter is longer than any".into()),
            }
            let letters = mem::take(&mut self.letters);
            let letter = &letters[self.next];
            let opened = self.open_letter(letter.source, letter.bytes(), deliver);
            self.letters = letters;
            opened?;
            self.next = (self.next + 1) % RECEIVES;
            self.is_read = true;
        }
        Ok(())
    }

    /// The message that goes into memory of the rank that polls.
    pub(super) fn take_straight(&mut self) -> Option<Box<Straight>> {
        self.straight.take()
    }

    /// Posts the receive again whose letter was read.
    fn post_again(&mut self) -> Result<(), String> {
        let read = &mut self.letters[(self.next + RECEIVES - 1) % RECEIVES];
        self.library.post(read)
    }

    /// Delivers the letter that has arrived, or lets it wait.
    fn open_letter(
        &mut self,
        from: usize,
        bytes: &[u8],
        deliver: &mut dyn Deliver,
    ) -> Result<(), String> {
        self.heard[from] = self.heard[from].wrapping_add(1);
        if self.unread[from] {
            return Ok(());
        }
        let Some((bytes, length)) = bytes.split_last_chunk::<LENGTH>() else {
            self.read_no_more(from, deliver);
            return Ok(());
        };
        let length = u64::from_le_bytes(*length);
        if length & MARKS != 0 {
            return self.open_marked(from, (bytes, length), deliver);
        }
        let length = length as usize;
        if length == 0 && self.waiting[from].is_empty() {
            deliver.deliver(from, bytes, None);
            return Ok(());
        }
        let letter = Message::of(bytes);
        match length {
            0 => self.waiting[from].push_back(Waiting {
                letter,
                body: None,
                was_announced: false,
            }),
            _ => return self.receive_body(from, (letter, length), deliver),
        }
        Ok(())
    }

    /// Posts the receive of the body of a letter.
    fn receive_body(
        &mut self,
        from: usize,
        (letter, length): (Message, usize),
        deliver: &mut dyn Deliver,
    ) -> Result<(), String> {
        // A long message has nothing else in its letter, and a short one no body.
        let is_long = letter.bytes().len() == HEAD && !is_short(length);
        let Some(mut body) = is_long.then(|| Receiving::room_for(length)).flatten() else {
            self.read_no_more(from, deliver);
            return Ok(());
        };
        self.library.receive(&mut body, from, (length, BODIES))?;
        self.await_body(from, letter, body, false);
        Ok(())
    }

    /// Lets a letter wait for its body, which was announced or not.
    pub(super) fn await_body(
        &mut self,
        from: usize,
        letter: Message,
        body: Receiving,
        was_announced: bool,
    ) {
        self.bodies += 1;
        self.wanted += usize::from(was_announced);
        self.waiting[from].push_back(Waiting {
            letter,
            body: Some(body),
            was_announced,
        });
    }

    /// A process has sent what is no letter.
    pub(super) fn read_no_more(&mut self, from: usize, deliver: &mut dyn Deliver) {
        self.unread[from] = true;
        // The receives that are open stay so: a cancelled one is waited for, and its sender may be in its last call.
        self.has_abandoned = true;
        let waiting = mem::take(&mut self.waiting[from]);
        self.bodies -= waiting.iter().filter(|it| it.body.is_some()).count();
        self.wanted -= waiting.iter().filter(|it| it.was_announced).count();
        deliver.deliver(from, &[], None);
    }

    /// Delivers the letters whose bodies have arrived, and those behind them.
    fn take_bodies(&mut self, deliver: &mut dyn Deliver) -> Result<(), String> {
        for from in 0..self.waiting.len() {
            while let Some(first) = self.waiting[from].front_mut() {
                if let Some(body) = &mut first.body {
                    match self.library.has_arrived(body)? {
                        Arrival::Yes => {
                            self.bodies -= 1;
                            self.wanted -= usize::from(mem::take(&mut first.was_announced));
                        }
                        Arrival::No => {
                            self.recall_late(from)?;
                            break;
                        }
                        Arrival::OtherLength => {
                            self.read_no_more(from, deliver);
                            break;
                        }
                    }
                }
                if let Some(Waiting { letter, body, .. }) = self.waiting[from].pop_front() {
                    deliver.deliver(from, letter.bytes(), body.map(Receiving::message));
                }
            }
        }
        Ok(())
    }

    fn test_outgoing(&mut self) -> Result<(), String> {
        for _ in 0..self.outgoing.len().min(AT_ONCE) {
            let Some((to, mut sending)) = self.outgoing.pop_front() else {
                break;
            };
            match self.library.has_left(&mut sending)? {
                true => self.keep(sending),
                false => self.outgoing.push_back((to, sending)),
            }
        }
        Ok(())
    }
}

/// The tag of the body of an announced message.
pub(super) fn tag_of(ticket: Ticket) -> i32 {
    ANNOUNCED_BODIES + ticket.place as i32
}
