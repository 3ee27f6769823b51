//! The long messages that this process has announced, and whose receivers may take them from where they are.

/// The most that are announced at once.
pub(super) const MOST: usize = 1 << 10;

/// One that is announced: its place among those, and a number that the one before in this place did not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub place: u32,
    pub number: u32,
}

impl Ticket {
    pub(super) fn word(self) -> u64 {
        u64::from(self.place) << 32 | u64::from(self.number)
    }

    /// The ticket that this word is, if there may be one.
    pub(super) fn of(word: u64) -> Option<Ticket> {
        let (place, number) = ((word >> 32) as u32, word as u32);
        ((place as usize) < MOST).then_some(Ticket { place, number })
    }
}

/// Those that are announced and have not begun to leave, or are still read where they are.
#[derive(Default)]
pub(super) struct Lending {
    places: Vec<Option<Announced>>,
    last: u32,
}

struct Announced {
    to: usize,
    number: u32,
    is_wanted: bool,
}

impl Lending {
    /// Announces a message to a process, unless there are too many.
    pub(super) fn announce(&mut self, to: usize) -> Option<Ticket> {
        let free = self.places.iter().position(Option::is_none);
        let place = free.unwrap_or(self.places.len());
        if place == MOST {
            return None;
        }
        if place == self.places.len() {
            self.places.push(None);
        }
        self.last = self.last.wrapping_add(1);
        self.places[place] = Some(Announced {
            to,
            number: self.last,
            is_wanted: false,
        });
        Some(Ticket {
            place: place as u32,
            number: self.last,
        })
    }

    /// A process waits for a message: what is announced no more was sent without that.
    pub(super) fn want(&mut self, from: usize, ticket: Ticket) {
        let place = self.places.get_mut(ticket.place as usize);
        let found = place.and_then(Option::as_mut);
        if let Some(found) = found.filter(|it| (it.to, it.number) == (from, ticket.number)) {
            found.is_wanted = true;
        }
    }

    /// Whether the receiver of a message that is announced waits for it.
    pub(super) fn is_wanted(&self, ticket: Ticket) -> bool {
        let announced = self.places[ticket.place as usize].as_ref();
        announced.is_some_and(|it| it.number == ticket.number && it.is_wanted)
    }

    /// The place of a message is free again.
    pub(super) fn end(&mut self, ticket: Ticket) {
        self.places[ticket.place as usize] = None;
    }

    /// The receivers of all.
    pub(super) fn receivers(&self) -> impl Iterator<Item = usize> {
        self.places.iter().flatten().map(|announced| announced.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_wanted_once_its_receiver_says_so() {
        let mut lending = Lending::default();
        let [first, second] = [1, 2].map(|to| lending.announce(to).unwrap());
        assert_ne!(first.place, second.place);
        lending.want(2, first);
        assert!(!lending.is_wanted(first), "another process wants it");
        lending.want(1, first);
        assert_eq!(
            [first, second].map(|it| lending.is_wanted(it)),
            [true, false]
        );
        lending.end(first);
        let third = lending.announce(1).unwrap();
        assert_eq!(third.place, first.place);
        lending.want(1, first);
        assert!(!lending.is_wanted(third), "it was said of the one before");
        assert_eq!(Ticket::of(third.word()), Some(third));
        assert_eq!(lending.receivers().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn there_are_only_so_many() {
        let mut lending = Lending::default();
        let tickets: Vec<_> = (0..=MOST).map_while(|_| lending.announce(0)).collect();
        assert_eq!(tickets.len(), MOST);
        lending.end(tickets[7]);
        assert_eq!(lending.announce(0).map(|it| it.place), Some(7));
        assert_eq!(Ticket::of((MOST as u64) << 32), None);
    }
}
