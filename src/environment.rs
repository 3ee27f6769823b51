//! The environment variables of this library, all read alike: an empty one is unset, as `NAME= program` leaves it.

use std::env;
use std::ffi::{OsStr, OsString};

/// The value of a variable; `None` if it is unset or empty.
pub(crate) fn value(name: &str) -> Option<OsString> {
    unless_empty(env::var_os(name))
}

/// Whether a variable is set, and not to 0.
pub(crate) fn is_on(name: &str) -> bool {
    switches_on(value(name).as_deref())
}

fn unless_empty(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

fn switches_on(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_is_unset_and_0_switches_off() {
        let read = |text: &str| unless_empty(Some(text.into()));
        assert_eq!(unless_empty(None), None);
        assert_eq!(read(""), None);
        assert_eq!(read("0"), Some("0".into()));
        for (text, on) in [("", false), ("0", false), ("1", true), ("yes", true)] {
            assert_eq!(switches_on(read(text).as_deref()), on, "{text:?}");
        }
    }
}
