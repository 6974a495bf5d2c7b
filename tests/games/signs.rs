//! Signs and words between moves.

use super::found::{assert_game, lenient};

/// Signs of printed annotation, and the NAGs that they stand for.
const SIGNS: [(&str, &str); 46] = [
    ("!", "$1"),
    ("?", "$2"),
    ("!!", "$3"),
    ("??", "$4"),
    ("!?", "$5"),
    ("?!", "$6"),
    ("\u{203c}", "$3"),
    ("\u{2047}", "$4"),
    ("\u{2049}", "$5"),
    ("\u{2048}", "$6"),
    ("\u{25a1}", "$7"),
    ("=", "$10"),
    ("\u{221e}", "$13"),
    ("~", "$13"),
    ("\u{2a72}", "$14"),
    ("+=", "$14"),
    ("+/=", "$14"),
    ("\u{2a71}", "$15"),
    ("=+", "$15"),
    ("=/+", "$15"),
    ("\u{b1}", "$16"),
    ("+/-", "$16"),
    ("+/\u{2212}", "$16"),
    ("\u{2213}", "$17"),
    ("-/+", "$17"),
    ("+-", "$18"),
    ("+\u{2212}", "$18"),
    ("-+", "$19"),
    ("\u{2a00}", "$22"),
    ("\u{2299}", "$22"),
    ("\u{27f3}", "$32"),
    ("\u{2191}\u{2191}", "$32"),
    ("\u{2191}", "$36"),
    ("\u{2192}", "$40"),
    ("=\u{221e}", "$44"),
    ("=/\u{221e}", "$44"),
    ("\u{221e}/=", "$44"),
    ("\u{21c6}", "$132"),
    ("\u{21c4}", "$132"),
    ("\u{2295}", "$138"),
    ("\u{2206}", "$140"),
    ("\u{2207}", "$141"),
    ("\u{2313}", "$142"),
    ("TN", "$146"),
    ("RR", "$145"),
    ("D", "$220"),
];

#[test]
fn signs_are_nags_glued_and_with_a_blank() {
    for (sign, nag) in SIGNS {
        for blank in ["", " "] {
            for (text, movetext) in [
                (format!("1. e4{blank}{sign} e5 *"), format!("1. e4 {nag} 1... e5 *")),
                (format!("1. e4 e5{blank}{sign} *"), format!("1. e4 e5 {nag} *")),
                (
                    format!("1. e4 e5 2. Nf3{blank}{sign} Nc6 *"),
                    format!("1. e4 e5 2. Nf3 {nag} 2... Nc6 *"),
                ),
                (
                    format!("1. e4 e5 (1... c5{blank}{sign} 2. Nf3) *"),
                    format!("1. e4 e5 (1... c5 {nag} 2. Nf3) *"),
                ),
            ] {
                let games = lenient(&text);
                assert_eq!(games.len(), 1, "{text}: {games:?}");
                assert_eq!(games[0].0, format!("[Result *] {movetext}"), "{text}: {games:?}");
            }
        }
    }
}

#[test]
fn several_signs_follow_each_other() {
    for (text, movetext) in [
        ("1. e4??\u{b1}\u{2192} e5 *", "1. e4 $4 $16 $40 1... e5 *"),
        ("1. e4\u{b1}! e5 *", "1. e4 $1 $16 1... e5 *"),
        ("1. e4! \u{2191}\u{2192} e5 *", "1. e4 $1 $36 $40 1... e5 *"),
        // A check, and a sign.
        ("1. e4 f5 2. Qh5+= *", "1. e4 f5 2. Qh5+ $10 *"),
        ("1. e4 f5 2. Qh5+- *", "1. e4 f5 2. Qh5+ $18 *"),
        ("1. e4 f5 2. Qh5+-+ *", "1. e4 f5 2. Qh5+ $19 *"),
        ("1. e4 f5 2. Qh5++- *", "1. e4 f5 2. Qh5+ $18 *"),
        ("1. e4 e5 2. Nf3+= *", "1. e4 e5 2. Nf3 $14 *"),
        ("1. e4 e5 2. Nf3N Nc6N *", "1. e4 e5 2. Nf3 $146 2... Nc6 $146 *"),
    ] {
        let games = lenient(text);
        assert_eq!(games.len(), 1, "{text}: {games:?}");
        assert_eq!(games[0].0, format!("[Result *] {movetext}"), "{text}: {games:?}");
    }
}

#[test]
fn unknown_signs_and_words_are_comments() {
    for (text, movetext, repairs) in [
        ("1. e4 \u{d8} e5 *", "1. e4 {\u{d8}} 1... e5 *", vec!["W-PGN-TOKEN \u{d8} > {\u{d8}}"]),
        (
            "1. e4\u{2612} e5 *",
            "1. e4 {\u{2612}} 1... e5 *",
            vec!["W-PGN-TOKEN \u{2612} > {\u{2612}}"],
        ),
        (
            "1. e4 e5 White is better *",
            "1. e4 e5 {White is better} *",
            vec!["W-PGN-TOKEN White is better > {White is better}"],
        ),
        (
            "1. e4 zugzwang \u{b1} e5 *",
            "1. e4 $16 {zugzwang} 1... e5 *",
            vec!["W-PGN-TOKEN zugzwang > {zugzwang}", "W-PGN-NAG \u{b1} > $16"],
        ),
        (
            "1. e4 we don't know, perhaps. e5 *",
            "1. e4 {we don't know, perhaps.} 1... e5 *",
            vec!["W-PGN-TOKEN we don't know, perhaps. > {we don't know, perhaps.}"],
        ),
        (
            "1. e4 [%clk 0:03:00] e5 *",
            "1. e4 {[%clk 0:03:00]} 1... e5 *",
            vec!["W-PGN-TOKEN [%clk 0:03:00] > {[%clk 0:03:00]}"],
        ),
    ] {
        assert_game(text, movetext, &repairs);
    }
}

#[test]
fn stray_signs_are_dropped() {
    for sign in
        ["\\", "\"", "-", "|", "@", "&", "^", "_", "'", "/", ":", "<", ">", "%", "[", "]", "`", "}"]
    {
        for text in [format!("1. e4 {sign} e5 2. Nf3 *"), format!("1. e4{sign} e5 2. Nf3 *")] {
            assert_game(&text, "1. e4 e5 2. Nf3 *", &[&format!("W-PGN-TOKEN {sign} > ")]);
        }
    }
    assert_game(
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 aa4. Ba4 *",
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 {aa} 4. Ba4 *",
        &["W-PGN-TOKEN aa > {aa}"],
    );
    assert_game("1. e4 \\$14 e5 *", "1. e4 $14 1... e5 *", &["W-PGN-TOKEN \\ > "]);
}

/// A symbol that may be a move ends the game, because the moves after it depend on it.
#[test]
fn what_may_be_a_move_is_not_skipped() {
    for token in
        ["Sf3", "Ke3", "O-O", "0-0", "exd", "ed", "Nx", "R", "Nbd", "e4e", "\u{43a}f3", "x1"]
    {
        let games = lenient(&format!("1. e4 e5 2. {token} Nc6 *"));
        let cut = format!("[Result *] 1. e4 e5 {{2. {token} Nc6}} *");
        assert_eq!((games.len(), games[0].0.as_str()), (1, cut.as_str()), "{token}: {games:?}");
    }
    // Text before the first move is not a game.
    for text in ["some text\n", "\"some\" text\n", "\\ e4\n"] {
        let games = lenient(text);
        assert!(games[0].0.starts_with("E-"), "{text}: {games:?}");
    }
}
