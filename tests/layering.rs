//! The source is laid out as DESIGN.md says: imports point down, files and functions are short, and each public type has
//! a name of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use functions::{FUNCTION_LINES, functions};
use sources::sources;

#[path = "support/functions.rs"]
mod functions;
#[path = "support/sources.rs"]
mod sources;

/// Lowest first. Modules of one layer never import each other.
const LAYERS: &[&[&str]] = &[
    &["environment", "hash", "sort", "sync"],
    &[
        "error", "machine", "moves", "mpi", "names", "op", "span", "unwind",
    ],
    &["topology", "transport"],
    &["schedule"],
    &["check", "collective", "draw", "simulate"],
    &["cost"],
    &["engine"],
    &["execute"],
    &["comm"],
    &["world"],
    &["measure", "testing"],
    &["tune"],
];

/// The lower rooms of the transport, and which other rooms each may import; the others stand on all of these.
const ROOMS: &[(&str, &[&str])] = &[
    ("wakeup", &[]),
    ("memory", &["wakeup"]),
    ("lanes", &["memory"]),
    ("trace", &["memory"]),
    ("matching", &["memory"]),
];

/// Pairs of files of one room that still import each other. The list may only shrink.
const CIRCLES: &[(&str, &str)] = &[];

/// The only files that may contain `unsafe`.
const UNSAFE: &[&str] = &[
    "execute/owned_buffers.rs",
    "mpi/library.rs",
    "mpi/loaded.rs",
    "mpi/message.rs",
    "mpi/node/ring.rs",
    "mpi/node/segment.rs",
    "op/block.rs",
    "op/element_vec.rs",
    "op/elements.rs",
    "op/folds.rs",
    "op/kernels.rs",
    "op/kernels/loops.rs",
    "op/kernels/past_caches.rs",
    "op/kernels/tests.rs",
    "op/listed.rs",
    "op/plain.rs",
    "transport/loom_models/own_loan.rs",
    "transport/memory/bytes.rs",
    "transport/memory/cells.rs",
    "transport/memory/cooperative_copy.rs",
    "transport/memory/ring.rs",
    "transport/memory/packet/body.rs",
    "transport/memory/packet/open.rs",
    "transport/memory/shared_call.rs",
    "transport/memory/shared_vectors.rs",
    "transport/memory/window.rs",
    "transport/port/own_loan.rs",
    "transport/processes/wire.rs",
    "world/pool.rs",
];

/// The only files of more than 500 lines. The list may only shrink.
const LONG_FILES: &[&str] = &[];
const FILE_LINES: usize = 500;

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|layer| layer.contains(&module))
        .unwrap_or_else(|| panic!("{module} is in no layer: put it into LAYERS and into DESIGN.md"))
}

/// Returns the file's name relative to `src/`, and its code without comments.
fn code(path: &Path) -> (String, String) {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let name = path
        .strip_prefix(src)
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    (name, lines.collect::<Vec<_>>().join("\n"))
}

fn files() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&src).iter().map(|path| code(path)).collect()
}

/// Returns the modules that a file names as `crate::module`. Capitalised names are re-exports of lib.rs, and names with
/// a `!` are macros.
fn imports(code: &str) -> impl Iterator<Item = &str> {
    let after = code.split("crate::").skip(1);
    let name = after.filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        (!rest[end..].starts_with('!')).then(|| &rest[..end])
    });
    name.filter(|name| name.chars().next().is_some_and(char::is_lowercase))
}

#[test]
fn imports_point_down() {
    // The tool is a separate crate above all others.
    let below = |file: &str| file != "lib.rs" && !file.starts_with("bin/");
    for (file, code) in files().iter().filter(|(file, _)| below(file)) {
        let module = file.split(['/', '.']).next().unwrap();
        for import in imports(code).filter(|import| *import != module) {
            assert!(
                layer(import) < layer(module),
                "{file} imports {import}, which is not below it"
            );
        }
    }
}

/// The rooms that a file of the transport names as `crate::transport::room` or in `crate::transport::{...}`; a name with
/// a capital is what the transport's root re-exports.
fn rooms_in(code: &str) -> Vec<String> {
    let after = code.split("crate::transport::").skip(1);
    let names = after.flat_map(|rest| match rest.strip_prefix('{') {
        Some(group) => group.split('}').next().unwrap().split(',').collect(),
        None => vec![rest],
    });
    let first = |name: &str| {
        let letters = |c: &char| c.is_alphanumeric() || *c == '_';
        name.trim().chars().take_while(letters).collect()
    };
    names.map(first).collect()
}

#[test]
fn the_lower_rooms_of_the_transport_import_only_what_is_below() {
    for (room, below) in ROOMS {
        let folder = format!("transport/{room}/");
        let files = files();
        let mut inside = files
            .iter()
            .filter(|(file, _)| file.starts_with(&folder))
            .peekable();
        assert!(inside.peek().is_some(), "{folder} is not there");
        for (file, code) in inside {
            let code = code.split("#[cfg(all(test").next().unwrap();
            for import in rooms_in(code).iter().filter(|import| import != room) {
                assert!(below.contains(&import.as_str()), "{file} imports {import}");
            }
        }
    }
}

/// The paths that a `use` statement names, its groups written out.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, group)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let group = &group[..group.rfind('}').unwrap()];
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in group.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            _ => parts.last_mut().unwrap().push(c),
        }
    }
    let whole = |part: &String| paths(&format!("{}{}", before.trim(), part.trim()));
    parts.iter().flat_map(whole).collect()
}

/// The module of a file, as segments below the crate; that of a folder is its `mod.rs`.
fn module(file: &str) -> Vec<&str> {
    let file = file.strip_prefix("bin/rankfold/").unwrap_or(file);
    let path: Vec<&str> = file.strip_suffix(".rs").unwrap().split('/').collect();
    match path.split_last() {
        Some((&"mod", folder)) => folder.to_vec(),
        _ => path,
    }
}

/// The modules that `code`, of the file `file`, imports by `crate::` or `super::`.
fn imported(file: &str, code: &str) -> Vec<Vec<String>> {
    let code = code.split("#[cfg(all(test").next().unwrap();
    let code = code.split("#[cfg(test)]\nmod tests").next().unwrap();
    let begins = |line: &&str| line.trim_start_matches("pub ").starts_with("use ");
    let statements = code.split(';').filter_map(|statement| {
        let lines: Vec<&str> = statement.lines().map(str::trim).collect();
        let first = lines.iter().position(&begins)?;
        Some(lines[first..].concat())
    });
    let path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let inline = code
        .match_indices("super::")
        .chain(code.match_indices("crate::"));
    let inline = inline.filter(|(at, _)| !code[..*at].ends_with(path));
    let inline = inline.map(|(at, _)| code[at..].split(|c| !path(c)).next().unwrap().to_owned());
    let trees = statements.flat_map(|statement| paths(statement.split_once("use ").unwrap().1));
    let absolute = |path: String| {
        let mut segments: Vec<String> = path.split("::").map(|s| s.trim().to_owned()).collect();
        let mut base: Vec<String> = module(file).iter().map(|s| (*s).to_owned()).collect();
        match segments[0].as_str() {
            "crate" => base.clear(),
            "super" => {}
            _ => return None,
        }
        while segments.first().is_some_and(|s| s == "super") {
            base.pop();
            segments.remove(0);
        }
        segments.retain(|s| s != "crate");
        base.extend(segments);
        Some(base)
    };
    trees.chain(inline).filter_map(absolute).collect()
}

#[test]
fn no_two_files_of_a_room_import_each_other() {
    let files = files();
    let room = |file: &str| file.rsplit_once('/').map(|(room, _)| room.to_owned());
    let facade = |file: &str| file.ends_with("mod.rs") || file == "lib.rs";
    let names = |(file, code): &(String, String), other: &str| {
        let other = module(other);
        let named = |path: &Vec<String>| path.iter().zip(&other).all(|(a, b)| a == b);
        let mut imported = imported(file, code).into_iter();
        imported.any(|path| path.len() >= other.len() && named(&path))
    };
    let mut found = Vec::new();
    for a in files.iter().filter(|(file, _)| !facade(file)) {
        for b in files
            .iter()
            .filter(|(file, _)| !facade(file) && a.0 < *file)
        {
            if room(&a.0) == room(&b.0) && names(a, &b.0) && names(b, &a.0) {
                found.push((a.0.as_str(), b.0.as_str()));
            }
        }
    }
    found.sort_unstable();
    assert_eq!(
        found, CIRCLES,
        "break a new circle; strike one that is gone"
    );
}

#[test]
fn unsafe_code_stays_in_its_files() {
    for (file, code) in files() {
        let allowed = UNSAFE.contains(&file.as_str());
        assert!(
            allowed || file == "lib.rs" || !code.contains("unsafe"),
            "{file} may not allow unsafe code"
        );
    }
}

#[test]
fn every_file_opens_with_its_idea() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for path in sources(&src) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} has no head", path.display());
    }
}

/// Returns the name of the type that a line of the library defines for its users.
fn public_type(line: &str) -> Option<&str> {
    let mut words = line.strip_prefix("pub ")?.split_whitespace();
    let defines = ["enum", "struct", "trait", "type", "union"].contains(&words.next()?);
    let name = words.next().filter(|_| defines)?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

#[test]
fn no_two_public_types_have_the_same_name() {
    let mut defined = BTreeMap::<String, Vec<String>>::new();
    for (file, code) in files() {
        if file.starts_with("bin/") {
            continue;
        }
        for name in code.lines().filter_map(public_type) {
            defined.entry(name.into()).or_default().push(file.clone());
        }
    }
    assert!(defined.len() > 100, "only {} public types", defined.len());
    defined.retain(|_, files| files.len() > 1);
    assert!(defined.is_empty(), "{defined:?}");
}

#[test]
fn files_are_short() {
    let long = |lines: usize| lines > FILE_LINES;
    for (file, code) in files() {
        let (lines, listed) = (code.lines().count(), LONG_FILES.contains(&file.as_str()));
        assert_eq!(long(lines), listed, "{file} has {lines} lines");
    }
}

#[test]
fn functions_are_short() {
    for (file, code) in files() {
        for (name, lines) in functions(&code) {
            assert!(
                lines <= FUNCTION_LINES,
                "{name} in {file} has {lines} lines"
            );
        }
    }
}
