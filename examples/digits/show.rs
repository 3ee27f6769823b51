//! What is said of the runs: of each its placement, its losses and its time; of all a table.

use std::io::{self, Write};
use std::time::Duration;

use crate::screen::Screen;
use crate::train::Run;

/// How many losses of a run are shown, at most.
const MARKS: usize = 9;

/// One run; its heading is there already.
pub fn run(screen: &mut Screen<impl Write>, run: &Run, accuracy: f64) -> io::Result<()> {
    for line in run.placement.to_string().lines() {
        screen.line(&format!("  {line}"))?;
    }
    let [steps, losses] = curve(&run.losses);
    screen.line(&steps)?;
    screen.line(&losses)?;
    let [least, median, greatest] = spread(&run.communication).map(percent);
    screen.line(&format!(
        "  final loss {:.6}, {} of the held-out digits read right",
        run.final_loss(),
        percent(accuracy)
    ))?;
    let time = milliseconds(run.step_time);
    screen.line(&if run.ranks == 1 {
        format!("  {time} a step, {median} of it in all_reduce")
    } else {
        format!("  {time} a step, {least} to {greatest} of it in all_reduce (median of the ranks {median})")
    })
}

/// Two lines: steps, and the losses after them.
fn curve(losses: &[f64]) -> [String; 2] {
    let last = losses.len() - 1;
    let marks = MARKS.min(losses.len());
    let shown: Vec<usize> = (0..marks).map(|i| i * last / (marks - 1).max(1)).collect();
    let row = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>8}")).collect();
        format!("  {name}{cells}")
    };
    [
        row("step", shown.iter().map(usize::to_string).collect()),
        row(
            "loss",
            shown
                .iter()
                .map(|&step| format!("{:.4}", losses[step]))
                .collect(),
        ),
    ]
}

/// All runs, each with its accuracy; speed-ups are against the first.
pub fn table(screen: &mut Screen<impl Write>, runs: &[(&Run, f64)]) -> io::Result<()> {
    let Some((first, _)) = runs.first() else {
        return Ok(());
    };
    screen
        .heading("ranks   final loss   accuracy   time a step      in all_reduce      speed-up")?;
    for (run, accuracy) in runs {
        let [least, median, greatest] = spread(&run.communication).map(percent);
        screen.line(&format!(
            "{:>5}   {:>10.6}   {:>8}   {:>11}   {least:>6} {median:>6} {greatest:>6}   {:>8.2}",
            run.ranks,
            run.final_loss(),
            percent(*accuracy),
            milliseconds(run.step_time),
            first.step_time.as_secs_f64() / run.step_time.as_secs_f64(),
        ))?;
    }
    let against = match first.ranks {
        1 => "1 rank".to_owned(),
        n => format!("{n} ranks"),
    };
    screen.aside("time a step    of the slowest rank, the median over the steps")?;
    screen.aside(
        "in all_reduce  which part of its time a rank is in there, waiting for others included:",
    )?;
    screen.aside("               the least, the median and the greatest over the ranks")?;
    screen.aside(&format!("speed-up       in time a step, against {against}"))
}

/// The least, the median and the greatest of numbers in ascending order.
fn spread(sorted: &[f64]) -> [f64; 3] {
    let n = sorted.len();
    let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    [sorted[0], median, sorted[n - 1]]
}

fn percent(part: f64) -> String {
    format!("{:.1}%", 100.0 * part)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", 1e3 * time.as_secs_f64())
}

/// "1, 2 and 4".
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
            communication: communication.to_vec(),
        }
    }

    #[test]
    fn a_run_is_shown_with_its_placement_losses_and_time() {
        let mut screen = Screen::kept(false);
        run(&mut screen, &some_run(2, &[0.1, 0.25], 4), 0.95).unwrap();
        let want = "  rank 0  cpu 0
  rank 1  cpu 3
  step       0      10      20      30      40      50      60      70      80
  loss  2.0000  1.9000  1.8000  1.7000  1.6000  1.5000  1.4000  1.3000  1.2000
  final loss 1.200000, 95.0% of the held-out digits read right
  4.000 ms a step, 10.0% to 25.0% of it in all_reduce (median of the ranks 17.5%)
";
        assert_eq!(screen.text(), want);
    }

    #[test]
    fn the_columns_of_the_table_are_aligned() {
        let mut screen = Screen::kept(false);
        let (one, many) = (some_run(1, &[0.0], 12), some_run(512, &[0.0, 0.5, 1.0], 3));
        table(&mut screen, &[(&one, 0.9), (&many, 1.0)]).unwrap();
        let rows: Vec<&str> = screen.text().lines().take(3).collect();
        let want = [
            "ranks   final loss   accuracy   time a step      in all_reduce      speed-up",
            "    1     1.200000      90.0%     12.000 ms     0.0%   0.0%   0.0%       1.00",
            "  512     1.200000     100.0%      3.000 ms     0.0%  50.0% 100.0%       4.00",
        ];
        assert_eq!(rows, want);
    }

    #[test]
    fn a_short_curve_is_shown_whole() {
        let [steps, _] = curve(&[3.0, 2.0, 1.0]);
        assert_eq!(steps, "  step       0       1       2");
    }

    #[test]
    fn lists_read_like_a_sentence() {
        assert_eq!(list([1, 2, 4]), "1, 2 and 4");
        assert_eq!((list([7]), list([])), ("7".into(), String::new()));
    }
}
