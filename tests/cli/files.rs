//! Files that are written whole or left alone.

use std::fs;

use super::{fresh, rankfold, said};

#[test]
fn a_picture_is_written_to_its_file() {
    let file = fresh("halving.svg");
    let mut draw = rankfold("draw halving --format svg --output");
    assert!(draw.arg(&file).status().unwrap().success());
    let picture = fs::read_to_string(&file).unwrap();
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
}

#[test]
fn a_picture_that_no_viewer_shows_is_refused_with_the_steps_that_fit() {
    let file = fresh("ring.svg");
    let ring = "draw ring --ranks 64 --format svg";
    let (code, error) = said(rankfold(&format!("{ring} --output")).arg(&file));
    assert_eq!(code, Some(2));
    assert!(
        error.contains("pixels is more than viewers show, which is 32767 each way"),
        "{error}"
    );
    assert!(!file.exists());
    let (_, window) = error.trim().rsplit_once("; as with ").unwrap();
    let (code, error) = said(rankfold(&format!("{ring} {window} --output")).arg(&file));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let text = rankfold("draw ring --ranks 64").output().unwrap();
    assert!(text.status.success(), "text has no such limit");
}

#[test]
fn a_file_that_cannot_be_written_is_found_before_the_work() {
    // The folder is checked before the topology, so of two mistakes this one is reported.
    let (code, error) = said(&mut rankfold("topology chian -o /no/such/folder/x"));
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: cannot write /no/such/folder/x: "));
}

#[test]
fn a_file_keeps_what_it_has_until_there_is_something_new() {
    let (old, new) = (fresh("old.txt"), fresh("new.txt"));
    fs::write(&old, "a long line that was there before\n").unwrap();
    for file in [&old, &new] {
        let (code, _) = said(rankfold("topology chian -o").arg(file));
        assert_eq!(code, Some(2));
    }
    assert_eq!(
        fs::read_to_string(&old).unwrap(),
        "a long line that was there before\n"
    );
    assert!(!new.exists());
    assert!(
        rankfold("topology chain --ranks 2 -o")
            .arg(&old)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        fs::read_to_string(&old).unwrap(),
        "ranks 2\nroot 0\n1 0 0\n"
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_a_new_file_stays_and_the_file_is_written_at_its_end() {
    let (target, link) = (fresh("behind-a-link.txt"), fresh("link.txt"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let (code, _) = said(rankfold("topology chian -o").arg(&link));
    assert_eq!((code, target.exists()), (Some(2), false));
    let (code, error) = said(rankfold("topology chain --ranks 2 -o").arg(&link));
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert!(link.is_symlink());
    assert!(fs::read_to_string(&target).unwrap().starts_with("ranks 2"));
}

#[test]
fn a_picture_and_results_in_one_file_are_refused() {
    let file = fresh("both.svg");
    let folder = file.parent().unwrap();
    let around = folder.join("..").join(folder.file_name().unwrap());
    let names = [file.clone(), around.join("both.svg")];
    let simulate = |plot: &std::path::Path| {
        let mut both = rankfold("simulate ring halving --ranks 2,4 --bytes 8 -o");
        said(both.arg(&file).arg("--plot").arg(plot))
    };
    for there in [false, true] {
        for name in &names {
            let (code, error) = simulate(name);
            assert_eq!(code, Some(2), "{error}");
            assert!(error.contains("--output is the same file"), "{error}");
        }
        assert_eq!(file.exists(), there);
        fs::write(&file, "old").unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    #[cfg(unix)]
    {
        let other = fresh("hard-link.svg");
        fs::hard_link(&file, &other).unwrap();
        assert_eq!(simulate(&other).0, Some(2));
    }
    assert_eq!(simulate(&fresh("its-own.svg")).0, Some(0));
    let mut report = rankfold("report --time 1 -o");
    let (code, error) = said(report.arg(&file).arg("--data").arg(&names[1]));
    assert_eq!(code, Some(2), "{error}");
}
