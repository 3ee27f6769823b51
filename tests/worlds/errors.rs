//! What a program gets of its own error from the error of a world.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use rankfold::testing::{Explore, Trial};
use rankfold::{Comm, Error, ErrorKind, Result, World, WorldError};

/// An error of the program, which comes from another one.
#[derive(Debug)]
struct Own(io::Error);

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no input")
    }
}

impl StdError for Own {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.0)
    }
}

fn own() -> Own {
    Own(io::ErrorKind::NotFound.into())
}

fn fails(comm: &Comm) -> Result<()> {
    match comm.rank() {
        0 => comm.barrier(),
        _ => Err(Error::user(own())),
    }
}

fn comes_from_the_system(error: &dyn StdError) {
    let source = error.source().expect("the program's own error has one");
    let source = source.downcast_ref::<io::Error>();
    assert_eq!(source.unwrap().kind(), io::ErrorKind::NotFound);
}

#[test]
fn the_error_of_a_world_comes_from_what_the_programs_error_comes_from() {
    let world = World::new(2);
    comes_from_the_system(&world.run(fails).unwrap_err());
    comes_from_the_system(&Trial::new(2).run(fails).unwrap_err());
    comes_from_the_system(&Explore::new(2).find(fails).unwrap_err());
    let boxed = world.try_run(|_| Err::<(), Box<dyn StdError + Send + Sync>>(own().into()));
    comes_from_the_system(&boxed.unwrap_err());
    let text = world.try_run(|_| Err::<(), _>("no luck")).unwrap_err();
    assert!(text.source().is_none());
}

#[test]
fn the_programs_error_comes_back_by_value() {
    let failed = World::new(2).run(fails).unwrap_err();
    assert!(matches!(failed.error().unwrap().kind(), ErrorKind::User(_)));
    let ErrorKind::User(error) = failed.into_error().unwrap().into_kind() else {
        panic!("it is the program's own");
    };
    assert_eq!(
        error.downcast::<Own>().unwrap().0.kind(),
        io::ErrorKind::NotFound
    );
    let refused = World::new(0).run(fails).unwrap_err();
    assert!(matches!(&refused, WorldError::Usage(_)) && refused.error().is_none());
    assert!(refused.into_error().is_none());
}
