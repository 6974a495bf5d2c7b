//! Sizes and speed of archives: `cargo bench --bench archive [-- FILE…]`.
//!
//! Sizes are compared with those of gzip, zstd, xz and 7z (PPMd), if these commands are installed.
//! Without arguments the files are books and suites of `../shared/data` or `EPDB_SHARED_DATA`, if present.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use epdb_archive::{Archive, ArchiveWriter, Level, PackOptions};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::{Line, parse_line};
use epdb_chess::text::{FormatOptions, ParseOptions, epd};

const FILES: [&str; 10] = [
    "books/UHO_4060_v2.epd",
    "books/UHO_4060_v4.epd",
    "books/3moves_FRC.epd",
    "books/2moves_v1.epd",
    "books/hybrid_book_beta.epd",
    "books/FRC_openings.epd",
    "epd/fsmosca+STS-Rating/epd/STS1-STS15_LAN_v6.epd",
    "epd/helgefmi+CacheMiss/wac.epd",
    "epd/sarona-CCCF+EPD-sets/wac.epd",
    "epd/jdart1+arasan-chess/tests/arasan2024.epd",
];

const ROUNDS: usize = 5;
/// Suites have no more records.
const FEW: usize = 1 << 14;

fn main() {
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let mut files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    if files.is_empty() {
        let data = std::env::var_os("EPDB_SHARED_DATA").map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
            PathBuf::from,
        );
        files = FILES.iter().map(|name| data.join(name)).filter(|path| path.exists()).collect();
    }
    let samples: Vec<Sample> = files.iter().map(|path| Sample::new(path)).collect();
    sizes(&samples);
    speed(&samples);
    lookups(&samples);
}

struct Sample {
    path: PathBuf,
    name: String,
    records: Vec<EpdRecord>,
}

impl Sample {
    fn new(path: &Path) -> Sample {
        let text = std::fs::read(path).expect("a file");
        let options = ParseOptions::default();
        let records = text
            .split(|&byte| byte == b'\n')
            .filter_map(|line| match parse_line(line, &options, &mut Vec::new()) {
                Ok(Line::Record(record)) => Some(record),
                _ => None,
            })
            .collect();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Sample { path: path.into(), name, records }
    }

    fn pack(&self, options: PackOptions) -> Vec<u8> {
        let mut writer = ArchiveWriter::new(Vec::new(), options).expect("a writer");
        self.records.iter().for_each(|record| writer.push(record).expect("packed"));
        writer.finish().expect("packed")
    }
}

fn sizes(samples: &[Sample]) {
    println!("bytes a record; the last columns are ratios to xz -9e of the text");
    println!(
        "{:<22}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8} |{:>7}{:>7}{:>7}",
        "",
        "records",
        "gzip",
        "zstd",
        "xz",
        "PPMd",
        "b64",
        "b64+i",
        "b256+i",
        "sorted",
        "b64",
        "b64+i",
        "b256+i"
    );
    for sample in samples {
        let records = sample.records.len() as f64;
        let peer = |command: &str, arguments: &[&str]| {
            run(command, arguments, &sample.path).map_or(f64::NAN, |len| len as f64 / records)
        };
        let gzip = peer("gzip", &["-9", "-c"]);
        let zstd = peer("zstd", &["-19", "-q", "-c"]);
        let xz = peer("xz", &["-9e", "-c"]);
        let ppmd = ppmd(&sample.path).map_or(f64::NAN, |len| len as f64 / records);
        let ours = |index, block_records, sorted| {
            let options = PackOptions {
                index,
                block_records: Some(block_records),
                sorted,
                ..Default::default()
            };
            sample.pack(options).len() as f64 / records
        };
        let (number, position) = (ours(false, 64, false), ours(true, 64, false));
        let (large, sorted) = (ours(true, 256, false), ours(false, 64, true));
        println!(
            "{:<22.22}{:>8}{gzip:>8.2}{zstd:>8.2}{xz:>8.2}{ppmd:>8.2}{number:>8.3}{position:>8.3}\
             {large:>8.3}{sorted:>8.3} |{:>7.3}{:>7.3}{:>7.3}",
            sample.name,
            records,
            number / xz,
            position / xz,
            large / xz,
        );
    }
}

/// The bytes that a command writes to its standard output.
fn run(command: &str, arguments: &[&str], path: &Path) -> Option<usize> {
    let output =
        Command::new(command).args(arguments).arg(path).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output.stdout.len())
}

fn ppmd(path: &Path) -> Option<u64> {
    let folder = tempfile::tempdir().ok()?;
    let archive = folder.path().join("a.7z");
    let status = Command::new("7z")
        .args(["a", "-m0=PPMd:o=16:mem=256m"])
        .arg(&archive)
        .arg(path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    status.success().then(|| archive.metadata().ok().map(|found| found.len()))?
}

fn speed(samples: &[Sample]) {
    println!("\none thread; median of single records");
    println!(
        "{:<22}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "", "pack M/s", "unpack M/s", "record us", "find us", "fast rec ns", "fast find ns"
    );
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for sample in samples {
        let records = sample.records.len() as f64;
        let pack = pool.install(|| best(|| sample.pack(PackOptions::default())));
        let archive = Archive::from_bytes(sample.pack(PackOptions::default())).expect("an archive");
        let mut text = Vec::new();
        let mut unpack = || {
            text.clear();
            archive.write_text(0..archive.len(), &mut text).expect("text");
            text.len()
        };
        let unpack = pool.install(|| best(&mut unpack));
        let mut expected = Vec::new();
        for record in &sample.records {
            epd::format(record, &FormatOptions::default(), &mut expected);
            expected.push(b'\n');
        }
        assert!(text == expected, "{}", sample.name);
        let fast = PackOptions { level: Level::Fast, ..Default::default() };
        let fast = Archive::from_bytes(sample.pack(fast)).expect("an archive");
        let million = |time: Duration| records / time.as_secs_f64() / 1e6;
        let by_number = |archive: &Archive| {
            median(sample, |number, _| {
                black_box(archive.record(number).expect("a record"));
            })
        };
        let by_position = |archive: &Archive| {
            median(sample, |_, record| {
                for found in archive.matches(record.position()) {
                    let found = found.expect("found");
                    black_box((found.number(), found.record().expect("a record")));
                }
            })
        };
        println!(
            "{:<22.22}{:>12.3}{:>12.2}{:>12.1}{:>12.1}{:>12}{:>12}",
            sample.name,
            million(pack),
            million(unpack),
            by_number(&archive).as_secs_f64() * 1e6,
            by_position(&archive).as_secs_f64() * 1e6,
            by_number(&fast).as_nanos(),
            by_position(&fast).as_nanos(),
        );
    }
}

/// Suites of few records: what finding one by number costs, by records of a block.
fn lookups(samples: &[Sample]) {
    println!("\nrecords by number: bytes of the archive, ratio to xz -9e, microseconds of one");
    println!("{:<22}{:>8}{:>10}{:>8}{:>10}{:>10}", "", "block", "bytes", "xz", "mean", "worst");
    for sample in samples.iter().filter(|sample| sample.records.len() <= FEW) {
        let xz = run("xz", &["-9e", "-c"], &sample.path).map_or(f64::NAN, |len| len as f64);
        for block_records in [None, Some(64), Some(32), Some(16), Some(8)] {
            let options = PackOptions { index: false, block_records, ..Default::default() };
            let bytes = sample.pack(options);
            let len = bytes.len();
            let times = times(sample, &Archive::from_bytes(bytes).expect("an archive"));
            let mean = times.iter().sum::<Duration>() / times.len() as u32;
            let worst = times.into_iter().max().unwrap_or_default();
            println!(
                "{:<22.22}{:>8}{:>10}{:>8.3}{:>10.1}{:>10.1}",
                sample.name,
                block_records.map_or("-".into(), |records| records.to_string()),
                len,
                len as f64 / xz,
                mean.as_secs_f64() * 1e6,
                worst.as_secs_f64() * 1e6,
            );
        }
    }
}

/// Shortest time per record by number.
fn times(sample: &Sample, archive: &Archive) -> Vec<Duration> {
    let mut times = vec![Duration::MAX; sample.records.len()];
    for _ in 0..ROUNDS {
        for (number, time) in (0..).zip(&mut times) {
            let start = Instant::now();
            black_box(archive.record(number).expect("a record"));
            *time = start.elapsed().min(*time);
        }
    }
    times
}

fn best<T>(mut work: impl FnMut() -> T) -> Duration {
    let round = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

/// The median time of work on single records, in an order that jumps about.
fn median(sample: &Sample, mut work: impl FnMut(u64, &EpdRecord)) -> Duration {
    let len = sample.records.len();
    let mut place = 0;
    let mut times: Vec<Duration> = (0..2001)
        .map(|_| {
            place = (place + 7_368_787) % len;
            let start = Instant::now();
            work(place as u64, &sample.records[place]);
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}
