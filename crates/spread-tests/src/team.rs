//! The team of a test: each of its runs over processes opens a world.

use std::fmt;
use std::time::Duration;

use real::{Comm, Report, WorldError};

use crate::{World, combined};

/// Ranks that stay, as `rankfold::Team`.
#[derive(Debug)]
pub struct Team {
    pub(crate) here: real::Team,
    pub(crate) world: World,
}

impl Team {
    pub fn size(&self) -> usize {
        self.here.size()
    }

    pub fn linger(&self, time: Duration) {
        self.here.linger(time);
    }

    pub fn run<R: Send>(
        &self,
        f: impl Fn(&Comm) -> real::Result<R> + Sync,
    ) -> Result<Vec<R>, WorldError> {
        let spread = self.world.spread_run(|world| world.run(&f));
        combined::results(spread, self.here.run(&f))
    }

    pub fn try_run_each<R: Send, E: Send + fmt::Display>(
        &self,
        f: impl Fn(&Comm) -> Result<R, E> + Sync,
    ) -> Result<Report<R, E>, WorldError<E>> {
        let spread = self.world.spread_run(|world| world.try_run_each(&f));
        combined::reports(spread, self.here.try_run_each(&f))
    }
}
