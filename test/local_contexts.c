/* SPDX-License-Identifier: MIT */
/*
 * The contract of each way of the local operations, row by row: where it may be used it is exact,
 * whatever instruction it is interrupted at; where it may not, it is shown to break.
 *
 * Nothing is left to luck. A child does one operation on level 0; its parent steps through it with
 * ptrace, has a signal arrive before the n-th instruction, whose handler does the same operation
 * on the same variable on level 1, steps through that, and so on; once for every n. A synchronous
 * signal is the trap of such a step, passed on to the child. Where there is no ptrace, a store to
 * a page that may only be read makes one.
 */
#include "test.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "local_subjects.h"
#include "sanitizers.h"

#include <percpu/percpu.h>

#if defined(PERCPU_DEBUG)
#define DEBUG 1
#else
#define DEBUG 0
#endif

/* How a handler is installed. */
enum handlers {
	UNWRAPPED, /* sigaction */
	ANNOUNCED, /* sigaction, and PERCPU_HANDLER_ENTER() in the handler */
	WRAPPED,   /* percpu_sigaction */
	ONE_DEEP,  /* the same, with all signals in its mask */
};

struct scenario {
	const struct subject *subject;
	enum kind kind;
	enum handlers handlers;
	unsigned levels;
	bool synchronous; /* the signal of the last level */
};

/* Memory that parent and child share. */
struct stage {
	struct scenario scenario;
	volatile unsigned inside[LEVELS]; /* the operation of that level is under way */
	volatile unsigned done[LEVELS];   /* how often it was done */
	volatile unsigned over;           /* level 0 is: no signal comes now */
	uint64_t results[LEVELS];
	unsigned char variable[SUBJECT_SIZE_MAX] __attribute__((aligned(8)));
};

static struct stage *stage;

/* The signal that starts a level. */
static int signal_of(unsigned level)
{
	return level == 1 ? SIGUSR1 : level == 2 ? SIGUSR2 : SIGRTMIN;
}

static unsigned level_of(int sig)
{
	unsigned level = 1;

	while (signal_of(level) != sig && level < LEVELS - 1)
		level++;
	return sig == SIGTRAP || sig == SIGSEGV ? stage->scenario.levels - 1 : level;
}

static void run_level(unsigned level)
{
	const struct scenario *scenario = &stage->scenario;

	stage->inside[level] = 1;
	stage->results[level] = kind_run(scenario->kind, scenario->subject, stage->variable, level);
	stage->inside[level] = 0;
	stage->done[level]++;
}

static void handler(int sig)
{
	run_level(level_of(sig));
}

static void announced_handler(int sig)
{
	PERCPU_HANDLER_ENTER();
	run_level(level_of(sig));
	PERCPU_HANDLER_LEAVE();
}

static void install(int sig, void (*fn)(int), enum handlers handlers)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = fn;
	if (handlers == ONE_DEEP)
		sigfillset(&action.sa_mask);
	if (handlers == WRAPPED || handlers == ONE_DEEP)
		CHECK_OK(percpu_sigaction(sig, &action, NULL));
	else
		CHECK_EQ(sigaction(sig, &action, NULL), 0);
}

static void child_main(void *arg)
{
	const struct scenario *scenario = &stage->scenario;
	void (*fn)(int) = scenario->handlers == ANNOUNCED ? announced_handler : handler;

	(void)arg;
	for (unsigned level = 1; level < LEVELS; level++)
		install(signal_of(level), fn, scenario->handlers);
	install(SIGTRAP, fn, scenario->handlers);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		test_skip("ptrace is refused: %s", strerror(errno));
	for (;;) {
		/* Not raise(): the parent steps through what follows. */
		(void)syscall(SYS_kill, getpid(), SIGSTOP);
		run_level(0);
		stage->over = 1;
	}
}

/* ---- The parent ---- */

static pid_t child;

/* Lets the child go on, or take one step; the signal that it stops with, or 0 when one has killed it. */
static int go_on(bool step, int deliver)
{
	void *sig = (void *)(intptr_t)deliver;
	int status;

	CHECK_EQ(step ? ptrace(PTRACE_SINGLESTEP, child, NULL, sig)
		      : ptrace(PTRACE_CONT, child, NULL, sig),
		 0);
	while (waitpid(child, &status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	CHECK(!WIFEXITED(status));
	return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

static void child_start(void)
{
	int status;

	child = test_fork(child_main, NULL);
	while (waitpid(child, &status, 0) < 0)
		CHECK_EQ(errno, EINTR);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
		test_skip("the traced child was");
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL), 0);
}

static void child_end(void)
{
	kill(child, SIGKILL);
	CHECK_EQ(test_wait(child), -SIGKILL);
}

enum outcome { EXACT, PAST_THE_END, WRONG, LOST, KILLED };

static enum outcome judge(unsigned levels)
{
	const struct scenario *scenario = &stage->scenario;

	for (unsigned level = 0; level < LEVELS; level++)
		if (stage->done[level] != (level < levels))
			return LOST;
	return kind_explains(scenario->kind, scenario->subject, stage->variable, stage->results,
			     levels)
		       ? EXACT
		       : WRONG;
}

static void reset_stage(void)
{
	memset(stage->variable, 0, sizeof(stage->variable));
	stage->over = 0;
	for (unsigned level = 0; level < LEVELS; level++)
		stage->inside[level] = stage->done[level] = 0;
}

/* Where signals arrive: before the at[level]-th instruction of the operation of a level. */
struct places {
	unsigned at[LEVELS];
	/* The last one is counted from the arrival of the one before, whoever runs then. */
	bool anywhere;
};

/* One round of the child. Past the end: there are not so many instructions, and *steps says how
 * many there are. */
static enum outcome run_round(const struct places *places, unsigned *steps)
{
	const unsigned last = stage->scenario.levels - 1;
	unsigned level = 0;
	int deliver = 0;
	bool counts;

	reset_stage();
	*steps = 0;
	for (;;) {
		int sig = go_on(level < last, deliver);

		deliver = 0;
		if (sig == 0)
			return KILLED;
		if (sig == SIGSTOP)
			return level < last ? PAST_THE_END : judge(last + 1);
		if (sig != SIGTRAP) {
			deliver = sig;
			continue;
		}
		counts = stage->inside[level] || (places->anywhere && level > 0);
		if (!counts || stage->over)
			continue;
		if (++*steps < places->at[level])
			continue;
		level++;
		/* Of the trap that has stopped the child; any other is sent, and stops it again. */
		if (level == last && stage->scenario.synchronous)
			deliver = SIGTRAP;
		else
			CHECK_EQ(kill(child, signal_of(level)), 0);
		*steps = 0;
	}
}

static enum outcome run_here(const struct places *places, unsigned *steps)
{
	enum outcome outcome = run_round(places, steps);

	if (outcome == KILLED)
		child_start();
	return outcome;
}

enum { NOWHERE = 1000000 };

/* Instructions of a level, with signals at the places below. */
static unsigned length_of(struct places places, unsigned level)
{
	unsigned steps;

	places.at[level] = NOWHERE;
	CHECK_EQ(run_here(&places, &steps), PAST_THE_END);
	CHECK(steps > 0);
	return steps;
}

/* What came of all rounds. */
struct tally {
	unsigned rounds, exact;
	enum outcome bad;
	unsigned bad_at;
};

/*
 * The last signal before every instruction that there is, the others at their places. Of more than
 * PLACES instructions that follow another signal, which is what builds for debugging come to, some
 * are left out.
 */
enum { PLACES = 300 };

static void scan(struct places places, struct tally *tally)
{
	const unsigned last = stage->scenario.levels - 2;
	const unsigned stride = last == 0 ? 1 : 1 + length_of(places, last) / PLACES;
	unsigned *at = &places.at[last];

	for (*at = 1;; *at += stride) {
		unsigned steps;
		enum outcome outcome = run_here(&places, &steps);

		if (outcome == PAST_THE_END)
			return;
		tally->rounds++;
		if (outcome == EXACT) {
			tally->exact++;
		} else if (tally->bad == EXACT) {
			tally->bad = outcome;
			tally->bad_at = *at;
		}
	}
}

/* Places for the signals before the last: quarters of the operation, the same on each level. */
static struct tally scan_quarters(struct scenario scenario, bool anywhere)
{
	struct tally tally = {0, 0, EXACT, 0};
	struct places places = {{0}, anywhere};

	stage->scenario = scenario;
	child_start();
	for (unsigned quarter = 1; quarter <= 3; quarter++) {
		for (unsigned level = 0; level + 2 < scenario.levels; level++) {
			places.at[level] = length_of(places, level) * quarter / 4;
			CHECK(places.at[level] > 0);
		}
		scan(places, &tally);
		if (scenario.levels == 2)
			break;
	}
	child_end();
	return tally;
}

static const char *outcome_name(enum outcome outcome)
{
	return outcome == WRONG  ? "the result is wrong"
	       : outcome == LOST ? "a signal was lost"
				 : "the process was killed";
}

static void make_stage(void)
{
	if (THREAD_SANITIZER)
		test_skip("ThreadSanitizer runs handlers when it likes");
	stage = (struct stage *)mmap(NULL, sizeof(struct stage), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(stage != MAP_FAILED);
}

static void check_exact(const struct scenario *scenario, const struct tally *tally)
{
	if (tally->exact != tally->rounds)
		test_fail(__FILE__, __LINE__, "%s %s of %u bits: %s, of %u times %u; at step %u",
			  scenario->subject->way, kind_name(scenario->kind),
			  scenario->subject->bits, outcome_name(tally->bad), tally->rounds,
			  tally->rounds - tally->exact, tally->bad_at);
}

/*
 * Compilers may make one instruction of a load, an addition and a store, and then nothing comes in
 * between. Whether this one does is asked of the plain addition.
 */
static bool adds_at_once(const struct scenario *scenario)
{
	const struct scenario plain = {subject_find("plain", scenario->subject->bits), KIND_ADD,
				       UNWRAPPED, 2, false};
	struct tally tally;

	if (scenario->kind != KIND_ADD)
		return false;
	tally = scan_quarters(plain, false);
	return tally.exact == tally.rounds;
}

static unsigned shown;

static void check_breaks(const struct scenario *scenario, const struct tally *tally)
{
	if (tally->bad == EXACT && adds_at_once(scenario))
		return;
	if (tally->bad != WRONG)
		test_fail(__FILE__, __LINE__, "%s %s of %u bits did not break in %u times: %s",
			  scenario->subject->way, kind_name(scenario->kind),
			  scenario->subject->bits, tally->rounds,
			  tally->bad == EXACT ? "all were exact" : outcome_name(tally->bad));
	shown++;
}

static void check_kills(const struct scenario *scenario, const struct tally *tally)
{
	if (tally->bad != KILLED)
		test_fail(__FILE__, __LINE__, "%s %s of %u bits did not kill the process",
			  scenario->subject->way, kind_name(scenario->kind),
			  scenario->subject->bits);
	shown++;
}

/* A context for which there is no value: debug builds stop there. */
static void check_refused(const struct scenario *scenario, const struct tally *tally)
{
	if (DEBUG)
		check_kills(scenario, tally);
	else
		check_breaks(scenario, tally);
}

/* What is tried: every operation on 32 bits, additions on all others; where several handlers make
 * the rounds long, two operations. */
static bool is_tried(const struct scenario *scenario)
{
	if (!kind_fits(scenario->kind, scenario->subject))
		return false;
	if (scenario->subject->bits == 32)
		return scenario->levels == 2 || scenario->kind == KIND_ADD ||
		       scenario->kind == KIND_CMPXCHG_LOOP;
	/* Two system calls in each make it long, too. */
	return scenario->levels == 2 && scenario->kind <= KIND_ADD_RETURN &&
	       strcmp(scenario->subject->way, "sigmask") != 0;
}

static void each_operation(const char *way, struct scenario scenario, bool anywhere,
			   void (*check)(const struct scenario *, const struct tally *))
{
	unsigned found = 0;

	if (SANITIZED)
		test_skip("what would be stepped through is the sanitizer");
	make_stage();
	for (unsigned i = 0; i < subject_count; i++)
		for (unsigned kind = 0; kind < KINDS; kind++) {
			struct tally tally;

			scenario.subject = &subjects[i];
			scenario.kind = (enum kind)kind;
			if (strcmp(subjects[i].way, way) != 0 || !is_tried(&scenario))
				continue;
			tally = scan_quarters(scenario, anywhere);
			CHECK(tally.rounds > 0);
			check(&scenario, &tally);
			found++;
		}
	if (!found)
		test_skip("this CPU has no way \"%s\"", way);
	if (check != check_exact && !shown)
		test_skip("this compiler adds in one instruction");
}

/* depth: of handlers on top of the thread. */
#define CONTEXT_TEST(name, way, handlers, depth, synchronous, anywhere, check)                     \
	TEST(name)                                                                                 \
	{                                                                                          \
		const struct scenario scenario = {NULL, KIND_ADD, handlers, 1 + (depth),           \
						  synchronous};                                    \
		each_operation(way, scenario, anywhere, check);                                    \
	}
#define EXACT_TEST(name, way, handlers, depth)                                                     \
	CONTEXT_TEST(name, way, handlers, depth, false, false, check_exact)
#define EXACT_SYNCHRONOUS_TEST(name, way, handlers, depth)                                         \
	CONTEXT_TEST(name, way, handlers, depth, true, false, check_exact)
#define ANYWHERE_TEST(name, way, handlers)                                                         \
	CONTEXT_TEST(name, way, handlers, 2, false, true, check_exact)
#define FORBIDDEN_TEST(name, way, handlers, depth, synchronous, check)                             \
	CONTEXT_TEST(name, way, handlers, depth, synchronous, false, check)

/* ---- Nothing protects ---- */

FORBIDDEN_TEST(plain_operations_break_in_a_handler, "plain", UNWRAPPED, 1, false, check_breaks)
FORBIDDEN_TEST(plain_operations_break_in_a_wrapped_handler, "plain", WRAPPED, 1, false,
	       check_breaks)
FORBIDDEN_TEST(plain_operations_break_in_a_synchronous_handler, "plain", UNWRAPPED, 1, true,
	       check_breaks)

/* ---- local and atomic: any handler, at any depth ---- */

EXACT_TEST(local_is_exact_in_any_handler, "local", UNWRAPPED, 1)
EXACT_TEST(local_is_exact_three_handlers_deep, "local", UNWRAPPED, 3)
EXACT_SYNCHRONOUS_TEST(local_is_exact_in_a_synchronous_handler, "local", UNWRAPPED, 1)
EXACT_SYNCHRONOUS_TEST(local_is_exact_in_a_synchronous_handler_on_two_others, "local", UNWRAPPED, 3)
EXACT_TEST(local_is_exact_in_wrapped_handlers, "local", WRAPPED, 2)
EXACT_TEST(atomic_is_exact_in_any_handler, "atomic", UNWRAPPED, 1)
EXACT_TEST(atomic_is_exact_three_handlers_deep, "atomic", UNWRAPPED, 3)
EXACT_SYNCHRONOUS_TEST(atomic_is_exact_in_a_synchronous_handler, "atomic", UNWRAPPED, 1)
EXACT_SYNCHRONOUS_TEST(atomic_is_exact_in_a_synchronous_handler_on_two_others, "atomic", UNWRAPPED,
		       3)

/* ---- softmask: wrapped handlers, at any depth ---- */

EXACT_TEST(softmask_is_exact_in_a_wrapped_handler, "softmask", WRAPPED, 1)
EXACT_TEST(softmask_is_exact_three_wrapped_handlers_deep, "softmask", WRAPPED, 3)
EXACT_TEST(softmask_is_exact_in_handlers_that_mask_everything, "softmask", ONE_DEEP, 2)
ANYWHERE_TEST(softmask_is_exact_when_signals_meet_a_handler_that_is_put_off, "softmask", WRAPPED)
FORBIDDEN_TEST(softmask_breaks_in_an_unwrapped_handler, "softmask", UNWRAPPED, 1, false,
	       check_breaks)
FORBIDDEN_TEST(softmask_breaks_in_an_announced_handler, "softmask", ANNOUNCED, 1, false,
	       check_breaks)
FORBIDDEN_TEST(softmask_breaks_in_a_synchronous_handler, "softmask", WRAPPED, 1, true, check_breaks)

/* ---- trivalue: handlers that count their depth, up to 2 ---- */

EXACT_TEST(trivalue_is_exact_in_a_wrapped_handler, "trivalue", WRAPPED, 1)
EXACT_TEST(trivalue_is_exact_in_a_nested_wrapped_handler, "trivalue", WRAPPED, 2)
EXACT_TEST(trivalue_puts_a_third_wrapped_handler_off, "trivalue", WRAPPED, 3)
ANYWHERE_TEST(trivalue_is_exact_wherever_a_second_signal_arrives, "trivalue", WRAPPED)
EXACT_TEST(trivalue_is_exact_in_an_announced_handler, "trivalue", ANNOUNCED, 1)
EXACT_TEST(trivalue_is_exact_in_a_nested_announced_handler, "trivalue", ANNOUNCED, 2)
FORBIDDEN_TEST(trivalue_breaks_in_a_third_announced_handler, "trivalue", ANNOUNCED, 3, false,
	       check_refused)
FORBIDDEN_TEST(trivalue_breaks_in_an_unwrapped_handler, "trivalue", UNWRAPPED, 1, false,
	       check_breaks)
FORBIDDEN_TEST(trivalue_breaks_in_an_unwrapped_synchronous_handler, "trivalue", UNWRAPPED, 1, true,
	       check_breaks)
FORBIDDEN_TEST(trivalue_breaks_in_a_synchronous_handler_on_two_others, "trivalue", WRAPPED, 3, true,
	       check_refused)

/* ---- twovalue: one handler at a time ---- */

EXACT_TEST(twovalue_is_exact_in_a_wrapped_handler, "twovalue", WRAPPED, 1)
EXACT_TEST(twovalue_is_exact_in_handlers_that_mask_everything, "twovalue", ONE_DEEP, 3)
EXACT_TEST(twovalue_is_exact_in_an_announced_handler, "twovalue", ANNOUNCED, 1)
FORBIDDEN_TEST(twovalue_breaks_in_a_nested_handler, "twovalue", WRAPPED, 2, false, check_refused)
FORBIDDEN_TEST(twovalue_breaks_in_an_unwrapped_handler, "twovalue", UNWRAPPED, 1, false,
	       check_breaks)
FORBIDDEN_TEST(twovalue_breaks_in_a_synchronous_handler_on_another, "twovalue", WRAPPED, 2, true,
	       check_refused)

/* ---- sigmask: handlers of signals that can be blocked ---- */

EXACT_TEST(sigmask_is_exact_in_any_handler_that_it_can_block, "sigmask", UNWRAPPED, 1)
FORBIDDEN_TEST(sigmask_kills_the_process_in_a_synchronous_handler, "sigmask", UNWRAPPED, 1, true,
	       check_kills)

/* ---- Stores that fault, on machines without ptrace, too ---- */

static size_t page;
static unsigned char *variable;
static unsigned nesting;

/* On top of the store; what it has interrupted goes on when the page can be written. */
static void fault_handler(int sig)
{
	(void)sig;
	CHECK_EQ(mprotect(variable, page, PROT_READ | PROT_WRITE), 0);
	stage->results[1] = kind_run(stage->scenario.kind, stage->scenario.subject, variable, 1);
}

static void faulting_operation(int sig)
{
	/* Wrapped handlers come here until they are as deep as wanted. */
	if (++nesting <= stage->scenario.levels - 2) {
		raise(signal_of(nesting));
		return;
	}
	(void)sig;
	CHECK_EQ(mprotect(variable, page, PROT_READ), 0);
	stage->results[0] = kind_run(stage->scenario.kind, stage->scenario.subject, variable, 0);
}

static void fault_child(void *arg)
{
	const struct scenario *scenario = &stage->scenario;

	(void)arg;
	page = (size_t)sysconf(_SC_PAGESIZE);
	variable = (unsigned char *)mmap(NULL, page, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(variable != MAP_FAILED);
	install(SIGSEGV, fault_handler, scenario->handlers);
	for (unsigned level = 1; level < LEVELS; level++)
		install(signal_of(level), faulting_operation, scenario->handlers);
	faulting_operation(0);
	if (!kind_explains(scenario->kind, scenario->subject, variable, stage->results, 2))
		_exit(WRONG);
}

static int run_fault(const struct subject *subject, enum kind kind, enum handlers handlers,
		     unsigned under)
{
	stage->scenario = (struct scenario){subject, kind, handlers, under + 2, true};
	return test_in_child(fault_child, NULL);
}

/* What every operation of a way comes to when its store faults, under so many handlers. */
static void check_faults(const char *way, enum handlers handlers, unsigned under, int expected)
{
	unsigned found = 0;

	if (!stage)
		make_stage();
	for (unsigned i = 0; i < subject_count; i++)
		for (unsigned k = 0; k < KINDS; k++) {
			const struct subject *plain = subject_find("plain", subjects[i].bits);
			enum kind kind = (enum kind)k;
			int end;

			if (strcmp(subjects[i].way, way) != 0 || !kind_fits(kind, &subjects[i]))
				continue;
			found++;
			end = run_fault(&subjects[i], kind, handlers, under);
			/* Not where the compiler adds in one instruction. */
			if (end == EXACT && expected == WRONG && kind == KIND_ADD)
				end = run_fault(plain, kind, UNWRAPPED, 0) == EXACT ? WRONG : EXACT;
			CHECK_EQ(end, expected);
		}
	CHECK(found > 0 || strcmp(way, "local") == 0);
}

TEST(local_and_atomic_are_exact_when_their_store_faults)
{
	for (unsigned under = 0; under <= 2; under++) {
		check_faults("local", UNWRAPPED, under, EXACT);
		check_faults("local", WRAPPED, under, EXACT);
		check_faults("atomic", UNWRAPPED, under, EXACT);
		check_faults("atomic", WRAPPED, under, EXACT);
	}
}

TEST(softmask_breaks_when_its_store_faults)
{
	check_faults("softmask", UNWRAPPED, 0, WRONG);
	check_faults("softmask", WRAPPED, 0, WRONG);
	check_faults("softmask", WRAPPED, 2, WRONG);
}

TEST(trivalue_and_twovalue_break_when_a_store_faults_too_deep)
{
	check_faults("trivalue", UNWRAPPED, 0, WRONG);
	check_faults("trivalue", WRAPPED, 0, EXACT);
	check_faults("trivalue", WRAPPED, 1, EXACT);
	check_faults("trivalue", WRAPPED, 2, DEBUG ? -SIGILL : WRONG);
	check_faults("twovalue", UNWRAPPED, 0, WRONG);
	check_faults("twovalue", WRAPPED, 0, EXACT);
	check_faults("twovalue", WRAPPED, 1, DEBUG ? -SIGILL : WRONG);
}

TEST(sigmask_kills_the_process_when_its_store_faults)
{
	check_faults("sigmask", UNWRAPPED, 0, -SIGSEGV);
	check_faults("sigmask", WRAPPED, 1, -SIGSEGV);
}

TEST(plain_operations_break_when_their_store_faults)
{
	check_faults("plain", UNWRAPPED, 0, WRONG);
}

TEST_MAIN()
