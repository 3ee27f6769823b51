//! Maps by the context and the sender of messages, with a hash that costs less than the message.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::Rank;
use crate::hash::Mix;

/// Values by context and source.
pub(in crate::transport) type BySource<V> = HashMap<(u32, Rank), V, BuildHasherDefault<Mix>>;
