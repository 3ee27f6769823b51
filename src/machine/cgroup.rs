//! The CPU quota of this process's control group, from Linux's own files.
//!
//! ```text
//! /proc/self/cgroup       the group in each hierarchy        0::/slice/job
//! /proc/self/mountinfo    the mounts of each hierarchy       ... /slice /sys/fs/cgroup ... - cgroup2 ...
//!                                                                  │         │
//!                         the group's directory:  /sys/fs/cgroup/job    (the group minus the mount's root)
//!                         and all directories above it, up to the mount point
//! ```
//!
//! Every group on the path upwards may have a quota, and all of them apply: the tightest counts. In a container the
//! mount's root is often the container's own group; groups above it are invisible.
//!
//! Source: *Control Group v2*, section "CPU Interface Files", and *CFS Bandwidth Control*, in the
//! documentation of the Linux kernel; `proc_pid_mountinfo(5)` and `cgroups(7)`.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The CPU quota of this process in CPUs: the tightest over its control group and all enclosing groups, with the file
/// system seen from `root`.
///
/// Both versions of control groups are read, even side by side. `None` means that no quota is known: there is none, the
/// files cannot be read or understood, or this is not Linux. `root` is `/`, or a copy of another machine's files.
///
/// # Examples
///
/// ```
/// use std::path::Path;
/// use rankfold::machine::quota_under;
///
/// if let Some(cpus) = quota_under(Path::new("/")) {
///     println!("this process may use {cpus} CPUs");
/// }
/// assert_eq!(quota_under(Path::new("/nothing/here")), None);
/// ```
pub fn quota_under(root: &Path) -> Option<f64> {
    let groups = read(root, "/proc/self/cgroup")?;
    let mounts = read(root, "/proc/self/mountinfo")?;
    mounts
        .lines()
        .filter_map(Mount::parse)
        .filter_map(|mount| mount.tightest(root, &groups))
        .reduce(f64::min)
}

/// For how long the quota that was found last is taken to be the present one.
const REMEMBERED: Duration = Duration::from_millis(100);

/// The quota of this process, as it was a tenth of a second ago or later: to find it takes longer than to start and end a
/// thread, and a program may start many worlds in a row.
pub(super) fn recent_quota() -> Option<f64> {
    static LAST: Mutex<Option<(Instant, Option<f64>)>> = Mutex::new(None);
    let mut last = LAST.lock();
    match *last {
        Some((when, quota)) if when.elapsed() < REMEMBERED => quota,
        _ => {
            let quota = quota_under(Path::new("/"));
            *last = Some((Instant::now(), quota));
            quota
        }
    }
}

/// The text of a file. Bytes that are not UTF-8, such as the name of another mount, must not hide the rest.
fn read(root: &Path, path: &str) -> Option<String> {
    let bytes = fs::read(under(root, path)).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// `path` as if `root` were `/`.
fn under(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// The version of a hierarchy of groups, which determines the names and the format of its files.
#[derive(Clone, Copy)]
enum Version {
    /// One tree for the `cpu` controller, alone or with a few others.
    V1,
    /// One tree for all controllers.
    V2,
}

impl Version {
    /// The version of a mounted file system, if it can hold CPU quotas.
    fn of(kind: &str, options: &str) -> Option<Version> {
        match kind {
            "cgroup2" => Some(Version::V2),
            "cgroup" if lists_cpu(options) => Some(Version::V1),
            _ => None,
        }
    }

    /// Whether a line of `/proc/self/cgroup` with these controllers belongs to this hierarchy.
    fn owns(self, controllers: &str) -> bool {
        match self {
            Version::V1 => lists_cpu(controllers),
            Version::V2 => controllers.is_empty(),
        }
    }

    /// The quota that one group sets, in CPUs.
    fn quota(self, group: &Path) -> Option<f64> {
        match self {
            Version::V1 => cpus(
                &word(group, "cpu.cfs_quota_us")?,
                &word(group, "cpu.cfs_period_us")?,
            ),
            Version::V2 => {
                let max = word(group, "cpu.max")?;
                let (quota, period) = max.split_once(' ')?;
                cpus(quota, period)
            }
        }
    }
}

fn lists_cpu(names: &str) -> bool {
    names.split(',').any(|name| name == "cpu")
}

fn word(group: &Path, file: &str) -> Option<String> {
    Some(fs::read_to_string(group.join(file)).ok()?.trim().to_owned())
}

/// Converts microseconds per period to CPUs. `max` and `-1`, which mean no limit, do not parse.
fn cpus(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// A mounted hierarchy of groups.
struct Mount {
    version: Version,
    /// The group that the mount point represents.
    root: String,
    point: String,
}

impl Mount {
    /// Parses a line of `/proc/self/mountinfo`; `None` for a mount that is not a hierarchy with CPU quotas.
    ///
    /// ```text
    /// 31 23 0:28 /slice /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup rw,nsdelegate
    ///            root   point                                 kind           options
    /// ```
    fn parse(line: &str) -> Option<Mount> {
        let (place, what) = line.split_once(" - ")?;
        let (mut place, mut what) = (place.split(' ').skip(3), what.split(' '));
        Some(Mount {
            root: unescape(place.next()?),
            point: unescape(place.next()?),
            version: Version::of(what.next()?, what.nth(1)?)?,
        })
    }

    /// The tightest quota from the process's group up to the mount point.
    fn tightest(&self, root: &Path, groups: &str) -> Option<f64> {
        let point = under(root, &self.point);
        let group = point.join(self.below(self.group(groups)?)?);
        group
            .ancestors()
            .take_while(|dir| dir.starts_with(&point))
            .filter_map(|dir| self.version.quota(dir))
            .reduce(f64::min)
    }

    /// The process's group in this hierarchy. A line is `number:controllers:group`.
    fn group<'a>(&self, groups: &'a str) -> Option<&'a str> {
        groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            let ours = self.version.owns(controllers) && group.starts_with('/');
            ours.then_some(group)
        })
    }

    /// The path from the mount point down to `group`; `None` if it is not below the mount point.
    fn below<'a>(&self, group: &'a str) -> Option<&'a Path> {
        let way = Path::new(group).strip_prefix(&self.root).ok();
        way.filter(|way| ups(way) == 0)
            .or_else(|| self.is_above(group).then_some(Path::new("")))
    }

    /// Whether the mount point represents a group above `group`, with unknown names in between: both paths are then
    /// relative to the top of this process's namespace, and the mount's root consists of `..` alone.
    fn is_above(&self, group: &str) -> bool {
        let root = Path::new(&self.root);
        let only_ups = root.components().count() == 1 + ups(root);
        only_ups && ups(Path::new(group)) <= ups(root)
    }
}

/// The number of `..` in the path: the kernel's notation for paths outside the reader's namespace.
fn ups(path: &Path) -> usize {
    path.components()
        .filter(|part| *part == Component::ParentDir)
        .count()
}

/// Decodes the kernel's `\040` for a space, and likewise tab, newline and backslash.
fn unescape(field: &str) -> String {
    let mut parts = field.split('\\');
    let plain = parts.next().unwrap_or_default().to_owned();
    parts.fold(plain, |text, part| text + &unescape_first(part))
}

/// Decodes the text after a backslash: three octal digits form a character, anything else stays unchanged.
fn unescape_first(part: &str) -> String {
    let code = part
        .get(..3)
        .and_then(|octal| u8::from_str_radix(octal, 8).ok());
    match code {
        Some(code) => format!("{}{}", char::from(code), &part[3..]),
        None => format!("\\{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_escapes_become_characters_and_nothing_else_changes() {
        assert_eq!(unescape(r"/a\040b\134c\011"), "/a b\\c\t");
        assert_eq!(unescape("/plain/päth"), "/plain/päth");
        assert_eq!(unescape(r"\x \04 \999 \"), r"\x \04 \999 \");
    }

    #[test]
    fn a_group_is_only_below_a_mount_that_shows_it() {
        let below = |root: &str, group| {
            let mount = Mount {
                version: Version::V2,
                root: root.into(),
                point: "/sys".into(),
            };
            mount.below(group).map(|way| way.display().to_string())
        };
        assert_eq!(below("/", "/a/b"), Some("a/b".into()));
        assert_eq!(below("/a", "/a/b"), Some("b".into()));
        assert_eq!(below("/a/b", "/a/b"), Some("".into()));
        assert_eq!(below("/a", "/ab"), None);
        assert_eq!(below("/", "/../next"), None);
        assert_eq!(below("/..", "/a"), Some("".into()));
        assert_eq!(below("/..", "/../next/x"), Some("next/x".into()));
        assert_eq!(below("/../..", "/../next"), Some("".into()));
        assert_eq!(below("/..", "/../../next"), None);
        assert_eq!(below("/../next", "/"), None);
        assert_eq!(below("/../next", "/../next/x"), Some("x".into()));
    }
}
