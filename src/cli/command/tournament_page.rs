//! `epdb help tournament`: the page about the file of a tournament.

const HEAD: &str = "\
A tournament is a file in TOML; only two players must be there. Paths are as seen from where epdb is started.

";

/// All but a few keys at work.
const EXAMPLE: &str = include_str!("../../../tests/examples/tournament.toml");

const REST: &str = "
Other keys
  challengers = 1             of a gauntlet: so many of the first players meet all others
  tie-breaks = 4              of a knockout: so often a level encounter gets two games more; then the first goes on
  sprt = { elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05, model = \"logistic\" }   of two players, or \"normalized\"
  serial = [\"/dev/ttyS0\", \"/dev/ttyS1\"]   two lines with a client at each, in place of listen
  eco = [\"a.tsv\", \"b.tsv\"]   names as of `epdb name`: games get the tags ECO, Opening and Variation
  syzygy = { path = \"DIR:DIR\", pieces = 7, ignore-50 = false }   tablebases decide games behind moves

Without openings games begin from the start array. Openings are positions or games in any format that is
read (`epdb help sources`); those in which nobody can move are left out with a warning; by-round = true gives
all games of a round the same one. In an hourglass (\"*180\") one side gets what the other uses. nodes = N and
depth = PLIES, for all or of a player, limit the search; without a time no clock decides then. Who is left
over in a round of a Swiss tournament gets the points of an encounter; the first of a knockout are free in
the first round. Unless they are said, silences are 5 s, and none where all players are engines. max-moves
and from-move count the moves of each side, those of the opening too. Elo, LOS and the sequential test are
of pairs of games from one opening, of single games only where there is no pair at all.

On one line: -engine, -each (cmd= name= dir= arg= option.NAME= tc= st= nodes= depth=; of -each also timemargin=
in ms), -games, -rounds, -repeat, -concurrency, -openings, -draw (movenumber=0 movecount=8 score=10), -resign
(movecount=3 score=1000 twosided=false), -maxmoves, -sprt, -pgnout, -log, -event, -site, -srand, -tournament,
-seeds, -recover, -listen, -quick, -eco, -tb, -tbpieces, -tbignore50; others without effect are told.
";

/// The whole page.
pub(crate) fn page() -> String {
    [HEAD, EXAMPLE, REST].concat()
}
