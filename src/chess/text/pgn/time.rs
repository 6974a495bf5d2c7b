//! Times in comments of games, in milliseconds.

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text before the first `sign`, and the text after it. It must be ASCII. The method of `str` takes longer.
pub(super) fn split_once(text: &str, sign: u8) -> Option<(&str, &str)> {
    let place = memchr::memchr(sign, text.as_bytes())?;
    Some((&text[..place], &text[place + 1..]))
}

/// The text after the last command with this name in a comment, such as `[%clk`. `None` if there is no such
/// command, or if no white space follows its name.
pub(super) fn after_command<'c, const N: usize>(
    comment: &'c str,
    command: &[u8; N],
) -> Option<&'c str> {
    let bytes = comment.as_bytes();
    let mut brackets = memchr::memrchr_iter(b'[', bytes);
    let end = N + brackets.find(|&place| bytes[place..].first_chunk() == Some(command))?;
    match bytes.get(end)? {
        b' ' | b'\t' | b'\n' | b'\r' => Some(&comment[end + 1..]),
        _ => None,
    }
}

/// Reads the time in the last command with this name in a comment, such as `[%clk 0:03:00]` or
/// `[%emt 2.5]`. The time may have hours and minutes before the seconds, or only minutes before
/// them, or neither. The seconds may have a fraction. `None` if there is no such command, or if its
/// time is not valid.
pub(super) fn command_ms<const N: usize>(comment: &str, command: &[u8; N]) -> Option<u64> {
    let (time, _) = split_once(after_command(comment, command)?, b']')?;
    time_ms(time.trim())
}

fn time_ms(time: &str) -> Option<u64> {
    let mut parts = time.as_bytes().rsplit(|byte| *byte == b':');
    let mut milliseconds = decimal_ms(parts.next()?)?;
    for unit in [60_000, 3_600_000] {
        if let Some(part) = parts.next() {
            milliseconds = milliseconds.checked_add(unit * small_number(part)?)?;
        }
    }
    if parts.next().is_none() { Some(milliseconds) } else { None }
}

/// Reads the time of an engine that a text begins with: the word `1.2s` or `15ms`.
pub(super) fn leading_time_ms(text: &str) -> Option<u64> {
    let end = text.find(|sign: char| sign.is_whitespace() || sign == ',').unwrap_or(text.len());
    let word = &text[..end];
    match word.strip_suffix("ms") {
        Some(milliseconds) => {
            decimal_ms(milliseconds.as_bytes()).map(|thousand| thousand.div_ceil(1000))
        }
        None => decimal_ms(word.strip_suffix('s')?.as_bytes()),
    }
}

/// Reads the increment of a time control of one period, `180+2` or `180`, in milliseconds.
pub(super) fn increment_ms(time_control: &str) -> Option<u64> {
    let (base, increment) = time_control.split_once('+').unwrap_or((time_control, "0"));
    decimal_ms(base.as_bytes()).and(decimal_ms(increment.as_bytes()))
}

/// Reads the time of a time control that gives each move the same time, `1/86400`, in milliseconds.
pub(super) fn time_of_each_move_ms(time_control: &str) -> Option<u64> {
    decimal_ms(time_control.strip_prefix("1/")?.as_bytes())
}

/// Reads the time that chess.com writes after a move in tenths of a second, `[%timestamp 25]`.
pub(super) fn timestamp_ms(comment: &str) -> Option<u64> {
    let (tenths, _) = split_once(after_command(comment, b"[%timestamp")?, b']')?;
    let tenths: u64 = Some(tenths.trim()).filter(|tenths| is_number(tenths))?.parse().ok()?;
    tenths.checked_mul(100)
}

/// Reads a number of seconds such as `12` or `1.25`.
fn decimal_ms(seconds: &[u8]) -> Option<u64> {
    if let Some(seconds) = small_number(seconds) {
        return Some(1000 * seconds);
    }
    let seconds = std::str::from_utf8(seconds).ok()?;
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let seconds: f64 = seconds.parse().ok()?;
    Some((seconds * 1000.0).round() as u64)
}

/// Reads a whole number of at most six digits.
pub(super) fn small_number(digits: &[u8]) -> Option<u64> {
    if !(1..=6).contains(&digits.len()) {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        if digit.is_ascii_digit() { Some(10 * number + u64::from(digit - b'0')) } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_commands() {
        for (comment, milliseconds) in [
            ("[%clk 0:03:00]", Some(180_000)),
            ("[%clk 1:59:58.9]", Some(7_198_900)),
            ("[%eval 0.1] [%clk 0:00:02.5] good", Some(2_500)),
            ("[%clk 0:00:09][%clk 0:00:07.125]", Some(7_125)),
            ("[%clk 03:00]", Some(180_000)),
            ("[%clk 2.434]", Some(2_434)),
            ("[%clk\n 100:00:00 ]", Some(360_000_000)),
            ("[%clk 0:00:00.0004]", Some(0)),
            ("[%clk -0:00:01]", None),
            ("[%clk 1:0:03:00]", None),
            ("[%clk 0:03:00", None),
            ("[%clk]", None),
            ("[%clk :03]", None),
            ("[%clk 0:03:]", None),
            ("[%clk 0:x:03]", None),
            ("[%clk 99999999:03:00]", None),
            ("[%clk 0:01:99999999999999999999]", None),
            ("[%clock 0:03:00]", None),
            ("0:03:00", None),
        ] {
            assert_eq!(command_ms(comment, b"[%clk"), milliseconds, "{comment}");
        }
    }

    #[test]
    fn times_of_engines() {
        for (text, milliseconds) in [
            ("1.2s", Some(1_200)),
            ("0.050s, n=12345", Some(50)),
            ("20ms more", Some(20)),
            ("60s", Some(60_000)),
            ("1.2", None),
            ("s", None),
            ("1.2.3s", None),
            ("-1.2s", None),
            (" 1.2s", None),
        ] {
            assert_eq!(leading_time_ms(text), milliseconds, "{text}");
        }
    }

    #[test]
    fn times_of_each_move_and_of_chess_com() {
        for (control, milliseconds) in
            [("1/86400", Some(86_400_000)), ("1/3600+5", None), ("40/7200", None), ("1/", None)]
        {
            assert_eq!(time_of_each_move_ms(control), milliseconds, "{control}");
        }
        for (comment, milliseconds) in [
            ("[%clk 0:02:59.1][%timestamp 9]", Some(900)),
            ("[%timestamp 0]", Some(0)),
            ("[%timestamp -1]", None),
            ("[%timestamp 1.5]", None),
            ("[%timestamp]", None),
        ] {
            assert_eq!(timestamp_ms(comment), milliseconds, "{comment}");
        }
    }

    #[test]
    fn increments_of_one_period() {
        for (control, milliseconds) in [
            ("180+2", Some(2_000)),
            ("10+0.1", Some(100)),
            ("600", Some(0)),
            ("40/7200", None),
            ("40/7200:3600", None),
            ("*180", None),
            ("-", None),
            ("?", None),
            ("", None),
        ] {
            assert_eq!(increment_ms(control), milliseconds, "{control}");
        }
    }
}
