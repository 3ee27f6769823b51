//! The report of the runs: placement, losses and time of each, and a table of all.

use std::io::{self, Write};
use std::time::Duration;

use rankfold::machine::Unpinned;

use crate::screen::Screen;
use crate::train::Run;

/// Maximum number of losses shown for a run.
const MARKS: usize = 9;

/// Writes one run, whose heading is already written.
pub fn run(screen: &mut Screen<impl Write>, run: &Run, accuracy: f64) -> io::Result<()> {
    for line in run.placement.to_string().lines() {
        screen.line(&format!("  {line}"))?;
    }
    for line in curve(&run.losses) {
        screen.line(&line)?;
    }
    screen.line(&format!(
        "  final loss {:.6}, {} % of the held-out digits read right",
        run.final_loss(),
        percent(accuracy)
    ))?;
    let [least, median, most] = spread(&run.communication).map(percent);
    let share = match run.ranks {
        1 => format!("{median} %"),
        2 => format!("{least} % and {most} %"),
        _ => format!("{least} % to {most} %"),
    };
    screen.line(&format!(
        "  {} ms a step (mean {}), {share} of the time in all_reduce",
        milliseconds(run.step_time),
        milliseconds(run.mean_step_time)
    ))
}

/// Returns two lines: steps, and the losses after them.
fn curve(losses: &[f64]) -> [String; 2] {
    let shown = marks(losses.len() - 1);
    let row = |name: &str, cell: &dyn Fn(usize) -> String| {
        let cells = shown.iter().map(|&step| format!("{:>8}", cell(step)));
        format!("  {name}{}", cells.collect::<String>())
    };
    [
        row("step", &|step| step.to_string()),
        row("loss", &|step| format!("{:.4}", losses[step])),
    ]
}

/// Returns the steps whose losses are shown: 0, the last of 1, 2, 5, 10, ... that fit, and the last step. Most happens
/// early.
fn marks(last: usize) -> Vec<usize> {
    let powers = (0..).map(|exponent| 10_usize.pow(exponent));
    let series = powers.flat_map(|ten| [ten, 2 * ten, 5 * ten]);
    let mut marks: Vec<usize> = series.take_while(|&step| step < last).collect();
    marks.push(last);
    marks.drain(..marks.len().saturating_sub(MARKS - 1));
    marks.insert(0, 0);
    marks
}

/// Writes all runs, each with its accuracy; speed-ups are relative to the first.
pub fn table(screen: &mut Screen<impl Write>, runs: &[(&Run, f64)]) -> io::Result<()> {
    let Some((first, _)) = runs.first() else {
        return Ok(());
    };
    screen.heading("                              ms a step      % of the time in all_reduce")?;
    screen.heading(
        "ranks   final loss   right   median    mean     least  median    most   speed-up",
    )?;
    for (run, accuracy) in runs {
        let [least, median, most] = spread(&run.communication).map(percent);
        screen.line(&format!(
            "{:>5}   {:>10.6}  {:>5}%  {:>7} {:>7}    {least:>6}  {median:>6}  {most:>6}   {:>8.2}",
            run.ranks,
            run.final_loss(),
            percent(*accuracy),
            milliseconds(run.step_time),
            milliseconds(run.mean_step_time),
            first.step_time.as_secs_f64() / run.step_time.as_secs_f64(),
        ))?;
    }
    notes(screen, runs, first.ranks)
}

/// Explains the columns.
fn notes(screen: &mut Screen<impl Write>, runs: &[(&Run, f64)], first: usize) -> io::Result<()> {
    screen
        .aside("right: of the held-out digits. ms a step: of the slowest rank, over the steps.")?;
    screen
        .aside("all_reduce: least, median and most over the ranks; waiting for others counts.")?;
    let plural = if first == 1 { "" } else { "s" };
    screen.aside(&format!(
        "speed-up: of the median, against {first} rank{plural}."
    ))?;
    let crowded = |run: &Run| matches!(run.placement.why_unpinned, Some(Unpinned::Crowded { .. }));
    if runs.iter().any(|(run, _)| crowded(run)) {
        screen
            .aside("Ranks that share CPUs take turns: the speed-up ends at the number of CPUs.")?;
    }
    Ok(())
}

/// Returns the minimum, the median and the maximum of sorted numbers.
fn spread(sorted: &[f64]) -> [f64; 3] {
    let n = sorted.len();
    let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    [sorted[0], median, sorted[n - 1]]
}

fn percent(part: f64) -> String {
    format!("{:.1}", 100.0 * part)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3}", 1e3 * time.as_secs_f64())
}

/// Formats a list: "1, 2 and 4".
pub fn list(numbers: impl IntoIterator<Item = usize>) -> String {
    let mut words: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    match (words.pop(), words.is_empty()) {
        (Some(last), false) => format!("{} and {last}", words.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::softmax::BLANK;
    use rankfold::machine::{Bind, Cpus, place};

    fn some_run(ranks: usize, communication: &[f64], millis: u64) -> Run {
        let cpus = Cpus {
            mask: vec![0, 3],
            quota: None,
        };
        Run {
            ranks,
            placement: place(ranks, &Bind::Compact, &cpus, true).unwrap(),
            weights: BLANK,
            losses: (0..=80).map(|step| 2.0 - f64::from(step) / 100.0).collect(),
            step_time: Duration::from_millis(millis),
            mean_step_time: Duration::from_millis(millis + 1),
            communication: communication.to_vec(),
        }
    }

    #[test]
    fn a_run_is_shown_with_its_placement_losses_and_time() {
        let mut screen = Screen::kept(false);
        run(&mut screen, &some_run(2, &[0.1, 0.25], 4), 0.95).unwrap();
        let want = "  rank 0  cpu 0
  rank 1  cpu 3
  step       0       1       2       5      10      20      50      80
  loss  2.0000  1.9900  1.9800  1.9500  1.9000  1.8000  1.5000  1.2000
  final loss 1.200000, 95.0 % of the held-out digits read right
  4.000 ms a step (mean 5.000), 10.0 % and 25.0 % of the time in all_reduce
";
        assert_eq!(screen.text(), want);
    }

    #[test]
    fn the_columns_of_the_table_are_aligned() {
        let mut screen = Screen::kept(false);
        let (one, many) = (some_run(1, &[0.0], 12), some_run(512, &[0.0, 0.5, 1.0], 3));
        table(&mut screen, &[(&one, 0.9), (&many, 1.0)]).unwrap();
        let lines: Vec<&str> = screen.text().lines().collect();
        let want = [
            "                              ms a step      % of the time in all_reduce",
            "ranks   final loss   right   median    mean     least  median    most   speed-up",
            "    1     1.200000   90.0%   12.000  13.000       0.0     0.0     0.0       1.00",
            "  512     1.200000  100.0%    3.000   4.000       0.0    50.0   100.0       4.00",
        ];
        assert_eq!(lines[..4], want);
        assert!(
            lines.last().unwrap().contains("share CPUs"),
            "512 ranks on 2 CPUs"
        );
    }

    #[test]
    fn the_steps_shown_are_the_first_and_the_last_and_round_ones_between() {
        assert_eq!(marks(1), [0, 1]);
        assert_eq!(marks(3), [0, 1, 2, 3]);
        assert_eq!(marks(500), [0, 2, 5, 10, 20, 50, 100, 200, 500]);
        assert_eq!(marks(300_001).len(), MARKS);
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list([1, 2, 4]), "1, 2 and 4");
        assert_eq!((list([7]), list([])), ("7".into(), String::new()));
    }
}
