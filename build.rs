//! Looks whether libhwloc is installed, so that a fresh clone builds with it and without it.
//!
//! `rankfold_hwloc` is set where the feature `hwloc` is on, `RANKFOLD_NO_HWLOC` is not set, and pkg-config
//! knows a libhwloc of the right version. Its folders are watched: the library that is installed or removed
//! later takes effect in the next build. (A single file that is not there yet cannot be watched: cargo
//! would build everything anew each time.)
//!
//! For the tool, `RANKFOLD_COMMIT` is the commit that it is built from, where git and this repository are there.

use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rankfold_hwloc)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RANKFOLD_NO_HWLOC");
    #[cfg(feature = "hwloc")]
    detect();
    if std::env::var_os("CARGO_FEATURE_CLI").is_some() {
        commit();
    }
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// The commit, with `-dirty` if files differ from it. A repository that this package is only a part of says
/// nothing about it.
fn commit() {
    let top = said("git", &["rev-parse", "--show-toplevel"]).map(std::path::PathBuf::from);
    let top = top.and_then(|top| top.canonicalize().ok());
    if top.is_none() || top != own_folder() {
        return;
    }
    watch_commits();
    let Some(mut commit) = said("git", &["rev-parse", "--short=12", "HEAD"]) else {
        return;
    };
    // `git describe --dirty` writes the index, here and under the lock that somebody's commit may want.
    let changed = [
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
    ];
    if said("git", &changed).is_some_and(|files| !files.is_empty()) {
        commit += "-dirty";
    }
    println!("cargo::rustc-env=RANKFOLD_COMMIT={commit}");
}

/// Watches what a commit and an edit change, and nothing that git writes at other times: the index changes whenever
/// it is only looked at. Every move of HEAD is in its log; where none is kept, it is in HEAD or in the branch.
fn watch_commits() {
    let path = |name: &str| said("git", &["rev-parse", "--git-path", name]);
    let branch = said("git", &["symbolic-ref", "--quiet", "HEAD"]);
    let log = path("logs/HEAD").filter(|log| std::path::Path::new(log).is_file());
    let moves = match log {
        Some(log) => vec![log],
        None => ["HEAD", "packed-refs"]
            .into_iter()
            .chain(branch.as_deref())
            .filter_map(path)
            .collect(),
    };
    // A file that is not there would be taken for one that has changed.
    for path in moves
        .iter()
        .filter(|path| std::path::Path::new(path).is_file())
    {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-changed=src");
}

fn own_folder() -> Option<std::path::PathBuf> {
    std::env::current_dir().ok()?.canonicalize().ok()
}

#[cfg(feature = "hwloc")]
fn detect() {
    watch();
    // For other systems, and for 32 bits, the crate that binds it does not compile.
    let width = std::env::var("CARGO_CFG_TARGET_POINTER_WIDTH");
    let unix = std::env::var_os("CARGO_CFG_UNIX").is_some();
    let binds = unix && width.is_ok_and(|bits| bits == "64");
    let unwanted = std::env::var_os("RANKFOLD_NO_HWLOC").is_some_and(|value| value != "0");
    // From 2.1 on types have the numbers that the crate hwloc2 knows; version 3 has others.
    let found = || {
        pkg_config::Config::new()
            .range_version("2.1.0".."3.0.0")
            .probe("hwloc")
    };
    if binds && !unwanted && found().is_ok() {
        println!("cargo::rustc-cfg=rankfold_hwloc");
    }
}

/// The folders in which pkg-config looks, those that are there.
#[cfg(feature = "hwloc")]
fn watch() {
    let set = |name| std::env::var(name).ok();
    let own = set("PKG_CONFIG_PATH").unwrap_or_default();
    let rest = set("PKG_CONFIG_LIBDIR")
        .or_else(built_in)
        .unwrap_or_default();
    let folders = own.split(':').chain(rest.trim().split(':'));
    let there = |folder: &&str| !folder.is_empty() && std::path::Path::new(folder).is_dir();
    for folder in folders.filter(there) {
        println!("cargo::rerun-if-changed={folder}");
    }
}

/// Those that pkg-config was made with.
#[cfg(feature = "hwloc")]
fn built_in() -> Option<String> {
    said("pkg-config", &["--variable", "pc_path", "pkg-config"])
}
