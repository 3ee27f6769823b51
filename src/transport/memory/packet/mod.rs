//! One message on its way: 64 bytes that hold short messages whole (*eager*), point into the sender's buffer (*lent*),
//! or own a copy or a moved value.

mod body;
mod kind;
mod label;
mod open;
mod receive;

pub(crate) use body::Packet;
pub(in crate::transport) use body::{BODY_ALIGN, Body};
pub use label::EAGER_BYTES;
pub(in crate::transport) use label::Label;
