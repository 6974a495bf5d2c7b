//! What happens when the process is told to end: unfinished files are removed first, and
//! engines ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::cli::referee::leave_terminal;
use epdb::engine::kill_all;
use epdb::new_file::abandon_all;

/// Where interrupts end only what is being done: whether there was one.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Whether the command does itself what it is told.
static LEFT: AtomicBool = AtomicBool::new(false);

/// From now on signals neither end the process nor what it is doing: the command has handlers of its own.
#[cfg(feature = "server")]
pub(crate) fn leave_to_command() {
    LEFT.store(true, Ordering::SeqCst);
}

/// From now on an interrupt does not end the process, but what it is doing: work that takes long asks
/// [`was_interrupted`], and programs of the same terminal that it waits for are interrupted themselves.
///
/// # Errors
/// The system grants no handler.
pub(crate) fn interrupt_work_only() -> std::io::Result<()> {
    let interrupted = INTERRUPTED.get_or_init(Arc::default);
    // Set by the handler itself: whoever was interrupted knows it when he goes on.
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(interrupted))?;
    interrupted.store(false, Ordering::SeqCst);
    Ok(())
}

/// Begins work that an interrupt ends.
pub(crate) fn forget_interrupt() {
    INTERRUPTED.get().into_iter().for_each(|flag| flag.store(false, Ordering::SeqCst));
}

/// Whether there was an interrupt since [`forget_interrupt`].
pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.get().is_some_and(|flag| flag.load(Ordering::SeqCst))
}

/// Sees to it that interrupt, termination and hang-up remove what is unfinished, and then end the
/// process as they would have without this. What the process was started to ignore (`nohup`) it
/// goes on ignoring.
///
/// # Errors
/// The system grants no thread or no handler.
#[cfg(unix)]
pub(crate) fn install() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    // What comes before the thread is there waits for it.
    let mut signals = Signals::new(wanted)?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let is_of_work = signal == SIGINT && INTERRUPTED.get().is_some();
            if is_of_work || LEFT.load(Ordering::SeqCst) {
                continue;
            }
            leave_terminal();
            let _held_until_the_end = (kill_all(), abandon_all());
            signal_hook::low_level::emulate_default_handler(signal).ok();
        }
    })?;
    ignore_file_size_limit()
}

/// Writing beyond `ulimit -f` becomes an error of writing; by default it ends the process.
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
    // SAFETY: without a new action, `sigaction` only writes the one in force to the third pointer,
    // which is valid for that, and zeros are a value of the struct.
    let found = unsafe {
        libc::sigaction(signal, std::ptr::null(), found.as_mut_ptr());
        found.assume_init()
    };
    found.sa_sigaction == libc::SIG_IGN
}

/// Sees to it that Ctrl-C and closing the console remove what is unfinished.
///
/// # Errors
/// The system grants no handler.
#[cfg(windows)]
pub(crate) fn install() -> std::io::Result<()> {
    /// As shells count an interrupt.
    const INTERRUPTED: i32 = 130;
    ctrlc::set_handler(|| {
        if LEFT.load(Ordering::SeqCst) {
            return;
        }
        if let Some(interrupted) = INTERRUPTED.get() {
            return interrupted.store(true, Ordering::SeqCst);
        }
        let _held_until_the_end = (kill_all(), abandon_all());
        std::process::exit(INTERRUPTED)
    })
    .map_err(std::io::Error::other)
}

/// There are no signals to speak of.
///
/// # Errors
/// None.
#[cfg(not(any(unix, windows)))]
pub(crate) fn install() -> std::io::Result<()> {
    Ok(())
}
