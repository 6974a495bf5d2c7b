//! Signals that end the process. Unfinished files are removed and engines are ended first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::cli::terminal::note;
use epdb_base::new_file::abandon_all;
use epdb_engine::kill_all;

/// The work was interrupted, not the process.
#[derive(Copy, Clone, Debug, thiserror::Error)]
#[error("interrupted")]
pub(crate) struct Interrupted;

/// True after an interrupt, if interrupts end only the current work.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Line for the user if a signal ends the process.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// Makes a signal that ends the process print this line.
pub(crate) fn set_last_words(text: impl Into<String>) {
    *last_words() = text.into();
}

fn last_words() -> MutexGuard<'static, String> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the command handles signals itself.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Leaves signals to the handlers of the command.
#[cfg(feature = "server")]
pub(crate) fn leave_to_command() {
    LEFT.store(true, Ordering::SeqCst);
}

/// Makes an interrupt end the current work instead of the process. Long work polls
/// [`was_interrupted`].
///
/// # Errors
///
/// The system installs no handler.
pub(crate) fn interrupt_work_only() -> std::io::Result<()> {
    let interrupted = INTERRUPTED.get_or_init(Arc::default);
    // The handler itself sets the flag, so interrupted work sees it as soon as it continues.
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(interrupted))?;
    interrupted.store(false, Ordering::SeqCst);
    Ok(())
}

/// Clears an earlier interrupt before new work begins.
pub(crate) fn forget_interrupt() {
    INTERRUPTED.get().into_iter().for_each(|flag| flag.store(false, Ordering::SeqCst));
}

/// Whether there was an interrupt since [`forget_interrupt`].
pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Ends work after an interrupt.
///
/// # Errors
/// There was an interrupt since [`forget_interrupt`].
pub(crate) fn check_interrupt() -> Result<(), Interrupted> {
    if was_interrupted() { Err(Interrupted) } else { Ok(()) }
}

/// Makes interrupt, termination and hang-up remove unfinished files before they end the process.
/// Signals that were ignored at the start (`nohup`) stay ignored.
///
/// # Errors
///
/// The system starts no thread or installs no handler.
#[cfg(unix)]
pub(crate) fn install() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    // Signals that arrive before the thread runs wait for it.
    let mut signals = Signals::new(wanted)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let is_of_work = signal == SIGINT && INTERRUPTED.get().is_some();
            if is_of_work || LEFT.load(Ordering::SeqCst) {
                continue;
            }
            last_words().lines().for_each(|text| note!("{text}"));
            let _held_until_the_end = (kill_all(), abandon_all());
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    })?;
    ignore_file_size_limit()
}

/// Makes writing beyond `ulimit -f` an error; by default it ends the process.
#[cfg(unix)]
fn ignore_file_size_limit() -> std::io::Result<()> {
    let seen = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen).map(drop)
}

/// Whether the process was started with this signal ignored.
#[cfg(unix)]
#[allow(unsafe_code)]
fn is_ignored(signal: i32) -> bool {
    let mut found = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, `sigaction` only writes the current action to the third
    // pointer, which is valid for writes. All zeros are a valid value of the struct.
    let found = unsafe {
        libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr());
        found.assume_init()
    };
    found.sa_sigaction == libc::SIG_IGN
}

/// Makes Ctrl-C and closing the console remove unfinished files.
///
/// # Errors
///
/// The system installs no handler.
#[cfg(windows)]
pub(crate) fn install() -> std::io::Result<()> {
    /// Exit status of an interrupt, as in shells.
    const STATUS: i32 = 130;
    ctrlc::set_handler(|| {
        if LEFT.load(Ordering::SeqCst) {
            return;
        }
        if let Some(interrupted) = INTERRUPTED.get() {
            return interrupted.store(true, Ordering::SeqCst);
        }
        last_words().lines().for_each(|text| note!("{text}"));
        let _held_until_the_end = (kill_all(), abandon_all());
        std::process::exit(STATUS)
    })
    .map_err(std::io::Error::other)
}

/// Does nothing, because the system has no such signals.
///
/// # Errors
/// None.
#[cfg(not(any(unix, windows)))]
pub(crate) fn install() -> std::io::Result<()> {
    Ok(())
}
