// Loaded before the C library (LD_PRELOAD): makes one system call of a process fail, or kills the
// process there, so that tests reach every place where a disk or a machine can give up.
//
// EPDB_FAULT=KIND:N:ACTION   the N-th call of a kind, counted from 1
//   KIND     write pwrite fsync truncate rename link unlink chmod open read pread
//   ACTION   eio, enospc       that call fails
//            eio+, enospc+     that call and all later ones of its kind fail
//            kill              the process is killed before the call
//            torn              the process is killed when half of the bytes are written
// EPDB_FAULT_LOG=FILE        gets the number of calls of each kind at the end of the process, and
//                            `fired` when the fault came
//
// Standard input, output and error are left alone.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, PWRITE, FSYNC, TRUNCATE, RENAME, LINK, UNLINK, CHMOD, OPEN, READ, PREAD, KINDS };
static const char *const NAMES[KINDS] = {"write", "pwrite", "fsync", "truncate", "rename", "link",
                                         "unlink", "chmod", "open", "read", "pread"};

static long counts[KINDS];
static int fault_kind = -1, fault_errno, lasts, kills, tears;
static long fault_at;

// Past the functions below, which would count it.
static void log_line(const char *line) {
    const char *path = getenv("EPDB_FAULT_LOG");
    if (!path) return;
    long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0) return;
    syscall(SYS_write, fd, line, strlen(line));
    syscall(SYS_close, fd);
}

__attribute__((constructor)) static void begin(void) {
    char kind[16], action[16];
    const char *fault = getenv("EPDB_FAULT");
    if (!fault || sscanf(fault, "%15[^:]:%ld:%15s", kind, &fault_at, action) != 3) return;
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kind, NAMES[i])) fault_kind = i;
    lasts = action[strlen(action) - 1] == '+';
    kills = !strcmp(action, "kill");
    tears = !strcmp(action, "torn");
    fault_errno = !strncmp(action, "enospc", 6) ? ENOSPC : EIO;
}

__attribute__((destructor)) static void end(void) {
    char line[64];
    for (int i = 0; i < KINDS; i++) {
        snprintf(line, sizeof line, "%s %ld\n", NAMES[i], counts[i]);
        log_line(line);
    }
}

// Counts a call and says whether it is to fail.
static int meets_fault(enum kind kind, int *tear) {
    long count = __sync_add_and_fetch(&counts[kind], 1);
    if ((int)kind != fault_kind || (count != fault_at && !(lasts && count > fault_at))) return 0;
    if (count == fault_at) log_line("fired\n");
    if (tears && tear) return *tear = 1;
    if (kills || tears) kill(getpid(), SIGKILL);
    errno = fault_errno;
    return 1;
}

#define REAL(name)                              \
    static __typeof__(name) *real;              \
    if (!real) real = dlsym(RTLD_NEXT, #name);

ssize_t write(int fd, const void *bytes, size_t length) {
    REAL(write);
    int tear = 0;
    if (fd > 2 && meets_fault(WRITE, &tear)) {
        if (!tear) return -1;
        real(fd, bytes, length / 2);
        kill(getpid(), SIGKILL);
    }
    return real(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(writev);
    return fd > 2 && meets_fault(WRITE, NULL) ? -1 : real(fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    REAL(pwrite64);
    int tear = 0;
    if (fd > 2 && meets_fault(PWRITE, &tear)) {
        if (!tear) return -1;
        real(fd, bytes, length / 2, offset);
        kill(getpid(), SIGKILL);
    }
    return real(fd, bytes, length, offset);
}

int fsync(int fd) {
    REAL(fsync);
    return meets_fault(FSYNC, NULL) ? -1 : real(fd);
}

int fdatasync(int fd) {
    REAL(fdatasync);
    return meets_fault(FSYNC, NULL) ? -1 : real(fd);
}

int ftruncate64(int fd, off64_t length) {
    REAL(ftruncate64);
    return meets_fault(TRUNCATE, NULL) ? -1 : real(fd, length);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return meets_fault(RENAME, NULL) ? -1 : real(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(linkat);
    return meets_fault(LINK, NULL) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
    REAL(unlink);
    return meets_fault(UNLINK, NULL) ? -1 : real(path);
}

int fchmod(int fd, mode_t mode) {
    REAL(fchmod);
    return meets_fault(CHMOD, NULL) ? -1 : real(fd, mode);
}

int open64(const char *path, int flags, ...) {
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open64");
    va_list rest;
    va_start(rest, flags);
    int mode = va_arg(rest, int);
    va_end(rest);
    int writes = (flags & O_ACCMODE) != O_RDONLY;
    return writes && meets_fault(OPEN, NULL) ? -1 : real(path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t length) {
    REAL(read);
    return fd > 2 && meets_fault(READ, NULL) ? -1 : real(fd, bytes, length);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset) {
    REAL(pread64);
    return fd > 2 && meets_fault(PREAD, NULL) ? -1 : real(fd, bytes, length, offset);
}
