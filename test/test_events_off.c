/* SPDX-License-Identifier: MIT */
/* A set that is compiled out. */
#define PERCPU_EVENTS_OFF
#include "sets.h"

TEST(a_set_that_is_compiled_out_does_nothing_and_fails_nowhere)
{
	struct percpu_series series;
	struct percpu_events_info info;
	int64_t values[ENTRIES] = {0};

	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	percpu_event_inc(&web, HITS);
	percpu_event_add(&web, MISSES, 2);
	percpu_gauge_inc(&web, ACTIVE);
	percpu_gauge_dec(&web, ACTIVE);
	percpu_gauge_add(&web, ACTIVE, -1);
	percpu_histogram_observe(&web, LATENCY, 1);
	(void)percpu_series_open(&series, &web, BY_STATUS, (const char *[]){"GET", "200"});
	percpu_series_inc(&series);
	percpu_series_dec(&series);
	percpu_series_observe(&series, 1);
	CHECK_OK(percpu_events_read(&web, values));
	CHECK_EQ(values[HITS], 0);
	CHECK_EQ(percpu_events_read_one(&web, HITS), 0);
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK(!info.open);
	CHECK(access(web_path, F_OK) != 0);
	CHECK_OK(percpu_events_close(&web));
	sets_end();
}

TEST_MAIN()
