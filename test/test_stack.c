/* SPDX-License-Identifier: MIT */
/* Stacks of pointers and of values: each item is handed out once, whole, whoever takes it. */
#include "probe.h"

#include "cpus.h"
#include "sanitizers.h"

#include <stdbool.h>

#include <percpu/percpu.h>

#include "faults/faults.h"
#include "modes.h"

#define ITEMS 64u
#define CAPACITY ITEMS
/* Not a multiple of a word. */
#define SIZE 21u

static struct percpu_stack stack;
static struct percpu_values values;
static unsigned char things[ITEMS];
static uint32_t taken[ITEMS]; /* 1: in somebody's hands */

static void own_number(size_t i)
{
	CHECK(i < ITEMS);
	CHECK_EQ(__atomic_exchange_n(&taken[i], 1, __ATOMIC_RELAXED), 0);
}

static void disown_number(size_t i)
{
	CHECK_EQ(__atomic_exchange_n(&taken[i], 0, __ATOMIC_RELAXED), 1);
}

static void own(const void *item)
{
	own_number((size_t)((const unsigned char *)item - things));
}

/* A value says its number in every byte, each in its own way. */
static void make_value(unsigned char *value, unsigned number)
{
	for (unsigned i = 0; i < SIZE; i++)
		value[i] = (unsigned char)(number + i * 37);
}

static void own_value(const unsigned char *value)
{
	unsigned char wanted[SIZE];

	CHECK(value[0] < ITEMS);
	make_value(wanted, value[0]);
	CHECK(!memcmp(value, wanted, SIZE));
	own_number(value[0]);
}

static void begin(void)
{
	CHECK_OK(percpu_stack_init(&stack, CAPACITY));
	CHECK_OK(percpu_values_init(&values, CAPACITY, SIZE));
	for (unsigned i = 0; i < ITEMS; i++)
		taken[i] = 1;
}

/* Either may be full where a test has put everything on one CPU: no more than fit in. */
static void push(unsigned i)
{
	unsigned char value[SIZE];

	disown_number(i);
	if (i % 2) {
		make_value(value, i);
		CHECK_OK(percpu_values_push(&values, value));
	} else {
		CHECK_OK(percpu_stack_push(&stack, &things[i]));
	}
}

static unsigned drain_all(void)
{
	unsigned char some[5][SIZE];
	void *items[7];
	unsigned count = 0;
	int got;

	while ((got = percpu_stack_drain(&stack, items, 7)) > 0) {
		CHECK(got <= 7);
		for (int i = 0; i < got; i++, count++)
			own(items[i]);
	}
	CHECK_EQ(got, -ENOENT);
	while ((got = percpu_values_drain(&values, some, 5)) > 0) {
		CHECK(got <= 5);
		for (int i = 0; i < got; i++, count++)
			own_value(some[i]);
	}
	CHECK_EQ(got, -ENOENT);
	return count;
}

static void end(unsigned inside)
{
	CHECK_EQ(drain_all(), inside);
	for (unsigned i = 0; i < ITEMS; i++)
		CHECK_EQ(taken[i], 1);
	CHECK_OK(percpu_stack_destroy(&stack));
	CHECK_OK(percpu_values_destroy(&values));
}

static void spread(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		go_to_nth_cpu(i / 2);
		push(i);
	}
}

/* ---- One thread ---- */

/* A thread may migrate between two calls, and not find what it put in: once more then. */
#define TRIES 10000

static bool in_order(void)
{
	unsigned char value[SIZE];
	bool stayed = true;
	void *item;
	int result;

	for (unsigned i = 0; i < 6; i++)
		push(i);
	for (unsigned i = 6; i-- > 0 && stayed;) {
		if (i % 2) {
			result = percpu_values_pop(&values, value);
			if (result == 0)
				own_value(value);
			stayed = result == 0 && value[0] == i;
		} else {
			result = percpu_stack_pop(&stack, &item);
			CHECK_EQ(result == 0, item != NULL);
			if (result == 0)
				own(item);
			stayed = result == 0 && item == &things[i];
		}
		CHECK(result == 0 || result == -ENOENT || result == -EAGAIN);
	}
	(void)drain_all();
	return stayed;
}

TEST(last_in_is_first_out)
{
	unsigned tries = 0;

	begin();
	while (!in_order())
		CHECK(++tries < TRIES);
	end(0);
}

/* Fills whatever array it is on until it is full; false if that changed on the way. */
static bool fills_up(void)
{
	unsigned count = 0;
	int cpu = percpu_cpu();
	int result;

	while ((result = percpu_stack_push(&stack, &things[count % ITEMS])) == 0)
		CHECK(++count <= CAPACITY * percpu_nslots());
	CHECK_EQ(result, -ENOSPC);
	for (unsigned left = count; left > 0;) {
		void *items[CAPACITY];
		int got = percpu_stack_drain(&stack, items, left < CAPACITY ? left : CAPACITY);

		CHECK(got > 0);
		left -= (unsigned)got;
	}
	return count == CAPACITY && percpu_cpu() == cpu;
}

TEST(full_is_said_when_it_is_full)
{
	unsigned tries = 0;

	begin();
	while (!fills_up())
		CHECK(++tries < TRIES);
	end(0);
}

/* Batches: in one step, so all of them are on one array; up to as many as there are come out. */
static bool batches_come_back(unsigned n, unsigned m)
{
	void *items[PERCPU_STACK_BATCH_MAX], *back[PERCPU_STACK_BATCH_MAX];
	int got;

	for (unsigned i = 0; i < n; i++) {
		disown_number(i);
		items[i] = &things[i];
	}
	CHECK_OK(percpu_stack_push_n(&stack, items, n));
	got = percpu_stack_pop_n(&stack, back, m);
	CHECK((got > 0 && got <= (int)m) || got == -ENOENT || got == -EAGAIN);
	for (int i = 0; i < got; i++) {
		CHECK(back[i] == items[n - (unsigned)got + (unsigned)i]);
		own(back[i]);
	}
	(void)drain_all();
	return got == (int)(n < m ? n : m);
}

static bool values_come_back(unsigned n, unsigned m)
{
	unsigned char some[PERCPU_VALUES_BATCH_MAX(SIZE)][SIZE];
	int got;

	for (unsigned i = 0; i < n; i++) {
		disown_number(i);
		make_value(some[i], i);
	}
	CHECK_OK(percpu_values_push_n(&values, some, n));
	got = percpu_values_pop_n(&values, some, m);
	CHECK((got > 0 && got <= (int)m) || got == -ENOENT || got == -EAGAIN);
	for (int i = 0; i < got; i++) {
		CHECK_EQ(some[i][0], n - (unsigned)got + (unsigned)i);
		own_value(some[i]);
	}
	(void)drain_all();
	return got == (int)(n < m ? n : m);
}

TEST(batches_go_in_and_come_out_in_one_step)
{
	static const unsigned sizes[] = {1, 2, 7, 12, PERCPU_STACK_BATCH_MAX};
	unsigned tries = 0;

	begin();
	for (unsigned i = 0; i < 5; i++)
		for (unsigned k = 0; k < 5; k++)
			while (!batches_come_back(sizes[i], sizes[k]))
				CHECK(++tries < TRIES);
	for (unsigned i = 0; i < 4; i++)
		for (unsigned k = 0; k < 4; k++)
			while (!values_come_back(sizes[i], sizes[k]))
				CHECK(++tries < TRIES);
	end(0);
}

static bool batch_that_does_not_fit_is_refused(void)
{
	void *items[PERCPU_STACK_BATCH_MAX] = {NULL};
	struct percpu_stack small;
	int first, second, third, got;
	int cpu = percpu_cpu();

	CHECK_OK(percpu_stack_init(&small, 5));
	first = percpu_stack_push_n(&small, items, 3);
	second = percpu_stack_push_n(&small, items, 3);
	third = percpu_stack_push_n(&small, items, 2);
	CHECK_EQ(first, 0);
	CHECK(second == 0 || second == -ENOSPC);
	got = percpu_stack_drain(&small, items, 11);
	CHECK_EQ(got, 3 + (second == 0 ? 3 : 0) + (third == 0 ? 2 : 0));
	CHECK_OK(percpu_stack_destroy(&small));
	return second == -ENOSPC && third == 0 && percpu_cpu() == cpu;
}

TEST(batches_go_in_whole_or_not_at_all)
{
	unsigned tries = 0;

	while (!batch_that_does_not_fit_is_refused())
		CHECK(++tries < TRIES);
}

/* Every size, at every alignment, with memory around it. */
static bool value_comes_back(size_t size, unsigned shift)
{
	unsigned char in[PERCPU_VALUE_SIZE_MAX + 24], out[PERCPU_VALUE_SIZE_MAX + 24];
	struct percpu_values one;
	int result;

	for (unsigned i = 0; i < sizeof(in); i++) {
		in[i] = (unsigned char)(i * 7 + size);
		out[i] = 0xee;
	}
	CHECK_OK(percpu_values_init(&one, 3, size));
	CHECK_OK(percpu_values_push(&one, in + shift));
	CHECK_OK(percpu_values_push(&one, in + shift));
	result = percpu_values_pop(&one, out + 8);
	if (result == 0) {
		CHECK(!memcmp(out + 8, in + shift, size));
		for (unsigned i = 0; i < 8; i++)
			CHECK(out[i] == 0xee && out[8 + size + i] == 0xee);
	}
	while (percpu_values_drain(&one, out, 1) > 0) {
	}
	CHECK_OK(percpu_values_destroy(&one));
	return result == 0;
}

TEST(values_of_every_size_come_back_as_they_were)
{
	unsigned tries = 0;

	for (size_t size = 1; size <= PERCPU_VALUE_SIZE_MAX; size++)
		while (!value_comes_back(size, (unsigned)size % 9))
			CHECK(++tries < TRIES);
}

TEST(pop_of_nothing_says_empty)
{
	unsigned char value[SIZE];
	void *item = &stack;

	begin();
	CHECK_EQ(percpu_stack_pop(&stack, &item), -ENOENT);
	CHECK(!item);
	CHECK_EQ(percpu_stack_pop_n(&stack, &item, 1), -ENOENT);
	CHECK_EQ(percpu_values_pop(&values, value), -ENOENT);
	CHECK_EQ(percpu_values_pop_n(&values, value, 1), -ENOENT);
	end(0);
}

TEST(bad_arguments_are_refused)
{
	struct percpu_usage_info usage;
	struct percpu_stack none;
	struct percpu_values no_values;
	unsigned char value[PERCPU__COPY_MAX];
	void *items[PERCPU__COPY_MAX];

	memset(&none, 0, sizeof(none));
	memset(&no_values, 0, sizeof(no_values));
	CHECK_EQ(percpu_stack_init(NULL, 1), -EINVAL);
	CHECK_EQ(percpu_stack_init(&stack, 0), -EINVAL);
	CHECK_EQ(percpu_stack_init(&stack, PERCPU_STACK_BYTES_MAX / sizeof(void *) + 1), -EINVAL);
	CHECK_EQ(percpu_stack_init(&stack, UINT32_MAX), -EINVAL);
	CHECK_EQ(percpu_values_init(NULL, 1, 1), -EINVAL);
	CHECK_EQ(percpu_values_init(&values, 1, 0), -EINVAL);
	CHECK_EQ(percpu_values_init(&values, 1, PERCPU_VALUE_SIZE_MAX + 1), -EINVAL);
	CHECK_EQ(percpu_values_init(&values, 1, SIZE_MAX), -EINVAL);
	CHECK_EQ(percpu_stack_push(NULL, items), -EINVAL);
	CHECK_EQ(percpu_stack_push(&none, items), -EINVAL);
	CHECK_EQ(percpu_stack_pop(NULL, items), -EINVAL);
	CHECK_EQ(percpu_stack_pop(&none, items), -EINVAL);
	CHECK_EQ(percpu_stack_pop(&none, NULL), -EINVAL);
	CHECK_EQ(percpu_stack_push_n(&none, items, 1), -EINVAL);
	CHECK_EQ(percpu_stack_pop_n(&none, items, 1), -EINVAL);
	CHECK_EQ(percpu_stack_drain(&none, items, 1), -EINVAL);
	CHECK_EQ(percpu_stack_destroy(&none), -EINVAL);
	CHECK_EQ(percpu_stack_destroy(NULL), -EINVAL);
	CHECK_EQ(percpu_values_push(NULL, value), -EINVAL);
	CHECK_EQ(percpu_values_push(&no_values, value), -EINVAL);
	CHECK_EQ(percpu_values_pop(NULL, value), -EINVAL);
	CHECK_EQ(percpu_values_pop(&no_values, value), -EINVAL);
	CHECK_EQ(percpu_values_drain(NULL, value, 1), -EINVAL);
	CHECK_EQ(percpu_values_take_slot(&no_values, 0, value, 1), -EINVAL);
	CHECK_EQ(percpu_values_destroy(&no_values), -EINVAL);
	CHECK_EQ(percpu_values_destroy(NULL), -EINVAL);
	begin();
	CHECK_EQ(percpu_stack_push_n(&stack, NULL, 1), -EINVAL);
	CHECK_EQ(percpu_stack_push_n(&stack, items, 0), -EINVAL);
	CHECK_EQ(percpu_stack_push_n(&stack, items, PERCPU_STACK_BATCH_MAX + 1), -EINVAL);
	CHECK_EQ(percpu_stack_push_n(&stack, items, UINT32_MAX), -EINVAL);
	CHECK_EQ(percpu_stack_pop_n(&stack, NULL, 1), -EINVAL);
	CHECK_EQ(percpu_stack_pop_n(&stack, items, 0), -EINVAL);
	CHECK_EQ(percpu_stack_pop_n(&stack, items, PERCPU_STACK_BATCH_MAX + 1), -EINVAL);
	CHECK_EQ(percpu_stack_drain(&stack, NULL, 1), -EINVAL);
	CHECK_EQ(percpu_stack_drain(&stack, items, 0), -EINVAL);
	CHECK_EQ(percpu_stack_take_slot(&stack, percpu_nslots(), items, 1), -EINVAL);
	CHECK_EQ(percpu_values_push(&values, NULL), -EINVAL);
	CHECK_EQ(percpu_values_pop(&values, NULL), -EINVAL);
	CHECK_EQ(percpu_values_push_n(&values, value, PERCPU_VALUES_BATCH_MAX(SIZE) + 1), -EINVAL);
	CHECK_EQ(percpu_values_pop_n(&values, value, PERCPU_VALUES_BATCH_MAX(SIZE) + 1), -EINVAL);
	CHECK_EQ(percpu_values_take_slot(&values, UINT32_MAX, value, 1), -EINVAL);
	/* As many as there may be. */
	CHECK_EQ(percpu_stack_drain(&stack, items, SIZE_MAX), -ENOENT);
	end(0);
	CHECK_OK(percpu_stack_init(&none, PERCPU_STACK_BYTES_MAX / sizeof(void *)));
	CHECK_OK(percpu_stack_destroy(&none));
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

TEST(stack_with_items_is_not_destroyed)
{
	begin();
	push(2);
	push(3);
	CHECK_EQ(percpu_stack_destroy(&stack), -EBUSY);
	CHECK_EQ(percpu_values_destroy(&values), -EBUSY);
	end(2);
}

/* ---- Every slot ---- */

TEST(drain_gets_at_every_cpu)
{
	begin();
	spread(0, ITEMS);
	CHECK_EQ(drain_all(), ITEMS);
	spread(0, ITEMS);
	end(ITEMS);
}

TEST(slots_are_taken_one_by_one)
{
	unsigned char value[SIZE];
	unsigned count = 0;
	void *item;

	begin();
	spread(0, ITEMS);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		while (percpu_stack_take_slot(&stack, slot, &item, 1) == 1) {
			own(item);
			count++;
		}
		while (percpu_values_take_slot(&values, slot, value, 1) == 1) {
			own_value(value);
			count++;
		}
	}
	CHECK_EQ(count, ITEMS);
	end(0);
}

/* Fresh memory is closed, and opened by the first push there: nothing else writes it. */
TEST(field_L6_nothing_is_written_for_cpus_that_do_not_push)
{
	void *item;

	begin();
	CHECK_EQ(percpu_stack_pop(&stack, &item), -ENOENT);
	CHECK_EQ(percpu_stack_drain(&stack, &item, 1), -ENOENT);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const uintptr_t *words =
			percpu_ptr((const uintptr_t *)stack.items.handle.base - 2, slot);

		CHECK_EQ(words[0] | words[2] | words[3], 0);
	}
	push(0);
	end(1);
}

/* ---- Fences that fail ---- */

/* Bytes of pointers and of values in arrays that belong to CPUs. */
static uintptr_t on_cpus(void)
{
	uintptr_t pointers = 0, bytes = 0;

	for (unsigned slot = 0; slot < percpu_ncpus(); slot++) {
		pointers |= *percpu_ptr((const uintptr_t *)stack.items.handle.base, slot);
		bytes |= *percpu_ptr((const uintptr_t *)values.items.handle.base, slot);
	}
	return pointers && bytes;
}

/* Everything that can be had, on every CPU; and somewhere there is something that cannot. */
static unsigned pop_what_can_be_had(void)
{
	unsigned popped = 0, tries = 0;
	bool closed = false;

	while (!closed) {
		unsigned char value[SIZE];
		int pointer_result, value_result;
		void *item;

		CHECK(++tries < TRIES);
		go_to_nth_cpu(tries);
		while ((pointer_result = percpu_stack_pop(&stack, &item)) == 0) {
			own(item);
			popped++;
		}
		while ((value_result = percpu_values_pop(&values, value)) == 0) {
			own_value(value);
			popped++;
		}
		CHECK(pointer_result == -EAGAIN || pointer_result == -ENOENT);
		CHECK(value_result == -EAGAIN || value_result == -ENOENT);
		closed = (pointer_result == -EAGAIN && value_result == -EAGAIN) || !on_cpus();
	}
	return popped;
}

TEST(failing_fence_closes_stacks_and_loses_nothing)
{
	unsigned char value[SIZE];
	unsigned before, after;
	void *items[4];

	begin();
	if (stack.items.handle.bound == 0)
		test_skip("this mode needs no fence");
	spread(0, ITEMS / 2);
	if (!on_cpus())
		test_skip("no CPU here has a slot");
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	errno = 12345;
	CHECK_EQ(percpu_stack_drain(&stack, items, 4), -EPERM);
	CHECK_EQ(percpu_values_drain(&values, value, 1), -EPERM);
	CHECK_EQ(errno, 12345);
	CHECK(fault_calls(FAULT_MEMBARRIER) > 0);
	before = pop_what_can_be_had();
	CHECK(before < ITEMS / 2);
	/* What is pushed now is to be had, from shared ones where the CPU's is closed. */
	spread(ITEMS / 2, ITEMS);
	after = pop_what_can_be_had();
	CHECK(after > 0);
	fault_clear();
	CHECK_EQ(drain_all(), ITEMS - before - after);
	CHECK_EQ(percpu_stack_pop(&stack, items), -ENOENT);
	spread(0, ITEMS);
	end(ITEMS);
}

TEST(items_taken_before_arrays_cannot_be_opened_again_are_handed_out)
{
	unsigned char some[ITEMS][SIZE];
	void *items[ITEMS];
	int got, more;

	begin();
	spread(0, ITEMS);
	fault_arm(FAULT_MEMBARRIER, 2, FAULT_ALWAYS, EPERM);
	got = percpu_stack_drain(&stack, items, ITEMS);
	fault_arm(FAULT_MEMBARRIER, 2, FAULT_ALWAYS, EPERM);
	more = percpu_values_drain(&values, some, ITEMS);
	CHECK(got > 0 && more > 0);
	CHECK_EQ(got + more, ITEMS);
	for (int i = 0; i < got; i++)
		own(items[i]);
	for (int i = 0; i < more; i++)
		own_value(some[i]);
	/* Closed or open, nothing is lost, and the next drain opens them. */
	spread(0, ITEMS);
	fault_clear();
	CHECK_EQ(drain_all(), ITEMS);
	CHECK_EQ(percpu_stack_pop(&stack, items), -ENOENT);
	spread(0, ITEMS);
	end(ITEMS);
}

/* ---- Storms ---- */

#define WORKERS 5u
#define DRAINERS 2u
#define HELD 4

struct storm {
	unsigned rounds;
	unsigned working;
	unsigned held;
};

/* Everything that was taken, back one by one or at once. */
static void give_pointers(void **items, int n, bool at_once)
{
	for (int i = 0; i < n; i++)
		disown_number((size_t)((unsigned char *)items[i] - things));
	if (at_once) {
		CHECK_OK(percpu_stack_push_n(&stack, items, (unsigned)n));
		return;
	}
	for (int i = 0; i < n; i++)
		CHECK_OK(percpu_stack_push(&stack, items[i]));
}

static void give_values(unsigned char (*some)[SIZE], int n, bool at_once)
{
	for (int i = 0; i < n; i++)
		disown_number(some[i][0]);
	if (at_once) {
		CHECK_OK(percpu_values_push_n(&values, some, (unsigned)n));
		return;
	}
	for (int i = 0; i < n; i++)
		CHECK_OK(percpu_values_push(&values, some[i]));
}

static int take_pointers(void **items, unsigned n)
{
	int got = n == 1 ? percpu_stack_pop(&stack, items) : percpu_stack_pop_n(&stack, items, n);

	if (n == 1 && got == 0)
		got = 1;
	for (int i = 0; i < got; i++)
		own(items[i]);
	return got < 0 ? 0 : got;
}

static int take_values(unsigned char (*some)[SIZE], unsigned n)
{
	int got = n == 1 ? percpu_values_pop(&values, some) : percpu_values_pop_n(&values, some, n);

	if (n == 1 && got == 0)
		got = 1;
	for (int i = 0; i < got; i++)
		own_value(some[i]);
	return got < 0 ? 0 : got;
}

static void work(struct storm *storm, unsigned index)
{
	unsigned char some[HELD][SIZE];
	void *items[HELD];
	int pointers = 0, kept = 0;
	unsigned seed = index + 1;
	bool open = index == 1 && percpu_vfork_begin() == 0;

	for (unsigned i = 0; i < storm->rounds; i++) {
		unsigned n = (unsigned)rand_r(&seed) >> 4;

		if (n % 256 == 0)
			go_to_nth_cpu(n / 256);
		if (n % 2 && pointers) {
			give_pointers(items, pointers, n % 4 == 1);
			pointers = 0;
		} else if (n % 2) {
			pointers = take_pointers(items, 1 + n / 2 % HELD);
		} else if (kept) {
			give_values(some, kept, n % 4 == 0);
			kept = 0;
		} else {
			kept = take_values(some, 1 + n / 2 % HELD);
		}
	}
	if (open)
		CHECK_OK(percpu_vfork_end());
	__atomic_fetch_add(&storm->held, (unsigned)(pointers + kept), __ATOMIC_RELAXED);
	__atomic_sub_fetch(&storm->working, 1, __ATOMIC_RELEASE);
}

/* At full speed, from everywhere or from one slot. */
static void keep_draining(struct storm *storm, unsigned index)
{
	unsigned seed = index + 100;

	while (__atomic_load_n(&storm->working, __ATOMIC_ACQUIRE)) {
		unsigned n = (unsigned)rand_r(&seed) >> 4, slot = n / 4 % percpu_nslots();
		unsigned char some[ITEMS][SIZE];
		void *items[ITEMS];
		size_t most = 1 + n / 4 % ITEMS;
		int got;

		if (n % 2) {
			got = n & 2 ? percpu_stack_drain(&stack, items, most)
				    : percpu_stack_take_slot(&stack, slot, items, most);
			for (int i = 0; i < got; i++)
				own(items[i]);
			give_pointers(items, got, false);
		} else {
			got = n & 2 ? percpu_values_drain(&values, some, most)
				    : percpu_values_take_slot(&values, slot, some, most);
			for (int i = 0; i < got; i++)
				own_value(some[i]);
			give_values(some, got, false);
		}
		CHECK(got > 0 || got == -ENOENT);
	}
}

static void take_part(unsigned index, void *arg)
{
	struct storm *storm = arg;

	if (index < WORKERS)
		work(storm, index);
	else
		keep_draining(storm, index);
}

static void storm(unsigned rounds)
{
	struct storm s = {.rounds = rounds, .working = WORKERS, .held = 0};

	begin();
	for (unsigned i = 0; i < ITEMS; i++)
		push(i);
	test_threads(WORKERS + DRAINERS, take_part, &s);
	end(ITEMS - s.held);
}

/* TSan takes a hundred times as long. */
#define ROUNDS (THREAD_SANITIZER ? 5000 : 200000)

TEST(field_L2_no_item_is_handed_out_twice_or_lost)
{
	storm(ROUNDS);
}

PROBE(storms_in_this_mode)
{
	storm(ROUNDS / 4);
	CHECK(*probe_argument != '0' || stack.items.handle.bound == 0);
}

TEST(no_item_is_handed_out_twice_in_the_other_modes)
{
	check_storms_in_the_other_modes("PERCPU_CPUS=200");
}

/* ---- Fork ---- */

static void use_in_child(void *arg)
{
	(void)arg;
	CHECK_EQ(drain_all(), ITEMS);
	spread(0, ITEMS);
	end(ITEMS);
}

TEST(field_E4_forked_child_has_stacks_of_its_own)
{
	begin();
	spread(0, ITEMS);
	CHECK_EQ(test_in_child(use_in_child, NULL), TEST_PASSED);
	end(ITEMS);
}

PROBE_MAIN()
