//! The airports, read from text with every line checked, and the legs between those within range.

use std::fs;
use std::path::Path;

use crate::paths::Matrix;

/// The mean radius of the earth, in kilometres (IUGG).
const EARTH: f64 = 6371.0088;

/// A place with a code.
#[derive(Clone, Debug, PartialEq)]
pub struct Airport {
    pub code: String,
    /// In radians, north of the equator.
    latitude: f64,
    /// In radians, east of Greenwich.
    longitude: f64,
}

/// Reads a file of airports. The error is a sentence.
pub fn read(path: &Path) -> Result<Vec<Airport>, String> {
    let file = path.display();
    let text =
        fs::read_to_string(path).map_err(|error| format!("{file}: cannot be read: {error}"))?;
    let lines = text.lines().zip(1..).skip(1);
    lines
        .map(|(line, number)| {
            airport(line).map_err(|what| format!("{file}, line {number}: {what}"))
        })
        .collect()
}

/// Parses one line: the code first, latitude and longitude last. The fields between may contain commas in quotes.
fn airport(line: &str) -> Result<Airport, String> {
    let (code, _) = line.split_once(',').ok_or("it has no commas")?;
    let mut last = line.rsplitn(3, ',');
    let (longitude, latitude) = (last.next(), last.next());
    Ok(Airport {
        code: code.to_owned(),
        latitude: degrees("latitude", latitude, 90.0)?.to_radians(),
        longitude: degrees("longitude", longitude, 180.0)?.to_radians(),
    })
}

fn degrees(what: &str, text: Option<&str>, most: f64) -> Result<f64, String> {
    let text = text.unwrap_or_default().trim();
    let value = text.parse().ok();
    value
        .filter(|value: &f64| value.abs() <= most)
        .ok_or_else(|| {
            let shown: String = text.chars().take(20).collect();
            format!("the {what} {shown:?} is not a number from -{most} to {most}")
        })
}

/// Returns `wanted` of them, evenly spread from first to last.
pub fn spread(all: &[Airport], wanted: usize) -> Vec<Airport> {
    let place = |i| i * all.len() / wanted;
    (0..wanted).map(|i| all[place(i)].clone()).collect()
}

/// Returns the great-circle distance in kilometres.
///
/// # Source
///
/// The haversine formula: Sinnott, *Virtues of the haversine*, Sky and Telescope 68(2), 1984.
fn distance(a: &Airport, b: &Airport) -> f64 {
    let half_sine = |a: f64, b: f64| ((b - a) / 2.0).sin().powi(2);
    let across = a.latitude.cos() * b.latitude.cos() * half_sine(a.longitude, b.longitude);
    let chord = half_sine(a.latitude, b.latitude) + across;
    2.0 * EARTH * chord.sqrt().min(1.0).asin()
}

/// Returns the distances within range; infinite beyond it.
pub fn legs(airports: &[Airport], range: f64) -> Matrix {
    Matrix::new(airports.len(), |from, to| {
        let leg = distance(&airports[from], &airports[to]);
        if leg <= range { leg } else { f64::INFINITY }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(latitude: f64, longitude: f64) -> Airport {
        airport(&format!("X,,{latitude},{longitude}")).unwrap()
    }

    #[test]
    fn distances_on_the_globe_are_those_of_its_circles() {
        let quarter = EARTH * std::f64::consts::FRAC_PI_2;
        for (a, b, want) in [
            (at(0.0, 0.0), at(0.0, 90.0), quarter),
            (at(90.0, 17.0), at(0.0, -80.0), quarter),
            (at(-90.0, 0.0), at(90.0, 0.0), 2.0 * quarter),
            (at(30.0, 179.0), at(30.0, 179.0), 0.0),
            (at(0.0, 179.5), at(0.0, -179.5), quarter / 90.0),
        ] {
            assert!((distance(&a, &b) - want).abs() < 1e-6, "{a:?} {b:?}");
            assert_eq!(distance(&a, &b), distance(&b, &a));
        }
    }

    #[test]
    fn a_wrong_line_is_named_by_what_is_wrong_with_it() {
        let refused = |line| airport(line).unwrap_err();
        assert_eq!(refused("nothing"), "it has no commas");
        let what = r#"the latitude "north" is not a number from -90 to 90"#;
        assert_eq!(refused("A,b,north,1"), what);
        let what = r#"the longitude "180.5" is not a number from -180 to 180"#;
        assert_eq!(refused("A,b,1,180.5"), what);
        assert!(refused("A,b,1,NaN").contains("NaN"));
        assert!(refused("A,1").contains("latitude"));
    }

    #[test]
    fn names_with_commas_in_them_do_not_move_the_coordinates() {
        let plain = airport(r#"35A,x,Union,SC,USA,34.68680111,-81.64121167"#).unwrap();
        let quoted = airport(r#"35A,"x, y",Union,SC,USA,34.68680111,-81.64121167"#).unwrap();
        assert_eq!(plain, quoted);
    }

    #[test]
    fn the_data_of_the_package_is_whole() {
        let all = read(&crate::options::Options::default().file).unwrap();
        assert_eq!(all.len(), 3376);
        let named = |code: &str| all.iter().find(|airport| airport.code == code).unwrap();
        // A great circle of about 3970 km, as in every table of air distances.
        let coast_to_coast = distance(named("JFK"), named("LAX"));
        assert!((coast_to_coast - 3975.0).abs() < 10.0, "{coast_to_coast}");
        let some = spread(&all, 7);
        assert_eq!((some.len(), &some[0]), (7, &all[0]));
        assert_eq!(spread(&all, all.len()), all);
    }

    #[test]
    fn legs_beyond_the_range_are_none() {
        let places = [at(0.0, 0.0), at(0.0, 1.0), at(0.0, 3.0)];
        let legs = legs(&places, 150.0);
        assert!(legs.at(0, 1) < 112.0 && legs.at(0, 2).is_infinite() && legs.at(1, 1) == 0.0);
    }
}
