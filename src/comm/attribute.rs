//! Attributes: values that a rank keeps with a communicator (MPI's attribute caching).
//!
//! A library that is called with a communicator finds there what it has kept since its last call: a private duplicate,
//! tables, counters. The [`Key`] has the type of the value, and the rule for duplicates.
//!
//! ```
//! use rankfold::attribute::Key;
//! use rankfold::{Comm, Result, World, op};
//!
//! /// A library whose messages and calls never match those of the program.
//! struct Library {
//!     private: Key<Comm>,
//! }
//!
//! impl Library {
//!     fn sum(&self, comm: &Comm, value: u64) -> Result<u64> {
//!         let private = match self.private.get(comm) {
//!             Some(private) => private,
//!             None => {
//!                 self.private.set(comm, comm.dup()?);
//!                 self.private.get(comm).expect("it was just set")
//!             }
//!         };
//!         let mut sum = [value];
//!         private.all_reduce(&mut sum, op::Sum)?;
//!         Ok(sum[0])
//!     }
//! }
//!
//! World::new(3).run(|comm| {
//!     let library = Library { private: Key::kept() };
//!     assert_eq!(library.sum(comm, 1)? + library.sum(comm, 2)?, 9);
//!     Ok(())
//! })?;
//! # Ok::<(), rankfold::WorldError>(())
//! ```
//!
//! Attributes belong to one rank's end of a communicator: ranks may have different ones, and to set one is no
//! communication. They are deleted, the last first, when that end is dropped; those of the world's communicator when
//! the rank's closure has ended, as if they were its variables. The destructor of a value may use any communicator that
//! the value owns. A value that owns the end that it is an attribute of is never destroyed, like every cycle of `Rc`.
//!
//! # MPI's calls
//!
//! | MPI | here |
//! |---|---|
//! | `MPI_Comm_create_keyval` | [`Key::kept`], [`Key::copied`], [`Key::copied_by`] |
//! | `MPI_COMM_NULL_COPY_FN`, `MPI_COMM_DUP_FN`, a function of your own | the same three |
//! | a delete function | `Drop` of the value |
//! | `MPI_Comm_set_attr`, `_get_attr`, `_delete_attr` | [`Key::set`], [`Key::get`], [`Key::delete`] |
//! | `MPI_Comm_free_keyval` | drop |
//! | `MPI_Win_set_attr`, `MPI_Type_set_attr` | a struct of your own, with the window or the layout and the value |
//! | `MPI_TAG_UB`, `MPI_HOST`, `MPI_WTIME_IS_GLOBAL` | a tag is any `u32`; ranks share a process, and its clock |

use std::any::Any;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use super::Comm;
use crate::engine::attributes::Attribute;

/// The key of an attribute of type `T`. Clones of a key are the same key, on any thread.
#[doc(alias = "MPI_Comm_create_keyval")]
pub struct Key<T>(Arc<Rule<T>>);

/// What a duplicate gets.
enum Rule<T> {
    Nothing,
    Same,
    Result(Box<Copying<T>>),
}

type Copying<T> = dyn Fn(&T) -> Option<T> + Send + Sync;

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        Key(self.0.clone())
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key<{}>", std::any::type_name::<T>())
    }
}

impl<T: 'static> Key<T> {
    /// Makes a key whose attributes stay with their communicator: a [duplicate](Comm::dup) does not get them.
    #[doc(alias = "MPI_COMM_NULL_COPY_FN")]
    pub fn kept() -> Key<T> {
        Key(Arc::new(Rule::Nothing))
    }

    /// Makes a key whose attributes a [duplicate](Comm::dup) shares, until they are set anew there.
    ///
    /// # Examples
    ///
    /// ```
    /// use rankfold::World;
    /// use rankfold::attribute::Key;
    ///
    /// World::new(2).run(|comm| {
    ///     let (name, turns) = (Key::copied(), Key::kept());
    ///     name.set(comm, String::from("solver"));
    ///     turns.set(comm, 7);
    ///     let duplicate = comm.dup()?;
    ///     assert_eq!(*name.get(&duplicate).unwrap(), "solver");
    ///     assert!(turns.get(&duplicate).is_none());
    ///     Ok(())
    /// })?;
    /// # Ok::<(), rankfold::WorldError>(())
    /// ```
    #[doc(alias = "MPI_COMM_DUP_FN")]
    pub fn copied() -> Key<T> {
        Key(Arc::new(Rule::Same))
    }

    /// Makes a key of which a [duplicate](Comm::dup) gets what `copy` returns. It is called on each rank after its part
    /// in the duplication is over.
    pub fn copied_by(copy: impl Fn(&T) -> Option<T> + Send + Sync + 'static) -> Key<T> {
        Key(Arc::new(Rule::Result(Box::new(copy))))
    }

    /// Sets the attribute of this rank's end of a communicator; returns the value that it replaces.
    #[doc(alias = "MPI_Comm_set_attr")]
    pub fn set(&self, comm: &Comm, value: T) -> Option<Rc<T>> {
        let earlier = comm.attributes.set(self.with(Rc::new(value)));
        earlier.and_then(|earlier| earlier.value().downcast().ok())
    }

    /// Returns the attribute. It may be used on, wherever the communicator is used or dropped meanwhile.
    #[doc(alias = "MPI_Comm_get_attr")]
    pub fn get(&self, comm: &Comm) -> Option<Rc<T>> {
        let found = comm.attributes.get(self.id());
        found.and_then(|value| value.downcast().ok())
    }

    /// Deletes the attribute, and returns its value.
    #[doc(alias = "MPI_Comm_delete_attr")]
    pub fn delete(&self, comm: &Comm) -> Option<Rc<T>> {
        let deleted = comm.attributes.delete(self.id());
        deleted.and_then(|deleted| deleted.value().downcast().ok())
    }

    /// The address of the rule: no other key has it, since every attribute keeps its own.
    fn id(&self) -> *const () {
        Arc::as_ptr(&self.0).cast()
    }

    fn with(&self, value: Rc<T>) -> Rc<dyn Attribute> {
        let key = self.clone();
        Rc::new(StoredAttribute { key, value })
    }
}

/// The value under a key, with its type.
struct StoredAttribute<T> {
    key: Key<T>,
    value: Rc<T>,
}

impl<T: 'static> Attribute for StoredAttribute<T> {
    fn key(&self) -> *const () {
        self.key.id()
    }

    fn value(&self) -> Rc<dyn Any> {
        self.value.clone()
    }

    fn copy(&self) -> Option<Rc<dyn Attribute>> {
        let copy = match &*self.key.0 {
            Rule::Nothing => None,
            Rule::Same => Some(self.value.clone()),
            Rule::Result(copy) => copy(&self.value).map(Rc::new),
        };
        copy.map(|value| self.key.with(value))
    }
}
