//! `epdb help tournament`: the page about the file of a tournament.

const HEAD: &str = "\
A tournament is a file in TOML. Two players must be there; all else has a value that is usual. What is not
known is an error that says where. Paths are as seen from where epdb is started.

";

/// All but a few keys at work.
const EXAMPLE: &str = include_str!("../../../tests/examples/tournament.toml");

const REST: &str = "
Other keys
  challengers = 1             of a gauntlet: so many of the first players meet all others
  tie-breaks = 4              of a knockout: a level encounter gets so many times two games more, then
                              the player who stands first goes on
  sprt = { elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05, model = \"logistic\" }
                              of two players: a sequential test, also of model = \"normalized\"
  serial = [\"/dev/ttyS0\", \"/dev/ttyS1\"]   two lines with a client at each, in place of listen

Without openings games begin from the start array. Openings are positions or games in any format that is
read (`epdb help sources`). Players of a Swiss tournament who are left over in a round get the points of
an encounter; the first of a knockout are free in the first round.
";

/// The whole page.
pub(crate) fn page() -> String {
    [HEAD, EXAMPLE, REST].concat()
}
