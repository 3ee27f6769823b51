//! A few digits as pictures, each with the classifier's prediction.

use std::io::{self, Write};

use crate::data::{Digit, PIXELS};
use crate::screen::Screen;
use crate::softmax::{Weights, read};

/// As many as fit into a line of 80 characters.
const SHOWN: usize = 4;
/// Pixels in a row of a digit. A pixel is two characters wide, so that it is square.
const WIDTH: usize = 8;
/// From paper to ink.
const SHADES: [&str; 5] = ["  ", "░░", "▒▒", "▓▓", "██"];

/// Shows the first digits and, if there is one, the first that is misclassified.
pub fn show(
    screen: &mut Screen<impl Write>,
    weights: &Weights,
    digits: &[Digit],
) -> io::Result<()> {
    let shown = choose(weights, digits);
    for row in 0..PIXELS / WIDTH {
        screen.line(&in_columns(shown.iter().map(|digit| picture(digit, row))))?;
    }
    screen.line(&in_columns(
        shown.iter().map(|digit| caption(weights, digit)),
    ))
}

fn choose<'a>(weights: &Weights, digits: &'a [Digit]) -> Vec<&'a Digit> {
    let misread = |digit: &&Digit| read(weights, digit) != digit.label;
    let wrong = digits.iter().find(misread);
    let right = digits.iter().filter(|digit| !misread(digit));
    right
        .take(SHOWN - usize::from(wrong.is_some()))
        .chain(wrong)
        .collect()
}

fn picture(digit: &Digit, row: usize) -> String {
    let pixels = &digit.pixels[row * WIDTH..][..WIDTH];
    let shade = |&grey: &f64| SHADES[(grey * (SHADES.len() - 1) as f64).round() as usize];
    pixels.iter().map(shade).collect()
}

fn caption(weights: &Weights, digit: &Digit) -> String {
    match read(weights, digit) {
        right if right == digit.label => right.to_string(),
        wrong => format!("{wrong}, but it is {}", digit.label),
    }
}

fn in_columns(cells: impl Iterator<Item = String>) -> String {
    let line: String = cells
        .map(|cell| format!("  {cell:<width$}  ", width = 2 * WIDTH))
        .collect();
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::softmax::BLANK;

    fn digit(label: usize) -> Digit {
        let mut pixels = [0.0; PIXELS];
        (pixels[0], pixels[1]) = (1.0, 0.5);
        Digit { pixels, label }
    }

    #[test]
    fn a_digit_is_drawn_in_shades_and_captioned() {
        let mut screen = Screen::kept(false);
        // Blank weights classify everything as 0.
        show(&mut screen, &BLANK, &[digit(0), digit(7)]).unwrap();
        let lines: Vec<&str> = screen.text().lines().collect();
        assert_eq!(lines[0], format!("  ██▒▒{:16}██▒▒", ""));
        assert_eq!(lines[8], format!("  0{:19}0, but it is 7", ""));
    }

    #[test]
    fn the_misread_one_comes_last_and_no_more_are_shown_than_fit() {
        let labels = |digits: &[usize]| {
            let digits: Vec<Digit> = digits.iter().map(|&label| digit(label)).collect();
            let shown = choose(&BLANK, &digits);
            shown.iter().map(|digit| digit.label).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[5, 0, 0, 0, 0, 6]), [0, 0, 0, 5]);
        assert_eq!(labels(&[0, 0, 0, 0, 0]), [0, 0, 0, 0]);
    }
}
