//! Settings of a tournament, from files and from arguments.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use epdb_referee::{
    AdjudicationRules, DrawRule, EloModel, Launch, Listen, OpeningOrder, OpeningsSource,
    PairingRule, Player, QuietTimeouts, ResignRule, Sprt, SyzygyRule, TimeControl, Tournament,
};

fn of_file(text: &str) -> Result<Tournament, String> {
    Tournament::from_toml(text, "t.toml").map_err(|error| error.to_string())
}

fn of_words(line: &str) -> Result<Tournament, String> {
    let words: Vec<String> = line.split_ascii_whitespace().map(String::from).collect();
    Tournament::from_words(&words, "t").map_err(|error| error.to_string())
}

fn engine(words: &str, time: Option<&str>) -> Player {
    let spec: epdb_engine::EngineSpec = words.parse().unwrap();
    let time = time.map(|time| time.parse().unwrap());
    Player { name: spec.label.clone(), launch: Some(Launch::Engine(spec)), token_file: None, time }
}

const TWO: &str = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";

#[test]
fn the_example_has_all_settings() {
    let text = include_str!("../examples/tournament.toml");
    let tournament = Tournament::from_toml(text, "tests/examples/tournament.toml").unwrap();
    let client = vec!["./my-client", "--connect", "{host}:{port}", "--name", "{name}"];
    let expected = Tournament {
        search: Vec::new(),
        optional_options: Vec::new(),
        remarks: Vec::new(),
        opening_by_round: false,
        eco: Vec::new(),
        syzygy: None,
        event: "Winter cup".into(),
        site: "Lab".into(),
        pairing: PairingRule::RoundRobin { cycles: 2 },
        games_per_encounter: 2,
        players: vec![
            engine("cmd=stockfish name=Fish option.Hash=64 option.Threads=1", None),
            engine("cmd=toga2", Some("40/60")),
            Player {
                name: "Mine".into(),
                launch: Some(Launch::Client {
                    words: client.into_iter().map(String::from).collect(),
                    token: true,
                }),
                token_file: None,
                time: None,
            },
            Player {
                name: "Guest".into(),
                launch: None,
                token_file: Some("guest.token".into()),
                time: None,
            },
        ],
        time: "1+0.05".parse().unwrap(),
        silences: QuietTimeouts { conclude: Duration::from_secs(1), reset: Duration::from_secs(2) },
        openings: Some(OpeningsSource {
            file: "tests/samples/openings.epd".into(),
            order: OpeningOrder::Random,
            plies: Some(16),
            first: 1,
        }),
        adjudication: AdjudicationRules {
            resign: Some(ResignRule { moves: 4, score: 800, two_sided: true }),
            draw: Some(DrawRule { from_move: 40, moves: 8, score: 10 }),
            max_moves: Some(300),
        },
        listen: Listen::Tcp("127.0.0.1:4000".into()),
        concurrency: 2,
        seed: 1995,
        restarts: 3,
        return_within: Duration::from_secs(60),
        time_margin: Duration::from_millis(20),
        log: "cup.log".into(),
        pgn: "cup.pgn".into(),
        sprt: None,
    };
    assert_eq!(tournament, expected);
}

/// Tablebases in the file, and in the words of cutechess.
#[test]
fn tablebases_are_folders_and_a_number_of_pieces() {
    let rule = |pieces, ignores_fifty_moves| {
        let path = env::join_paths(["/a", "b c"]).unwrap().into_string().unwrap();
        Some(SyzygyRule { pieces, ignores_fifty_moves, ..SyzygyRule::new(&path) })
    };
    let path = env::join_paths(["/a", "b c"]).unwrap().into_string().unwrap();
    let of_text = |rest: &str| of_file(&format!("syzygy = {{ {rest} }}\n{TWO}"));
    let said = |rest: &str| of_text(&format!("path = '{path}'{rest}")).unwrap().syzygy;
    assert_eq!(said("").unwrap().folders, ["/a", "b c"].map(PathBuf::from));
    assert_eq!((said(""), said(", pieces = 5, ignore-50 = true")), (rule(7, false), rule(5, true)));
    for (rest, expected) in [
        ("", "`syzygy` needs a `path`"),
        ("path = ''", "`syzygy` needs a `path`"),
        ("path = 'x', pieces = 8", "from 3 to 7"),
        ("path = 'x', wdl = 1", "there is no key `wdl`"),
    ] {
        let error = of_text(rest).unwrap_err();
        assert!(error.contains(expected), "{rest}: {error}");
    }
    let words = |words: &[&str]| {
        let engines = ["-engine", "cmd=a", "-engine", "cmd=b"];
        let all: Vec<String> = engines.iter().chain(words).map(|word| word.to_string()).collect();
        Tournament::from_words(&all, "t").map(|it| it.syzygy).map_err(|error| error.to_string())
    };
    assert_eq!(words(&["-tb", &path]), Ok(rule(7, false)));
    assert_eq!(words(&["-tbignore50", "-tb", &path, "-tbpieces", "5"]), Ok(rule(5, true)));
    assert!(words(&["-tbpieces", "5"]).unwrap_err().contains("without -tb"));
    assert!(words(&["-tbignore50"]).unwrap_err().contains("without -tb"));
    assert!(words(&["-tb", "x", "-tbpieces", "9"]).unwrap_err().contains("from 3 to 7"));
    assert!(words(&["-tb"]).unwrap_err().contains("-tb: expected one word"));
}

/// A file of names or several, in the file as on one line.
#[test]
fn names_of_openings_are_files() {
    let files = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<PathBuf>>();
    for (text, expected) in
        [("", &[][..]), ("eco = 'a.tsv'", &["a.tsv"]), ("eco = ['a', 'b']", &["a", "b"])]
    {
        assert_eq!(of_file(&format!("{text}\n{TWO}")).unwrap().eco, files(expected), "{text}");
    }
    assert!(of_file(&format!("eco = [1]\n{TWO}")).unwrap_err().contains("list of strings"));
    let engines = "-engine cmd=a -engine cmd=b";
    let words = |words: &str| of_words(&format!("{engines} {words}"));
    assert_eq!(words("-eco file=a.tsv -eco b c").unwrap().eco, files(&["a.tsv", "b", "c"]));
    assert!(words("-eco").unwrap_err().contains("-eco: expected the name of a file"));
}

#[test]
fn settings_have_defaults() {
    let tournament = of_file(TWO).unwrap();
    let standard = Tournament::new("t");
    assert_eq!(tournament, Tournament { players: tournament.players.clone(), ..standard });
    assert_eq!((tournament.log, tournament.pgn), (PathBuf::from("t.log"), PathBuf::from("t.pgn")));
    assert_eq!(tournament.time.to_string(), "10+0.1");
    assert_eq!(tournament.time_margin, Duration::from_millis(100));
}

#[test]
fn a_tournament_of_engines_alone_has_no_silences() {
    let silences = |conclude: u64, reset: u64| QuietTimeouts {
        conclude: Duration::from_secs(conclude),
        reset: Duration::from_secs(reset),
    };
    let engines = "[[player]]\nengine = 'a'\n[[player]]\nengine = 'b'\n";
    for (text, expected) in [
        (engines.to_string(), silences(0, 0)),
        (format!("{engines}[[player]]\nname = 'C'\n"), silences(5, 5)),
        (format!("{engines}[[player]]\nname = 'C'\ncommand = ['c']\n"), silences(5, 5)),
        (format!("silences = {{ reset = '2s' }}\n{engines}"), silences(0, 2)),
        (format!("silences = {{ reset = '2s' }}\n{TWO}"), silences(5, 2)),
    ] {
        assert_eq!(of_file(&text).unwrap().silences, expected, "{text}");
    }
    assert_eq!(of_words("-engine cmd=./a -engine cmd=./b").unwrap().silences, silences(0, 0));
}

#[test]
fn the_margin_of_other_managers_is_in_milliseconds() {
    let two = "-engine cmd=./a -engine cmd=./b";
    let margin = |words: &str| of_words(&format!("{two} {words}")).map(|it| it.time_margin);
    assert_eq!(margin("-each st=0.3 timemargin=250"), Ok(Duration::from_millis(250)));
    assert_eq!(margin("-each timemargin=0 st=0.3 option.Skill Level=3"), Ok(Duration::ZERO));
    assert_eq!(margin("-each st=0.3"), Ok(Duration::from_millis(100)));
    assert_eq!(
        margin("-each timemargin=1s").unwrap_err(),
        "-each: `timemargin=1s`: expected milliseconds up to 3600000"
    );
    let own = of_words("-engine cmd=./a timemargin=5 -engine cmd=./b").unwrap_err();
    assert_eq!(own, "-engine: timemargin= is the same for all here: say it behind -each");
}

#[test]
fn the_log_of_a_line_is_called_as_its_games() {
    let two = "-engine cmd=./a -engine cmd=./b";
    let files = |words: &str| {
        let tournament = of_words(&format!("{two} {words}"));
        tournament.map(|it| [it.log, it.pgn].map(|path| path.to_str().unwrap().to_string()))
    };
    assert_eq!(files("").unwrap(), ["t.log", "t.pgn"]);
    assert_eq!(files("-pgnout out/games.pgn").unwrap(), ["out/games.log", "out/games.pgn"]);
    assert_eq!(files("-log x.log -pgnout games.pgn").unwrap(), ["x.log", "games.pgn"]);
    assert_eq!(files("-log x.log").unwrap(), ["x.log", "t.pgn"]);
    assert_eq!(
        files("-pgnout games.log").unwrap_err(),
        "games.log cannot be both the log and the file of games"
    );
}

#[test]
fn rules_of_pairing_have_their_numbers() {
    for (text, expected) in [
        ("pairing = 'round-robin'", PairingRule::RoundRobin { cycles: 1 }),
        ("rounds = 3", PairingRule::RoundRobin { cycles: 3 }),
        ("pairing = 'gauntlet'", PairingRule::Gauntlet { challengers: 1, cycles: 1 }),
        ("pairing = 'swiss'\nrounds = 7", PairingRule::Swiss { rounds: 7 }),
        ("pairing = 'knockout'\ntie-breaks = 0", PairingRule::Knockout { tie_breaks: 0 }),
    ] {
        assert_eq!(of_file(&format!("{text}\n{TWO}")).unwrap().pairing, expected, "{text}");
    }
    let sprt = "[sprt]\nelo0 = -1.5\nelo1 = 2\nmodel = 'normalized'\n";
    let expected = Sprt { elo0: -1.5, elo1: 2.0, model: EloModel::Normalized, ..Sprt::default() };
    assert_eq!(of_file(&format!("{sprt}{TWO}")).unwrap().sprt, Some(expected));
    let serial = of_file(&format!("serial = ['/dev/ttyS0', '/dev/ttyS1']\n{TWO}")).unwrap().listen;
    assert_eq!(serial, Listen::Serial(["/dev/ttyS0".into(), "/dev/ttyS1".into()]));
}

#[test]
fn errors_of_files_say_where_and_what() {
    for (text, expected) in [
        (
            "event = 'x'\nconcurency = 2",
            "t.toml:2:1: there is no key `concurency`; is it `concurrency`?",
        ),
        ("zzz = 1", "t.toml:1:1: there is no key `zzz`, but event, site, pairing"),
        ("event = ", "t.toml:1:9: "),
        ("event = 5", "t.toml:1:9: `event`: expected a string, found 5"),
        ("games = 0", "t.toml:1:9: `games`: expected a whole number from 1 to 1000000"),
        ("games = -1", "t.toml:1:9: `games`: expected a whole number"),
        ("event = ''\ntime = '40/'", "t.toml:2:8: `time`: `` is not a time"),
        ("time = 'fast'", "t.toml:1:8: `time`: `fast` is not a time"),
        ("return = '5'", "t.toml:1:10: `return`: `5` is not a length of time"),
        (
            "pairing = 'swis'",
            "`pairing`: expected `round-robin`, `gauntlet`, `swiss` or `knockout`",
        ),
        ("pairing = 'swiss'", "a Swiss tournament needs a number of `rounds`"),
        (
            "challengers = 2",
            "t.toml:1:1: `challengers` means nothing with pairing = \"round-robin\"",
        ),
        ("[openings]\norder = 'random'", "t.toml:1:1: `openings` needs a `file`"),
        ("[openings]\nfile = 'x'\norder = 'wild'", "t.toml:3:9: `order`: expected `sequential`"),
        ("[openings]\nfil = 'x'", "t.toml:2:1: there is no key `fil`; is it `file`?"),
        ("openings = 'x'", "t.toml:1:12: `openings`: expected a table, found string"),
        ("resign = { score = 40000 }", "t.toml:1:20: `score`: expected a whole number from 0"),
        ("sprt = { elo0 = 5, elo1 = 5 }", "t.toml:1:8: expected elo0 below elo1"),
        ("sprt = { alpha = 0.7 }", "expected alpha and beta between 0 and 0.5"),
        ("sprt = { elo0 = nan }", "`elo0`: expected a number"),
        ("listen = 'a'\nserial = ['b', 'c']", "expected `listen` or `serial`, found both"),
        ("serial = ['b']", "`serial`: expected the paths of two lines"),
        ("player = 3", "t.toml:1:10: expected `[[player]]`"),
        ("[[player]]\noptions = { Hash = 1 }\nname = 'x'", "t.toml:2:1: `options` means nothing"),
        ("[[player]]\ntime = '1'", "t.toml:1:1: a player without an engine needs a `name`"),
        ("[[player]]\nengine = 'a'\ncommand = ['b']", "expected `engine` or `command`, found both"),
        ("[[player]]\nname = 'A'", "t.toml: expected 2 to 256 players, found 1"),
        ("[[player]]\nname = 'A'\n[[player]]\nname = 'A'", "t.toml: two players are called `A`"),
        ("[[player]]\nname = ' A'\n[[player]]\nname = 'B'", "t.toml: ` A` is not a valid name"),
        ("games = 1000000\nrounds = 2\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'", "at most"),
        (
            "pairing = 'gauntlet'\nchallengers = 2\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'",
            "has at most 1 challengers",
        ),
    ] {
        let error = of_file(text).unwrap_err();
        assert!(error.contains(expected), "{text}\n{error}");
    }
}

#[test]
fn other_managers_lines_are_understood() {
    let line = "-engine cmd=./a name=A option.Hash=8 -engine cmd=./b proto=uci tc=1:00+1 \
        -each proto=uci tc=40/10+0.5 option.Threads=2 option.Hash=16 -games 2 -rounds 10 -repeat \
        -concurrency 3 -openings file=book.pgn format=pgn order=random plies=8 start=5 \
        -draw movenumber=34 movecount=8 score=20 -resign movecount=3 score=600 twosided=true \
        -maxmoves 200 -sprt elo0=0 elo1=2 alpha=0.1 beta=0.1 model=normalized -pgnout out.pgn \
        -event Match -site Lab -srand 42 -tournament round-robin -recover";
    let tournament = of_words(line).unwrap();
    let expected = Tournament {
        event: "Match".into(),
        site: "Lab".into(),
        pairing: PairingRule::RoundRobin { cycles: 10 },
        players: vec![
            engine("cmd=./a name=A option.Threads=2 option.Hash=16 option.Hash=8", None),
            engine("cmd=./b option.Threads=2 option.Hash=16", Some("60+1")),
        ],
        time: "40/10+0.5".parse().unwrap(),
        openings: Some(OpeningsSource {
            file: "book.pgn".into(),
            order: OpeningOrder::Random,
            plies: Some(8),
            first: 5,
        }),
        adjudication: AdjudicationRules {
            resign: Some(ResignRule { moves: 3, score: 600, two_sided: true }),
            draw: Some(DrawRule { from_move: 34, moves: 8, score: 20 }),
            max_moves: Some(200),
        },
        concurrency: 3,
        seed: 42,
        sprt: Some(Sprt {
            elo0: 0.0,
            elo1: 2.0,
            alpha: 0.1,
            beta: 0.1,
            model: EloModel::Normalized,
        }),
        silences: QuietTimeouts { conclude: Duration::ZERO, reset: Duration::ZERO },
        optional_options: vec!["Threads".into(), "Hash".into()],
        ..Tournament::new("out")
    };
    assert_eq!(tournament, expected);
    assert_eq!(of_words(&line.replace(" -", " --")[..]).map(|_| ()), of_words(line).map(|_| ()));
}

#[test]
fn a_value_of_several_words_is_one() {
    let tournament =
        of_words("--engine cmd=./a option.Skill Level=3 --engine cmd=./b name=The b").unwrap();
    let Some(Launch::Engine(spec)) = &tournament.players[0].launch else { panic!() };
    assert_eq!(spec.options, [("Skill Level".to_string(), "3".to_string())]);
    assert_eq!(tournament.players[1].name, "The b");
}

#[test]
fn errors_of_words_name_them() {
    let two = "-engine cmd=./a -engine cmd=./b";
    for (words, expected) in [
        ("-engin cmd=./c", "there is no option `-engin`; is it `engine`?"),
        ("-each proto=xboard", "proto=xboard is not supported; expected proto=uci"),
        ("-each tc=fast", "-each: `fast`: `fast` is not a time"),
        ("-games", "-games: expected one word, found 0"),
        ("-games 0", "-games: expected a whole number from 1 to 1000000, found `0`"),
        ("-repeat 3", "-repeat: `3` is not known here"),
        ("-openings order=random", "-openings: expected file=FILE"),
        ("-openings file=x policy=no", "expected `encounter` or `default` or `round`, found `no`"),
        ("-openings file=x shuffle=1", "-openings: there is no part `shuffle`"),
        ("-draw number=8", "-draw: there is no part `number`; is it `movenumber`?"),
        ("-sprt elo0=0 elo1=5 model=bayesian", "expected `logistic` or `normalized`"),
        ("-sprt elo0=9", "-sprt: expected elo0 below elo1"),
        ("-tournament swiss", "-tournament swiss needs -rounds"),
        ("-tournament knockout -rounds 2", "-rounds means nothing with -tournament knockout"),
        ("-seeds 2", "-seeds means nothing without -tournament gauntlet"),
        ("-engine cmd=./a", "two players are called `a`"),
    ] {
        let error = of_words(&format!("{two} {words}")).unwrap_err();
        assert!(error.contains(expected), "{words}\n{error}");
    }
    assert!(of_words("cmd=./a").unwrap_err().contains("expected an option such as -engine"));
    assert!(of_words("-engine cmd=./a").unwrap_err().contains("found 1"));
}

fn of_line(line: &str) -> Result<Tournament, String> {
    let line = format!("-engine cmd=./a -engine cmd=./b {line}");
    let words: Vec<String> = line.split(' ').map(String::from).collect();
    Tournament::from_words(&words, "match").map_err(|error| error.to_string())
}

#[test]
fn options_of_other_managers_are_accepted_and_those_without_effect_are_noted() {
    for words in [
        "-variant standard",
        "-each tc=1 depth=8",
        "-each tc=inf depth=8",
        "-each nodes=1000",
        "-each tc=0/5+0.1",
        "-tournament pyramid",
    ] {
        assert_eq!(of_line(words).unwrap().remarks, [""; 0], "{words}");
    }
    for words in [
        "-each tc=1 restart=on",
        "-each tc=1 restart=auto",
        "-each tc=1 stderr=x.log",
        "-each tc=1 ponder",
        "-each tc=1 whitepov",
        "-each tc=1 book=b.bin bookdepth=8",
        "-ratinginterval 10",
        "-scoreinterval 0",
        "-outcomeinterval 10",
        "-wait 100",
        "-debug",
        "-noswap",
        "-report penta=true",
        "-output format=cutechess",
        "-pgnout g.pgn min",
        "-pgnout g.pgn fi",
        "-pgnout file=g.pgn nodes=true",
        "-epdout e.epd",
        "-bookmode ram",
        "-resultformat wide2",
        "-reverse",
        "-livepgnout l.pgn min",
        "-randomseed",
        "-force-concurrency",
        "-autosaveinterval 20",
        "-crc32 pgn=true",
        "-use-affinity 0,2-3",
        "-show-latency",
        "-testEnv",
        "-each tc=1 trust tscale=2",
        "-log file=l.log level=trace engine=true",
    ] {
        assert!(!of_line(words).unwrap().remarks.is_empty(), "{words}");
    }
    assert!(of_line("-openings file=x.epd policy=round").unwrap().opening_by_round);
    assert_eq!(of_line("-pgnout file=g.pgn nodes=true").unwrap().pgn.to_str(), Some("g.pgn"));
    let log = |words: &str| of_line(words).unwrap().log.display().to_string();
    for words in ["-log l.log", "-log file=l.log", "-log level=trace append=false file=l.log"] {
        assert_eq!(log(words), "l.log", "{words}");
    }
    assert!(of_line("-log file=l.log").unwrap().remarks.is_empty());
    assert!(of_line("-tb d -tbadjudicate BOTH").is_ok());
    for wrong in ["-log level=trace", "-log file=l nonsense=1", "-log", "-tb d -tbadjudicate DRAW"]
    {
        assert!(of_line(wrong).is_err(), "{wrong}");
    }
    for wrong in ["-variant atomic", "-each depth=0", "-each nodes=x", "-pgnout min", "-sprout"] {
        assert!(of_line(wrong).is_err(), "{wrong}");
    }
    let line = "-quick cmd=./a cmd=./b book=x.epd";
    let words: Vec<String> = line.split(' ').map(String::from).collect();
    let quick = Tournament::from_words(&words, "match").unwrap();
    assert_eq!((quick.players.len(), quick.remarks.len()), (2, 0));
    assert_eq!(quick.pairing, PairingRule::RoundRobin { cycles: 25_000 });
}

#[test]
fn searches_are_limited_by_nodes_and_depth() {
    let words = of_line("-each nodes=1000 option.Hash=16 -engine cmd=./c depth=8 tc=5").unwrap();
    let limits = |tournament: &Tournament, player| {
        let search = tournament.search_of(player);
        (search.nodes, search.depth)
    };
    assert_eq!(words.time.to_string(), "inf");
    assert_eq!(limits(&words, 0), (Some(1000), None));
    assert_eq!(limits(&words, 2), (Some(1000), Some(8)));
    assert_eq!(words.optional_options, ["Hash"]);
    let file = "depth = 9\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\nnodes = 5\ndepth = 2\n";
    let file = Tournament::from_toml(file, "t.toml").unwrap();
    assert_eq!(file.time.to_string(), "inf");
    assert_eq!((limits(&file, 0), limits(&file, 1)), ((None, Some(9)), (Some(5), Some(2))));
    // A player with a limit of its own has no clock either; the others keep the default.
    let one = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\nnodes = 5\n";
    let one = Tournament::from_toml(one, "t.toml").unwrap();
    let clocks = |tournament: &Tournament| {
        tournament.players.iter().map(|it| it.time.clone()).collect::<Vec<_>>()
    };
    assert_eq!(clocks(&one), [None, Some(TimeControl::Unlimited)]);
    let words = of_line("-engine cmd=./c nodes=5").unwrap();
    assert_eq!(clocks(&words)[2], Some(TimeControl::Unlimited));
    let timed = "time = '5'\ndepth = 9\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
    assert_eq!(Tournament::from_toml(timed, "t.toml").unwrap().time.to_string(), "5");
}

/// An engine has a limit; a client that comes by itself may play without a clock.
#[test]
fn engines_have_a_limit() {
    let file = |player: &str| {
        let text =
            format!("time = 'inf'\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n{player}");
        Tournament::from_toml(&text, "t.toml").map_err(|error| error.to_string())
    };
    assert!(file("").is_ok() && file("command = ['./b']").is_ok());
    for limit in ["nodes = 5", "depth = 5", "time = '5/move'", "time = '60'"] {
        assert!(file(&format!("engine = './b'\n{limit}")).is_ok(), "{limit}");
    }
    let error = file("engine = './b'").unwrap_err();
    assert!(error.contains("player B has no time, nodes or depth"), "{error}");
    assert!(of_line("-each tc=inf").unwrap_err().contains("player a has no time"));
    let one = of_line("-each tc=inf -engine cmd=./c nodes=5").unwrap_err();
    assert!(one.contains("player a has no time"), "{one}");
}

#[test]
fn an_hourglass_is_for_all() {
    let file = |time: &str| {
        let text = format!("time = '*180'\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n{time}");
        Tournament::from_toml(&text, "t.toml")
    };
    assert_eq!(file("").unwrap().time.tag(), "*180");
    assert!(file("time = '*60'").is_ok());
    assert!(file("time = '60'").unwrap_err().to_string().contains("hourglass"));
}
