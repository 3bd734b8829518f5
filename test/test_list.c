/* SPDX-License-Identifier: MIT */
/* Lists: each node is handed out once, wherever it is and whoever takes it. */
#include "probe.h"

#include "cpus.h"
#include "sanitizers.h"

#include <stdbool.h>

#include <percpu/percpu.h>

#include "faults/faults.h"
#include "modes.h"

#define NODES 64u

struct item {
	uint32_t taken; /* 1: in somebody's hands */
	struct percpu_list_node node;
};

static struct percpu_list list;
static struct item items[NODES];

static void begin(void)
{
	CHECK_OK(percpu_list_init(&list));
	for (unsigned i = 0; i < NODES; i++) {
		items[i].taken = 1;
		percpu_list_node_init(&items[i].node);
	}
}

/* The owner's mark: whoever finds it set by somebody else has got what is not his. */
static void own(struct percpu_list_node *node)
{
	struct item *item = percpu_list_entry(node, struct item, node);

	CHECK(item >= items && item < items + NODES);
	CHECK_EQ(__atomic_exchange_n(&item->taken, 1, __ATOMIC_RELAXED), 0);
}

static void disown(struct percpu_list_node *node)
{
	struct item *item = percpu_list_entry(node, struct item, node);

	CHECK_EQ(__atomic_exchange_n(&item->taken, 0, __ATOMIC_RELAXED), 1);
}

static void push(struct percpu_list_node *node)
{
	disown(node);
	CHECK_OK(percpu_list_push(&list, node));
}

static unsigned own_chain(struct percpu_list_node *first)
{
	unsigned count = 0;

	PERCPU_LIST_WALK(node, first)
	{
		own(node);
		count++;
	}
	return count;
}

/* Everything is taken out of all slots: how many nodes that were. */
static unsigned drain_all(void)
{
	struct percpu_list_node *first;
	int result = percpu_list_drain(&list, &first);
	unsigned count = own_chain(first);

	CHECK_EQ(result, count ? 0 : -ENOENT);
	while (percpu_list_chain_pop(&first)) {
	}
	CHECK(!first);
	CHECK_EQ(percpu_list_drain(&list, &first), -ENOENT);
	return count;
}

static void end(unsigned nodes_inside)
{
	CHECK_EQ(drain_all(), nodes_inside);
	for (unsigned i = 0; i < NODES; i++)
		CHECK_EQ(items[i].taken, 1);
	CHECK_OK(percpu_list_destroy(&list));
}

/* ---- One thread ---- */

#define TRIES 10000

/* True when the thread was on one CPU all the time, as far as it can tell: nothing is lost else. */
static bool pushed_and_popped_in_order(void)
{
	int cpu = percpu_cpu();
	struct percpu_list_node *node;
	bool stayed = true;

	for (unsigned i = 0; i < 3; i++)
		push(&items[i].node);
	for (unsigned i = 3; i-- > 0 && stayed;) {
		int result = percpu_list_pop(&list, &node);

		stayed = result == 0 && node == &items[i].node;
		CHECK(result == 0 || result == -ENOENT || result == -EAGAIN);
		CHECK_EQ(result == 0, node != NULL);
		if (result == 0)
			own(node);
	}
	(void)drain_all();
	return stayed && percpu_cpu() == cpu;
}

TEST(last_in_is_first_out)
{
	unsigned tries = 0;

	begin();
	while (!pushed_and_popped_in_order())
		CHECK(++tries < TRIES);
	end(0);
}

static bool chain_came_back(void)
{
	struct percpu_list_node *first = NULL, *last = &items[9].node;
	bool stayed;

	for (unsigned i = 10; i-- > 0;)
		percpu_list_chain_push(&first, &items[i].node);
	PERCPU_LIST_WALK(node, first) disown(node);
	CHECK_OK(percpu_list_splice(&list, first, last));
	stayed = percpu_list_pop_all(&list, &first) == 0;
	if (!stayed) {
		CHECK(!first);
		return drain_all() != 10;
	}
	CHECK_EQ(own_chain(first), 10);
	for (unsigned i = 0; i < 10; i++)
		CHECK(percpu_list_chain_pop(&first) == &items[i].node);
	CHECK(!percpu_list_chain_pop(&first));
	return stayed;
}

TEST(chains_go_in_and_come_out_whole)
{
	unsigned tries = 0;

	begin();
	while (!chain_came_back())
		CHECK(++tries < TRIES);
	end(0);
}

TEST(pop_of_nothing_says_empty)
{
	struct percpu_list_node *node = &items[0].node;

	begin();
	CHECK_EQ(percpu_list_pop(&list, &node), -ENOENT);
	CHECK(!node);
	node = &items[0].node;
	CHECK_EQ(percpu_list_pop_all(&list, &node), -ENOENT);
	CHECK(!node);
	end(0);
}

TEST(bad_arguments_are_refused)
{
	struct percpu_usage_info usage;
	struct percpu_list_node *node = &items[0].node;
	struct percpu_list none;

	memset(&none, 0, sizeof(none));
	percpu_list_node_init(NULL);
	percpu_list_node_init(node);
	CHECK_EQ(percpu_list_init(NULL), -EINVAL);
	CHECK_EQ(percpu_list_destroy(NULL), -EINVAL);
	CHECK_EQ(percpu_list_destroy(&none), -EINVAL);
	CHECK_EQ(percpu_list_push(NULL, node), -EINVAL);
	CHECK_EQ(percpu_list_push(&none, node), -EINVAL);
	CHECK_EQ(percpu_list_splice(NULL, node, node), -EINVAL);
	CHECK_EQ(percpu_list_splice(&none, node, node), -EINVAL);
	CHECK_EQ(percpu_list_pop(NULL, &node), -EINVAL);
	CHECK_EQ(percpu_list_pop(&none, &node), -EINVAL);
	CHECK(!node);
	CHECK_EQ(percpu_list_pop_all(NULL, &node), -EINVAL);
	CHECK_EQ(percpu_list_pop_all(&none, &node), -EINVAL);
	CHECK_EQ(percpu_list_drain(NULL, &node), -EINVAL);
	CHECK_EQ(percpu_list_drain(&none, &node), -EINVAL);
	CHECK_EQ(percpu_list_take_slot(&none, 0, &node), -EINVAL);
	begin();
	node = &items[0].node;
	CHECK_EQ(percpu_list_push(&list, NULL), -EINVAL);
	CHECK_EQ(percpu_list_splice(&list, NULL, node), -EINVAL);
	CHECK_EQ(percpu_list_splice(&list, node, NULL), -EINVAL);
	CHECK_EQ(percpu_list_pop(&list, NULL), -EINVAL);
	CHECK_EQ(percpu_list_pop_all(&list, NULL), -EINVAL);
	CHECK_EQ(percpu_list_drain(&list, NULL), -EINVAL);
	CHECK_EQ(percpu_list_take_slot(&list, 0, NULL), -EINVAL);
	CHECK_EQ(percpu_list_take_slot(&list, percpu_nslots(), &node), -EINVAL);
	CHECK_EQ(percpu_list_take_slot(&list, UINT32_MAX, &node), -EINVAL);
	CHECK(!percpu_list_chain_pop(NULL));
	percpu_list_chain_push(NULL, node);
	end(0);
	CHECK_EQ(percpu_list_destroy(&list), -EINVAL);
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

TEST(list_with_nodes_is_not_destroyed)
{
	begin();
	push(&items[5].node);
	CHECK_EQ(percpu_list_destroy(&list), -EBUSY);
	push(&items[6].node);
	end(2);
}

TEST(list_without_memory_is_refused)
{
	struct percpu_list_node *node;

	/* The first object needs an area. */
	fault_arm(FAULT_MMAP, 1, FAULT_ALWAYS, ENOMEM);
	memset(&list, 0xff, sizeof(list));
	CHECK_EQ(percpu_list_init(&list), -ENOMEM);
	CHECK_EQ(percpu_list_pop(&list, &node), -EINVAL);
	CHECK_EQ(percpu_list_destroy(&list), -EINVAL);
	fault_clear();
	begin();
	end(0);
}

/* ---- Every slot ---- */

/* A node on each CPU, wherever the thread really went. */
static void spread(unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		go_to_nth_cpu(i);
		push(&items[i].node);
	}
}

TEST(drain_gets_at_every_cpu)
{
	begin();
	spread(0, NODES);
	end(NODES);
	begin();
	spread(0, NODES);
	CHECK_EQ(drain_all(), NODES);
	spread(0, NODES);
	end(NODES);
}

TEST(slots_are_taken_one_by_one)
{
	struct percpu_list_node *first;
	unsigned count = 0;

	begin();
	spread(0, NODES);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		int result = percpu_list_take_slot(&list, slot, &first);
		unsigned got = own_chain(first);

		CHECK_EQ(result, got ? 0 : -ENOENT);
		while (percpu_list_chain_pop(&first)) {
		}
		CHECK_EQ(percpu_list_take_slot(&list, slot, &first), -ENOENT);
		count += got;
	}
	CHECK_EQ(count, NODES);
	end(0);
}

/* A thread without sequences finds what others without them pushed, in whichever shared slot. */
static void push_one(unsigned index, void *arg)
{
	(void)arg;
	if (percpu_vfork_begin() == 0) {
		push(&items[index].node);
		CHECK_OK(percpu_vfork_end());
	} else {
		push(&items[index].node);
	}
}

TEST(shared_lists_are_searched_by_everybody)
{
	struct percpu_list_node *node;

	begin();
	test_threads(20, push_one, NULL);
	for (unsigned i = 0; i < 20; i++) {
		CHECK_OK(percpu_list_pop(&list, &node));
		own(node);
	}
	CHECK_EQ(percpu_list_pop(&list, &node), -ENOENT);
	end(0);
}

/* ---- Fences that fail ---- */

/* Is there a node in a list that belongs to a CPU? Not where all pushes met unannounced CPUs. */
static bool on_cpus(void)
{
	for (unsigned slot = 0; slot < percpu_ncpus(); slot++)
		if (*percpu_ptr((void *const *)list.handle.base, slot))
			return true;
	return false;
}

/* Everything that can be had, on every CPU; and somewhere there is something that cannot. */
static unsigned pop_what_can_be_had(void)
{
	struct percpu_list_node *node;
	unsigned popped = 0, tries = 0;
	bool closed = false;

	while (!closed) {
		int result;

		CHECK(++tries < TRIES);
		go_to_nth_cpu(tries);
		while ((result = percpu_list_pop(&list, &node)) == 0) {
			own(node);
			popped++;
		}
		CHECK(result == -EAGAIN || result == -ENOENT);
		result = percpu_list_pop_all(&list, &node);
		CHECK(result == -EAGAIN || result == -ENOENT);
		closed = result == -EAGAIN || !on_cpus();
	}
	return popped;
}

TEST(failing_fence_closes_lists_and_loses_nothing)
{
	struct percpu_list_node *node;
	unsigned popped;

	begin();
	if (list.handle.bound == 0)
		test_skip("this mode needs no fence");
	spread(0, NODES);
	if (!on_cpus())
		test_skip("no CPU here has a slot");
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	errno = 12345;
	CHECK_EQ(percpu_list_drain(&list, &node), -EPERM);
	CHECK_EQ(errno, 12345);
	CHECK(!node);
	CHECK(fault_calls(FAULT_MEMBARRIER) > 0);
	popped = pop_what_can_be_had();
	CHECK(popped < NODES);
	CHECK_EQ(percpu_list_destroy(&list), -EBUSY);
	fault_clear();
	CHECK_EQ(drain_all(), NODES - popped);
	CHECK_EQ(percpu_list_pop(&list, &node), -ENOENT);
	spread(0, NODES);
	end(NODES);
}

TEST(nodes_taken_before_lists_cannot_be_opened_again_are_handed_out)
{
	struct percpu_list_node *node;

	begin();
	spread(0, NODES);
	fault_arm(FAULT_MEMBARRIER, 2, FAULT_ALWAYS, EPERM);
	CHECK_OK(percpu_list_drain(&list, &node));
	CHECK_EQ(own_chain(node), NODES);
	while (percpu_list_chain_pop(&node)) {
	}
	/* Closed or open, nothing is lost, and the next drain opens them. */
	spread(0, NODES);
	fault_clear();
	CHECK_EQ(drain_all(), NODES);
	CHECK_EQ(percpu_list_pop(&list, &node), -ENOENT);
	spread(0, NODES);
	end(NODES);
}

TEST(pushes_to_closed_lists_go_to_shared_ones)
{
	struct percpu_list_node *node;
	unsigned before, after;

	begin();
	if (list.handle.bound == 0)
		test_skip("this mode needs no fence");
	spread(0, NODES / 2);
	if (!on_cpus())
		test_skip("no CPU here has a slot");
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	CHECK_EQ(percpu_list_drain(&list, &node), -EPERM);
	before = pop_what_can_be_had();
	/* A CPU that had nothing is not closed, and keeps what comes now. */
	spread(NODES / 2, NODES);
	after = pop_what_can_be_had();
	CHECK(after > 0);
	fault_clear();
	end(NODES - before - after);
}

/* ---- Storms ---- */

#define WORKERS 5u
#define DRAINERS 2u

struct storm {
	unsigned rounds;
	unsigned working;
	struct percpu_list_node *held[WORKERS][2];
};

static void work(struct storm *storm, unsigned index)
{
	struct percpu_list_node **held = storm->held[index], *first, *node;
	unsigned seed = index + 1;
	bool open = index == 1 && percpu_vfork_begin() == 0;

	for (unsigned i = 0; i < storm->rounds; i++) {
		unsigned n = (unsigned)rand_r(&seed);

		if (n % 256 == 0)
			go_to_nth_cpu(n / 256);
		if (held[n % 2]) {
			push(held[n % 2]);
			held[n % 2] = NULL;
		} else if (n % 64 == 5 && percpu_list_pop_all(&list, &first) == 0) {
			CHECK(own_chain(first) > 0);
			while ((node = percpu_list_chain_pop(&first)))
				push(node);
		} else if (percpu_list_pop(&list, &first) == 0) {
			own(first);
			held[n % 2] = first;
		}
	}
	if (open)
		CHECK_OK(percpu_vfork_end());
	__atomic_sub_fetch(&storm->working, 1, __ATOMIC_RELEASE);
}

/* At full speed: from everywhere or from one slot, and back as a chain or one by one. */
static void keep_draining(struct storm *storm, unsigned index)
{
	unsigned seed = index + 100;

	while (__atomic_load_n(&storm->working, __ATOMIC_ACQUIRE)) {
		unsigned n = (unsigned)rand_r(&seed);
		struct percpu_list_node *first = NULL, *last = NULL, *node;

		if (n % 2)
			(void)percpu_list_drain(&list, &first);
		else
			(void)percpu_list_take_slot(&list, n / 2 % percpu_nslots(), &first);
		(void)own_chain(first);
		PERCPU_LIST_WALK(each, first)
		{
			last = each;
			if (n % 8 < 4)
				disown(each);
		}
		if (first && n % 8 < 4)
			CHECK_OK(percpu_list_splice(&list, first, last));
		else
			while ((node = percpu_list_chain_pop(&first)))
				push(node);
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
	struct storm s;
	unsigned inside = NODES;

	memset(&s, 0, sizeof(s));
	s.rounds = rounds;
	s.working = WORKERS;
	begin();
	for (unsigned i = 0; i < NODES; i++)
		push(&items[i].node);
	test_threads(WORKERS + DRAINERS, take_part, &s);
	for (unsigned i = 0; i < 2 * WORKERS; i++)
		inside -= s.held[i / 2][i % 2] != NULL;
	end(inside);
}

/* TSan takes a hundred times as long. */
#define ROUNDS (THREAD_SANITIZER ? 5000 : 200000)

TEST(field_L2_no_node_is_handed_out_twice_or_lost)
{
	storm(ROUNDS);
}

PROBE(storms_in_this_mode)
{
	storm(ROUNDS / 4);
	CHECK(*probe_argument != '0' || list.handle.bound == 0);
}

TEST(no_node_is_handed_out_twice_in_the_other_modes)
{
	check_storms_in_the_other_modes("PERCPU_CPUS=200");
}

/* ---- Fork ---- */

static void use_in_child(void *arg)
{
	(void)arg;
	CHECK_EQ(drain_all(), NODES);
	spread(0, NODES);
	end(NODES);
}

TEST(field_E4_forked_child_has_lists_of_its_own)
{
	begin();
	spread(0, NODES);
	CHECK_EQ(test_in_child(use_in_child, NULL), TEST_PASSED);
	end(NODES);
}

static void find_everything_open(void *arg)
{
	struct percpu_list_node *node;

	(void)arg;
	for (unsigned i = 0; i < 4; i++) {
		go_to_nth_cpu(i);
		CHECK_EQ(percpu_list_pop(&list, &node), -ENOENT);
	}
	spread(0, NODES);
	end(NODES);
}

static void fork_beside_drains(unsigned index, void *arg)
{
	struct percpu_list_node *first;
	unsigned *going = arg;

	for (unsigned i = 0; index == 0 && i < 50; i++)
		CHECK_EQ(test_in_child(find_everything_open, NULL), TEST_PASSED);
	if (index == 0)
		__atomic_store_n(going, 0, __ATOMIC_RELEASE);
	/* Nothing is in it: what a drainer has in his hands is lost in the child. */
	while (__atomic_load_n(going, __ATOMIC_ACQUIRE))
		(void)percpu_list_drain(&list, &first);
}

TEST(field_E3_child_forked_during_a_drain_finds_lists_open)
{
	unsigned going = 1;

	begin();
	test_threads(2, fork_beside_drains, &going);
	end(0);
}

/* ---- What debug builds stop ---- */

#if defined(PERCPU_DEBUG)
static void push_twice(void *arg)
{
	(void)arg;
	CHECK_OK(percpu_list_push(&list, &items[0].node));
	CHECK_OK(percpu_list_push(&list, &items[1].node));
	(void)percpu_list_push(&list, &items[0].node);
}

static void push_overwritten(void *arg)
{
	struct percpu_list_node *node;

	(void)arg;
	CHECK_OK(percpu_list_push(&list, &items[0].node));
	CHECK_OK(percpu_list_drain(&list, &node));
	(void)percpu_list_chain_pop(&node);
	memset(&items[0].node, 0x5a, sizeof(items[0].node));
	(void)percpu_list_push(&list, &items[0].node);
}
#endif

TEST(debug_builds_stop_where_nodes_are_misused)
{
#if defined(PERCPU_DEBUG)
	begin();
	CHECK_EQ(test_in_child(push_twice, NULL), -SIGABRT);
	CHECK_EQ(test_in_child(push_overwritten, NULL), -SIGABRT);
	end(0);
#else
	test_skip("this is no debug build");
#endif
}

PROBE_MAIN()
