//! The digits: read from text, every line checked, and divided into a training set and a held-out set.

use std::fmt;
use std::fs;
use std::path::Path;

/// Pixels of a digit: 8 rows of 8.
pub const PIXELS: usize = 64;
/// The digits 0 to 9.
pub const CLASSES: usize = 10;
/// The darkest grey value.
const INK: f64 = 16.0;
/// The last of every `FOLD` digits in a row is held out.
const FOLD: usize = 5;

/// One handwritten digit.
#[derive(Clone, Debug, PartialEq)]
pub struct Digit {
    /// Grey values from 0 (paper) to 1 (ink), row by row.
    pub pixels: [f64; PIXELS],
    /// The digit, less than [`CLASSES`].
    pub label: usize,
}

/// The training set and the held-out set; neither is empty.
#[derive(Debug)]
pub struct Digits {
    pub train: Vec<Digit>,
    pub held_out: Vec<Digit>,
}

/// Why a file is malformed: where, and what is wrong there.
#[derive(Debug)]
pub struct Malformed {
    file: String,
    /// Counted from 1; `None` for the file as a whole.
    line: Option<usize>,
    what: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.what)
    }
}

/// Reads a file of digits.
pub fn read(path: &Path) -> Result<Digits, Malformed> {
    let file = path.display().to_string();
    match fs::read(path) {
        Ok(bytes) => parse(&file, &bytes),
        Err(error) => Err(Malformed {
            file,
            line: None,
            what: format!("cannot be read: {error}"),
        }),
    }
}

/// Reads the text of a file of digits; `file` is its name for the error.
pub fn parse(file: &str, bytes: &[u8]) -> Result<Digits, Malformed> {
    let malformed = |line, what| Malformed {
        file: file.to_owned(),
        line,
        what,
    };
    // The newline of the last line is optional.
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    if text.is_empty() {
        return Err(malformed(None, "it is empty".into()));
    }
    let numbered = text.split(|&byte| byte == b'\n').zip(1..);
    let digits: Vec<Digit> = numbered
        .map(|(line, number)| digit(line).map_err(|what| malformed(Some(number), what)))
        .collect::<Result<_, _>>()?;
    if digits.len() < FOLD {
        let what = format!(
            "{} digits are too few: of every {FOLD} one is held out",
            digits.len()
        );
        return Err(malformed(None, what));
    }
    Ok(cut(digits))
}

/// Holds out every fifth digit.
fn cut(digits: Vec<Digit>) -> Digits {
    let (mut train, mut held_out) = (Vec::new(), Vec::new());
    for (i, digit) in digits.into_iter().enumerate() {
        let part = if i % FOLD == FOLD - 1 {
            &mut held_out
        } else {
            &mut train
        };
        part.push(digit);
    }
    Digits { train, held_out }
}

/// Parses one line: the grey values, then the label.
fn digit(line: &[u8]) -> Result<Digit, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text in UTF-8".to_owned())?;
    let columns: Vec<&str> = text.split(',').map(str::trim).collect();
    match columns.len() {
        1 if columns[0].is_empty() => return Err("it is empty".to_owned()),
        n if n != PIXELS + 1 => return Err(wrong_width(n)),
        _ => {}
    }
    let mut pixels = [0.0; PIXELS];
    for (i, pixel) in pixels.iter_mut().enumerate() {
        *pixel = grey(columns[i]).map_err(|what| format!("column {}: {what}", i + 1))?;
    }
    let label = label(columns[PIXELS])?;
    Ok(Digit { pixels, label })
}

fn wrong_width(columns: usize) -> String {
    let few = if columns <= PIXELS { "few" } else { "many" };
    let plural = if columns == 1 { "" } else { "s" };
    format!(
        "{columns} column{plural} are too {few}: {PIXELS} grey values and a label make {}",
        PIXELS + 1
    )
    .replace("column are", "column is")
}

fn grey(text: &str) -> Result<f64, String> {
    let value: f64 = text
        .parse()
        .map_err(|_| format!("{} is not a number", quoted(text)))?;
    if (0.0..=INK).contains(&value) {
        Ok(value / INK)
    } else {
        Err(format!("{} is not from 0 to {INK}", quoted(text)))
    }
}

fn label(text: &str) -> Result<usize, String> {
    let label = text.parse().ok().filter(|&label| label < CLASSES);
    label.ok_or_else(|| {
        format!(
            "column {}: the label {} is not a digit from 0 to {}",
            PIXELS + 1,
            quoted(text),
            CLASSES - 1
        )
    })
}

/// Quotes a text from the file, shortened if long, with nothing in it that could disturb a terminal.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 20;
    let cut: String = text.chars().take(SHOWN).collect();
    let more = if cut.len() < text.len() { "..." } else { "" };
    format!("{cut:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a good line with column `i` (from 1) replaced.
    fn line(i: usize, with: &str) -> String {
        let mut columns = vec!["8".to_owned(); PIXELS + 1];
        columns[i - 1] = with.to_owned();
        columns.join(",")
    }

    /// Returns the error of a file of two good lines, this one, and more good ones.
    #[track_caller]
    fn third(bad: &str) -> String {
        let good = line(1, "0");
        let text = [&good, &good, bad, &good, &good].join("\n");
        parse("d.csv", text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn too_few_and_too_many_columns_are_counted() {
        let few = "d.csv, line 3: 3 columns are too few: 64 grey values and a label make 65";
        assert_eq!(third("1,2,3"), few);
        let one = "d.csv, line 3: 1 column is too few: 64 grey values and a label make 65";
        assert_eq!(third("7"), one);
        let many = "d.csv, line 3: 66 columns are too many: 64 grey values and a label make 65";
        assert_eq!(third(&line(1, "1,1")), many);
    }

    #[test]
    fn a_value_that_is_no_number_is_quoted() {
        let what = r#"d.csv, line 3: column 7: "1x" is not a number"#;
        assert_eq!(third(&line(7, "1x")), what);
        let nothing = r#"d.csv, line 3: column 64: "" is not a number"#;
        assert_eq!(third(&line(64, "")), nothing);
        let long = r#"d.csv, line 3: column 1: "\u{1b}[2Jaaaaaaaaaaaaaaaa"... is not a number"#;
        assert_eq!(
            third(&line(1, &format!("\u{1b}[2J{}", "a".repeat(99)))),
            long
        );
    }

    #[test]
    fn a_value_outside_0_to_16_is_quoted() {
        for bad in ["17", "-1", "16.001", "nan", "inf", "1e9"] {
            let what = format!("d.csv, line 3: column 2: {bad:?} is not from 0 to 16");
            assert_eq!(third(&line(2, bad)), what);
        }
    }

    #[test]
    fn a_label_outside_0_to_9_is_quoted() {
        for bad in ["10", "-1", "2.5", "", "four"] {
            let what =
                format!("d.csv, line 3: column 65: the label {bad:?} is not a digit from 0 to 9");
            assert_eq!(third(&line(65, bad)), what);
        }
    }

    #[test]
    fn an_empty_line_and_one_that_is_no_text_are_named() {
        assert_eq!(third(""), "d.csv, line 3: it is empty");
        let bytes = [line(1, "0").as_bytes(), b"\n", b"\xff\xfe"].concat();
        let error = parse("d.csv", &bytes).unwrap_err();
        assert_eq!(error.to_string(), "d.csv, line 2: it is not text in UTF-8");
    }

    #[test]
    fn an_empty_file_and_one_with_too_few_digits_are_refused() {
        for empty in ["", "\n"] {
            let error = parse("d.csv", empty.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "d.csv: it is empty");
        }
        let two = [line(1, "0"), line(1, "0")].join("\n");
        let error = parse("d.csv", two.as_bytes()).unwrap_err();
        let what = "d.csv: 2 digits are too few: of every 5 one is held out";
        assert_eq!(error.to_string(), what);
    }

    #[test]
    fn a_file_that_is_not_there_is_named_with_the_systems_reason() {
        let path = Path::new("no/such/digits.csv");
        let error = read(path).unwrap_err().to_string();
        let (file, reason) = error.split_once(": cannot be read: ").unwrap();
        assert_eq!(Path::new(file), path);
        assert!(!reason.is_empty(), "{error}");
        assert!(read(Path::new(".")).is_err(), "a folder holds no digits");
    }

    #[test]
    fn blanks_and_line_ends_of_other_systems_are_no_error() {
        let text = vec![line(2, " 16 ") + "\r\n"; 5].concat();
        let digits = parse("d.csv", text.as_bytes()).unwrap();
        let digit = &digits.train[0];
        assert_eq!(
            (digit.pixels[0], digit.pixels[1], digit.label),
            (0.5, 1.0, 8)
        );
    }

    #[test]
    fn the_data_of_the_package_is_whole_and_every_fifth_digit_is_held_out() {
        let path = crate::options::Options::default().file;
        let digits = read(&path).unwrap();
        assert_eq!((digits.train.len(), digits.held_out.len()), (1438, 359));
        let text = fs::read_to_string(path).unwrap();
        let fifth = digit(text.lines().nth(4).unwrap().as_bytes()).unwrap();
        assert_eq!(digits.held_out[0], fifth);
        for class in 0..CLASSES {
            assert!(digits.held_out.iter().any(|digit| digit.label == class));
        }
    }
}
