//! Input files: each is read whole, up to a generous limit.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::stop::Stop;

/// A larger file is not one of results, triples or rules, but a device or a mistake.
const MOST_BYTES: u64 = 1 << 28;

/// Returns the text of a file.
pub fn read(path: &Path) -> Result<String, Stop> {
    let name = path.display();
    let file = File::open(path);
    let file = file.map_err(|error| Stop::Input(format!("cannot read {name}: {error}")))?;
    read_from(file, &name.to_string())
}

/// Returns the kind of a JSON text, according to its field `schema`.
pub fn schema(text: &str) -> serde_json::Result<String> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    serde_json::from_str(text).map(|head: Head| head.schema)
}

/// Returns the text of standard input.
pub fn stdin() -> Result<String, Stop> {
    read_from(io::stdin(), "standard input")
}

fn read_from(source: impl Read, name: &str) -> Result<String, Stop> {
    let mut text = String::new();
    match source.take(MOST_BYTES + 1).read_to_string(&mut text) {
        Ok(_) if text.len() as u64 > MOST_BYTES => Err(Stop::Input(format!(
            "cannot read {name}: it has more than {} MiB",
            MOST_BYTES >> 20
        ))),
        Ok(_) => Ok(text),
        Err(error) => Err(Stop::Input(format!("cannot read {name}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_an_end_is_refused() {
        let endless = io::repeat(b' ');
        let Err(Stop::Input(line)) = read_from(endless, "endless") else {
            panic!("it has no end, and was read");
        };
        assert_eq!(line, "cannot read endless: it has more than 256 MiB");
    }
}
