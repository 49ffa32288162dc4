/* Preloaded, it moves the wall clock of a process by the nanoseconds that the file
 * $TEST_CLOCK_OFFSET begins with. If another number follows, the clock stands still at it, and
 * is moved from there. Both may change at any time. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset; /* of a page, which is 0 behind the end of the file */

__attribute__((constructor)) static void map(void) {
	const char *name = getenv("TEST_CLOCK_OFFSET");
	int fd = name ? open(name, O_RDONLY) : -1;
	void *p = fd >= 0 ? mmap(NULL, 2 * sizeof(long long), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	if (p == MAP_FAILED)
		_exit(3);
	offset = p;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
	int rc = syscall(SYS_clock_gettime, id, ts);
	if (rc == 0 && offset && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		long long ns = ts->tv_sec * 1000000000LL + ts->tv_nsec;
		ns = (offset[1] ? offset[1] : ns) + offset[0];
		ts->tv_sec = ns / 1000000000;
		ts->tv_nsec = ns % 1000000000;
	}
	return rc;
}

int gettimeofday(struct timeval *tv, void *tz) {
	struct timespec ts;
	(void)tz;
	int rc = clock_gettime(CLOCK_REALTIME, &ts);
	if (rc == 0 && tv) {
		tv->tv_sec = ts.tv_sec;
		tv->tv_usec = ts.tv_nsec / 1000;
	}
	return rc;
}

time_t time(time_t *t) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (t)
		*t = ts.tv_sec;
	return ts.tv_sec;
}
