//! Formats a time since 1970 as a date.

/// Formats a time since 1970 as a date and a time of day.
///
/// # Source
///
/// Hinnant, *chrono-Compatible Low-Level Date Algorithms*, 2013: `civil_from_days`.
pub fn date(seconds: u64) -> String {
    // Clamped to the year 9999: the number comes from a file, which may contain any.
    let seconds = seconds.min(253_402_300_799);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = year + 400 * era + later;
    let (hour, minute) = (rest / 3600, rest / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_have_their_dates() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_400), "2000-02-29 00:00");
        assert_eq!(date(1_709_251_199), "2024-02-29 23:59");
        assert_eq!(date(4_107_542_400), "2100-03-01 00:00");
        assert_eq!(date(u64::MAX), "9999-12-31 23:59");
    }
}
