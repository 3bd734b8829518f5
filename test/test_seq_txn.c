/* SPDX-License-Identifier: MIT */
/*
 * Transactions, stopped at each of their instructions from before begin to behind the commit: in
 * the body, inside of each range, and between the two steps of a commit that changes ranges. What
 * the commits must do is taken from the pseudo-code of the sequence that does the same.
 */
#include "test.h"

#include <percpu/percpu.h>

#include "seq/ops.h"
#include "seq/tracee.h"

#if ARCH_HAVE_SEQ

#include "arch.h"

#if defined(PERCPU_DEBUG)
#define DEBUG 1
#else
#define DEBUG 0
#endif

/* ---- Transactions as functions ---- */

/* The pointer that is left; the answer says PSEUDO_ABORTED for "something came in between". */
static void ended(struct seq_result *r, bool done, uint64_t seen)
{
	uintptr_t left;

	ARCH_LOAD_CS(left, percpu__rt.rseq_offset);
	r->answer = done ? PSEUDO_DONE : PSEUDO_ABORTED;
	r->value = seen;
	r->slot = left != 0;
}

#define RUN(name)                                                                                  \
	static __attribute__((noinline)) void run_##name(const struct seq_args *a,                 \
							 struct seq_result *r)

#define RUN_WORD(w, type)                                                                          \
	RUN(one_##w)                                                                               \
	{                                                                                          \
		struct percpu_txn txn = PERCPU_TXN_INIT;                                           \
		const type *p = (const type *)a->base;                                             \
		type seen;                                                                         \
                                                                                                   \
		(void)percpu_txn_begin(&txn);                                                      \
		seen = *(const volatile type *)p;                                                  \
		ended(r, percpu_txn_commit(&txn, p, (type)a->value), seen);                        \
	}                                                                                          \
	RUN(two_##w)                                                                               \
	{                                                                                          \
		struct percpu_txn txn = PERCPU_TXN_INIT;                                           \
		const type *p = (const type *)a->base, *idle = (const type *)a->base2;             \
		bool done;                                                                         \
                                                                                                   \
		(void)percpu_txn_begin(&txn);                                                      \
		done = percpu_txn_commit2(&txn, p, (type)a->value, idle, (type)a->value2);         \
		ended(r, done, 0);                                                                 \
	}
RUN_WORD(1, uint8_t)
RUN_WORD(2, uint16_t)
RUN_WORD(4, uint32_t)
#if ARCH_HAVE_SEQ_8
RUN_WORD(8, uint64_t)
#endif

RUN(copy)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	bool done;

	(void)percpu_txn_begin(&txn);
	done = percpu_txn_commit_copy(&txn, (const uintptr_t *)a->base, (uintptr_t)a->value,
				      a->base2, a->source, a->count);
	ended(r, done, 0);
}

/* A size that a port may have another way for. */
RUN(copy_two_words)
{
	run_copy(a, r);
}

RUN(release)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	const uintptr_t *p = (const uintptr_t *)a->base;
	uintptr_t seen;

	(void)percpu_txn_begin(&txn);
	seen = *(const volatile uintptr_t *)p;
	ended(r, percpu_txn_commit_release(&txn, p, (uintptr_t)a->value), seen);
}

/* The loop: on a shared slot in the end. */
RUN(loop)
{
	const uintptr_t *p = (const uintptr_t *)a->base;
	uintptr_t seen = 0;

	PERCPU_TXN(txn)
	{
		seen = *(const volatile uintptr_t *)p;
		(void)percpu_txn_commit(&txn, p, (uintptr_t)a->value);
	}
	ended(r, true, seen);
}

#define POINTER_WIDTH ((unsigned)sizeof(void *))

/* clang-format off */
#define OPS_OF_WIDTH(w)                                                                            \
	{ "commit_" #w, w, PSEUDO_XCHG, false, false, run_one_##w },                                      \
	{ "commit2_" #w, w, PSEUDO_STORE_COMMIT, false, false, run_two_##w }

static const struct seq_op txn_ops[] = {
	OPS_OF_WIDTH(1),
	OPS_OF_WIDTH(2),
	OPS_OF_WIDTH(4),
#if ARCH_HAVE_SEQ_8
	OPS_OF_WIDTH(8),
#endif
	{ "commit_copy", POINTER_WIDTH, PSEUDO_COPY_COMMIT, false, false, run_copy },
	{ "commit_copy of two words", POINTER_WIDTH, PSEUDO_COPY_COMMIT, false, false,
	  run_copy_two_words },
	{ "commit_release", POINTER_WIDTH, PSEUDO_XCHG, false, false, run_release },
};
/* clang-format on */
#define OPS (sizeof(txn_ops) / sizeof(txn_ops[0]))

static const struct seq_op loop_op = {"loop", POINTER_WIDTH, PSEUDO_XCHG, false, false, run_loop};

/* ---- One call ---- */

static void need_sequences(void)
{
	struct percpu_mode_info mode;

	CHECK_OK(percpu_mode(&mode));
	if (!mode.sequences)
		test_skip("no sequences here: %s", mode.reason);
}

static void must(bool condition, const struct seq_op *op, const char *what)
{
	test__count_check();
	if (!condition)
		test_fail(__FILE__, __LINE__, "%s: %s", op->name, what);
}

struct call {
	struct stage *stage;
	const struct seq_op *op;
	unsigned char before[WINDOW];
	struct seq_expected expected;
};

/* All happens in the window of slot 0, whatever CPU the transaction is on. */
static void set_up(struct call *call, struct stage *stage, const struct seq_op *op)
{
	struct seq_case c;

	if (op->run == run_copy_two_words)
		(void)seq_case_two_words(op, &c);
	else
		(void)seq_case_done(op, &c);
	call->stage = stage;
	call->op = stage->op = op;
	stage->cpu = 0;
	memset(&stage->result, 0, sizeof(stage->result));
	seq_prepare(op, &c, stage->memory, 0, &stage->args);
	seq_expect(op, &stage->args, stage->memory, 0, &call->expected);
	CHECK_EQ(call->expected.result.answer, PSEUDO_DONE);
	memcpy(call->before, stage->memory, WINDOW);
}

/* Is the window as it was, but for the idle words, or as it must be after the commit? */
static bool is_old(const struct call *call)
{
	return !seq_compare(call->stage->memory, &call->expected, call->before, true);
}

static bool is_new(const struct call *call)
{
	return !seq_compare(call->stage->memory, &call->expected, call->expected.window, false);
}

static void check_result(const struct call *call)
{
	const struct seq_result *result = &call->stage->result;
	bool done = result->answer == PSEUDO_DONE;

	must(done || result->answer == PSEUDO_ABORTED, call->op, "no answer");
	must(done ? is_new(call) : is_old(call), call->op, "not what the answer says");
	must(!done || result->value == call->expected.result.value, call->op, "another value");
	must(result->slot == 0, call->op, "T2: a pointer is left");
}

/* ---- Step by step ---- */

#define INSTRUCTIONS_MAX 2000
#define BEFORE 6 /* instructions before begin arms, and behind the end */
#define DESCRIPTORS_MAX 4

/* The instructions of a transaction, each once, in the order of their first execution. */
struct listing {
	unsigned count;
	unsigned armed;  /* the first one with a pointer in rseq_cs */
	unsigned commit; /* that stores */
	uint64_t address[INSTRUCTIONS_MAX];
	/* Executed earlier than these: a breakpoint there would stop too early. */
	unsigned early_count;
	uint64_t early[INSTRUCTIONS_MAX];
	/* What rseq_cs held, one after the other. */
	unsigned descriptors;
	uint64_t pointer[DESCRIPTORS_MAX];
	struct descriptor descriptor[DESCRIPTORS_MAX];
};

#define NONE UINT32_MAX
static unsigned find(const uint64_t *address, unsigned count, uint64_t pc)
{
	for (unsigned i = 0; i < count; i++)
		if (address[i] == pc)
			return i;
	return NONE;
}

static void append(uint64_t *address, unsigned *count, uint64_t pc)
{
	if (find(address, *count, pc) != NONE)
		return;
	CHECK(*count < INSTRUCTIONS_MAX);
	address[(*count)++] = pc;
}

static unsigned note(struct listing *listing, uint64_t pc)
{
	if (find(listing->early, listing->early_count, pc) == NONE)
		append(listing->address, &listing->count, pc);
	return find(listing->address, listing->count, pc);
}

static void note_pointer(struct tracee *tracee, struct listing *listing, uint64_t pointer)
{
	unsigned n = listing->descriptors;

	if (n && listing->pointer[n - 1] == pointer)
		return;
	CHECK(n < DESCRIPTORS_MAX);
	listing->pointer[n] = pointer;
	tracee_read(tracee, pointer, &listing->descriptor[n], sizeof(listing->descriptor[n]));
	listing->descriptors++;
}

/* To where begin has armed; the last instructions before that are the first of the list. */
static uint64_t step_to_body(struct tracee *tracee, struct listing *listing)
{
	uint64_t last[BEFORE] = {0}, pointer;
	unsigned steps = 0;

	while (!(pointer = tracee_cs(tracee))) {
		append(listing->early, &listing->early_count, last[steps % BEFORE]);
		last[steps++ % BEFORE] = tracee_pc(tracee);
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
	}
	for (unsigned i = 0; i < BEFORE; i++)
		note(listing, last[(steps + i) % BEFORE]);
	listing->armed = listing->count;
	return pointer;
}

/* From there to where the pointer is gone: nothing changes but the idle words, until one
 * instruction changes everything; nothing behind it. */
static void step_through(struct tracee *tracee, const struct seq_op *op, struct listing *listing)
{
	struct call call;
	uint64_t pointer;
	bool committed = false;

	set_up(&call, tracee->stage, op);
	pointer = step_to_body(tracee, listing);
	while (pointer) {
		unsigned i = note(listing, tracee_pc(tracee));

		note_pointer(tracee, listing, pointer);
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
		if (!committed && !is_old(&call)) {
			committed = true;
			listing->commit = i;
		}
		must(!committed || is_new(&call), op, "a commit in parts");
		pointer = tracee_cs(tracee);
	}
	must(committed, op, "no commit");
	for (unsigned i = 0; i < BEFORE; i++) {
		note(listing, tracee_pc(tracee));
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
	}
	CHECK_EQ(tracee_run(tracee), SIGSTOP);
	must(call.stage->result.answer == PSEUDO_DONE, op, "not done");
	check_result(&call);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Each instruction of a range was executed: each begins not far behind the one before. */
static void must_be_complete(const struct seq_op *op, const struct listing *listing,
			     const struct descriptor *d)
{
	uint64_t sorted[INSTRUCTIONS_MAX], next = d->start;

	memcpy(sorted, listing->address, sizeof(sorted));
	qsort(sorted, listing->count, sizeof(sorted[0]), by_address);
	for (unsigned i = 0; i < listing->count; i++) {
		if (sorted[i] - d->start >= d->length)
			continue;
		must(sorted[i] - next <= TEST_ARCH_INSTRUCTION_MAX, op, "not all executed");
		next = sorted[i];
	}
	must(d->start + d->length - next <= TEST_ARCH_INSTRUCTION_MAX, op, "not all executed");
}

/* Steps through a commit from whom the pointer is taken away when its n-th range begins. */
static void step_out(struct tracee *tracee, const struct seq_op *op, struct listing *listing,
		     unsigned n)
{
	const struct descriptor *d = &listing->descriptor[n];
	struct call call;

	set_up(&call, tracee->stage, op);
	do {
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
	} while (tracee_cs(tracee) != listing->pointer[n] || tracee_pc(tracee) != d->start);
	tracee_clear_cs(tracee);
	while (tracee_pc(tracee) - d->start < d->length) {
		note(listing, tracee_pc(tracee));
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
	}
	CHECK_EQ(tracee_run(tracee), SIGSTOP);
	must(call.stage->result.answer == PSEUDO_ABORTED, op, "done without the pointer");
	check_result(&call);
}

/* A copy of one size does not execute what is there for another. */
static void note_other_copies(struct tracee *tracee, const struct seq_op *op,
			      struct listing *listing)
{
	for (unsigned n = 0; n < OPS; n++) {
		struct listing other = {.count = 0};

		if (op->op != PSEUDO_COPY_COMMIT || txn_ops[n].op != PSEUDO_COPY_COMMIT)
			continue;
		step_through(tracee, &txn_ops[n], &other);
		for (unsigned i = 0; i < other.count; i++)
			append(listing->address, &listing->count, other.address[i]);
	}
}

/* I3, and the chain: begin's descriptor, then the commit's own if that is another one, whose range
 * ends with the commit. */
TEST(I3_nothing_changes_before_the_commit_and_each_range_is_armed_once)
{
	uint64_t seen[OPS];
	struct tracee tracee;

	need_sequences();
	tracee_start(&tracee, stage_make(), false);
	for (unsigned i = 0; i < OPS; i++) {
		const struct seq_op *op = &txn_ops[i];
		struct listing listing = {.count = 0};
		const struct descriptor *d;

		step_through(&tracee, op, &listing);
		for (unsigned n = 0; n < listing.descriptors; n++)
			step_out(&tracee, op, &listing, n);
		must(listing.pointer[0] == percpu__rt.txn_cs, op, "another begin");
		must(listing.descriptors <= 2, op, "too long a chain");
		note_other_copies(&tracee, op, &listing);
		for (unsigned n = 0; n < listing.descriptors; n++)
			must_be_complete(op, &listing, &listing.descriptor[n]);
		d = &listing.descriptor[listing.descriptors - 1];
		must(listing.address[listing.commit] - d->start < d->length, op,
		     "the commit is outside of the last range");
		seen[i] = listing.pointer[listing.descriptors - 1];
		/* T3: one descriptor for each commit; with release it is that of a word. */
		for (unsigned n = 0; n < i; n++)
			must(op->run == run_release || op->run == run_copy_two_words ||
				     seen[n] != seen[i],
			     op, "the descriptor of another commit");
	}
	tracee_end(&tracee);
}

/* ---- Stopped at every instruction ---- */

/* Calls are repeated when others got in between: nothing is said about how often that may be. */
#define TRIES 200

/* Where the kernel may have moved the child to before it reports the trap. */
static bool at_abort_entry(struct tracee *tracee, const struct listing *listing)
{
	uint64_t pc = tracee_pc(tracee);

	for (unsigned i = 0; i < listing->descriptors; i++)
		if (listing->descriptor[i].abort == pc)
			return true;
	return false;
}

/* One run that is stopped at an address, and goes on with a signal or without. False: it did not
 * come there, because somebody else interrupted it before. */
static bool run_into(struct tracee *tracee, const struct listing *listing, uint64_t address,
		     int sig)
{
	struct breakpoint here;
	int stop;

	breakpoint_plant(tracee, &here, address);
	stop = tracee_run(tracee);
	if (stop == SIGTRAP)
		must(breakpoint_hit(tracee, &here) || at_abort_entry(tracee, listing),
		     tracee->stage->op, "stopped at an unknown place");
	breakpoint_lift(tracee, &here);
	if (stop == SIGTRAP) {
		CHECK_EQ(tracee_run_with(tracee, sig), SIGSTOP);
		return true;
	}
	CHECK_EQ(stop, SIGSTOP);
	return false;
}

/* Whoever is stopped between the arming and the commit refuses; all others commit. */
static bool refuses_at(const struct listing *listing, unsigned i)
{
	return i >= listing->armed && i <= listing->commit;
}

static void stop_at(struct tracee *tracee, const struct seq_op *op, const struct listing *listing,
		    unsigned i)
{
	bool refuses = refuses_at(listing, i), hit = false, as_expected = false;

	for (unsigned tries = 0; tries < TRIES && !as_expected; tries++) {
		struct call call;

		set_up(&call, tracee->stage, op);
		hit = run_into(tracee, listing, listing->address[i], 0);
		check_result(&call);
		must(!hit || !refuses || call.stage->result.answer == PSEUDO_ABORTED, op,
		     "done although it was stopped");
		as_expected = hit && (refuses || call.stage->result.answer == PSEUDO_DONE);
	}
	must(as_expected, op, hit ? "refused for no reason" : "an instruction was not reached");
}

TEST(field_B6_a_stop_at_every_instruction_leaves_old_or_new_and_says_which)
{
	struct stage *stage;
	struct tracee stepped, live;
	unsigned stops = 0;

	need_sequences();
	stage = stage_make();
	tracee_start(&stepped, stage, false);
	tracee_start(&live, stage, true);
	/* Both children share the stage, and the area of each is at the same address. */
	for (unsigned n = 0; n < OPS; n++) {
		struct listing listing = {.count = 0};

		step_through(&stepped, &txn_ops[n], &listing);
		for (unsigned i = 0; i < listing.count; i++)
			stop_at(&live, &txn_ops[n], &listing, i);
		stops += listing.count;
	}
	tracee_end(&live);
	tracee_end(&stepped);
	printf("%zu commits stopped at %u instructions\n", OPS, stops);
}

/* ---- A transaction in a handler on top of every instruction ---- */

static struct stage *handled_stage;

/* The first byte of the word. What the one below read is stale from then on. */
#define HANDLED 0xee
static void commit_on_top(int sig)
{
	const unsigned char *byte = (const unsigned char *)handled_stage->args.base;

	(void)sig;
	PERCPU_TXN(txn)
	{
		(void)percpu_txn_commit(&txn, byte, (unsigned char)HANDLED);
	}
}

static void signal_at(struct tracee *tracee, const struct seq_op *op, const struct listing *listing,
		      unsigned i)
{
	const unsigned char *byte = tracee->stage->memory + AT_WORD;
	bool refuses = refuses_at(listing, i), hit = false;

	for (unsigned tries = 0; tries < TRIES && !hit; tries++) {
		struct call call;
		bool done;

		set_up(&call, tracee->stage, op);
		hit = run_into(tracee, listing, listing->address[i], SIGUSR1);
		done = call.stage->result.answer == PSEUDO_DONE;
		if (!hit)
			continue;
		must(call.stage->result.slot == 0, op, "T2: a pointer is left");
		must(!(refuses && done), op, "lost what the handler had stored");
		if (i < listing->armed && done)
			must(is_new(&call), op, "the handler came first, and the last word is its");
		else
			must(*byte == HANDLED, op, "the handler's word is gone");
	}
	must(hit, op, "an instruction was not reached");
}

TEST(field_F1_a_transaction_on_top_of_every_instruction_is_not_lost)
{
	struct tracee stepped, live;

	need_sequences();
	if (DEBUG)
		test_skip("debug builds hold signals off in a body");
	handled_stage = stage_make();
	signal(SIGUSR1, commit_on_top);
	tracee_start(&stepped, handled_stage, false);
	tracee_start(&live, handled_stage, true);
	for (unsigned n = 0; n < OPS; n++) {
		struct listing listing = {.count = 0};

		step_through(&stepped, &txn_ops[n], &listing);
		for (unsigned i = 0; i < listing.count; i++)
			signal_at(&live, &txn_ops[n], &listing, i);
	}
	tracee_end(&live);
	tracee_end(&stepped);
}

/* ---- A debugger that stays ---- */

/* Breakpoints that stay in the commit: the loop ends on a shared slot (I6). */
TEST(field_C9_a_breakpoint_inside_a_commit_does_not_hang_the_loop)
{
	struct tracee stepped, live;
	struct listing listing = {.count = 0};
	struct breakpoint commit;
	struct call call;
	unsigned hits = 0;
	int sig;

	need_sequences();
	tracee_start(&stepped, stage_make(), false);
	tracee_start(&live, stepped.stage, true);
	step_through(&stepped, &loop_op, &listing);
	set_up(&call, live.stage, &loop_op);
	breakpoint_plant(&live, &commit, listing.address[listing.commit]);
	while ((sig = tracee_run(&live)) == SIGTRAP) {
		(void)breakpoint_hit(&live, &commit);
		must(++hits <= PERCPU_TXN_TRIES, &loop_op, "goes on after its last try");
	}
	CHECK_EQ(sig, SIGSTOP);
	check_result(&call);
	tracee_end(&live);
	tracee_end(&stepped);
}

/* Stepped through by a debugger, every try is interrupted, and still it ends, done. */
TEST(a_loop_that_is_stepped_through_ends_done)
{
	struct tracee live;
	struct call call;
	unsigned steps = 0;

	need_sequences();
	tracee_start(&live, stage_make(), true);
	set_up(&call, live.stage, &loop_op);
	while (tracee_step(&live) == SIGTRAP)
		must(++steps < 1000000, &loop_op, "does not end");
	must(call.stage->result.answer == PSEUDO_DONE, &loop_op, "not done");
	check_result(&call);
	tracee_end(&live);
}

#else

TEST(stops_at_every_instruction_leave_old_or_new)
{
	test_skip("this build has no sequences (%s)", ARCH_NAME);
}

#endif

TEST_MAIN()
