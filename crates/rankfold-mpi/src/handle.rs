//! Handles of objects that the program made: a place in a table and the generation of that place, so that a handle whose
//! object was freed is never taken for a later one.

use std::fmt;

/// The kinds of objects; a handle of another kind is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Op = 1,
    Comm,
    Group,
    Message,
    Info,
    Errhandler,
    Request,
    Datatype,
    Win,
    Session,
}

const KIND: u32 = 36;
const GENERATION: u32 = 40;
/// Predefined handles are below this.
const FIRST: usize = 1 << 12;
const PLACES: usize = 1 << (KIND - 12);

/// Why a handle is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// It was freed.
    Freed,
    /// It never was one of this kind.
    Never,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bad::Freed => "was freed",
            Bad::Never => "is none of this rank",
        })
    }
}

struct Place<T> {
    generation: usize,
    object: Option<T>,
}

/// The objects of one kind.
pub(crate) struct Table<T> {
    kind: Kind,
    places: Vec<Place<T>>,
    free: Vec<usize>,
}

impl<T> Table<T> {
    pub(crate) const fn new(kind: Kind) -> Self {
        Table {
            kind,
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps an object, and returns its handle.
    pub(crate) fn add(&mut self, object: T) -> usize {
        let object = Some(object);
        let at = match self.free.pop() {
            Some(at) => {
                self.places[at].object = object;
                at
            }
            None => {
                let generation = 1;
                self.places.push(Place { generation, object });
                self.places.len() - 1
            }
        };
        assert!(at < PLACES, "too many objects of one kind");
        self.handle(at)
    }

    fn handle(&self, at: usize) -> usize {
        self.places[at].generation << GENERATION
            | (self.kind as usize) << KIND
            | (at * FIRST + FIRST)
    }

    fn place(&self, handle: usize) -> Result<usize, Bad> {
        let kind = handle >> KIND & 0xf;
        let number = handle & ((1 << KIND) - 1);
        if kind != self.kind as usize || number < FIRST || !number.is_multiple_of(FIRST) {
            return Err(Bad::Never);
        }
        let at = number / FIRST - 1;
        let place = self.places.get(at).ok_or(Bad::Never)?;
        let same = place.generation == handle >> GENERATION && place.object.is_some();
        if same { Ok(at) } else { Err(Bad::Freed) }
    }

    pub(crate) fn get(&self, handle: usize) -> Result<&T, Bad> {
        let at = self.place(handle)?;
        self.places[at].object.as_ref().ok_or(Bad::Freed)
    }

    pub(crate) fn get_mut(&mut self, handle: usize) -> Result<&mut T, Bad> {
        let at = self.place(handle)?;
        self.places[at].object.as_mut().ok_or(Bad::Freed)
    }

    /// Takes an object out; its handle is none from now on.
    pub(crate) fn remove(&mut self, handle: usize) -> Result<T, Bad> {
        let at = self.place(handle)?;
        let place = &mut self.places[at];
        place.generation = (place.generation + 1) & 0xff_ffff;
        self.free.push(at);
        place.object.take().ok_or(Bad::Freed)
    }

    /// The handles of the objects that are left.
    pub(crate) fn handles(&self) -> impl Iterator<Item = usize> {
        let places = self.places.iter().enumerate();
        let left = places.filter(|(_, place)| place.object.is_some());
        left.map(|(at, _)| self.handle(at))
    }

    /// The objects that are left.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.object.as_ref())
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_that_was_freed_is_never_taken_for_a_later_object() {
        let mut table = Table::new(Kind::Comm);
        let first = table.add('a');
        assert!(first >= FIRST);
        assert_eq!(table.remove(first), Ok('a'));
        assert_eq!(table.get(first), Err(Bad::Freed));
        let second = table.add('b');
        assert_ne!(first, second);
        assert_eq!(table.get(first), Err(Bad::Freed));
        assert_eq!(table.get(second), Ok(&'b'));
        assert_eq!(table.remove(first), Err(Bad::Freed));
        assert_eq!(table.len(), 1);
        assert_eq!(table.handles().collect::<Vec<_>>(), [second]);
    }

    #[test]
    fn a_handle_of_another_kind_or_a_number_is_none() {
        let mut comms = Table::new(Kind::Comm);
        let mut groups = Table::<()>::new(Kind::Group);
        let comm = comms.add(());
        groups.add(());
        assert_eq!(groups.get(comm), Err(Bad::Never));
        for number in [0, 1, 0x101, 4095, 4096, 4097, usize::MAX] {
            assert_eq!(comms.get(number), Err(Bad::Never), "{number}");
        }
    }
}
