//! Tournaments: what is to be played, and what came of it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod adjudication;
mod game_record;
mod openings;
mod pairing;
mod settings;
mod time_control;
