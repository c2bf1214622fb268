/* A clock that jumps and a network that loses, swaps and holds back datagrams, for one process (LD_PRELOAD).

   The file named by FAULTY holds five numbers of 64 bits that may change at any time: by how many seconds the system's
   clock is wrong, how many of 100 datagrams are lost and swapped with the next one; and it counts both. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

enum { JUMP, LOSS, SWAP, LOST, SWAPPED, COUNT };
enum { LARGEST = 1 << 16 };

static volatile int64_t *told;
static int (*real_clock)(clockid_t, struct timespec *);
static int (*real_day)(struct timeval *, void *);
static int (*real_wait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int full, socket, flags;
    struct sockaddr_storage to;
    socklen_t to_length;
    size_t length;
    char bytes[LARGEST];
} held;

__attribute__((constructor)) static void begin(void) {
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    real_day = dlsym(RTLD_NEXT, "gettimeofday");
    real_sendmsg = dlsym(RTLD_NEXT, "sendmsg");
    /* On x86-64 there are two, and the older one is for other condition variables. */
    real_wait = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!real_wait)
        real_wait = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    const char *path = getenv("FAULTY");
    int file = path ? open(path, O_RDWR) : -1;
    if (file < 0)
        return;
    void *memory = mmap(NULL, COUNT * sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED)
        told = memory;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_clock)
        begin();
    int result = real_clock(clock, now);
    if (result == 0 && told && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += told[JUMP];
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    if (!real_day)
        begin();
    int result = real_day(now, zone);
    if (result == 0 && told)
        now->tv_sec += told[JUMP];
    return result;
}

static int64_t nanoseconds(const struct timespec *time) { return time->tv_sec * 1000000000ll + time->tv_nsec; }

/* Waits until the clock that jumps says so, looking again and again, as the kernel would. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    if (!real_wait)
        begin();
    /* Times this small are of the monotonic clock. */
    if (!told || until->tv_sec < 500000000)
        return real_wait(condition, mutex, until);
    for (;;) {
        struct timespec now, slice;
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t left = nanoseconds(until) - nanoseconds(&now);
        if (left <= 0)
            return ETIMEDOUT;
        real_clock(CLOCK_REALTIME, &slice);
        int64_t end = nanoseconds(&slice) + (left < 20000000 ? left : 20000000);
        slice.tv_sec = end / 1000000000, slice.tv_nsec = end % 1000000000;
        int result = real_wait(condition, mutex, &slice);
        if (result != ETIMEDOUT)
            return result;
    }
}

static int chance(int64_t percent) {
    static _Atomic uint64_t state = 88172645463325252ull;
    uint64_t next = state;
    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    state = next;
    return (int64_t)(next % 100) < percent;
}

static void let_go(void) {
    struct iovec part = {held.bytes, held.length};
    struct msghdr message = {.msg_name = &held.to, .msg_namelen = held.to_length, .msg_iov = &part, .msg_iovlen = 1};
    held.full = 0;
    real_sendmsg(held.socket, &message, held.flags);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
    if (!real_sendmsg)
        begin();
    size_t length = 0;
    for (size_t part = 0; part < message->msg_iovlen; part++)
        length += message->msg_iov[part].iov_len;
    /* Only datagrams say where they go. */
    if (!told || !message->msg_name || length > LARGEST || message->msg_namelen > sizeof held.to)
        return real_sendmsg(socket, message, flags);
    if (chance(told[LOSS])) {
        told[LOST]++;
        return (ssize_t)length;
    }
    pthread_mutex_lock(&lock);
    ssize_t result = (ssize_t)length;
    if (!held.full && chance(told[SWAP])) {
        told[SWAPPED]++;
        held.full = 1, held.socket = socket, held.flags = flags, held.length = 0;
        held.to_length = message->msg_namelen;
        memcpy(&held.to, message->msg_name, message->msg_namelen);
        for (size_t part = 0; part < message->msg_iovlen; part++) {
            memcpy(held.bytes + held.length, message->msg_iov[part].iov_base, message->msg_iov[part].iov_len);
            held.length += message->msg_iov[part].iov_len;
        }
    } else {
        result = real_sendmsg(socket, message, flags);
        if (held.full)
            let_go();
    }
    pthread_mutex_unlock(&lock);
    return result;
}
