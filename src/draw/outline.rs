//! A tree as indented lines.

use super::hung::Hung;

pub(super) fn text(tree: &Hung) -> String {
    let Hung { heading, note, .. } = tree;
    let mut text = format!("{heading}; {note}\n{}\n", tree.names[tree.root]);
    below(tree, tree.root, "", &mut text);
    text
}

/// Writes what hangs from `top`, each line after `indent`.
fn below(tree: &Hung, top: usize, indent: &str, text: &mut String) {
    let edges = &tree.below[top];
    let width = |label: &str| label.chars().count();
    let widest = edges
        .iter()
        .map(|(label, _)| width(label))
        .max()
        .unwrap_or(0);
    let mut edges = edges.iter().peekable();
    while let Some((label, under)) = edges.next() {
        let last = edges.peek().is_none();
        let (corner, on) = if last { ('└', ' ') } else { ('├', '│') };
        let name = &tree.names[*under];
        text.push_str(&format!("{indent}{corner}─{label:─<widest$}─ {name}\n"));
        let indent = format!("{indent}{on}{:widest$}   ", "");
        below(tree, *under, &indent, text);
    }
}
