/* SPDX-License-Identifier: MIT */
/*
 * Every sequence at every width against its pseudo-code: undisturbed, stepped through, and aborted
 * at each of its instructions; and the descriptors that the kernel and debuggers find.
 */
#include "test.h"

#include <percpu/thread.h>
#include <percpu/area.h>

#include "seq/ops.h"
#include "seq/tracee.h"

#if ARCH_HAVE_SEQ

#include "arch.h"

/* Skips where sequences do not run for reasons of their environment. */
static void need_sequences(void)
{
	struct percpu_mode_info mode;

	CHECK_OK(percpu_mode(&mode));
	if (!mode.sequences)
		test_skip("no sequences here: %s", mode.reason);
}

static void failed(const struct seq_op *op, const char *what, const char *detail)
{
	test_fail(__FILE__, __LINE__, "%s: %s%s%s", op->name, what, detail ? ": " : "",
		  detail ? detail : "");
}

static void must(bool condition, const struct seq_op *op, const char *what)
{
	test__count_check();
	if (!condition)
		failed(op, what, NULL);
}

static unsigned char *window_of(const struct stage *stage, uint32_t slot)
{
	return stage->memory + (size_t)slot * PERCPU_STRIDE;
}

/* A window that a call was to leave alone, or to leave as the pseudo-code does. */
static void must_be(const struct stage *stage, uint32_t slot, const struct seq_expected *expected,
		    const unsigned char *wanted, bool without_scratch, const char *what)
{
	const char *difference =
		seq_compare(window_of(stage, slot), expected, wanted, without_scratch);

	test__count_check();
	if (difference)
		failed(stage->op, what, difference);
}

/* ---- Undisturbed ---- */

/* Sets up a call that is to happen on a slot. */
static void set_up(struct stage *stage, const struct seq_op *op, const struct seq_case *c,
		   uint32_t slot, struct seq_expected *expected)
{
	stage->op = op;
	stage->cpu = slot;
	memset(&stage->result, 0, sizeof(stage->result));
	seq_prepare(op, c, stage->memory, slot, &stage->args);
	seq_expect(op, &stage->args, stage->memory, slot, expected);
	CHECK(expected->result.answer == PSEUDO_DONE || expected->result.answer == PSEUDO_REFUSED);
}

static void check_result(const struct stage *stage, const struct seq_expected *expected,
			 uint32_t slot)
{
	const struct seq_op *op = stage->op;
	const struct seq_result *result = &stage->result;
	bool done = expected->result.answer == PSEUDO_DONE;

	must(result->answer == (int)expected->result.answer, op, "another answer");
	must(!done || op->rmw || op->silent || result->slot == slot, op, "another slot");
	must(result->value == expected->result.value, op, "another value");
}

static void check_case(struct stage *stage, const struct seq_op *op, const struct seq_case *c,
		       uint32_t slot)
{
	struct seq_expected expected;
	struct rseq_area before, after;

	set_up(stage, op, c, slot, &expected);
	before = *own_area();
	run_unregistered(stage);
	after = *own_area();
	check_result(stage, &expected, slot);
	must_be(stage, slot, &expected, expected.window, false, "other memory");
	/* I4: of the kernel's area only rseq_cs is written. */
	must(after.rseq_cs != 0, op, "it did not arm");
	before.rseq_cs = after.rseq_cs = 0;
	must(!memcmp(&before, &after, sizeof(before)), op, "I4: wrote into the kernel's area");
}

static void check_all_cases(void *arg)
{
	const uint32_t slots[] = {0, percpu__rt.bound / 2, percpu__rt.bound - 1};
	struct stage *stage = stage_make();
	struct seq_case c;

	(void)arg;
	CHECK_OK(unregister());
	for (unsigned i = 0; i < seq_op_count; i++)
		for (unsigned number = 0; number < SEQ_CASES; number++) {
			seq_case_number(&seq_ops[i], number, &c);
			check_case(stage, &seq_ops[i], &c, slots[number % 3]);
		}
}

TEST(field_H9_every_sequence_does_what_its_pseudo_code_does)
{
	need_sequences();
	CHECK_EQ(test_in_child(check_all_cases, NULL), 0);
}

/* Any number that is no CPU slot: not registered, registration failed, a CPU nobody announced. */
static void check_all_unavailable(void *arg)
{
	const uint32_t numbers[] = {percpu__rt.bound,        percpu__rt.bound + 1, INT32_MAX,
				    (uint32_t)INT32_MAX + 1, UINT32_MAX - 1,       UINT32_MAX};
	struct stage *stage = stage_make();
	struct seq_expected expected;
	unsigned char before[WINDOW];
	struct seq_case c;

	(void)arg;
	CHECK_OK(unregister());
	for (unsigned i = 0; i < seq_op_count; i++)
		for (unsigned n = 0; n < sizeof(numbers) / sizeof(numbers[0]); n++) {
			const struct seq_op *op = &seq_ops[i];

			seq_case_done(op, &c);
			set_up(stage, op, &c, 0, &expected);
			memcpy(before, window_of(stage, 0), WINDOW);
			stage->cpu = numbers[n];
			run_unregistered(stage);
			must(stage->result.answer ==
				     (op->rmw ? PSEUDO_ABORTED : PSEUDO_UNAVAILABLE),
			     op, "another answer without a CPU slot");
			must_be(stage, 0, &expected, before, false, "wrote without a CPU slot");
		}
}

TEST(field_A2_a_cpu_number_without_a_slot_is_unavailable_and_changes_nothing)
{
	need_sequences();
	CHECK_EQ(test_in_child(check_all_unavailable, NULL), 0);
}

/* An object that is not ready, or no longer: its address in slot 0 reads as NULL. */
static void check_base_null(void *arg)
{
	struct stage *stage = stage_make();
	struct seq_expected expected;
	unsigned char before[WINDOW];
	struct seq_case c;

	(void)arg;
	CHECK_OK(unregister());
	for (unsigned i = 0; i < seq_op_count; i++) {
		const struct seq_op *op = &seq_ops[i];

		if (!seq_op_reads_base(op))
			continue;
		seq_case_done(op, &c);
		set_up(stage, op, &c, 0, &expected);
		memcpy(before, window_of(stage, 0), WINDOW);
		stage->args.base = NULL;
		run_unregistered(stage);
		must(stage->result.answer == (op->rmw ? PSEUDO_ABORTED : PSEUDO_UNAVAILABLE), op,
		     "another answer without an object");
		must_be(stage, 0, &expected, before, false, "wrote without an object");
	}
}

TEST(an_object_that_is_not_ready_is_unavailable)
{
	need_sequences();
	CHECK_EQ(test_in_child(check_base_null, NULL), 0);
}

/* ---- Step by step ---- */

#define INSTRUCTIONS_MAX 1000
#define DESCRIPTORS_MAX 500

/* The instructions of a sequence that a case executed, each once, in the order of addresses. */
struct listing {
	struct descriptor descriptor;
	unsigned count;
	uint64_t address[INSTRUCTIONS_MAX];
};

static bool in_range(const struct descriptor *d, uint64_t pc)
{
	return pc - d->start < d->length;
}

static void note(struct listing *listing, uint64_t pc)
{
	unsigned i = listing->count;

	while (i > 0 && listing->address[i - 1] > pc)
		i--;
	if (i > 0 && listing->address[i - 1] == pc)
		return;
	CHECK(listing->count < INSTRUCTIONS_MAX);
	memmove(&listing->address[i + 1], &listing->address[i],
		(listing->count - i) * sizeof(listing->address[0]));
	listing->address[i] = pc;
	listing->count++;
}

/* The same for those that a step from pc has executed, which may be more than one. */
static void note_step(struct tracee *tracee, struct listing *listing, uint64_t pc)
{
	uint64_t address = pc;

	do {
		note(listing, address);
		address = tracee_skipped(tracee, pc, address);
	} while (address != 0);
}

/* The linker's names for the begin and end of the section. */
extern const struct descriptor first_descriptor[] __asm__("__start___rseq_cs");
extern const struct descriptor last_descriptor[] __asm__("__stop___rseq_cs");

#if defined(TEST_ARCH_NEXT)
/* To the first instruction of any range: many steps at once, each of which takes many calls here. */
static void run_to_start(struct tracee *tracee)
{
	static struct breakpoint starts[DESCRIPTORS_MAX];
	size_t count = (size_t)(last_descriptor - first_descriptor);

	CHECK(count <= DESCRIPTORS_MAX);
	for (size_t i = 0; i < count; i++)
		breakpoint_plant(tracee, &starts[i], first_descriptor[i].start);
	CHECK_EQ(tracee_run(tracee), SIGTRAP);
	for (size_t i = 0; i < count; i++)
		if (breakpoint_hit(tracee, &starts[i]))
			break;
	while (count)
		breakpoint_lift(tracee, &starts[--count]);
}
#else
static void run_to_start(struct tracee *tracee)
{
	CHECK_EQ(tracee_step(tracee), SIGTRAP);
}
#endif

/* Runs the child up to the first instruction of its sequence. */
static void step_to_start(struct tracee *tracee, struct descriptor *d)
{
	uint64_t cs;

	do {
		run_to_start(tracee);
	} while (!(cs = tracee_cs(tracee)));
	tracee_read(tracee, cs, d, sizeof(*d));
	must(tracee_pc(tracee) == d->start, tracee->stage->op, "start is not behind the arming");
}

/*
 * Steps through one undisturbed run (I3): in the range nothing changes but scratch, until the last
 * instruction changes everything at once; behind it nothing changes any more.
 */
static void step_through(struct tracee *tracee, const struct seq_op *op, const struct seq_case *c,
			 struct listing *listing)
{
	struct stage *stage = tracee->stage;
	const struct descriptor *d = &listing->descriptor;
	struct seq_expected expected;
	unsigned char before[WINDOW];
	uint64_t pc;

	set_up(stage, op, c, 0, &expected);
	memcpy(before, window_of(stage, 0), WINDOW);
	step_to_start(tracee, &listing->descriptor);
	while (in_range(d, pc = tracee_pc(tracee))) {
		note_step(tracee, listing, pc);
		must_be(stage, 0, &expected, before, true, "stored before its last instruction");
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
	}
	if (expected.result.answer == PSEUDO_DONE)
		must(pc == d->start + d->length, op, "the commit is not the last instruction");
	must_be(stage, 0, &expected, expected.window, false,
		"not committed at the end of the range");
	CHECK_EQ(tracee_run(tracee), SIGSTOP);
	must_be(stage, 0, &expected, expected.window, false, "stored behind the range");
	check_result(stage, &expected, 0);
}

/* Steps through a run that ends early, as something is missing. */
enum missing { SLOT, OBJECT, ROOM };
static void step_out(struct tracee *tracee, const struct seq_op *op, enum missing missing,
		     struct listing *listing)
{
	struct stage *stage = tracee->stage;
	struct seq_expected expected;
	unsigned char before[WINDOW];
	struct seq_case c;
	uint64_t pc;

	seq_case_done(op, &c);
	set_up(stage, op, &c, 0, &expected);
	if (missing == ROOM)
		seq_take_room(window_of(stage, 0));
	memcpy(before, window_of(stage, 0), WINDOW);
	if (missing == OBJECT)
		stage->args.base = NULL;
	if (missing == SLOT)
		stage->cpu = UINT32_MAX;
	step_to_start(tracee, &listing->descriptor);
	while (in_range(&listing->descriptor, pc = tracee_pc(tracee))) {
		note(listing, pc);
		CHECK_EQ(tracee_step(tracee), SIGTRAP);
	}
	CHECK_EQ(tracee_run(tracee), SIGSTOP);
	must(stage->result.answer == (op->rmw ? PSEUDO_ABORTED : PSEUDO_UNAVAILABLE), op,
	     "another answer after leaving");
	must_be(stage, 0, &expected, before, false, "left, and changed");
}

/* Is every instruction of the range in the list? Each begins not far behind the one before. */
static bool is_complete(const struct seq_op *op, const struct listing *listing)
{
	uint64_t end = listing->descriptor.start + listing->descriptor.length;

	must(listing->count > 0 && listing->address[0] == listing->descriptor.start, op,
	     "no first instruction");
	for (unsigned i = 0; i < listing->count; i++) {
		uint64_t next = i + 1 < listing->count ? listing->address[i + 1] : end;

		if (next - listing->address[i] > TEST_ARCH_INSTRUCTION_MAX)
			return false;
	}
	return true;
}

/* With other cases, where one refusal is not enough. 49 of them in a row compare alike. */
static void complete(struct tracee *tracee, const struct seq_op *op, struct listing *listing)
{
	struct seq_case c;

	for (unsigned n = 0; n < SEQ_CASES && !is_complete(op, listing); n++) {
		seq_case_number(op, n * 49 % SEQ_CASES, &c);
		step_through(tracee, op, &c, listing);
	}
	must(is_complete(op, listing), op, "instructions that no case reaches");
}

TEST(I3_nothing_changes_before_the_last_instruction)
{
	struct stage *stage;
	struct tracee tracee;
	struct seq_case c;

	need_sequences();
	stage = stage_make();
	tracee_start(&tracee, stage, false);
	for (unsigned i = 0; i < seq_op_count; i++) {
		struct listing listing = {.count = 0};

		if (seq_case_refused(&seq_ops[i], &c))
			step_through(&tracee, &seq_ops[i], &c, &listing);
		if (seq_case_done(&seq_ops[i], &c))
			step_through(&tracee, &seq_ops[i], &c, &listing);
		if (seq_case_two_words(&seq_ops[i], &c))
			step_through(&tracee, &seq_ops[i], &c, &listing);
		step_out(&tracee, &seq_ops[i], SLOT, &listing);
		if (seq_op_reads_base(&seq_ops[i]))
			step_out(&tracee, &seq_ops[i], OBJECT, &listing);
		if (seq_op_needs_room(&seq_ops[i]))
			step_out(&tracee, &seq_ops[i], ROOM, &listing);
		complete(&tracee, &seq_ops[i], &listing);
	}
	tracee_end(&tracee);
}

/* ---- Aborted at every instruction ---- */

/* A traced child with a live registration, on a CPU that stays the same if nobody meddles. */
struct live {
	struct tracee tracee;
	uint32_t slot;
};

static void start_live(struct live *live, struct stage *stage)
{
	int cpu = percpu_cpu_raw();
	cpu_set_t set;

	CHECK(cpu >= 0 && (uint32_t)cpu < percpu__rt.bound);
	live->slot = (uint32_t)cpu;
	tracee_start(&live->tracee, stage, true);
	CPU_ZERO(&set);
	CPU_SET((unsigned)cpu, &set);
	CHECK_EQ(sched_setaffinity(live->tracee.pid, sizeof(set), &set), 0);
}

/* What happened while a call ran with a breakpoint in its way. */
struct story {
	bool hit;       /* the breakpoint was reached */
	bool aborted;   /* and then the abort entry */
	bool disturbed; /* the abort entry came first: somebody else interrupted the child */
};

static struct story run_into(struct live *live, const struct descriptor *d, uint64_t address)
{
	struct tracee *tracee = &live->tracee;
	struct story story = {false, false, false};
	struct breakpoint inside, entry;
	int sig;

	breakpoint_plant(tracee, &inside, address);
	breakpoint_plant(tracee, &entry, d->abort);
	while ((sig = tracee_run(tracee)) == SIGTRAP) {
		if (breakpoint_hit(tracee, &inside)) {
			story.hit = true;
			breakpoint_lift(tracee, &inside);
		} else if (breakpoint_hit(tracee, &entry) && !tracee_trapped_at(tracee, address)) {
			story.aborted = story.hit;
			story.disturbed = !story.hit;
			breakpoint_lift(tracee, &entry);
		} else {
			/* The kernel has aborted before it reported the trap. */
			must(!story.hit && tracee_pc(tracee) == d->abort, tracee->stage->op,
			     "stopped at an unknown place");
			story.hit = story.aborted = true;
			breakpoint_lift(tracee, &inside);
			breakpoint_lift(tracee, &entry);
		}
	}
	breakpoint_lift(tracee, &inside);
	breakpoint_lift(tracee, &entry);
	CHECK_EQ(sig, SIGSTOP);
	return story;
}

/* Calls are repeated when others got in between: nothing is said about how often that may be. */
#define TRIES 200

/* One abort at one instruction. The call ends as if it had never happened, or says "not done". */
static void abort_at(struct live *live, const struct seq_op *op, const struct seq_case *c,
		     const struct descriptor *d, uint64_t address)
{
	struct stage *stage = live->tracee.stage;
	struct story story = {false, false, true};
	struct seq_expected expected;
	unsigned char before[WINDOW];

	for (unsigned tries = 0; story.disturbed && tries < TRIES; tries++) {
		set_up(stage, op, c, live->slot, &expected);
		memcpy(before, window_of(stage, live->slot), WINDOW);
		story = run_into(live, d, address);
	}
	must(story.hit, op, "an instruction was not reached");
	must(story.aborted, op, "the kernel did not abort");
	if (op->rmw) {
		must(stage->result.answer == PSEUDO_ABORTED, op, "done in spite of the abort");
		must_be(stage, live->slot, &expected, before, false, "not done, but changed");
		return;
	}
	check_result(stage, &expected, live->slot);
	must_be(stage, live->slot, &expected, expected.window, false,
		"other memory after an abort");
}

static unsigned abort_case_everywhere(struct live *live, struct tracee *stepped,
				      const struct seq_op *op, const struct seq_case *c)
{
	struct listing listing = {.count = 0};

	step_through(stepped, op, c, &listing);
	for (unsigned i = 0; i < listing.count; i++)
		abort_at(live, op, c, &listing.descriptor, listing.address[i]);
	return listing.count;
}

/* The line is for test/vm/report. */
static void abort_everywhere(struct live *live, struct tracee *stepped, const struct seq_op *op)
{
	struct seq_case c;
	unsigned aborts = 0;

	if (seq_case_refused(op, &c))
		aborts += abort_case_everywhere(live, stepped, op, &c);
	if (seq_case_done(op, &c))
		aborts += abort_case_everywhere(live, stepped, op, &c);
	if (seq_case_two_words(op, &c))
		aborts += abort_case_everywhere(live, stepped, op, &c);
	printf("aborts: seq.%s %u\n", op->name, aborts);
}

TEST(field_B6_an_abort_at_every_instruction_starts_again)
{
	struct stage *stage;
	struct tracee stepped;
	struct live live;

	need_sequences();
	stage = stage_make();
	tracee_start(&stepped, stage, false);
	start_live(&live, stage);
	/* Both children share the stage, and the area of each is at the same address. */
	for (unsigned i = 0; i < seq_op_count; i++)
		abort_everywhere(&live, &stepped, &seq_ops[i]);
	tracee_end(&live.tracee);
	tracee_end(&stepped);
}

/* A breakpoint that stays on the commit: the call must end, aborted, with nothing to be seen. */
static void leave_breakpoint(struct live *live, struct tracee *stepped, const struct seq_op *op)
{
	struct stage *stage = live->tracee.stage;
	struct listing listing = {.count = 0};
	struct seq_expected expected;
	struct breakpoint commit;
	unsigned char before[WINDOW];
	struct seq_case c;
	unsigned hits = 0;
	int sig;

	seq_case_done(op, &c);
	step_through(stepped, op, &c, &listing);
	set_up(stage, op, &c, live->slot, &expected);
	memcpy(before, window_of(stage, live->slot), WINDOW);
	breakpoint_plant(&live->tracee, &commit, listing.address[listing.count - 1]);
	while ((sig = tracee_run(&live->tracee)) == SIGTRAP) {
		(void)breakpoint_hit(&live->tracee, &commit);
		must(++hits <= PERCPU__ATTEMPTS, op, "goes on after its last attempt");
	}
	CHECK_EQ(sig, SIGSTOP);
	breakpoint_lift(&live->tracee, &commit);
	must(stage->result.answer == PSEUDO_ABORTED, op, "not aborted");
	must_be(stage, live->slot, &expected, before, true, "aborted, but changed");
}

TEST(field_C9_a_breakpoint_inside_a_sequence_does_not_hang_the_call)
{
	struct stage *stage;
	struct tracee stepped;
	struct live live;

	need_sequences();
	stage = stage_make();
	tracee_start(&stepped, stage, false);
	start_live(&live, stage);
	for (unsigned i = 0; i < seq_op_count; i++)
		leave_breakpoint(&live, &stepped, &seq_ops[i]);
	tracee_end(&live.tracee);
	tracee_end(&stepped);
}

/* ---- Descriptors ---- */

extern const uint64_t first_pointer[] __asm__("__start___rseq_cs_ptr_array");
extern const uint64_t last_pointer[] __asm__("__stop___rseq_cs_ptr_array");
struct exit_point {
	uint64_t start, target;
};
extern const struct exit_point first_exit[] __asm__("__start___rseq_exit_point_array");
extern const struct exit_point last_exit[] __asm__("__stop___rseq_exit_point_array");

static const struct descriptor *descriptor_at(uint64_t address)
{
	return (const struct descriptor *)(uintptr_t)address;
}

TEST(field_B6_every_descriptor_is_one_the_kernel_accepts)
{
	for (const uint64_t *p = first_pointer; p < last_pointer; p++) {
		const struct descriptor *d = descriptor_at(*p);
		uint32_t signature;

		CHECK(d >= first_descriptor && d < last_descriptor);
		CHECK_EQ((uintptr_t)d % 32, 0);
		CHECK_EQ(d->version, 0);
		CHECK_EQ(d->flags, 0);
		CHECK(d->length > 0 && d->length < 1000);
		CHECK(!in_range(d, d->abort));
		memcpy(&signature, (const char *)(uintptr_t)d->abort - sizeof(signature),
		       sizeof(signature));
		CHECK_EQ(signature, ARCH_RSEQ_SIG);
	}
	CHECK(last_pointer - first_pointer >= (ptrdiff_t)seq_op_count);
	CHECK_EQ(last_pointer - first_pointer, last_descriptor - first_descriptor);
}

TEST(field_C6_every_exit_of_a_range_is_listed_for_debuggers)
{
	for (const uint64_t *p = first_pointer; p < last_pointer; p++) {
		const struct descriptor *d = descriptor_at(*p);
		unsigned exits = 0;

		for (const struct exit_point *e = first_exit; e < last_exit; e++)
			if (e->start == d->start) {
				CHECK(!in_range(d, e->target));
				exits++;
			}
		CHECK(exits > 0);
	}
	for (const struct exit_point *e = first_exit; e < last_exit; e++) {
		const uint64_t *p = first_pointer;

		while (p < last_pointer && descriptor_at(*p)->start != e->start)
			p++;
		CHECK(p < last_pointer);
	}
}

/* The kernel takes a registration away only from one who knows the signature it was made with. */
TEST(field_B7_the_signature_is_the_one_that_was_registered)
{
	need_sequences();
	CHECK(percpu_cpu_raw() >= 0);
	CHECK_OK(percpu_vfork_begin());
	CHECK(percpu_cpu_raw() < 0);
	CHECK_OK(percpu_vfork_end());
	CHECK(percpu_cpu_raw() >= 0);
}

#else

TEST(every_sequence_does_what_its_pseudo_code_does)
{
	test_skip("this build has no sequences (%s)", ARCH_NAME);
}

#endif

TEST_MAIN()
