//! What the last word of a letter says that is no message, or that announces one.

/// What marks the last word of a letter that announces a body, and of one by which it is wanted.
pub(super) const ANNOUNCED: u64 = 1 << 63;
pub(super) const WANTED: u64 = 1 << 62;
/// The same of a letter that offers the segment of its sender, and of the last one over MPI.
pub(super) const OFFERED: u64 = 1 << 61;
pub(super) const MOVED: u64 = 1 << 60;
/// The same of a question whether all has left that its receiver has sent before, and of the answer, over MPI: each with the
/// number of the question.
pub(super) const ASKED: u64 = 1 << 59;
pub(super) const ANSWERED: u64 = 1 << 58;
/// All of them.
pub(super) const MARKS: u64 = ANNOUNCED | WANTED | OFFERED | MOVED | ASKED | ANSWERED;
