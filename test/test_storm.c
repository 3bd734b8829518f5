/* SPDX-License-Identifier: MIT */
/*
 * Every operation, exact, while everything that can come between two instructions does.
 */
#include "test.h"

#include "storm_engine.h"

TEST(field_F1_counters_are_exact)
{
	STORM(&storm_products, "counter_add");
	STORM(&storm_products, "counter_inc");
	STORM(&storm_products, "counter_sub");
	STORM(&storm_products, "counter_dec");
}

TEST(static_counters_used_for_the_first_time_are_exact)
{
	STORM(&storm_products, "counter_static");
}

TEST(ids_are_unique)
{
	STORM(&storm_products, "id");
}

TEST(limits_are_never_passed_and_lose_no_room)
{
	STORM(&storm_products, "limit");
}

TEST(holders_of_locks_are_alone)
{
	STORM(&storm_locks, "lock");
}

TEST(zones_are_exact)
{
	STORM(&storm_products, "zone");
}

TEST(field_F1_additions_to_words_are_exact)
{
	STORM(&storm_words, "add");
	STORM(&storm_words, "sub");
	STORM(&storm_words, "inc");
	STORM(&storm_words, "dec");
}

TEST(field_F1_bits_that_are_set_or_cleared_stay_so)
{
	STORM(&storm_bits, "or");
	STORM(&storm_bits, "and");
}

TEST(field_F1_add_return_returns_each_value_once)
{
	STORM(&storm_words, "add_return");
}

TEST(field_F1_xchg_loses_and_doubles_nothing)
{
	STORM(&storm_words, "xchg");
}

TEST(field_F1_cmpxchg_succeeds_once_for_each_value)
{
	STORM(&storm_words, "cmpxchg");
}

TEST(field_F1_cmpxchg2_sees_both_words_at_once)
{
	STORM(&storm_words, "cmpxchg2");
}

TEST(reads_and_writes_are_whole)
{
	STORM(&storm_words, "write");
}

static void need_sequences(void)
{
	struct percpu_mode_info mode;

	CHECK_OK(percpu_mode(&mode));
	if (percpu_cpu_raw() < 0 || percpu__rt.bound == 0)
		test_skip("no sequences here: %s", mode.reason);
}

TEST(field_F1_store_commit_never_writes_the_live_copy)
{
	need_sequences();
	STORM(&storm_sequences, "store_commit");
}

TEST(field_F1_copy_commit_never_writes_the_live_copy)
{
	need_sequences();
	STORM(&storm_sequences, "copy_commit");
}

TEST(field_F1_push_and_pop_give_each_node_to_one)
{
	need_sequences();
	STORM(&storm_sequences, "push_pop");
}

TEST(transactions_take_each_number_once)
{
	STORM(&storm_txn, "txn");
}

TEST(transactions_of_two_words_fill_the_idle_one)
{
	STORM(&storm_txn, "txn2");
}

TEST(transactions_that_copy_fill_the_idle_copy)
{
	STORM(&storm_txn, "copy_txn");
}

TEST(field_L2_each_node_of_a_list_is_in_one_place)
{
	STORM(&storm_lists, "list");
}

TEST(field_L2_each_item_of_a_stack_is_in_one_place_and_whole)
{
	STORM(&storm_lists, "stack");
	STORM(&storm_lists, "values");
}

TEST(field_E3_forked_children_go_on_with_their_copies_of_everything)
{
	const struct storm_settings settings = {.batches = 1500, .forks = 60};

	STORM_ALL(&settings);
}

TEST_MAIN()
