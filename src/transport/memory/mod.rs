//! Memory that ranks hand each other: packets, lent buffers, SPSC rings, cells, shared vectors and windows.

mod awaited;
pub(crate) mod blocks;
pub(crate) mod bytes;
pub(crate) mod cells;
pub(crate) mod coming;
pub(crate) mod cooperative_copy;
pub(crate) mod copy_claims;
pub(crate) mod eager_limit;
pub(crate) mod epoch;
pub(crate) mod fast_box;
pub(crate) mod head;
pub(crate) mod lend;
pub(crate) mod lenders;
pub(crate) mod loan;
pub(crate) mod packet;
pub(crate) mod part_lock;
pub(crate) mod pointer_list;
pub(crate) mod puts;
pub(crate) mod receipt;
pub(crate) mod ring;
pub(crate) mod shared_call;
pub(crate) mod shared_copies;
pub(crate) mod shared_vectors;
pub(crate) mod stamp;
pub(crate) mod standing_loan;
pub(crate) mod window;
