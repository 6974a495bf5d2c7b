//! Tournaments: settings, pairings, games, logs and tables.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod adjudication;
mod any_events;
mod arbiter;
mod client;
mod game_record;
mod hall;
mod log;
mod misbehaviour;
mod openings;
mod pairing;
#[path = "../support/referee_client.rs"]
mod referee_client;
#[path = "../support/seeds.rs"]
mod seed_files;
mod seeds;
mod server;
mod settings;
#[path = "../support/skipped.rs"]
mod skipped;
mod standings;
mod tablebases;
mod time_control;
mod wire;
