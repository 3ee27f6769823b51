//! Strings of the program.

use std::fmt;

/// A string of the program: any bytes but zero, which are kept as they are. In what is told it is read as UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<u8>);

impl Text {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Text {
        Text(bytes.into())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        text.as_bytes().into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        Text(text.into_bytes())
    }
}
