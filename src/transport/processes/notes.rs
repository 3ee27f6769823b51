//! What processes tell each other besides elements, as bytes: how a rank ended, why a communicator broke, what a process
//! brings into a world. [Reports](super::reports) have a file of their own.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::Rank;
use crate::error::{Cause, Deadlock, Gone};

/// What a process says of itself when it opens a world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The number of its ranks.
    pub ranks: usize,
    /// The machine that it runs on, as a number: the same for processes on one machine.
    pub machine: u64,
    /// A number that it has drawn.
    pub mark: u64,
    /// The CPUs that it may use, ascending.
    pub cpus: Vec<usize>,
    /// Why it cannot take part, if it cannot.
    pub refused: Option<Arc<str>>,
}

/// How a rank ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub rank: Rank,
    pub why: Gone,
    pub site: Option<Arc<str>>,
    pub follows: Option<Cause>,
    /// The deadlocks that were found in its process and not told before.
    pub deadlocks: Vec<Arc<Deadlock>>,
    /// Whether an injected fault has ended it early.
    pub left: bool,
}

/// Writes numbers and texts one after another.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

/// Reads them; `None` where there are no more, or where it is nothing that a process would say: a rank that the world
/// does not have, or what is nested deeper than anything is.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    /// The number of ranks of the world.
    ranks: usize,
}

/// The most ranks of one process that are believed.
const MOST_RANKS: usize = 1 << 16;

/// Stands for a rank in a greeting.
const RANK: u8 = b'r';

impl Writer {
    pub(super) fn bytes(&self) -> Vec<MaybeUninit<u8>> {
        self.0.iter().copied().map(MaybeUninit::new).collect()
    }

    pub(super) fn number(&mut self, number: usize) -> &mut Writer {
        self.0.extend((number as u64).to_le_bytes());
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Writer {
        self.number(text.len()).0.extend(text.as_bytes());
        self
    }

    /// How many values there are, and each of them.
    pub(super) fn list<V>(
        &mut self,
        values: &[V],
        mut write: impl FnMut(&mut Writer, &V),
    ) -> &mut Writer {
        self.number(values.len());
        values.iter().for_each(|value| write(self, value));
        self
    }

    pub(super) fn maybe(&mut self, text: Option<&str>) -> &mut Writer {
        match text {
            Some(text) => self.number(1).text(text),
            None => self.number(0),
        }
    }

    /// A greeting has a byte for each rank: other processes have memory for as many, and a number alone is easily wrong.
    pub(super) fn hello(mut self, hello: &Hello) -> Writer {
        self.number(hello.ranks);
        self.0.extend(std::iter::repeat_n(RANK, hello.ranks));
        self.number(hello.machine as usize)
            .number(hello.mark as usize);
        self.number(hello.cpus.len());
        hello.cpus.iter().for_each(|cpu| _ = self.number(*cpu));
        self.maybe(hello.refused.as_deref());
        self
    }

    pub(super) fn end(mut self, end: &End) -> Writer {
        self.number(end.rank)
            .why(&end.why)
            .maybe(end.site.as_deref());
        match &end.follows {
            Some(cause) => self.number(1).cause(cause),
            None => self.number(0),
        };
        self.list(&end.deadlocks, |this, one| _ = this.deadlock(one));
        self.number(end.left.into());
        self
    }

    /// A communicator, by its context, and why it has broken.
    pub(super) fn broken(mut self, context: u32, cause: &Cause) -> Writer {
        self.number(context as usize).cause(cause);
        self
    }

    fn why(&mut self, why: &Gone) -> &mut Writer {
        match why {
            Gone::Returned => self.number(0),
            Gone::Failed(text) => self.number(1).text(text),
            Gone::Panicked(text) => self.number(2).text(text),
        }
    }

    fn cause(&mut self, cause: &Cause) -> &mut Writer {
        match cause {
            Cause::Gone { rank, why, site } => {
                self.number(0).number(*rank).why(why).maybe(site.as_deref())
            }
            Cause::Other { rank, error } => self.number(1).number(*rank).text(error),
            Cause::Mismatch(mismatch) => self.number(2).mismatch(mismatch),
            Cause::Deadlock(deadlock) => self.number(3).deadlock(deadlock),
            Cause::Revoked { rank } => self.number(4).number(*rank),
        }
    }
}

impl<'b> Reader<'b> {
    /// Of a note in a world of `ranks` ranks; 0 where it is not known.
    pub(super) fn of(bytes: &'b [u8], ranks: usize) -> Reader<'b> {
        Reader { bytes, ranks }
    }

    pub(super) fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*number) as usize)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn text(&mut self) -> Option<Arc<str>> {
        let length = self.number()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(String::from_utf8_lossy(text).into())
    }

    pub(super) fn maybe(&mut self) -> Option<Option<Arc<str>>> {
        match self.flag()? {
            false => Some(None),
            true => self.text().map(Some),
        }
    }

    /// As many values as the number before them says.
    pub(super) fn list<V>(
        &mut self,
        mut value: impl FnMut(&mut Self) -> Option<V>,
    ) -> Option<Vec<V>> {
        let count = self.number()?;
        (0..count).map(|_| value(self)).collect()
    }

    /// A rank of the world.
    pub(super) fn rank(&mut self) -> Option<Rank> {
        self.number().filter(|rank| *rank < self.ranks)
    }

    /// A number of ranks of the world.
    pub(super) fn size(&mut self) -> Option<usize> {
        self.number().filter(|size| *size <= self.ranks)
    }

    /// A number of ranks, of which each is there.
    fn as_many_ranks(&mut self) -> Option<usize> {
        let count = self.number().filter(|ranks| *ranks <= MOST_RANKS)?;
        let (ranks, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        ranks.iter().all(|byte| *byte == RANK).then_some(count)
    }

    pub(super) fn hello(mut self) -> Option<Hello> {
        Some(Hello {
            ranks: self.as_many_ranks()?,
            machine: self.number()? as u64,
            mark: self.number()? as u64,
            cpus: self.list(Self::number)?,
            refused: self.maybe()?,
        })
    }

    pub(super) fn end(mut self) -> Option<End> {
        Some(End {
            rank: self.rank()?,
            why: self.why()?,
            site: self.maybe()?,
            follows: match self.flag()? {
                false => None,
                true => Some(self.cause()?),
            },
            deadlocks: self.list(|this| Some(Arc::new(this.deadlock()?)))?,
            left: self.flag()?,
        })
    }

    pub(super) fn broken(mut self) -> Option<(u32, Cause)> {
        Some((self.number()?.try_into().ok()?, self.cause()?))
    }

    fn why(&mut self) -> Option<Gone> {
        Some(match self.number()? {
            0 => Gone::Returned,
            1 => Gone::Failed(self.text()?),
            2 => Gone::Panicked(self.text()?),
            _ => return None,
        })
    }

    fn cause(&mut self) -> Option<Cause> {
        Some(match self.number()? {
            0 => Cause::Gone {
                rank: self.rank()?,
                why: self.why()?,
                site: self.maybe()?,
            },
            1 => Cause::Other {
                rank: self.rank()?,
                error: self.text()?,
            },
            2 => Cause::Mismatch(Arc::new(self.mismatch()?)),
            3 => Cause::Deadlock(Arc::new(self.deadlock()?)),
            4 => Cause::Revoked { rank: self.rank()? },
            _ => return None,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::error::{Called, Mismatch, Stuck};

    fn bytes(writer: &Writer) -> Vec<u8> {
        writer.0.clone()
    }

    #[test]
    fn what_is_written_is_read() {
        let hello = Hello {
            ranks: 3,
            machine: u64::MAX,
            mark: 9,
            cpus: vec![0, 5],
            refused: Some("why".into()),
        };
        let written = bytes(&Writer::default().hello(&hello));
        assert_eq!(Reader::of(&written, 0).hello(), Some(hello));
        for cut in 0..written.len() {
            assert_eq!(Reader::of(&written[..cut], 0).hello(), None, "cut at {cut}");
        }
    }

    #[test]
    fn more_ranks_than_a_process_can_have_are_not_believed() {
        let hello = Hello {
            ranks: MOST_RANKS + 1,
            ..Hello::default()
        };
        let written = bytes(&Writer::default().hello(&hello));
        assert_eq!(Reader::of(&written, 0).hello(), None);
    }

    #[test]
    fn a_number_of_ranks_that_is_not_that_of_the_greeting_is_not_believed() {
        let hello = Hello {
            ranks: 3,
            cpus: vec![0; 9000],
            ..Hello::default()
        };
        let written = bytes(&Writer::default().hello(&hello));
        for ranks in (0..100).chain([1000, MOST_RANKS]) {
            let mut written = written.clone();
            written[..8].copy_from_slice(&(ranks as u64).to_le_bytes());
            let read = Reader::of(&written, 0).hello();
            assert_eq!(read.is_some(), ranks == 3, "{ranks}");
        }
    }

    fn mismatch() -> Mismatch {
        Mismatch {
            calls: vec![Called {
                rank: 1,
                call: "barrier".into(),
                site: Some(Location::caller().into()),
            }],
            odd: vec![1],
            comm: Some("dup".into()),
        }
    }

    fn deadlock() -> Deadlock {
        Deadlock {
            stuck: vec![Stuck {
                rank: 3,
                call: "recv".into(),
                site: Location::caller().into(),
                comm: None,
                note: Some("waits for rank 2".into()),
                needs_buffer: false,
            }],
            cycle: vec![3],
            others: 1,
            unreceived: None,
        }
    }

    #[test]
    fn how_a_rank_ended_is_read() {
        let gone = Cause::Gone {
            rank: 2,
            why: Gone::Panicked("boom".into()),
            site: Some("src/x.rs:1:2".into()),
        };
        let causes = [
            gone,
            Cause::Mismatch(Arc::new(mismatch())),
            Cause::Deadlock(Arc::new(deadlock())),
            Cause::Revoked { rank: 1 },
        ];
        for follows in causes.into_iter().map(Some).chain([None]) {
            let end = End {
                rank: 4,
                why: Gone::Failed("no".into()),
                site: None,
                follows,
                deadlocks: vec![Arc::new(deadlock())],
                left: true,
            };
            let written = bytes(&Writer::default().end(&end));
            let read = Reader::of(&written, 5).end();
            assert_eq!(format!("{read:?}"), format!("{:?}", Some(end)));
            assert!(
                Reader::of(&written, 4).end().is_none(),
                "of a world without rank 4"
            );
        }
    }
}
