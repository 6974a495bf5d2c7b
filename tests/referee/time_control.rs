//! Time controls: text and tags in both directions, clocks.

use std::time::Duration;

use epdb_referee::{Remaining, Stage, TimeControl};

fn read(text: &str) -> TimeControl {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Times of a clock before each move, in milliseconds.
fn clock(time: &TimeControl, used: &[u64]) -> Vec<u128> {
    let mut now = time.start();
    let mut seen = vec![now.time.unwrap().as_millis()];
    for used in used {
        now = time.after_move(&now, Duration::from_millis(*used));
        seen.push(now.time.unwrap().as_millis());
    }
    seen
}

#[test]
fn time_controls_are_read_and_written() {
    for (text, canonical, tag) in [
        ("40/60+0.5", "40/60+0.5", "40/60+0.5"),
        ("1+0.05", "1+0.05", "1+0.05"),
        ("1:30+1", "90+1", "90+1"),
        ("40/2:00:00", "40/7200", "40/7200"),
        ("5/move", "5/move", "1/5"),
        ("0:30/move", "30/move", "1/30"),
        ("1/5", "5/move", "1/5"),
        ("inf", "inf", "-"),
        ("40/7200,20/3600,900+30", "40/7200,20/3600,900+30", "40/7200:20/3600:900+30"),
        ("60+0", "60", "60"),
        ("0.001", "0.001", "0.001"),
    ] {
        let time = read(text);
        assert_eq!((time.to_string().as_str(), time.tag().as_str()), (canonical, tag), "{text}");
        assert_eq!(read(canonical), time);
        assert_eq!(TimeControl::from_tag(tag), Ok(Some(time)));
    }
}

#[test]
fn invalid_time_controls_are_refused() {
    for wrong in [
        "",
        "0",
        "40/",
        "/60",
        "40/0",
        "40/0+1",
        "60+",
        "+1",
        "60+x",
        "-5",
        "1:2:3:4",
        "1:",
        "60,40/60",
        "60+1,60+1",
        "10000/60",
        "0/move",
        "1.2345",
        "1e3",
        "60 ",
        "86400000000",
        "9999999999",
        "five",
        "tc=60",
        "40/60/2",
        "1+2+3",
        ",",
    ] {
        assert!(wrong.parse::<TimeControl>().is_err(), "{wrong}");
    }
    for wrong in ["", "*0", "*", "0", "40/", "300:300", "inf"] {
        assert!(TimeControl::from_tag(wrong).is_err(), "{wrong}");
    }
    assert_eq!(TimeControl::from_tag("?"), Ok(None));
}

#[test]
fn clocks_get_increments_and_stages() {
    assert_eq!(clock(&read("1+0.05"), &[250, 0, 2000]), [1000, 800, 850, 50]);
    // A stage that repeats.
    assert_eq!(clock(&read("2/10"), &[1000, 2000, 3000, 0]), [10000, 9000, 17000, 14000, 24000]);
    let stages = read("2/10+1,5+2");
    assert_eq!(clock(&stages, &[1000, 1000, 1000]), [10000, 10000, 15000, 16000]);
    assert_eq!(clock(&read("3/move"), &[1000, 2999]), [3000, 3000, 3000]);
    let last = stages.after_move(&stages.start(), Duration::ZERO);
    assert_eq!(last, Remaining { time: Some(Duration::from_secs(11)), moves: Some(1), stage: 0 });
    assert_eq!(stages.increment(&last), Duration::from_secs(1));
    assert_eq!(read("inf").after_move(&read("inf").start(), Duration::MAX).time, None);
    let stage = Stage { moves: Some(2), time: Duration::from_secs(10), increment: Duration::ZERO };
    assert_eq!(read("2/10"), TimeControl::Stages(vec![stage]));
}

#[test]
fn a_clock_is_exceeded_after_its_margin() {
    let start = read("1").start();
    let margin = Duration::from_millis(20);
    for (used, expected) in [(1000, false), (1020, false), (1021, true)] {
        assert_eq!(start.is_exceeded_by(Duration::from_millis(used), margin), expected, "{used}");
    }
    assert!(!read("inf").start().is_exceeded_by(Duration::MAX, Duration::ZERO));
}

#[test]
fn an_hourglass_is_read_and_written() {
    let time: TimeControl = "*180".parse().unwrap();
    assert_eq!((time.to_string(), time.tag()), ("*180".into(), "*180".into()));
    assert_eq!(TimeControl::from_tag("*180"), Ok(Some(time)));
    assert_eq!("*3:00".parse::<TimeControl>().unwrap().tag(), "*180");
    // No number of moves is all of them.
    assert_eq!("0/5+0.1".parse::<TimeControl>(), "5+0.1".parse());
}
