/* SPDX-License-Identifier: MIT */
/*
 * The pseudo-code of the sequences, run by the checker of model/explore.h in every interleaving;
 * and the checker itself, which must find each mistake of model/mistakes.h.
 *
 * Each test prints how many states it visited.
 */
#include "test.h"

#include "model/explore.h"
#include "model/mistakes.h"

static uint64_t visited;

static int needs_pointers(enum pseudo_op op)
{
	return op == PSEUDO_LIST_POP || op == PSEUDO_LIST_PUSH || op == PSEUDO_LIST_TAKE ||
	       op == PSEUDO_LIST_DRAIN;
}

static int is_of_stacks(enum pseudo_op op)
{
	return (op >= PSEUDO_STACK_POP && op <= PSEUDO_VALUES_PUSH) || op == PSEUDO_STACK_DRAIN;
}

static int is_of_locks(enum pseudo_op op)
{
	return op == PSEUDO_LOCK || op == PSEUDO_LOCK_TAKE;
}

/*
 * Locks are for their own kind. Tops of stacks are for those that know what lies below. A list that may be empty is not for
 * those that make pointers by adding.
 */
static int go_together(enum pseudo_op a, enum pseudo_op b)
{
	if (a == PSEUDO_LIST_TAKE || b == PSEUDO_LIST_TAKE)
		return needs_pointers(a) && needs_pointers(b);
	return is_of_stacks(a) == is_of_stacks(b) && is_of_locks(a) == is_of_locks(b);
}

/* A scenario that must come out right; otherwise it is printed and fails. */
static void must_be_right(const struct scenario *scenario)
{
	struct explored explored = explore(scenario, stderr);

	visited += explored.states;
	CHECK_EQ(explored.wrong, 0);
	CHECK(explored.ends > 0);
}

static void report(void)
{
	printf("states explored: %llu\n", (unsigned long long)visited);
	explore_free();
}

/* One call each: of A, of B (unless PSEUDO_OPS) and of a handler on top of A (likewise). */
static void one_call_each(struct scenario *scenario, enum pseudo_op a, enum pseudo_op b,
			  enum pseudo_op handler)
{
	enum content content = needs_pointers(a) || needs_pointers(b) || needs_pointers(handler)
				       ? POINTERS
			       : is_of_stacks(a) ? STACKS
			       : is_of_locks(a)  ? LOCKS
						 : NUMBERS;

	scenario_init(scenario, content);
	scenario_call(scenario, ACTOR_A, a);
	if (b != PSEUDO_OPS)
		scenario_call(scenario, ACTOR_B, b);
	if (handler != PSEUDO_OPS)
		scenario_call(scenario, ACTOR_HANDLER, handler);
}

/* ---- The programs as such ---- */

static int is_store(const struct pseudo_step *s)
{
	return s->kind == K_STORE || s->kind == K_STORE_BYTE;
}

static int is_commit(const struct pseudo_step *s)
{
	return s->kind == K_COMMIT || s->kind == K_COMMIT_ADD || s->kind == K_COMMIT_AND ||
	       s->kind == K_COMMIT_OR;
}

/* I3: one entry, one committing store as the last step of the range, restart from scratch. */
TEST(I3_every_program_commits_once_and_last)
{
	for (enum pseudo_op op = PSEUDO_ADD; op < PSEUDO_SEQUENCES; op++) {
		const struct pseudo_program *program = &pseudo_programs[op];
		int may_store = op == PSEUDO_STORE_COMMIT || op == PSEUDO_LIST_PUSH ||
				op == PSEUDO_COPY_COMMIT || op == PSEUDO_STACK_PUSH ||
				op == PSEUDO_VALUES_POP || op == PSEUDO_VALUES_PUSH;
		int stores = 0;

		CHECK_EQ(program->step[0].kind, K_ARM);
		CHECK_EQ(program->step[1].kind, K_LOAD_CPU);
		CHECK_EQ(program->start, 1);
		CHECK_EQ(program->restart, 0);
		CHECK(is_commit(&program->step[program->post_commit - 1]));
		CHECK_EQ(program->step[program->post_commit].kind, K_DONE);
		for (int i = 0; i < program->post_commit - 1; i++) {
			CHECK(!is_commit(&program->step[i]));
			CHECK(i == 1 || program->step[i].kind != K_LOAD_CPU);
			stores += is_store(&program->step[i]);
		}
		CHECK_EQ(stores, may_store);
	}
}

/* Runs one operation on two words of a width. */
static struct pseudo_result run_on(enum pseudo_op op, unsigned width, uint64_t *words,
				   uint64_t value, uint64_t expect)
{
	struct pseudo_memory memory = {4096, 16, (unsigned char *)words};
	uint64_t arg[R_ARGS] = {
		[R_BASE] = 4096, [R_BASE2] = 4096 + 8, [R_VALUE] = value, [R_EXPECT] = expect};
	struct pseudo_env env = {&memory, arg, 0, 1, 64, width};

	return pseudo_run(op, &env);
}

TEST(pseudo_run_wraps_at_the_width_of_the_word)
{
	static const unsigned widths[] = {1, 2, 4, 8};

	for (unsigned i = 0; i < 4; i++) {
		uint64_t ones = widths[i] == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * widths[i]) - 1;
		uint64_t words[2] = {ones, 0};
		struct pseudo_result result;

		result = run_on(PSEUDO_ADD_RETURN, widths[i], words, 3, 0);
		CHECK_EQ(result.answer, PSEUDO_DONE);
		CHECK_EQ(result.value, 2);
		CHECK_EQ(words[0], 2);
		result = run_on(PSEUDO_CMPXCHG, widths[i], words, ones, 3);
		CHECK_EQ(result.answer, PSEUDO_REFUSED);
		CHECK_EQ(result.value, 2);
		result = run_on(PSEUDO_CMPXCHG, widths[i], words, UINT64_MAX, 2);
		CHECK_EQ(result.answer, PSEUDO_DONE);
		CHECK_EQ(words[0], ones);
		CHECK_EQ(words[1], 0);
	}
}

TEST(pseudo_run_tells_unavailable_from_a_touch_outside_of_memory)
{
	uint64_t words[2] = {0, 0};
	struct pseudo_memory memory = {4096, 16, (unsigned char *)words};
	uint64_t arg[R_ARGS] = {[R_BASE] = 4096, [R_VALUE] = 1};
	struct pseudo_env env = {&memory, arg, UINT64_MAX, 1, 64, 8};

	CHECK_EQ(pseudo_run(PSEUDO_ADD, &env).answer, PSEUDO_UNAVAILABLE);
	env.cpu = 1;
	CHECK_EQ(pseudo_run(PSEUDO_ADD, &env).answer, PSEUDO_UNAVAILABLE);
	env.bound = 2;
	CHECK_EQ(pseudo_run(PSEUDO_ADD, &env).answer, 0);
	CHECK_EQ(words[0] | words[1], 0);
}

/* Kernel: the range includes its first instruction, and excludes the one behind the commit. */
TEST(abort_happens_in_the_range_and_only_while_armed)
{
	const struct pseudo_program *program = &pseudo_programs[PSEUDO_ADD];
	struct pseudo_context context = {.armed = 1};

	for (context.pc = 0; context.pc <= program->post_commit; context.pc++)
		CHECK_EQ(pseudo_in_range(program, &context),
			 context.pc >= program->start && context.pc < program->post_commit);
	context.pc = program->start;
	context.armed = 0;
	CHECK(!pseudo_in_range(program, &context));
}

/* ---- Everything that is right ---- */

/* An abort at every step and migration at every step, of one thread with a handler on top. */
TEST(every_call_with_a_handler_on_top_is_linearizable_on_two_cpus)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_ADD; a < PSEUDO_SEQUENCES; a++)
		for (enum pseudo_op handler = PSEUDO_ADD; handler < PSEUDO_SEQUENCES; handler++) {
			if (!go_together(a, handler))
				continue;
			one_call_each(&scenario, a, PSEUDO_OPS, handler);
			scenario.attempts = 2;
			must_be_right(&scenario);
		}
	report();
}

TEST(every_pair_of_calls_is_linearizable_on_two_cpus)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_ADD; a < PSEUDO_SEQUENCES; a++)
		for (enum pseudo_op b = PSEUDO_ADD; b < PSEUDO_SEQUENCES; b++) {
			if (!go_together(a, b))
				continue;
			one_call_each(&scenario, a, b, PSEUDO_OPS);
			must_be_right(&scenario);
		}
	report();
}

/* With a third call by a handler on top of A, all on one CPU. */
static void every_pair_and_handler(enum pseudo_op a)
{
	struct scenario scenario;

	for (enum pseudo_op b = PSEUDO_ADD; b < PSEUDO_SEQUENCES; b++)
		for (enum pseudo_op handler = PSEUDO_ADD; handler < PSEUDO_SEQUENCES; handler++) {
			if (!go_together(a, b) || !go_together(a, handler) ||
			    !go_together(b, handler))
				continue;
			one_call_each(&scenario, a, b, handler);
			scenario.cpus = 1;
			must_be_right(&scenario);
		}
	report();
}

#define TEST_EVERY_PAIR_AND_HANDLER(name, op)                                                      \
	TEST(every_pair_under_a_handler_is_linearizable_for_##name)                                \
	{                                                                                          \
		every_pair_and_handler(op);                                                        \
	}
TEST_EVERY_PAIR_AND_HANDLER(add, PSEUDO_ADD)
TEST_EVERY_PAIR_AND_HANDLER(and, PSEUDO_AND)
TEST_EVERY_PAIR_AND_HANDLER(or, PSEUDO_OR)
TEST_EVERY_PAIR_AND_HANDLER(add_return, PSEUDO_ADD_RETURN)
TEST_EVERY_PAIR_AND_HANDLER(xchg, PSEUDO_XCHG)
TEST_EVERY_PAIR_AND_HANDLER(cmpxchg, PSEUDO_CMPXCHG)
TEST_EVERY_PAIR_AND_HANDLER(cmpxchg2, PSEUDO_CMPXCHG2)
TEST_EVERY_PAIR_AND_HANDLER(store_commit, PSEUDO_STORE_COMMIT)
TEST_EVERY_PAIR_AND_HANDLER(copy_commit, PSEUDO_COPY_COMMIT)
TEST_EVERY_PAIR_AND_HANDLER(list_pop, PSEUDO_LIST_POP)
TEST_EVERY_PAIR_AND_HANDLER(list_push, PSEUDO_LIST_PUSH)
TEST_EVERY_PAIR_AND_HANDLER(list_take, PSEUDO_LIST_TAKE)
TEST_EVERY_PAIR_AND_HANDLER(stack_pop, PSEUDO_STACK_POP)
TEST_EVERY_PAIR_AND_HANDLER(stack_push, PSEUDO_STACK_PUSH)
TEST_EVERY_PAIR_AND_HANDLER(values_pop, PSEUDO_VALUES_POP)
TEST_EVERY_PAIR_AND_HANDLER(values_push, PSEUDO_VALUES_PUSH)
TEST_EVERY_PAIR_AND_HANDLER(lock, PSEUDO_LOCK)

/* B takes the slot of CPU 0 from wherever it is, while A and a handler on top of it lock. */
TEST(M1_a_slot_that_was_taken_from_outside_has_one_holder)
{
	struct scenario scenario;

	one_call_each(&scenario, PSEUDO_LOCK, PSEUDO_LOCK_TAKE, PSEUDO_LOCK);
	must_be_right(&scenario);
	scenario_call(&scenario, ACTOR_A, PSEUDO_LOCK);
	must_be_right(&scenario);
	report();
}

/* B takes what is in the slot of CPU 0, while A and a handler on top of it work there or not. */
TEST(I9_a_drainer_takes_each_node_and_item_once)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_LIST_POP; a <= PSEUDO_VALUES_PUSH; a++)
		for (enum pseudo_op handler = PSEUDO_LIST_POP; handler <= PSEUDO_VALUES_PUSH;
		     handler++) {
			if (!go_together(a, handler))
				continue;
			one_call_each(&scenario, a,
				      is_of_stacks(a) ? PSEUDO_STACK_DRAIN : PSEUDO_LIST_DRAIN,
				      handler);
			must_be_right(&scenario);
			/* The handler's call by A itself, with the handler's node. */
			scenario.script[ACTOR_A].call[1] = scenario.script[ACTOR_HANDLER].call[0];
			scenario.script[ACTOR_A].length = 2;
			scenario.script[ACTOR_HANDLER].length = 0;
			must_be_right(&scenario);
		}
	report();
}

/* Values of two words, on a stack that is full, and on one that is empty. */
TEST(values_are_never_torn)
{
	struct scenario scenario;

	for (unsigned top = 0; top <= STACK_LIMIT; top += STACK_LIMIT)
		for (unsigned i = 0; i < 4; i++) {
			one_call_each(&scenario, i & 1 ? PSEUDO_VALUES_POP : PSEUDO_VALUES_PUSH,
				      i & 2 ? PSEUDO_VALUES_POP : PSEUDO_VALUES_PUSH,
				      PSEUDO_VALUES_POP);
			for (unsigned actor = 0; actor < ACTORS; actor++)
				scenario.script[actor].call[0].arg[R_COUNT] =
					scenario.script[actor].call[0].arg[R_ROOM] = 2;
			scenario.memory[0] = (uint8_t)top;
			scenario.cpus = 1;
			must_be_right(&scenario);
		}
	report();
}

/* Two words, each compared by one thread while the other thread changes it. */
TEST(cmpxchg2_sees_its_second_word_change)
{
	struct scenario scenario;

	for (enum pseudo_op b = PSEUDO_ADD; b <= PSEUDO_CMPXCHG2; b++)
		for (enum pseudo_op handler = PSEUDO_ADD; handler <= PSEUDO_CMPXCHG2; handler++) {
			one_call_each(&scenario, PSEUDO_CMPXCHG2, b, handler);
			call_swap_words(&scenario.script[ACTOR_B].call[0]);
			scenario.cpus = 1;
			must_be_right(&scenario);
			scenario.script[ACTOR_HANDLER].length = 0;
			scenario.cpus = 2;
			must_be_right(&scenario);
		}
	report();
}

/* Mixed: A with a CPU slot, B without rseq on the shared slot; and both without. */
TEST(cpu_slots_and_shared_slots_mix)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_ADD; a < PSEUDO_SEQUENCES; a++)
		for (enum pseudo_op b = PSEUDO_ADD; b < PSEUDO_SEQUENCES; b++) {
			if (!go_together(a, b))
				continue;
			one_call_each(&scenario, a, b, a);
			scenario.script[ACTOR_B].registered = 0;
			scenario.cpus = 1;
			must_be_right(&scenario);
			scenario.script[ACTOR_A].registered = 0;
			scenario.script[ACTOR_HANDLER].registered = 0;
			must_be_right(&scenario);
		}
	report();
}

/* I6: an aborted add goes to the shared slot, where a thread without rseq adds as well. */
TEST(I6_aborted_adds_meet_others_on_the_shared_slot)
{
	struct scenario scenario;

	for (enum pseudo_op b = PSEUDO_ADD; b <= PSEUDO_CMPXCHG; b++) {
		one_call_each(&scenario, PSEUDO_ADD, b, PSEUDO_ADD);
		scenario.script[ACTOR_B].registered = 0;
		scenario.attempts = 0;
		must_be_right(&scenario);
	}
	report();
}

/* A pops while B pops twice and pushes the first one back: the same head, another next. */
static void pop_against_pop_pop_push(struct scenario *scenario)
{
	scenario_init(scenario, POINTERS);
	scenario->lists = 1;
	scenario_call(scenario, ACTOR_A, PSEUDO_LIST_POP);
	scenario_call(scenario, ACTOR_B, PSEUDO_LIST_POP);
	scenario_call(scenario, ACTOR_B, PSEUDO_LIST_POP);
	scenario_call(scenario, ACTOR_B, PSEUDO_LIST_PUSH)->node_from = 1;
}

TEST(field_L3_pop_survives_a_node_that_comes_back)
{
	struct scenario scenario;

	pop_against_pop_pop_push(&scenario);
	must_be_right(&scenario);
	scenario_call(&scenario, ACTOR_HANDLER, PSEUDO_LIST_POP);
	scenario.cpus = 1;
	must_be_right(&scenario);
	report();
}

TEST(field_L2_no_node_is_handed_out_twice)
{
	struct scenario scenario;
	unsigned i;

	scenario_init(&scenario, POINTERS);
	scenario.lists = 1;
	for (i = 0; i < 2; i++) {
		scenario_call(&scenario, ACTOR_A, PSEUDO_LIST_POP);
		scenario_call(&scenario, ACTOR_A, PSEUDO_LIST_PUSH)->node_from = 1;
		scenario_call(&scenario, ACTOR_B, PSEUDO_LIST_POP);
		if (i == 0)
			scenario_call(&scenario, ACTOR_B, PSEUDO_LIST_PUSH)->node_from = 1;
		scenario.script[ACTOR_A].length = 2;
	}
	scenario.cpus = 1;
	must_be_right(&scenario);
	scenario_call(&scenario, ACTOR_HANDLER, PSEUDO_LIST_POP);
	must_be_right(&scenario);
	report();
}

/* ---- Transactions ---- */

/* I3 and T1: each range begins with the question and ends with its one store; T2: each way out
 * clears the pointer. */
TEST(T1_every_range_of_a_transaction_begins_with_the_question)
{
	for (enum pseudo_op op = PSEUDO_SEQUENCES; op < PSEUDO_OPS; op++) {
		const struct pseudo_program *p = &pseudo_programs[op];
		unsigned last = p->second ? p->post_commit2 : p->post_commit;

		CHECK_EQ(p->step[0].kind, K_ARM);
		CHECK_EQ(p->step[p->start].kind, K_GOTO_UNLESS_ARMED);
		CHECK_EQ(p->step[p->start].a, DESCRIPTOR_FIRST);
		CHECK_EQ(p->step[p->post_commit - 1].kind, p->second ? K_CHANGE : K_COMMIT);
		if (p->second) {
			CHECK_EQ(p->step[p->start2].kind, K_GOTO_UNLESS_ARMED);
			CHECK_EQ(p->step[p->start2].a, p->second);
			CHECK_EQ(p->step[last - 1u].kind, K_COMMIT);
		}
		CHECK_EQ(p->step[last].kind, K_CLEAR);
		CHECK_EQ(p->step[p->restart].kind, K_CLEAR);
		CHECK_EQ(p->step[p->restart + 1].kind, K_ABORTED);
	}
}

/* What lies where nobody looks to one call must not be what another looks at. */
static int fit_together(enum pseudo_op a, enum pseudo_op b)
{
	return go_together(a, b) && (a == PSEUDO_TXN_TWO) == (b == PSEUDO_TXN_TWO);
}

/* An interruption at every step of a transaction, with every other call in between, on the same CPU
 * or after a migration. */
TEST(transactions_lose_nothing_to_another_thread)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_SEQUENCES; a < PSEUDO_OPS; a++)
		for (enum pseudo_op b = PSEUDO_ADD; b < PSEUDO_OPS; b++) {
			if (!fit_together(a, b))
				continue;
			one_call_each(&scenario, a, b, PSEUDO_OPS);
			must_be_right(&scenario);
		}
	report();
}

TEST(field_F1_transactions_lose_nothing_to_a_handler)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_ADD; a < PSEUDO_OPS; a++)
		for (enum pseudo_op handler = PSEUDO_ADD; handler < PSEUDO_OPS; handler++) {
			if (!fit_together(a, handler) ||
			    (a < PSEUDO_SEQUENCES && handler < PSEUDO_SEQUENCES))
				continue;
			one_call_each(&scenario, a, PSEUDO_OPS, handler);
			scenario.attempts = 2;
			must_be_right(&scenario);
		}
	report();
}

/* Two threads on one CPU, and a handler on top of one of them, from this operation on. */
static void transactions_on_top(enum pseudo_op a, enum pseudo_op first)
{
	struct scenario scenario;

	for (enum pseudo_op b = PSEUDO_SEQUENCES; b < PSEUDO_OPS; b++)
		for (enum pseudo_op handler = first; handler < PSEUDO_OPS; handler++) {
			if (!fit_together(a, b) || !fit_together(a, handler) ||
			    !fit_together(b, handler))
				continue;
			one_call_each(&scenario, a, b, handler);
			scenario.cpus = 1;
			must_be_right(&scenario);
		}
	report();
}

TEST(transactions_of_two_threads_and_a_handler_lose_nothing_adding)
{
	transactions_on_top(PSEUDO_TXN_ADD, PSEUDO_ADD);
}

TEST(transactions_of_two_threads_and_a_handler_lose_nothing_in_two_words)
{
	transactions_on_top(PSEUDO_TXN_TWO, PSEUDO_ADD);
}

TEST(transactions_of_two_threads_and_a_handler_lose_nothing_copying)
{
	transactions_on_top(PSEUDO_TXN_COPY, PSEUDO_COPY_COMMIT);
}

/* One behind the other: what the first leaves behind is there for the second. */
TEST(a_transaction_after_another_loses_nothing)
{
	struct scenario scenario;

	for (enum pseudo_op a = PSEUDO_SEQUENCES; a < PSEUDO_OPS; a++) {
		one_call_each(&scenario, a, PSEUDO_OPS, a);
		scenario_call(&scenario, ACTOR_A, a);
		scenario.cpus = 1;
		must_be_right(&scenario);
	}
	report();
}

/* ---- Everything that is wrong ---- */

/*
 * A runs the mistaken program against what B does. The same scenario with the right program must
 * be right, or it would prove nothing about the mistake.
 */
static void must_be_found(struct scenario *scenario, enum mistake mistake)
{
	struct explored explored;

	CHECK_EQ(scenario->script[ACTOR_A].call[0].op, mistakes[mistake].op);
	must_be_right(scenario);
	scenario->script[ACTOR_A].call[0].instead = &mistakes[mistake].program;
	explored = explore(scenario, stdout);
	visited += explored.states;
	CHECK_EQ(explored.wrong, 1);
	CHECK(explored.length > 0);
	report();
}

/* On one CPU, which makes for the clearest stories, where that is enough. */
static void must_be_found_against(enum mistake mistake, enum pseudo_op b)
{
	struct scenario scenario;

	one_call_each(&scenario, mistakes[mistake].op, b, PSEUDO_OPS);
	scenario.cpus = mistake == MISTAKE_CPU_READ_OUTSIDE ? 2 : 1;
	must_be_found(&scenario, mistake);
}

TEST(checker_finds_next_read_outside)
{
	struct scenario scenario;

	pop_against_pop_pop_push(&scenario);
	scenario.cpus = 1;
	must_be_found(&scenario, MISTAKE_NEXT_READ_OUTSIDE);
}

/* A works on CPU 0 while B, which has gone to the other one, drains that slot. */
static void must_be_found_against_drain(enum mistake mistake)
{
	enum pseudo_op op = mistakes[mistake].op;
	struct scenario scenario;

	one_call_each(&scenario, op, is_of_stacks(op) ? PSEUDO_STACK_DRAIN : PSEUDO_LIST_DRAIN,
		      PSEUDO_OPS);
	must_be_found(&scenario, mistake);
}

TEST(checker_finds_push_to_a_closed_list)
{
	must_be_found_against_drain(MISTAKE_CLOSED_NOT_LOOKED_AT);
}

TEST(checker_finds_head_loaded_before_closed)
{
	must_be_found_against_drain(MISTAKE_CLOSED_LOOKED_AT_LAST);
}

TEST(checker_finds_top_loaded_before_limit)
{
	must_be_found_against_drain(MISTAKE_LIMIT_LOADED_LAST);
}

TEST(checker_finds_drain_without_a_fence)
{
	struct scenario scenario;

	one_call_each(&scenario, PSEUDO_LIST_DRAIN, PSEUDO_LIST_POP, PSEUDO_OPS);
	must_be_found(&scenario, MISTAKE_DRAINED_WITHOUT_FENCE);
}

/* A locks on CPU 0 while B, on the other one, takes that slot. */
TEST(checker_finds_lock_that_looks_at_closed_outside)
{
	struct scenario scenario;

	one_call_each(&scenario, PSEUDO_LOCK, PSEUDO_LOCK_TAKE, PSEUDO_OPS);
	must_be_found(&scenario, MISTAKE_LOCK_CLOSED_OUTSIDE);
}

TEST(checker_finds_slot_taken_without_a_fence)
{
	struct scenario scenario;

	one_call_each(&scenario, PSEUDO_LOCK_TAKE, PSEUDO_LOCK, PSEUDO_OPS);
	must_be_found(&scenario, MISTAKE_TAKEN_WITHOUT_FENCE);
}

TEST(checker_finds_commit_that_is_not_last)
{
	must_be_found_against(MISTAKE_COMMIT_NOT_LAST, PSEUDO_OPS);
}

TEST(checker_finds_store_before_compare)
{
	must_be_found_against(MISTAKE_STORE_BEFORE_COMPARE, PSEUDO_STORE_COMMIT);
}

TEST(checker_finds_word_compared_outside)
{
	struct scenario scenario;

	one_call_each(&scenario, PSEUDO_CMPXCHG2, PSEUDO_CMPXCHG2, PSEUDO_OPS);
	call_swap_words(&scenario.script[ACTOR_B].call[0]);
	scenario.cpus = 1;
	must_be_found(&scenario, MISTAKE_COMPARED_OUTSIDE);
}

TEST(checker_finds_value_loaded_outside)
{
	must_be_found_against(MISTAKE_LOADED_OUTSIDE, PSEUDO_ADD_RETURN);
}

TEST(checker_finds_cpu_number_read_outside)
{
	must_be_found_against(MISTAKE_CPU_READ_OUTSIDE, PSEUDO_ADD);
}

TEST(checker_finds_abort_handler_that_continues)
{
	must_be_found_against(MISTAKE_ABORT_CONTINUES, PSEUDO_ADD);
}

TEST(checker_finds_restart_without_arming)
{
	must_be_found_against(MISTAKE_NOT_ARMED_AGAIN, PSEUDO_ADD);
}

TEST(checker_finds_add_without_a_section)
{
	must_be_found_against(MISTAKE_NO_SECTION, PSEUDO_ADD);
}

TEST(checker_finds_range_that_ends_before_the_commit)
{
	must_be_found_against(MISTAKE_RANGE_TOO_SHORT, PSEUDO_ADD);
}

TEST(checker_finds_range_that_goes_on_behind_the_commit)
{
	must_be_found_against(MISTAKE_RANGE_TOO_LONG, PSEUDO_OPS);
}

TEST(checker_finds_transaction_that_does_not_compare)
{
	must_be_found_against(MISTAKE_TXN_NOT_COMPARED, PSEUDO_TXN_ADD);
}

/* In the handler: it is the transaction below that finds the pointer. */
TEST(checker_finds_pointer_that_is_not_cleared)
{
	struct scenario scenario;
	struct explored explored;

	one_call_each(&scenario, PSEUDO_TXN_ADD, PSEUDO_OPS, PSEUDO_TXN_ADD);
	scenario.cpus = 1;
	must_be_right(&scenario);
	scenario.script[ACTOR_HANDLER].call[0].instead = &mistakes[MISTAKE_TXN_NOT_CLEARED].program;
	explored = explore(&scenario, stdout);
	visited += explored.states;
	CHECK_EQ(explored.wrong, 1);
	report();
}

TEST(checker_finds_transaction_with_the_cpu_number_of_before)
{
	struct scenario scenario;

	one_call_each(&scenario, PSEUDO_TXN_ADD, PSEUDO_TXN_ADD, PSEUDO_OPS);
	must_be_found(&scenario, MISTAKE_TXN_CPU_READ_FIRST);
}

TEST(checker_finds_transaction_that_reads_before_it_arms)
{
	must_be_found_against(MISTAKE_TXN_READ_FIRST, PSEUDO_TXN_ADD);
}

TEST(checker_finds_first_store_on_a_live_word)
{
	must_be_found_against(MISTAKE_TXN_LIVE_FIRST, PSEUDO_TXN_TWO);
}

TEST(checker_finds_change_of_ranges_without_a_compare)
{
	must_be_found_against(MISTAKE_TXN_BLIND_CHANGE, PSEUDO_TXN_TWO);
}

TEST(checker_finds_second_range_without_a_compare)
{
	must_be_found_against(MISTAKE_TXN_SECOND_NOT_COMPARED, PSEUDO_TXN_TWO);
}

/* A handler alone, without a second thread, must be enough as well. */
TEST(field_F1_checker_finds_mistakes_that_only_a_handler_uncovers)
{
	static const enum mistake of_one_thread[] = {
		MISTAKE_LOADED_OUTSIDE, MISTAKE_ABORT_CONTINUES, MISTAKE_NOT_ARMED_AGAIN,
		MISTAKE_NO_SECTION, MISTAKE_RANGE_TOO_SHORT};

	for (unsigned i = 0; i < sizeof(of_one_thread) / sizeof(of_one_thread[0]); i++) {
		struct scenario scenario;

		one_call_each(&scenario, mistakes[of_one_thread[i]].op, PSEUDO_OPS, PSEUDO_ADD);
		scenario.cpus = 1;
		must_be_found(&scenario, of_one_thread[i]);
	}
}

TEST_MAIN()
