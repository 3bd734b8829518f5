/* SPDX-License-Identifier: MIT */
/*
 * What a checkpoint does to a program: its threads are stopped anywhere, and one that is found
 * inside a sequence is resumed at the abort entry. Here they are stopped again and again while a
 * storm goes on in them.
 */
#include "test.h"

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "storm_engine.h"

#if ARCH_HAVE_SEQ

#include "arch.h"

/* So many stops, and so many of them inside a sequence. */
#define STOPS 1500u
#define INSIDE 60u

#define GET_RSEQ_CONFIGURATION 0x420f
struct rseq_configuration {
	uint64_t area;
	uint32_t size, signature, flags, pad;
};

struct descriptor {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

#define RSEQ_CS_OFFSET 8
#define TASKS 64

struct tracer {
	pid_t program;
	pid_t tasks[TASKS];
	unsigned count;
	unsigned stops, inside;
	uint64_t random;
	uint32_t *stop; /* shared with the program */
	int status;     /* of the program, when it has ended */
	bool ended;
};

static bool read_memory(pid_t tid, uint64_t address, void *into, size_t size)
{
	char *to = into;

	for (size_t at = 0; at < size; at += sizeof(long)) {
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)(address + at), NULL);
		if (errno)
			return false;
		memcpy(to + at, &word, sizeof(word));
	}
	return true;
}

/* The sequence that the kernel would look at for this thread; false when there is none. */
static bool find_descriptor(pid_t tid, struct descriptor *d)
{
	struct rseq_configuration rseq;
	uint64_t address = 0;

	if (ptrace(GET_RSEQ_CONFIGURATION, tid, (void *)sizeof(rseq), &rseq) < 0) {
		/* A thread may be killed while it is stopped. */
		if (errno != ESRCH)
			test_skip("this kernel does not tell about rseq: %s", strerror(errno));
		return false;
	}
	return rseq.area != 0 &&
	       read_memory(tid, rseq.area + RSEQ_CS_OFFSET, &address, sizeof(address)) &&
	       address != 0 && read_memory(tid, address, d, sizeof(*d));
}

static void move_to_abort(struct tracer *tracer, pid_t tid)
{
	struct descriptor d;
	test_arch_registers registers;

	tracer->stops++;
	if (!test_arch_get(tid, &registers) || !find_descriptor(tid, &d) ||
	    (uint64_t)registers.TEST_ARCH_PC - d.start >= d.length)
		return;
	registers.TEST_ARCH_PC = (__typeof__(registers.TEST_ARCH_PC))d.abort;
	CHECK(test_arch_set(tid, &registers));
	tracer->inside++;
}

static void forget(struct tracer *tracer, pid_t tid)
{
	for (unsigned i = 0; i < tracer->count; i++)
		if (tracer->tasks[i] == tid)
			tracer->tasks[i] = tracer->tasks[--tracer->count];
}

static void remember(struct tracer *tracer, pid_t tid)
{
	for (unsigned i = 0; i < tracer->count; i++)
		if (tracer->tasks[i] == tid)
			return;
	if (tracer->count < TASKS)
		tracer->tasks[tracer->count++] = tid;
}

/* The next stop of any thread; it goes on. Returns which thread it was, 0 at the very end. */
static pid_t handle_stop(struct tracer *tracer)
{
	int status;
	pid_t tid = waitpid(-1, &status, __WALL);

	if (tid < 0)
		return 0;
	if (!WIFSTOPPED(status)) {
		if (tid == tracer->program) {
			tracer->status = status;
			tracer->ended = true;
		}
		forget(tracer, tid);
		return tid;
	}
	remember(tracer, tid);
	move_to_abort(tracer, tid);
	/* A signal that is on its way is delivered; other stops are ours. */
	(void)ptrace(PTRACE_CONT, tid, NULL,
		     (void *)(uintptr_t)(status >> 16 ? 0 : WSTOPSIG(status)));
	return tid;
}

/* Stops one thread after the other until there was enough of it; then lets the program end. */
static void trace(struct tracer *tracer)
{
	while (!tracer->ended) {
		pid_t tid;

		if (tracer->stops >= STOPS && tracer->inside >= INSIDE)
			__atomic_store_n(tracer->stop, 1, __ATOMIC_RELAXED);
		tracer->random = storm_mix(tracer->random + 1);
		tid = tracer->count ? tracer->tasks[tracer->random % tracer->count] : 0;
		if (tid && ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
			while (!tracer->ended && handle_stop(tracer) != tid)
				;
		else if (!handle_stop(tracer))
			break;
	}
}

static void storm_until_stopped(void *arg)
{
	const struct storm_settings settings = {.stop = arg};

	/* Until the tracer has taken hold of this process. */
	raise(SIGSTOP);
	CHECK(storm_all(&settings) > 0);
}

TEST(field_C8_threads_stopped_anywhere_go_on_at_their_abort_entry)
{
	struct tracer tracer;
	int status;

	if (!storm_can_abort())
		test_skip("no sequences here");
	memset(&tracer, 0, sizeof(tracer));
	tracer.stop = mmap(NULL, sizeof(*tracer.stop), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(tracer.stop != MAP_FAILED);
	tracer.program = test_fork(storm_until_stopped, tracer.stop);
	CHECK_EQ(waitpid(tracer.program, &status, WUNTRACED), tracer.program);
	if (ptrace(PTRACE_SEIZE, tracer.program, NULL,
		   (void *)(uintptr_t)(PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) != 0)
		test_skip("tracing is refused: %s", strerror(errno));
	remember(&tracer, tracer.program);
	CHECK_EQ(kill(tracer.program, SIGCONT), 0);
	trace(&tracer);
	printf("%u stops, %u of them inside a sequence\n", tracer.stops, tracer.inside);
	CHECK(WIFEXITED(tracer.status));
	CHECK_EQ(WEXITSTATUS(tracer.status), 0);
	CHECK(tracer.inside >= INSIDE);
}

#else

TEST(threads_stopped_anywhere_go_on_at_their_abort_entry)
{
	test_skip("this build has no sequences (%s)", ARCH_NAME);
}

#endif

TEST_MAIN()
