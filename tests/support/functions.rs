//! The functions of a file of source code, and how long they are.

/// The maximum number of lines of a function.
pub const FUNCTION_LINES: usize = 40;

/// Returns the name and the length of each function, by the indentation of formatted code.
pub fn functions(code: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let function = |at: usize| {
        let (head, rest) = lines[at].split_once("fn ")?;
        let indent = head.len() - head.trim_start().len();
        let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_');
        let close = format!("{}}}", &head[..indent]);
        let of_item = |word: &str| {
            word.starts_with("pub") || word.ends_with(')') || ITEM_WORDS.contains(&word)
        };
        if !head.split_whitespace().all(of_item) {
            return None;
        }
        let opens = lines[at..]
            .iter()
            .find(|line| line.ends_with(['{', '}', ';']))?;
        if !opens.ends_with('{') {
            return None;
        }
        let length = lines[at..].iter().position(|line| *line == close)? + 1;
        Some((name.into_iter().next()?, length))
    };
    (0..lines.len()).filter_map(function).collect()
}

/// The words that may precede `fn`, besides the visibility.
const ITEM_WORDS: &[&str] = &["async", "const", "unsafe"];

#[test]
fn the_length_of_a_function_is_found() {
    let code = "impl A {\n    pub(in crate::a) unsafe fn b() {\n        c();\n    }\n}\nfn d(e: fn ()) {}\nfn e(\n) {\n}";
    assert_eq!(functions(code), [("b", 3), ("e", 3)]);
}
