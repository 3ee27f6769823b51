//! Macros that declare fault enums, each fault beside its message, and the faults common to all consumers of schedules.

/// Declares an error type from a list of faults: each with its doc, its fields, and after `=>` its message in the
/// syntax of `write!`.
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
        #[allow(missing_docs)] // the field names say it all: who, when, with whom
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

/// The same for consumers of schedules: adds the faults of schedules that break their laws.
macro_rules! faults_of_schedules {
    ($(#[$about:meta])* pub enum $name:ident { $($own:tt)+ }) => {
        $crate::schedule::faults! {
            $(#[$about])*
            pub enum $name {
                $($own)+
                /// A rank sends, receives or copies twice in one step.
                Clash { rank: $crate::Rank, step: usize, what: $crate::schedule::Clash }
                    => "rank {rank} has two {what} in step {step}";
                /// The peer of a message is not a rank of the schedule.
                NoSuchPeer { rank: $crate::Rank, step: usize, peer: $crate::Rank, ranks: usize }
                    => "rank {rank} talks to rank {peer} of {ranks} in step {step}";
                /// A rank sends to or receives from itself.
                OwnPeer { rank: $crate::Rank, step: usize }
                    => "rank {rank} talks to itself in step {step}";
                /// The rank is active in a step that was not announced as its next one.
                Overlooked { rank: $crate::Rank, step: usize }
                    => "rank {rank} is active in step {step}, which is not its next one";
                /// A rank waits for a message that its peer does not send in this step.
                NoSend { rank: $crate::Rank, step: usize, peer: $crate::Rank }
                    => "rank {rank} waits for rank {peer} in step {step}, which does not send to it";
                /// A rank sends a message that its peer does not receive in this step.
                NoReceive { rank: $crate::Rank, step: usize, peer: $crate::Rank }
                    => "rank {rank} sends to rank {peer} in step {step}, which does not receive from it";
                /// The two ends of a message differ in the number of elements.
                UnequalExtents { rank: $crate::Rank, step: usize, peer: $crate::Rank, sent: usize, expected: usize }
                    => "rank {rank} sends {sent} elements to rank {peer} in step {step}, which expects {expected}";
            }
        }
    };
}

pub(crate) use {faults, faults_of_schedules};
