//! One message on its way: 64 bytes that hold short messages whole (*eager*), point into the sender's buffer (*lent*),
//! or own a copy or a moved value.

mod body;
mod kind;
mod open;
mod receive;

pub(in crate::transport) use body::Cargo;
pub use body::EAGER_BYTES;
pub(crate) use body::Packet;
