//! A client of a referee whose moves depend only on the position, and which resigns in time.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use epdb_chess::model::rules::Playable;
use epdb_referee::wire::{
    Command, Directive, Incoming, Lines, Reply, Request, SearchReport, write_line,
};

/// Plays until it is disconnected, and resigns at the move of this number.
pub(crate) fn play(stream: &TcpStream, name: &str, last_move: u32) -> io::Result<()> {
    converse(stream.try_clone()?, stream.try_clone()?, name, last_move)
}

/// [`play`] over any pair of streams.
pub(crate) fn converse(
    input: impl Read,
    mut out: impl Write,
    name: &str,
    last_move: u32,
) -> io::Result<()> {
    let sign_on = Request::SignOn { address: "test".into(), name: name.into() };
    write_line(&mut out, &sign_on.line())?;
    let mut lines = Lines::new(input);
    while let Some(Incoming::Line(line)) = lines.next_line()? {
        let directive = Directive::parse(&line).map_err(io::Error::other)?;
        match directive.command {
            Command::Respond => write_line(&mut out, &reply(&directive, last_move).line())?,
            Command::Disconnect => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

fn reply(asked: &Directive, last_move: u32) -> Request {
    let before = Playable::new(&asked.position).unwrap();
    let now = asked.mv.map_or(before, |mv| before.after(mv));
    let mut moves = now.legal_moves();
    moves.sort_unstable();
    let text = now.position().to_string();
    let hash =
        text.bytes().fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
    let resigns = asked.fullmove_number.is_some_and(|number| number >= last_move);
    Request::Reply(Reply {
        position: *now.position(),
        mv: (!resigns).then(|| moves[hash % moves.len()]),
        draw: None,
        resigns,
        search: SearchReport {
            ce: Some((hash % 100) as i32),
            depth: Some(1),
            ..SearchReport::default()
        },
    })
}
