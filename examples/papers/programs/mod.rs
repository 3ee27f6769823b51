//! The listings of five texts as programs: each is written in send and recv alone, as its text has it, with the slips of
//! the text put right.
//!
//! - `talk` the endpoint of a rank, which notes what it sends
//! - `xiong` the reductions of Xiong 1999 and 2015
//! - `cube` the collectives on a hypercube
//! - `foster` Foster's template, and the two vector reductions made of it
//! - `sanders` the broadcasts of the survey
//! - `linear_algebra` programs that the survey names as users of broadcasts
//! - `scaling` the isoefficiency of Floyd's algorithm

pub mod cube;
pub mod foster;
pub mod linear_algebra;
pub mod sanders;
pub mod scaling;
pub mod talk;
pub mod xiong;
