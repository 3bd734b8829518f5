/* SPDX-License-Identifier: MIT */
/*
 * The files of sets: where they are, how they come about, who is in them.
 *
 *	F1  A file appears under its name whole: it is filled in under another name and linked. Who
 *	    comes second joins.
 *	F2  A process in a set holds a read lock on the file, of the open file description's kind:
 *	    forked children have it too, and the kernel takes it away with the last of them. Whoever
 *	    replaces a dead file holds the write lock on it meanwhile, and looks afterwards whether
 *	    the name still means that file: so two never replace each other's.
 *	F3  What counting will touch is allocated before the file has its name.
 *	F4  Nothing is followed that somebody else could have put there: no symbolic links, no
 *	    folder or file of another user but root.
 */
#include "segment.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Two may race for a name, and one of them may be replaced meanwhile: so often, at last with pauses
 * between, then give up. */
#define TRIES 300
#define TRIES_AT_ONCE 100

/* ---- The machine and the process ---- */

static ssize_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = -1;

	if (fd >= 0) {
		do
			got = read(fd, text, size - 1);
		while (got < 0 && errno == EINTR);
		close(fd);
	}
	text[got > 0 ? got : 0] = '\0';
	return got;
}

void percpu__segment_boot(char boot[40])
{
	(void)read_file("/proc/sys/kernel/random/boot_id", boot, 40);
	boot[strcspn(boot, "\n")] = '\0';
}

/* The 22nd field; the second one may contain anything, so count from behind its last bracket. */
uint64_t percpu__segment_pid_start(uint32_t pid)
{
	char path[32], text[1024];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (read_file(path, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

uint64_t percpu__segment_pid_space(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

/* 1: others hold a lock on the file. 0: nobody does. -1: locks cannot be had. */
static int locked_by_others(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_GETLK, &lock) != 0)
		return -1;
	return lock.l_type != F_UNLCK;
}

/*
 * Locks tell of every process that is in it, whoever they are and in whatever namespace. One that
 * closed all its files has none, and is known by its number, if it is the one in the header.
 */
enum segment_life percpu__segment_life(const struct segment_header *header, int fd)
{
	char boot[40];
	uint64_t space = percpu__segment_pid_space();
	int locked;

	percpu__segment_boot(boot);
	if (*boot && strncmp(boot, header->boot, sizeof(boot)) != 0)
		return SEGMENT_DEAD;
	locked = locked_by_others(fd);
	if (locked == 1)
		return SEGMENT_ALIVE;
	if (header->pid == 0 && locked == 0 && (header->flags & SEGMENT_LOCKED))
		return SEGMENT_DEAD; /* closed */
	if (space == 0 || space != header->pid_space || header->pid == 0)
		return SEGMENT_UNKNOWN;
	if (header->pid_start != 0 && percpu__segment_pid_start(header->pid) == header->pid_start)
		return SEGMENT_ALIVE;
	if (locked == 0 && (header->flags & SEGMENT_LOCKED))
		return SEGMENT_DEAD;
	return SEGMENT_UNKNOWN;
}

/* ---- Folders ---- */

int percpu__segment_folder(unsigned number, char *path, size_t size)
{
	const char *own = secure_getenv("PERCPU_DIR");
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	bool one = own && *own;

	*path = '\0';
	if (one && number == 0)
		return (size_t)snprintf(path, size, "%s", own) < size ? 0 : -ENAMETOOLONG;
	if (number - one == 0)
		snprintf(path, size, "/run/percpu");
	else if (number - one == 1 && runtime && *runtime == '/')
		return (size_t)snprintf(path, size, "%s/percpu", runtime) < size ? 0
										 : -ENAMETOOLONG;
	else if (number - one == 1)
		return 0; /* there is none; others follow */
	else if (number - one == 2)
		snprintf(path, size, "/dev/shm");
	else
		return -ENOENT;
	return 0;
}

static int complain(struct segment_file *file, int result, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int complain(struct segment_file *file, int result, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(file->why, sizeof(file->why), format, args);
	va_end(args);
	return result;
}

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* Can files be made in it? Makes it where that is to be done. F4. */
static int folder_usable(struct segment_file *file, const char *path, bool make)
{
	struct stat st;

	if (make && mkdir(path, 0755) != 0 && errno != EEXIST && errno != EROFS &&
	    errno != EACCES && errno != EPERM && errno != ENOENT)
		return complain(file, -errno, "cannot make %s: %s", path, strerror(errno));
	if (stat(path, &st) != 0)
		return complain(file, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return complain(file, -ENOTDIR, "%s is no folder", path);
	if (!is_ours(&st))
		return complain(file, -EPERM, "%s belongs to another user (%u)", path,
				(unsigned)st.st_uid);
	if (access(path, W_OK | X_OK) != 0)
		return complain(file, -errno, "cannot write to %s: %s", path, strerror(errno));
	return 0;
}

static int choose_folder(struct segment_file *file, const char *wanted, char *path, size_t size)
{
	bool own = secure_getenv("PERCPU_DIR") && *secure_getenv("PERCPU_DIR");
	int result = -ENOENT;

	if (wanted) {
		if ((size_t)snprintf(path, size, "%s", wanted) >= size)
			return complain(file, -ENAMETOOLONG, "the folder's name is too long");
		return folder_usable(file, path, false);
	}
	for (unsigned number = 0; percpu__segment_folder(number, path, size) != -ENOENT; number++) {
		if (!*path)
			continue;
		result = folder_usable(file, path, !own && strcmp(path, "/dev/shm") != 0);
		if (result == 0 || (own && number == 0))
			return result;
	}
	return result;
}

/* ---- Making one ---- */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void own(struct segment_header *header, bool locked)
{
	char program[32];

	__atomic_store_n(&header->pid, 0, __ATOMIC_RELEASE);
	if (read_file("/proc/self/comm", program, sizeof(program)) > 0) {
		program[strcspn(program, "\n")] = '\0';
		memcpy(header->program, program, sizeof(program));
	}
	header->flags = locked ? SEGMENT_LOCKED : 0;
	header->pid_start = percpu__segment_pid_start((uint32_t)getpid());
	header->pid_space = percpu__segment_pid_space();
	__atomic_store_n(&header->pid, (uint32_t)getpid(), __ATOMIC_RELEASE);
}

void percpu__segment_leave(void *head)
{
	struct segment_header *header = head;
	uint32_t me = (uint32_t)getpid();

	(void)__atomic_compare_exchange_n(&header->pid, &me, 0, false, __ATOMIC_RELEASE,
					  __ATOMIC_RELAXED);
}

/* A file system that cannot allocate ahead gets zeros. */
static int allocate(int fd, off_t offset, off_t length)
{
	static const char zeros[4096];
	int result;

	do
		result = fallocate(fd, 0, offset, length);
	while (result != 0 && errno == EINTR);
	if (result == 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
		return result;
	while (length > 0) {
		size_t n = (size_t)length < sizeof(zeros) ? (size_t)length : sizeof(zeros);
		ssize_t put = pwrite(fd, zeros, n, offset);

		if (put < 0 && errno != EINTR)
			return -1;
		offset += put > 0 ? put : 0;
		length -= put > 0 ? put : 0;
	}
	return 0;
}

/* F3: the description, and in each plane the used part of each slot. */
static int allocate_all(int fd, const struct segment_plan *plan)
{
	const struct segment_header *header = &plan->header;
	struct rlimit limit;

	/* Beyond this limit there is a signal instead of an error. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < header->size) {
		errno = EFBIG;
		return -1;
	}
	if (ftruncate(fd, (off_t)header->size) != 0 || allocate(fd, 0, (off_t)header->planes) != 0)
		return -1;
	for (uint32_t p = 0; p < header->nplanes; p++)
		for (uint32_t slot = 0; slot < header->ncpus + header->nshared; slot++)
			if (allocate(fd,
				     (off_t)(header->planes + p * header->plane_size +
					     (uint64_t)slot * PERCPU_STRIDE),
				     (off_t)plan->used[p] * 8) != 0)
				return -1;
	return 0;
}

/*
 * Address space first, without access and unlocked: mlockall(MCL_FUTURE) would populate what is not
 * allocated.
 */
static int map_file(struct segment_file *file, size_t size)
{
	void *map = mmap(NULL, size, PROT_NONE, MAP_SHARED, file->fd, 0);

	if (map == MAP_FAILED)
		return complain(file, -errno, "cannot map it: %s", strerror(errno));
	(void)munlock(map, size);
	(void)madvise(map, size, MADV_NOHUGEPAGE);
	if (mprotect(map, size, PROT_READ | PROT_WRITE) != 0) {
		int error = errno;

		munmap(map, size);
		return complain(file, -error, "cannot map it: %s", strerror(error));
	}
	file->map = map;
	file->size = size;
	return 0;
}

/* Reading: being in it. Writing: replacing it. False: another has a lock against that, or there are
 * no such locks (*none). */
static bool take_lock(int fd, short type, bool *none)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
	int result = fcntl(fd, F_OFD_SETLK, &lock);

	*none = result != 0 && errno != EAGAIN && errno != EACCES && errno != EINTR;
	return result == 0;
}

static void forget(struct segment_file *file)
{
	if (file->map)
		munmap(file->map, file->size);
	if (file->fd >= 0)
		close(file->fd);
	file->map = NULL;
	file->fd = -1;
}

static int fill(struct segment_file *file, const struct percpu_events *set,
		const struct segment_plan *plan, const char *name)
{
	struct segment_header *header;
	bool none;
	int result;

	if (plan->header.size > PTRDIFF_MAX)
		return complain(file, -E2BIG, "it is larger than the address space");
	if (allocate_all(file->fd, plan) != 0)
		return complain(file, -errno, "no room for %llu bytes in %s: %s",
				(unsigned long long)plan->header.size, name, strerror(errno));
	result = map_file(file, (size_t)plan->header.size);
	if (result != 0)
		return result;
	header = (struct segment_header *)(void *)file->map;
	percpu__segment_describe(plan, set, header);
	header->created = now();
	header->generation = header->created ^ ((uint64_t)getpid() << 48);
	percpu__segment_boot(header->boot);
	own(header, take_lock(file->fd, F_RDLCK, &none));
	__atomic_store_n(&header->ready, SEGMENT_READY, __ATOMIC_RELEASE);
	return 0;
}

/* F1: name is where it is made, file->path where it shall be. old: the dead one that it replaces, a
 * descriptor with the write lock, or -1. -EEXIST: somebody else was first. */
static int create(struct segment_file *file, const struct percpu_events *set,
		  const struct segment_plan *plan, int old, unsigned mode)
{
	static unsigned serial;
	char name[sizeof(file->path) + 64];
	int result;

	snprintf(name, sizeof(name), "%s.%u.%u.new", file->path, (unsigned)getpid(),
		 __atomic_add_fetch(&serial, 1, __ATOMIC_RELAXED));
	(void)unlink(name); /* of a process with this number that died in the middle */
	file->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file->fd < 0)
		return complain(file, -errno, "cannot make %s: %s", name, strerror(errno));
	result = fill(file, set, plan, name);
	if (result == 0 && fchmod(file->fd, mode ? mode & 0777 : 0644) != 0)
		result = complain(file, -errno, "cannot set the mode of %s: %s", name,
				  strerror(errno));
	if (result == 0 && (old >= 0 ? rename(name, file->path) : link(name, file->path)) != 0)
		result = complain(file, -errno, "cannot name it %s: %s", file->path,
				  strerror(errno));
	(void)unlink(name);
	if (result != 0)
		forget(file);
	return result;
}

/* ---- Joining one ---- */

/* Does the path still mean the file that fd is? */
static bool still_there(const struct segment_file *file)
{
	struct stat by_path, by_fd;

	return lstat(file->path, &by_path) == 0 && fstat(file->fd, &by_fd) == 0 &&
	       by_path.st_dev == by_fd.st_dev && by_path.st_ino == by_fd.st_ino;
}

static int is_trusted(struct segment_file *file, struct stat *st)
{
	if (fstat(file->fd, st) != 0)
		return complain(file, -errno, "%s: %s", file->path, strerror(errno));
	if (!S_ISREG(st->st_mode))
		return complain(file, -EPROTO, "%s is no regular file", file->path);
	if (!is_ours(st))
		return complain(file, -EPERM, "%s belongs to another user (%u)", file->path,
				(unsigned)st->st_uid);
	return 0;
}

/* Reads and checks what is before the planes; *head is to be unmapped. */
static int read_head(struct segment_file *file, uint64_t file_size, void **head, size_t *size)
{
	const char *why = "";
	int result;

	*size = sizeof(struct segment_header);
	do {
		ssize_t got;

		*head = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		if (*head == MAP_FAILED)
			return complain(file, -ENOMEM, "no memory to read %s", file->path);
		got = pread(file->fd, *head, *size, 0);
		if (got == (ssize_t)*size || *size == sizeof(struct segment_header)) {
			size_t have = got < 0 ? 0 : (size_t)got;
			uint64_t need;

			result = percpu__segment_check(*head, have, file_size, &need, &why);
			if (result == 0)
				return 0;
			munmap(*head, *size);
			*size = (size_t)need; /* bounded by the limits of a description */
		} else {
			munmap(*head, *size);
			result = -EPROTO;
			why = "it became shorter meanwhile";
		}
	} while (result == -EAGAIN && *size > sizeof(struct segment_header));
	return complain(file, -EPROTO, "%s: %s", file->path, why);
}

enum verdict { JOIN, REPLACE, AGAIN, FAIL };

/* What is to be done with the file that is there; *result is the error of FAIL. */
static enum verdict judge(struct segment_file *file, const struct percpu_events *set,
			  const struct segment_plan *plan,
			  const struct percpu_events_options *options, int *result)
{
	const struct segment_header *header;
	enum segment_life life;
	char wanted_boot[40];
	enum verdict verdict;
	void *head, *mine;
	struct stat st;
	size_t size;

	*result = is_trusted(file, &st);
	if (*result == 0)
		*result = read_head(file, (uint64_t)st.st_size, &head, &size);
	if (*result != 0)
		return FAIL;
	header = head;
	life = percpu__segment_life(header, file->fd);
	percpu__segment_boot(wanted_boot);
	mine = mmap(NULL, (size_t)plan->header.planes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	verdict = JOIN;
	if (mine == MAP_FAILED) {
		*result = complain(file, -ENOMEM, "no memory to read %s", file->path);
		verdict = FAIL;
	} else {
		percpu__segment_describe(plan, set, mine);
		if (strncmp(header->boot, wanted_boot, sizeof(wanted_boot)) != 0)
			verdict = REPLACE;
		else if (life == SEGMENT_ALIVE && (options->flags & PERCPU_EVENTS_EXCLUSIVE))
			*result = complain(file, -EBUSY, "%s is in use by process %u", file->path,
					   header->pid);
		else if (!percpu__segment_same(head, mine) && life == SEGMENT_ALIVE)
			*result = complain(file, -EEXIST,
					   "%s is in use by process %u, with another declaration",
					   file->path, header->pid);
		else if (life != SEGMENT_ALIVE && ((options->flags & PERCPU_EVENTS_ANEW) ||
						   !percpu__segment_same(head, mine)))
			verdict = REPLACE;
		if (*result != 0)
			verdict = FAIL;
		munmap(mine, (size_t)plan->header.planes);
	}
	munmap(head, size);
	return verdict;
}

/* The set is ours as well. Who comes into a dead one owns it. */
static enum verdict join(struct segment_file *file, int *result)
{
	struct segment_header *header;
	struct stat st;
	bool none, first;

	first = locked_by_others(file->fd) == 0;
	if (!take_lock(file->fd, F_RDLCK, &none) && !none)
		return AGAIN;
	if (!still_there(file) || fstat(file->fd, &st) != 0)
		return AGAIN;
	if ((uint64_t)st.st_size > PTRDIFF_MAX) {
		*result = complain(file, -E2BIG, "it is larger than the address space");
		return FAIL;
	}
	*result = map_file(file, (size_t)st.st_size);
	if (*result != 0)
		return FAIL;
	header = (struct segment_header *)(void *)file->map;
	if (first || none)
		own(header, !none);
	return JOIN;
}

/* F2. */
static enum verdict replace(struct segment_file *file, const struct percpu_events *set,
			    const struct segment_plan *plan, unsigned mode, int *result)
{
	int old = file->fd;
	bool none;

	if ((!take_lock(old, F_WRLCK, &none) && !none) || !still_there(file))
		return AGAIN;
	file->fd = -1;
	*result = create(file, set, plan, old, mode);
	close(old);
	return *result == 0 ? JOIN : FAIL;
}

static enum verdict try_once(struct segment_file *file, const struct percpu_events *set,
			     const struct segment_plan *plan,
			     const struct percpu_events_options *options, int *result)
{
	enum verdict verdict;

	*result = 0;
	file->fd = open(file->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file->fd < 0 && errno == ENOENT) {
		*result = create(file, set, plan, -1, options->mode);
		if (*result == -EEXIST)
			return AGAIN;
		return *result == 0 ? JOIN : FAIL;
	}
	if (file->fd < 0) {
		*result = errno == ELOOP
				  ? complain(file, -ELOOP, "%s is a symbolic link", file->path)
				  : complain(file, -errno, "cannot open %s: %s", file->path,
					     strerror(errno));
		return FAIL;
	}
	verdict = judge(file, set, plan, options, result);
	if (verdict == JOIN)
		verdict = join(file, result);
	else if (verdict == REPLACE)
		verdict = replace(file, set, plan, options->mode, result);
	if (verdict != JOIN)
		forget(file);
	return verdict;
}

int percpu__segment_open(struct segment_file *file, const struct percpu_events *set,
			 struct segment_plan *plan, const struct percpu_events_options *options)
{
	const struct timespec pause = {0, 10000000};
	char folder[400];
	int result;

	file->map = NULL;
	file->fd = -1;
	file->why[0] = '\0';
	result = choose_folder(file, options->dir, folder, sizeof(folder));
	if (result != 0)
		return result;
	if ((size_t)snprintf(file->path, sizeof(file->path), "%s/%s%s%s%s", folder, set->name,
			     options->instance ? "-" : "",
			     options->instance ? options->instance : "",
			     SEGMENT_SUFFIX) >= sizeof(file->path) ||
	    (options->instance && strpbrk(options->instance, "/\n")))
		return complain(file, -ENAMETOOLONG, "the instance's name is too long, or no name");
	for (unsigned tries = 0; tries < TRIES; tries++) {
		switch (try_once(file, set, plan, options, &result)) {
		case JOIN:
			return 0;
		case FAIL:
			return result;
		default:
			if (tries < TRIES_AT_ONCE)
				percpu__yield();
			else
				(void)nanosleep(&pause, NULL);
		}
	}
	return complain(file, -EAGAIN, "others kept replacing %s", file->path);
}
