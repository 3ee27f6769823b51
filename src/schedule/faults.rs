//! Lists of what can be wrong, each fault beside the sentence that tells it; and those that all readers of
//! schedules share.

/// An error type from a list of faults: each with its doc, its fields, and `=>` the sentence, as `write!` takes it.
macro_rules! faults {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $(
                $(#[$doc:meta])*
                $fault:ident $({ $($field:ident: $of:ty),+ $(,)? })? => $words:literal $(, $word:expr)*;
            )+
        }
    ) => {
        $(#[$about])*
        #[non_exhaustive]
        #[allow(missing_docs)] // the fields say what their names say: who, when, with whom
        pub enum $name {
            $($(#[$doc])* $fault $({ $($field: $of),+ })?,)+
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $($name::$fault $({ $($field),+ })? => write!(f, $words $(, $word)*),)+
                }
            }
        }

        impl std::error::Error for $name {}
    };
}

/// The same for who reads schedules: to its own faults come those of a schedule that breaks its laws.
macro_rules! faults_of_schedules {
    ($(#[$about:meta])* pub enum $name:ident { $($own:tt)+ }) => {
        $crate::schedule::faults! {
            $(#[$about])*
            pub enum $name {
                $($own)+
                /// A rank is to send, receive or copy twice in one step.
                Clash { rank: $crate::Rank, step: usize, what: $crate::schedule::Clash }
                    => "rank {rank} has two {what} in step {step}";
                /// A rank talks to one that is not there.
                NoSuchPeer { rank: $crate::Rank, step: usize, peer: $crate::Rank, ranks: usize }
                    => "rank {rank} talks to rank {peer} of {ranks} in step {step}";
                /// A rank talks to itself.
                OwnPeer { rank: $crate::Rank, step: usize }
                    => "rank {rank} talks to itself in step {step}";
                /// A step in which the rank does something is not named as its next one.
                Overlooked { rank: $crate::Rank, step: usize }
                    => "rank {rank} is active in step {step}, which is not its next one";
                /// A rank waits for a message that its peer does not send in this step.
                NoSend { rank: $crate::Rank, step: usize, peer: $crate::Rank }
                    => "rank {rank} waits for rank {peer} in step {step}, which does not send to it";
                /// A rank sends a message that its peer does not receive in this step.
                NoReceive { rank: $crate::Rank, step: usize, peer: $crate::Rank }
                    => "rank {rank} sends to rank {peer} in step {step}, which does not receive from it";
                /// The ends of a message differ in the number of its elements.
                UnequalExtents { rank: $crate::Rank, step: usize, peer: $crate::Rank, sent: usize, expected: usize }
                    => "rank {rank} sends {sent} elements to rank {peer} in step {step}, which expects {expected}";
            }
        }
    };
}

pub(crate) use {faults, faults_of_schedules};
