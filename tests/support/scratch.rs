//! A temporary folder in which epdb runs.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use tempfile::TempDir;

/// A folder of its own, with files written by name, and epdb called in it.
pub(crate) struct Scratch {
    folder: TempDir,
}

/// The result of a call.
pub(crate) struct Done {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn with(name: &str, content: impl AsRef<[u8]>) -> Scratch {
        let scratch = Scratch::new();
        scratch.write(name, content);
        scratch
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Done {
        self.run_with(args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], input: impl Into<Vec<u8>>) -> Done {
        Scratch::done(self.command(args).write_stdin(input))
    }

    /// The same with variables of the environment.
    pub(crate) fn run_in(&self, args: &[&str], environment: &[(&str, &str)]) -> Done {
        Scratch::done(self.command(args).envs(environment.iter().copied()))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("epdb").unwrap();
        command.args(args).current_dir(self.folder.path());
        command
    }

    fn done(command: &mut Command) -> Done {
        let output = command.output().unwrap();
        Done {
            status: output.status.code().expect("no signal"),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Starts epdb here with pipes on both sides.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.spawn_with(args, &[])
    }

    /// The same with variables of the environment.
    pub(crate) fn spawn_with(&self, args: &[&str], environment: &[(&str, &str)]) -> Child {
        std::process::Command::new(cargo_bin("epdb"))
            .args(args)
            .envs(environment.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The names of all files, including hidden ones left by mistake.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}
