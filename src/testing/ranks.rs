//! The macro that makes one `#[test]` for each number of ranks.

use super::trial::{Trial, TrialFailure};
use crate::comm::Comm;
use crate::error::Result;

/// Tests of a message-passing program: one `#[test]` for each number of ranks, by default 1, 2, 3, 4, 7 and 8, named
/// `ranks_1` and so on in a module of the test's name.
///
/// The body may use `?` and needs no `Ok(())` at its end. Each test is a [`Trial`](crate::testing::Trial): it runs in
/// several modes, lost messages are failures, and no test hangs. `in [2, 5]` gives other numbers of ranks: any up to
/// 16, and 24, 32, 64. Attributes such as `#[ignore]` apply to each test.
///
/// # Panics
///
/// Each test panics if its program fails in any mode.
///
/// # Examples
///
/// ```
/// use rankfold::{op, testing};
///
/// testing::ranks! {
///     /// Every rank gets the sum.
///     fn sums_agree(comm) {
///         let mut sum = [comm.rank() as u64];
///         comm.all_reduce(&mut sum, op::Sum)?;
///         assert_eq!(sum[0] as usize, comm.size() * (comm.size() - 1) / 2);
///     }
///
///     fn pairs_swap(comm) in [2, 6] {
///         let partner = comm.rank() ^ 1;
///         let (theirs, _) = comm.sendrecv(partner, 0, &[comm.rank()], partner, 0)?;
///         assert_eq!(theirs, [partner]);
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! ranks {
    () => {};
    ($(#[$attr:meta])* fn $name:tt $args:tt in [$($n:tt),+ $(,)?] $body:block $($rest:tt)*) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::ranks!(@body $args $body);
            $crate::ranks!(@cases [$(#[$attr])*] [$name $args $args] [$($n)+]);
        }
        $crate::ranks!($($rest)*);
    };
    ($(#[$attr:meta])* fn $name:tt $args:tt $body:block $($rest:tt)*) => {
        $crate::ranks! {
            $(#[$attr])* fn $name $args in [1, 2, 3, 4, 7, 8] $body
            $($rest)*
        }
    };
    (@body ($comm:ident) $body:block) => {
        #[allow(unreachable_code)]
        fn body($comm: &$crate::Comm) -> $crate::Result<()> {
            $body;
            ::core::result::Result::Ok(())
        }
    };
    (@cases $attrs:tt $name:tt []) => {};
    (@cases $attrs:tt $name:tt [$n:tt $($more:tt)*]) => {
        $crate::ranks!(@case $attrs $name $n);
        $crate::ranks!(@cases $attrs $name [$($more)*]);
    };
    (@test [$($attrs:tt)*] [$name:tt $args:tt ($comm:ident)] $n:tt $case:ident) => {
        $($attrs)*
        #[test]
        pub(super) fn $case() {
            let $comm = $crate::testing::run_ranks(
                $n,
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!($case)),
                body,
            );
            // The call below consists of tokens of the program, `name(comm)`, which are passed on as `tt` so that they
            // keep their location: a panic in it has the line of the test.
            #[track_caller]
            fn $name(result: $crate::testing::Tried) {
                result.or_panic();
            }
            $name $args;
        }
    };
    (@case $attrs:tt $name:tt 1) => {
        $crate::ranks!(@test $attrs $name 1 ranks_1);
    };
    (@case $attrs:tt $name:tt 2) => {
        $crate::ranks!(@test $attrs $name 2 ranks_2);
    };
    (@case $attrs:tt $name:tt 3) => {
        $crate::ranks!(@test $attrs $name 3 ranks_3);
    };
    (@case $attrs:tt $name:tt 4) => {
        $crate::ranks!(@test $attrs $name 4 ranks_4);
    };
    (@case $attrs:tt $name:tt 5) => {
        $crate::ranks!(@test $attrs $name 5 ranks_5);
    };
    (@case $attrs:tt $name:tt 6) => {
        $crate::ranks!(@test $attrs $name 6 ranks_6);
    };
    (@case $attrs:tt $name:tt 7) => {
        $crate::ranks!(@test $attrs $name 7 ranks_7);
    };
    (@case $attrs:tt $name:tt 8) => {
        $crate::ranks!(@test $attrs $name 8 ranks_8);
    };
    (@case $attrs:tt $name:tt 9) => {
        $crate::ranks!(@test $attrs $name 9 ranks_9);
    };
    (@case $attrs:tt $name:tt 10) => {
        $crate::ranks!(@test $attrs $name 10 ranks_10);
    };
    (@case $attrs:tt $name:tt 11) => {
        $crate::ranks!(@test $attrs $name 11 ranks_11);
    };
    (@case $attrs:tt $name:tt 12) => {
        $crate::ranks!(@test $attrs $name 12 ranks_12);
    };
    (@case $attrs:tt $name:tt 13) => {
        $crate::ranks!(@test $attrs $name 13 ranks_13);
    };
    (@case $attrs:tt $name:tt 14) => {
        $crate::ranks!(@test $attrs $name 14 ranks_14);
    };
    (@case $attrs:tt $name:tt 15) => {
        $crate::ranks!(@test $attrs $name 15 ranks_15);
    };
    (@case $attrs:tt $name:tt 16) => {
        $crate::ranks!(@test $attrs $name 16 ranks_16);
    };
    (@case $attrs:tt $name:tt 24) => {
        $crate::ranks!(@test $attrs $name 24 ranks_24);
    };
    (@case $attrs:tt $name:tt 32) => {
        $crate::ranks!(@test $attrs $name 32 ranks_32);
    };
    (@case $attrs:tt $name:tt 64) => {
        $crate::ranks!(@test $attrs $name 64 ranks_64);
    };
    (@case $attrs:tt $name:tt $n:tt) => {
        ::core::compile_error!(::core::concat!(
            "ranks! makes tests for 1 to 16, 24, 32 and 64 ranks, not for ", ::core::stringify!($n)
        ));
    };
}

/// Runs one test of [`ranks!`](crate::ranks).
#[doc(hidden)]
pub fn run_ranks(ranks: usize, name: &str, body: fn(&Comm) -> Result<()>) -> Tried {
    // The name as `cargo test` expects it, without the crate.
    let name = name.split_once("::").map_or(name, |(_, name)| name);
    Tried(Trial::new(ranks).named(name).run(body))
}

/// The result of such a test.
#[derive(Debug)]
#[doc(hidden)]
pub struct Tried(std::result::Result<(), Box<TrialFailure>>);

impl Tried {
    /// Panics, at the caller's line, if the test failed.
    #[track_caller]
    pub fn or_panic(self) {
        if let Err(failure) = self.0 {
            panic!("{failure}");
        }
    }
}
