//! The attributes of a communicator on one rank, in the order in which they were set, without their types.
//!
//! Values are destroyed and copied, and so code of the program runs, only while the list is not borrowed.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

/// The value under a key.
pub(crate) trait Attribute {
    /// Identifies the key, which lives as long as this.
    fn key(&self) -> *const ();

    fn value(&self) -> Rc<dyn Any>;

    /// What a duplicate of the communicator gets.
    fn copy(&self) -> Option<Rc<dyn Attribute>>;
}

/// The attributes of a communicator on one rank.
#[derive(Default)]
pub(crate) struct Attributes(RefCell<Vec<Rc<dyn Attribute>>>);

impl Attributes {
    pub(crate) fn get(&self, key: *const ()) -> Option<Rc<dyn Any>> {
        let all = self.0.borrow();
        let found = all.iter().find(|one| one.key() == key);
        found.map(|one| one.value())
    }

    /// Sets an attribute; returns the one that it replaces.
    pub(crate) fn set(&self, attribute: Rc<dyn Attribute>) -> Option<Rc<dyn Attribute>> {
        let earlier = self.delete(attribute.key());
        self.0.borrow_mut().push(attribute);
        earlier
    }

    pub(crate) fn delete(&self, key: *const ()) -> Option<Rc<dyn Attribute>> {
        let mut all = self.0.borrow_mut();
        let place = all.iter().position(|one| one.key() == key)?;
        Some(all.remove(place))
    }

    /// Copies those that a duplicate gets.
    pub(crate) fn copy_to(&self, duplicate: &Attributes) {
        let all = self.0.borrow().clone();
        for copy in all.iter().filter_map(|one| one.copy()) {
            drop(duplicate.set(copy));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// The number of attributes.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().len()
    }

    /// Deletes all, the last first.
    pub(crate) fn clear(&self) {
        while let Some(last) = self.take_last() {
            drop(last);
        }
    }

    fn take_last(&self) -> Option<Rc<dyn Attribute>> {
        self.0.borrow_mut().pop()
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        self.clear();
    }
}
