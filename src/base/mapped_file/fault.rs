//! Bytes of mapped files that cannot be read, because the file was cut off or its disk fails.
//!
//! A read of such a byte raises the signal SIGBUS, which ends a process by default. A handler of
//! this signal instead maps zeros over the file, and notes the place. Every answer is checked after it
//! was computed: if a place is noted, the answer is an error. The check takes about as long as reading
//! a byte of the map.
//!
//! Three cases are not handled:
//! - a handler that another part of the process installs later and that does not call this one;
//! - systems other than Linux, Android and macOS. Windows does not cut off files that are mapped;
//! - a file that is cut off and grows again: it reads as other bytes, which fail their checksums.

#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
pub(super) use self::caught::MapGuard;
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
pub(super) use self::uncaught::MapGuard;

#[cfg(any(target_os = "linux", target_os = "android", target_os = "macos"))]
#[allow(unsafe_code)]
mod caught {
    use std::mem;
    use std::ops::Range;
    use std::ptr;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};

    use libc::{c_int, c_void, siginfo_t};

    /// Offset of a fault if there is none.
    const NO_FAULT: usize = usize::MAX;

    /// The first slot of the list of all slots.
    static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
    /// Size of a page in bytes.
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    /// True after the handler was installed.
    static IS_INSTALLED: AtomicBool = AtomicBool::new(false);
    /// The handler before this one.
    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

    /// Addresses of a map. Slots are never freed, but used again, so that a handler can read the list
    /// at any time.
    #[derive(Debug)]
    struct Slot {
        /// Odd while `start` and `end` change.
        version: AtomicUsize,
        start: AtomicUsize,
        /// Address after the last page; equal to `start` if the slot is free.
        end: AtomicUsize,
        /// Offset of the first page that could not be read, or [`NO_FAULT`].
        fault: AtomicUsize,
        is_taken: AtomicBool,
        /// The next slot of the list. It does not change after the slot was added.
        next: AtomicPtr<Slot>,
    }

    impl Slot {
        /// Sets the addresses. Only the owner of the slot calls this.
        fn set(&self, addresses: Range<usize>) {
            let version = self.version.load(Ordering::Relaxed);
            self.version.store(version.wrapping_add(1), Ordering::Relaxed);
            fence(Ordering::Release);
            self.start.store(addresses.start, Ordering::Relaxed);
            self.end.store(addresses.end, Ordering::Relaxed);
            self.version.store(version.wrapping_add(2), Ordering::Release);
        }

        /// The addresses; `None` if they are being changed.
        fn get(&self) -> Option<Range<usize>> {
            let version = self.version.load(Ordering::Acquire);
            let start = self.start.load(Ordering::Relaxed);
            let end = self.end.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let is_same = self.version.load(Ordering::Relaxed) == version;
            (is_same && version.is_multiple_of(2)).then_some(start..end)
        }
    }

    fn slots() -> impl Iterator<Item = &'static Slot> {
        // SAFETY: the pointers are null or come from `Box::leak`, so each slot lives as long as the
        // process. A slot is complete before a release store makes it reachable, and changes only
        // through its atomic fields.
        let get = |slot: &AtomicPtr<Slot>| unsafe { slot.load(Ordering::Acquire).as_ref() };
        std::iter::successors(get(&SLOTS), move |slot| get(&slot.next))
    }

    /// Returns a free slot, or adds one to the list.
    // Locks are avoided: a process may be forked while another thread has the lock.
    fn take_slot() -> &'static Slot {
        let is_free = |slot: &&Slot| !slot.is_taken.swap(true, Ordering::Acquire);
        if let Some(slot) = slots().find(is_free) {
            return slot;
        }
        let slot: &'static Slot = Box::leak(Box::new(Slot {
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            fault: AtomicUsize::new(NO_FAULT),
            is_taken: AtomicBool::new(true),
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        let new: *mut Slot = ptr::from_ref(slot).cast_mut();
        let mut first = SLOTS.load(Ordering::Acquire);
        loop {
            slot.next.store(first, Ordering::Relaxed);
            match SLOTS.compare_exchange_weak(first, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return slot,
                Err(now) => first = now,
            }
        }
    }

    /// Catches faults of one map. Dropped before the map.
    #[derive(Debug)]
    pub(in crate::mapped_file) struct MapGuard(&'static Slot);

    impl MapGuard {
        /// Catches faults of a mapped file from now on. The arguments are the address and the length
        /// of the whole map.
        pub(in crate::mapped_file) fn new(start: usize, len: usize) -> MapGuard {
            install();
            let page = PAGE.load(Ordering::Relaxed).max(1);
            let slot = take_slot();
            slot.fault.store(NO_FAULT, Ordering::Relaxed);
            slot.set(start..start + len.next_multiple_of(page));
            MapGuard(slot)
        }

        /// Offset of the first page that could not be read; `None` if all reads succeeded.
        // The handler stores the offset before it maps the zeros, and the fence keeps the order of
        // the reads here. So if a read before this call found such a zero, the offset is seen.
        #[inline]
        pub(in crate::mapped_file) fn fault(&self) -> Option<usize> {
            fence(Ordering::Acquire);
            match self.0.fault.load(Ordering::Relaxed) {
                NO_FAULT => None,
                offset => Some(offset),
            }
        }
    }

    impl Drop for MapGuard {
        fn drop(&mut self) {
            self.0.set(0..0);
            self.0.is_taken.store(false, Ordering::Release);
        }
    }

    /// Installs the handler, unless it was installed before.
    fn install() {
        if IS_INSTALLED.swap(true, Ordering::AcqRel) {
            return;
        }
        // SAFETY: `sysconf` only returns a number. `sigaction` is a plain C structure for which zeros
        // are a value. It gets a handler with the signature that `SA_SIGINFO` demands, and both
        // pointers are valid during the calls. The handler only does what is allowed in a handler of
        // signals: it reads and writes atomic values, and calls `mmap`, `sigaction` and `raise`.
        unsafe {
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(0);
            PAGE.store(page, Ordering::Relaxed);
            let mut previous: libc::sigaction = mem::zeroed();
            // The handler needs the previous one, so it is read before.
            if page == 0 || libc::sigaction(libc::SIGBUS, ptr::null(), &mut previous) != 0 {
                return;
            }
            PREVIOUS.set(previous).ok();
            let mut ours: libc::sigaction = mem::zeroed();
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = on_bus_error;
            ours.sa_sigaction = handler as usize;
            // The stack of the thread may be too small if the program gave it another for signals.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut ours.sa_mask);
            libc::sigaction(libc::SIGBUS, &ours, ptr::null_mut());
        }
    }

    /// The handler of SIGBUS.
    extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: with `SA_SIGINFO`, the system passes a valid pointer. Positive codes are those of
        // the kernel; only then there is an address.
        let address = unsafe {
            match (*info).si_code {
                1.. => Some((*info).si_addr().addr()),
                _ => None,
            }
        };
        if !address.is_some_and(map_zeros) {
            pass_on(signal, info, context, address.is_some());
        }
    }

    /// Maps zeros over the mapped file that has an address. Returns false if no map has it.
    // The whole file, so that one signal is enough: after it, every answer is an error. For a part,
    // a search that goes back through 100 MB would take 24,000 signals and 3 seconds.
    fn map_zeros(address: usize) -> bool {
        // A free slot, or one that is being changed, cannot be that of the map: the thread that was
        // interrupted reads the map, so the map and its slot are in use and stay the same.
        let has_address = |(_, map): &(&Slot, Range<usize>)| map.contains(&address);
        let mut maps = slots().filter_map(|slot| Some((slot, slot.get()?)));
        let Some((slot, map)) = maps.find(has_address) else { return false };
        let page = address - (address - map.start) % PAGE.load(Ordering::Relaxed).max(1);
        // The order matters; see `MapGuard::fault`.
        slot.fault.fetch_min(page - map.start, Ordering::SeqCst);
        // SAFETY: the addresses are those of a map that this process made for reading only, and that
        // is not unmapped before the interrupted read has ended. So no other object is there, and
        // readers find zeros where they found a fault. Other threads may read the pages meanwhile:
        // they find the bytes of the file or zeros, as if the file were written to; see
        // `MappedFile::bytes`.
        let zeros = unsafe {
            libc::mmap(
                ptr::without_provenance_mut(map.start),
                map.end - map.start,
                libc::PROT_READ,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        zeros != libc::MAP_FAILED
    }

    /// Does what would have happened without this handler.
    fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void, is_fault: bool) {
        let previous = PREVIOUS.get();
        let handler = previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
        let has_info = previous.is_some_and(|it| it.sa_flags & libc::SA_SIGINFO != 0);
        // SAFETY: the value is one of the two constants, or the address of a function that was
        // installed for this signal, with the signature that the flag says.
        unsafe {
            if handler == libc::SIG_IGN && !is_fault {
                // Another process sent the signal.
            } else if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                // A fault is never ignored. The signal is delivered when this handler returns.
                let mut default: libc::sigaction = mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &default, ptr::null_mut());
                libc::raise(signal);
            } else if has_info {
                type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                mem::transmute::<usize, Handler>(handler)(signal, info, context);
            } else {
                mem::transmute::<usize, extern "C" fn(c_int)>(handler)(signal);
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
mod uncaught {
    /// Faults are not caught on this system.
    #[derive(Debug)]
    pub(in crate::mapped_file) struct MapGuard;

    impl MapGuard {
        pub(in crate::mapped_file) fn new(_: usize, _: usize) -> MapGuard {
            MapGuard
        }

        /// `None`: faults are not noticed here.
        pub(in crate::mapped_file) fn fault(&self) -> Option<usize> {
            None
        }
    }
}
