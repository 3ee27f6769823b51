//! A progress bar on a terminal, and nothing elsewhere. It moves only when the caller updates it: no thread of its own
//! disturbs the measurements.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar of `steps` steps.
pub fn of_steps(steps: usize) -> ProgressBar {
    bar(steps as u64, "{bar:30} {pos}/{len}  {eta} left  {msg}")
}

/// Returns a bar of this time, in milliseconds.
pub fn of_time(time: Duration) -> ProgressBar {
    bar(time.as_millis() as u64, "{bar:30} {percent} %  {msg}")
}

/// Returns a bar of a thousand steps.
pub fn of_work() -> ProgressBar {
    bar(1000, "{bar:30} {percent} %  {msg}")
}

fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
