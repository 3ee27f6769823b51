//! Barriers, in all forms.

use super::persistent::maker;
use crate::abi::*;
use crate::error::Out;
use crate::plan::{Maker, Move, Plan};

super::persistent::collectives! {
    MPI_Barrier MPI_Ibarrier MPI_Barrier_init() |_, _, _on| {
        maker(|_, _| Ok(Plan { movement: Move::Barrier, then: Box::new(|_, _| Ok(())) }))
    }
}
