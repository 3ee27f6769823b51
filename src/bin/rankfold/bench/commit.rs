//! The commit that the program was built from.

use rankfold::measure::Build;

/// Describes this program.
pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").into(),
        git: option_env!("RANKFOLD_COMMIT").map(String::from),
        optimised: !cfg!(debug_assertions),
    }
}
