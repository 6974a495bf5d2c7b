//! `epdb moves`: the legal moves of a position in ordinal order.

use std::io::Write;

use anyhow::Context;

use crate::cli::args::PositionArgs;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use epdb::codec::ordinal;
use epdb::library::question;
use epdb::model::rules::Playable;
use epdb::text::san;

/// List the legal moves of a position: ordinal, SAN and coordinates
///
/// The order is that of PGC move ordinals: ASCII order of SAN. Chess960 castling is written as
/// the king taking its rook.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb moves '8/P6k/8/8/8/8/7p/K7 w - -'")]
pub(crate) struct Args {
    /// The position, as FEN, EPD or moves from the start such as '1. e4 c5' (in quotes)
    #[arg(value_name = "POSITION")]
    position: String,
    /// Print one JSON object a line: ordinal, san, uci
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: PositionArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let position = question::parse(args.position.as_bytes(), &args.read.options())
        .map_err(|error| anyhow::anyhow!("FEN:1:{error}"))?
        .context("expected a position, found nothing")?;
    let Ok(playable) = Playable::new(&position) else {
        anyhow::bail!(
            "moves need one king a side, no pawn on rank 1 or 8, and no king that could be taken"
        );
    };
    let mut out = open_output(None)?;
    for (place, mv) in ordinal::list(&playable).into_iter().enumerate() {
        let (san, uci) = (san::format(&playable, mv), san::uci(&playable, mv));
        if args.json {
            json::line(
                &mut out,
                &json::Move { ordinal: place, san: san.to_string(), uci: uci.to_string() },
            )?;
        } else {
            writeln!(out, "{place}\t{san}\t{uci}")?;
        }
    }
    out.finish()?;
    Ok(Outcome::Done)
}
