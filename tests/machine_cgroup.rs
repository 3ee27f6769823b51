//! The CPU quota, on made-up machines: each test writes the files that a kernel would show.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

use rankfold::machine::quota_under;

/// A root file system in the temporary folder, removed at the end, even of a failed test.
struct Tree(PathBuf);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Tree {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: only the number has to be unique.
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let tree = Tree(env::temp_dir().join(format!("rankfold-cgroup-{}-{n}", process::id())));
        files
            .iter()
            .for_each(|(path, text)| tree.write(path, text.as_bytes()));
        tree
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn quota(&self) -> Option<f64> {
        quota_under(&self.0)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // A folder left behind is no reason to fail, least of all while a failure unwinds.
        let _ = fs::remove_dir_all(&self.0);
    }
}

const GROUPS: &str = "proc/self/cgroup";
const MOUNTS: &str = "proc/self/mountinfo";

/// The mounts of a machine with version 2 only, and some unrelated ones.
const V2: &str = "\
22 27 0:21 / /proc rw,nosuid - proc proc rw
27 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 master:2 - cgroup2 cgroup2 rw,nsdelegate
";

/// The mounts of a machine with version 1 for the CPU and an empty version 2 beside it.
const V1: &str = "\
30 23 0:27 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
32 30 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
33 30 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 30 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";
const V1_GROUPS: &str =
    "5:cpuset:/elsewhere\n4:cpu,cpuacct:/slice/job\n1:name=systemd:/slice\n0::/slice\n";

#[test]
fn v2_reads_the_group_of_the_process() {
    let tree = Tree::new(&[
        (GROUPS, "0::/slice/job\n"),
        (MOUNTS, V2),
        ("sys/fs/cgroup/slice/job/cpu.max", "150000 100000\n"),
        ("sys/fs/cgroup/slice/other/cpu.max", "1000 100000\n"),
    ]);
    assert_eq!(tree.quota(), Some(1.5));
}

#[test]
fn v2_takes_the_tightest_of_all_groups_around() {
    for (outer, middle, inner) in [
        ("100000", "max", "400000"),
        ("max", "100000", "max"),
        ("300000", "200000", "100000"),
    ] {
        let tree = Tree::new(&[
            (GROUPS, "0::/outer/middle/inner\n"),
            (MOUNTS, V2),
            ("sys/fs/cgroup/outer/cpu.max", &format!("{outer} 100000\n")),
            (
                "sys/fs/cgroup/outer/middle/cpu.max",
                &format!("{middle} 100000\n"),
            ),
            (
                "sys/fs/cgroup/outer/middle/inner/cpu.max",
                &format!("{inner} 100000\n"),
            ),
        ]);
        assert_eq!(tree.quota(), Some(1.0), "{outer}/{middle}/{inner}");
    }
}

#[test]
fn v2_compares_cpus_and_not_microseconds() {
    let tree = Tree::new(&[
        (GROUPS, "0::/a/b\n"),
        (MOUNTS, V2),
        ("sys/fs/cgroup/a/cpu.max", "50000 10000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "200000 100000\n"),
    ]);
    assert_eq!(tree.quota(), Some(2.0));
}

#[test]
fn no_file_above_the_mount_point_is_read() {
    let tree = Tree::new(&[
        (GROUPS, "0::/job\n"),
        (MOUNTS, V2),
        ("sys/fs/cpu.max", "1000 100000\n"),
        ("sys/fs/cgroup/cpu.max", "300000 100000\n"),
    ]);
    assert_eq!(tree.quota(), Some(3.0));
}

#[test]
fn max_everywhere_is_no_quota() {
    let tree = Tree::new(&[
        (GROUPS, "0::/a/b\n"),
        (MOUNTS, V2),
        ("sys/fs/cgroup/a/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
    ]);
    assert_eq!(tree.quota(), None);
}

#[test]
fn v1_reads_quota_and_period_up_the_tree() {
    let tree = Tree::new(&[
        (GROUPS, V1_GROUPS),
        (MOUNTS, V1),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
        ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/cpu.cfs_quota_us",
            "25000\n",
        ),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/cpu.cfs_period_us",
            "50000\n",
        ),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/job/cpu.cfs_quota_us",
            "800000\n",
        ),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/job/cpu.cfs_period_us",
            "100000\n",
        ),
    ]);
    assert_eq!(tree.quota(), Some(0.5));
}

#[test]
fn v1_without_limits_is_no_quota() {
    let tree = Tree::new(&[
        (GROUPS, V1_GROUPS),
        (MOUNTS, V1),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/job/cpu.cfs_quota_us",
            "-1\n",
        ),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/job/cpu.cfs_period_us",
            "100000\n",
        ),
        // The CPU hierarchy's files in another one: a name that only starts with `cpu` does not count.
        ("sys/fs/cgroup/cpuset/elsewhere/cpu.cfs_quota_us", "1000\n"),
        (
            "sys/fs/cgroup/cpuset/elsewhere/cpu.cfs_period_us",
            "100000\n",
        ),
    ]);
    assert_eq!(tree.quota(), None);
}

#[test]
fn both_versions_together_give_the_tighter() {
    let tree = Tree::new(&[
        (GROUPS, V1_GROUPS),
        (MOUNTS, V1),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/job/cpu.cfs_quota_us",
            "200000\n",
        ),
        (
            "sys/fs/cgroup/cpu,cpuacct/slice/job/cpu.cfs_period_us",
            "100000\n",
        ),
        ("sys/fs/cgroup/unified/slice/cpu.max", "100000 100000\n"),
    ]);
    assert_eq!(tree.quota(), Some(1.0));
}

#[test]
fn in_a_container_the_mount_shows_only_the_own_group_and_below() {
    for (group, path) in [("/docker/abc", ""), ("/docker/abc/job", "job/")] {
        let tree = Tree::new(&[
            (GROUPS, &format!("4:cpu:{group}\n")),
            (
                MOUNTS,
                "33 30 0:30 /docker/abc /sys/fs/cgroup/cpu ro master:9 - cgroup cgroup rw,cpu\n",
            ),
            (
                &format!("sys/fs/cgroup/cpu/{path}cpu.cfs_quota_us"),
                "120000\n",
            ),
            (
                &format!("sys/fs/cgroup/cpu/{path}cpu.cfs_period_us"),
                "100000\n",
            ),
            // Where the full name would lead.
            (
                &format!("sys/fs/cgroup/cpu{group}/cpu.cfs_quota_us"),
                "1000\n",
            ),
            (
                &format!("sys/fs/cgroup/cpu{group}/cpu.cfs_period_us"),
                "100000\n",
            ),
        ]);
        assert_eq!(tree.quota(), Some(1.2), "{group}");
    }
}

#[test]
fn a_mount_of_some_other_group_says_nothing_about_us() {
    let other = "31 23 0:28 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    for group in ["/docker/abcdef", "/docker", "/", "/../docker/abc"] {
        let tree = Tree::new(&[
            (GROUPS, &format!("0::{group}\n")),
            (MOUNTS, other),
            ("sys/fs/cgroup/cpu.max", "1000 100000\n"),
        ]);
        assert_eq!(tree.quota(), None, "{group}");
    }
}

#[test]
fn a_group_outside_the_namespace_does_not_lead_out_of_the_mount() {
    let tree = Tree::new(&[
        (GROUPS, "0::/../next\n"),
        (MOUNTS, V2),
        ("sys/fs/cgroup/cpu.max", "1000 100000\n"),
        ("sys/fs/next/cpu.max", "1000 100000\n"),
    ]);
    assert_eq!(tree.quota(), None);
}

#[test]
fn a_mount_from_above_the_namespace_still_limits_us() {
    let tree = Tree::new(&[
        (GROUPS, "0::/job\n"),
        (
            MOUNTS,
            "31 23 0:28 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        ),
        ("sys/fs/cgroup/cpu.max", "200000 100000\n"),
    ]);
    assert_eq!(tree.quota(), Some(2.0));
}

#[test]
fn blanks_in_names_are_understood() {
    let tree = Tree::new(&[
        (GROUPS, "0::/my slice/a:b\n"),
        (
            MOUNTS,
            "31 23 0:28 /my\\040slice /mnt/control\\040groups rw - cgroup2 none rw\n",
        ),
        ("mnt/control groups/a:b/cpu.max", "100000 100000\n"),
    ]);
    assert_eq!(tree.quota(), Some(1.0));
}

#[test]
fn garbage_in_a_quota_is_no_quota() {
    for text in [
        "",
        "\n",
        "fast",
        "100000",
        "100000 0",
        "0 100000",
        "-5 100000",
        "1e5 100000",
        "NaN 1",
        "99999999999999999999999 1",
    ] {
        let tree = Tree::new(&[
            (GROUPS, "0::/a\n"),
            (MOUNTS, V2),
            ("sys/fs/cgroup/a/cpu.max", text),
        ]);
        assert_eq!(tree.quota(), None, "{text:?}");
    }
}

#[test]
fn garbage_in_one_group_does_not_hide_the_others() {
    let tree = Tree::new(&[
        (GROUPS, "0::/a/b\n"),
        (MOUNTS, V2),
        ("sys/fs/cgroup/a/cpu.max", "400000 100000\n"),
        ("sys/fs/cgroup/a/b/cpu.max", "??"),
    ]);
    assert_eq!(tree.quota(), Some(4.0));
}

#[test]
fn garbage_around_the_lines_that_matter_is_skipped() {
    let tree = Tree::new(&[("sys/fs/cgroup/a/cpu.max", "100000 100000\n")]);
    tree.write(GROUPS, b"\xff\xfe\n:\n::\nx:y\n\n0::/a\n");
    tree.write(
        MOUNTS,
        &[
            b"- - -\n\n1 2 3 - cgroup2\n99 1 0:9 / /mnt/\xe4 rw - fuse x rw\n".as_slice(),
            V2.as_bytes(),
        ]
        .concat(),
    );
    assert_eq!(tree.quota(), Some(1.0));
}

#[test]
fn missing_files_are_no_quota() {
    assert_eq!(quota_under(Path::new("/nothing/here")), None);
    assert_eq!(Tree::new(&[(GROUPS, "0::/a\n")]).quota(), None);
    assert_eq!(Tree::new(&[(MOUNTS, V2)]).quota(), None);
    assert_eq!(
        Tree::new(&[(GROUPS, "0::/a\n"), (MOUNTS, V2)]).quota(),
        None
    );
    assert_eq!(Tree::new(&[(GROUPS, ""), (MOUNTS, "")]).quota(), None);
    // Half of the pair that version 1 needs.
    let half = Tree::new(&[
        (GROUPS, V1_GROUPS),
        (MOUNTS, V1),
        ("sys/fs/cgroup/cpu,cpuacct/slice/cpu.cfs_quota_us", "1000\n"),
    ]);
    assert_eq!(half.quota(), None);
}
