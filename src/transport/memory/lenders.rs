//! What a packet needs of those who lent it: the words of their loans, and a settlement that no panic skips.

use crate::Rank;
use crate::transport::memory::copy_claims::CopyClaims;
use crate::transport::memory::loan::{LoanWord, Ticket};

/// Where packets find the words of their lenders, and how lenders learn that a loan is settled.
pub(crate) trait Lenders {
    fn word(&self, lender: Rank) -> &LoanWord;
    /// The words by which lender and borrower share the copying.
    fn claims(&self, lender: Rank) -> &CopyClaims;
    fn settled(&self, lender: Rank);
}

/// Settles one claimed loan when it is dropped, also when the operator that reads the loan panics.
pub(in crate::transport) struct Settle<'a, W: Fn()> {
    pub word: &'a LoanWord,
    pub ticket: Ticket,
    pub wake: W,
}

impl<W: Fn()> Drop for Settle<'_, W> {
    fn drop(&mut self) {
        self.word.settle(self.ticket);
        (self.wake)();
    }
}

/// Lends nothing, for tests in which nothing is lent.
#[cfg(test)]
pub(in crate::transport) struct Nobody;

#[cfg(test)]
impl Lenders for Nobody {
    fn word(&self, _: Rank) -> &LoanWord {
        unreachable!("nothing here is lent")
    }
    fn claims(&self, _: Rank) -> &CopyClaims {
        unreachable!("nothing here is lent")
    }
    fn settled(&self, _: Rank) {}
}
