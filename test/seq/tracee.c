/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "tracee.h"

#include <sys/mman.h>
#include <sys/ptrace.h>

#include <percpu/area.h>

#if ARCH_HAVE_SEQ

#include "arch.h"

struct stage *stage_make(void)
{
	size_t size = (size_t)percpu_ncpus() * PERCPU_STRIDE + WINDOW;
	void *stage = mmap(NULL, sizeof(struct stage), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(stage != MAP_FAILED && memory != MAP_FAILED);
	((struct stage *)stage)->memory = (unsigned char *)memory;
	return (struct stage *)stage;
}

struct rseq_area *own_area(void)
{
	return (struct rseq_area *)(void *)(ARCH_THREAD_POINTER() + percpu__rt.rseq_offset);
}

int unregister(void)
{
	int error = 0;

	if (percpu_cpu_raw() >= 0)
		error = percpu_vfork_begin();
	return error;
}

void run_unregistered(struct stage *stage)
{
	volatile struct rseq_area *area = own_area();

	area->cpu_id = stage->cpu;
	area->rseq_cs = 0;
	stage->op->run(&stage->args, &stage->result);
	area->cpu_id = UINT32_MAX;
}

struct child_arg {
	struct stage *stage;
	bool registered;
};

static void child_main(void *arg)
{
	const struct child_arg *child = (const struct child_arg *)arg;
	struct stage *stage = child->stage;

	stage->area = own_area();
	if (!child->registered)
		CHECK_OK(unregister());
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		test_skip("ptrace is refused: %s", strerror(errno));
	for (;;) {
		/* Whoever steps knows by it that the next sequence has armed. */
		percpu_cs_clear();
		raise(SIGSTOP);
		if (child->registered)
			stage->op->run(&stage->args, &stage->result);
		else
			run_unregistered(stage);
	}
}

/* Waits for the next stop. A child that ends has failed, and has said why. */
static int wait_for_stop(struct tracee *tracee)
{
	int status;

	while (waitpid(tracee->pid, &status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
		test_skip("the traced child was");
	CHECK(WIFSTOPPED(status));
	return WSTOPSIG(status);
}

/* With the child: each step is a switch between the two, which takes long from CPU to CPU. */
static void stay_on_one_cpu(void)
{
	int cpu = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu >= 0 && cpu < CPU_SETSIZE)
		CPU_SET((unsigned)cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

void tracee_start(struct tracee *tracee, struct stage *stage, bool registered)
{
	struct child_arg arg = {stage, registered};

	stay_on_one_cpu();
	tracee->stage = stage;
	tracee->pid = test_fork(child_main, &arg);
	CHECK_EQ(wait_for_stop(tracee), SIGSTOP);
	/* A test that fails must not leave a stopped child behind. */
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, tracee->pid, 0, PTRACE_O_EXITKILL), 0);
}

void tracee_end(struct tracee *tracee)
{
	kill(tracee->pid, SIGKILL);
	CHECK_EQ(test_wait(tracee->pid), -SIGKILL);
}

int tracee_run_with(struct tracee *tracee, int sig)
{
	CHECK_EQ(ptrace(PTRACE_CONT, tracee->pid, NULL, (void *)(uintptr_t)sig), 0);
	return wait_for_stop(tracee);
}

int tracee_run(struct tracee *tracee)
{
	return tracee_run_with(tracee, 0);
}

/* Addresses as ptrace wants them: without sign. */
static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static void get_registers(struct tracee *tracee, test_arch_registers *registers)
{
	CHECK(test_arch_get(tracee->pid, registers));
}

uint64_t tracee_pc(struct tracee *tracee)
{
	test_arch_registers registers;

	get_registers(tracee, &registers);
	return (unsigned long)registers.TEST_ARCH_PC;
}

void tracee_set_pc(struct tracee *tracee, uint64_t pc)
{
	test_arch_registers registers;

	get_registers(tracee, &registers);
	registers.TEST_ARCH_PC = (__typeof__(registers.TEST_ARCH_PC))pc;
	CHECK(test_arch_set(tracee->pid, &registers));
}

static long peek(struct tracee *tracee, uint64_t address)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, tracee->pid, at(address), NULL);
	CHECK_EQ(errno, 0);
	return word;
}

void tracee_read(struct tracee *tracee, uint64_t address, void *into, size_t size)
{
	unsigned char *byte = (unsigned char *)into;
	size_t done;

	for (done = 0; done < size; done += sizeof(long)) {
		long word = peek(tracee, address + done);
		size_t part = size - done < sizeof(word) ? size - done : sizeof(word);

		memcpy(byte + done, &word, part);
	}
}

static uint64_t place_of_cs(const struct tracee *tracee)
{
	return (uintptr_t)tracee->stage->area + offsetof(struct rseq_area, rseq_cs);
}

uint64_t tracee_cs(struct tracee *tracee)
{
	uint64_t cs;

	tracee_read(tracee, place_of_cs(tracee), &cs, sizeof(cs));
	return cs;
}

void tracee_clear_cs(struct tracee *tracee)
{
	uint64_t place = place_of_cs(tracee);

	for (size_t done = 0; done < sizeof(uint64_t); done += sizeof(long))
		CHECK_EQ(ptrace(PTRACE_POKEDATA, tracee->pid, at(place + done), NULL), 0);
}

/* What traps at an address; bit 0 of one marks code of another instruction set. */
static size_t trap_at(uint64_t address, const unsigned char **trap)
{
	static const unsigned char usual[] = TEST_ARCH_BREAKPOINT;
#if defined(TEST_ARCH_OTHER_BREAKPOINT)
	static const unsigned char other[] = TEST_ARCH_OTHER_BREAKPOINT;

	if (address & 1) {
		*trap = other;
		return sizeof(other);
	}
#endif
	(void)address;
	*trap = usual;
	return sizeof(usual);
}

static uint64_t place_of(uint64_t address)
{
#if defined(TEST_ARCH_OTHER_BREAKPOINT)
	address &= ~(uint64_t)1;
#endif
	return address;
}

void breakpoint_plant(struct tracee *tracee, struct breakpoint *breakpoint, uint64_t address)
{
	long word = peek(tracee, place_of(address));
	const unsigned char *trap;
	size_t size = trap_at(address, &trap);

	*breakpoint = (struct breakpoint){address, word, true};
	memcpy(&word, trap, size);
	CHECK_EQ(ptrace(PTRACE_POKETEXT, tracee->pid, at(place_of(address)), word), 0);
}

void breakpoint_lift(struct tracee *tracee, struct breakpoint *breakpoint)
{
	uint64_t place = place_of(breakpoint->address);
	const unsigned char *trap;
	long word;

	if (!breakpoint->planted)
		return;
	/* The bytes behind it may hold another breakpoint by now, or no longer. */
	word = peek(tracee, place);
	memcpy(&word, &breakpoint->saved, trap_at(breakpoint->address, &trap));
	CHECK_EQ(ptrace(PTRACE_POKETEXT, tracee->pid, at(place), word), 0);
	breakpoint->planted = false;
}

bool breakpoint_hit(struct tracee *tracee, const struct breakpoint *breakpoint)
{
	uint64_t place = place_of(breakpoint->address);

	if (!breakpoint->planted || tracee_pc(tracee) != place + TEST_ARCH_PC_AFTER_TRAP)
		return false;
	if (TEST_ARCH_PC_AFTER_TRAP != 0)
		tracee_set_pc(tracee, place);
	return true;
}

/* Where the program counter stays at the trap, the signal tells the address. Elsewhere a trap at the
 * abort entry is told from an abort by the distance. */
bool tracee_trapped_at(struct tracee *tracee, uint64_t address)
{
	siginfo_t info;

	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, tracee->pid, NULL, &info), 0);
	return TEST_ARCH_PC_AFTER_TRAP == 0 && (uintptr_t)info.si_addr == address;
}

/* ---- Steps ---- */

#if defined(TEST_ARCH_NEXT)
static void read_for_next(void *tracee, uint64_t address, void *into, size_t size)
{
	tracee_read((struct tracee *)tracee, address, into, size);
}

static void find_next(struct tracee *tracee, struct test_arch_next *next)
{
	test_arch_registers registers;

	get_registers(tracee, &registers);
	TEST_ARCH_NEXT(&registers, read_for_next, tracee, next);
}
#else
static void find_next(struct tracee *tracee, struct test_arch_next *next)
{
	(void)tracee;
	next->count = 0;
}
#endif

/* The abort entry, if the next thing may be an abort. */
static bool find_abort(struct tracee *tracee, uint64_t *entry)
{
	uint64_t cs = tracee_cs(tracee);
	struct descriptor d;

	if (!cs)
		return false;
	tracee_read(tracee, cs, &d, sizeof(d));
	*entry = d.abort;
	return tracee_pc(tracee) - d.start < d.length;
}

static int run_to(struct tracee *tracee, const struct test_arch_next *next)
{
	struct breakpoint at_next[TEST_ARCH_NEXT_MAX + 1];
	unsigned count = 0;
	uint64_t entry;
	int sig;

	while (count < next->count) {
		breakpoint_plant(tracee, &at_next[count], next->address[count]);
		count++;
	}
	if (find_abort(tracee, &entry))
		breakpoint_plant(tracee, &at_next[count++], entry);
	sig = tracee_run(tracee);
	for (unsigned i = 0; sig == SIGTRAP && i < count; i++)
		if (breakpoint_hit(tracee, &at_next[i]))
			break;
	/* Two may be at one place. */
	while (count)
		breakpoint_lift(tracee, &at_next[--count]);
	return sig;
}

int tracee_step(struct tracee *tracee)
{
	struct test_arch_next next;

	find_next(tracee, &next);
	if (next.count)
		return run_to(tracee, &next);
	CHECK_EQ(ptrace(PTRACE_SINGLESTEP, tracee->pid, NULL, NULL), 0);
	return wait_for_stop(tracee);
}

uint64_t tracee_skipped(struct tracee *tracee, uint64_t pc, uint64_t address)
{
#if defined(TEST_ARCH_SKIPPED)
	return TEST_ARCH_SKIPPED(read_for_next, tracee, pc, address);
#else
	return (void)tracee, (void)pc, (void)address, 0;
#endif
}

#endif
